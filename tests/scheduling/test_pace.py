"""The rhythm of calls: a model of one endpoint, driven by any sequence of calls and endings on a clock of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pytest_llmkg.scheduling.pace import Pace


class PaceMachine(RuleBasedStateMachine):
    """Begins a call only when `Pace.wait` gives leave, as the desk does, and ends calls in any order and way."""

    @initialize(ceiling=st.integers(1, 12), rpm=st.none() | st.integers(1, 90))
    def start(self, ceiling: int, rpm: int | None) -> None:
        self.pace, self.ceiling, self.rpm = Pace(ceiling, rpm), ceiling, rpm
        self.now = 100.0
        self.on_their_way: list[float] = []
        self.begun: list[float] = []
        self.paused_until = 0.0
        self.cut_at: float | None = None
        self.refused_in_a_row = self.given_up_in_a_row = 0
        self.expected_refusal: str | None = None

    @rule(seconds=st.floats(0, 70))
    def time_goes_by(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def a_call_begins_if_it_may(self) -> None:
        wait = self.pace.wait(self.now)
        if wait is None:
            assert len(self.on_their_way) >= self.pace.limit
            return
        assert wait >= 0
        self.now += wait
        assert self.pace.wait(self.now) == pytest.approx(0, abs=1e-9)
        assert len(self.on_their_way) < self.pace.limit
        assert self.now >= self.paused_until - 1e-9
        self.pace.begin(self.now)
        self.on_their_way.append(self.now)
        self.begun.append(self.now)

    @precondition(lambda self: self.on_their_way)
    @rule(data=st.data())
    def one_succeeds(self, data: st.DataObject) -> None:
        self._take(data)
        before = self.pace.limit
        self.pace.succeeded()
        assert before <= self.pace.limit <= min(before + 1, self.ceiling)
        self.refused_in_a_row = self.given_up_in_a_row = 0

    @precondition(lambda self: self.on_their_way)
    @rule(data=st.data(), retry_after=st.none() | st.floats(0, 2000))
    def one_is_too_many(self, data: st.DataObject, retry_after: float | None) -> None:
        begun = self._take(data)
        before = self.pace.limit
        self.pace.overloaded(begun, self.now, retry_after)
        belongs_to_the_burst = self.cut_at is not None and begun <= self.cut_at
        if belongs_to_the_burst:
            assert self.pace.limit == before
        else:
            assert self.pace.limit == max(1, before // 2)
            self.cut_at = self.now
        if retry_after is not None:
            self.paused_until = max(self.paused_until, self.now + min(retry_after, 600.0))

    @precondition(lambda self: self.on_their_way)
    @rule(data=st.data(), ending=st.sampled_from(["failed", "abandoned"]))
    def one_ends_otherwise(self, data: st.DataObject, ending: str) -> None:
        self._take(data)
        before = self.pace.limit
        getattr(self.pace, ending)()
        assert self.pace.limit == before

    @precondition(lambda self: self.on_their_way)
    @rule(data=st.data(), reason=st.sampled_from(["no such model", "wrong key"]))
    def one_is_refused_for_good(self, data: st.DataObject, reason: str) -> None:
        self._take(data)
        self.pace.refused(reason)
        self.refused_in_a_row += 1
        if self.refused_in_a_row >= 3:
            self.expected_refusal = reason

    @rule()
    def a_dialogue_is_given_up(self) -> None:
        self.pace.gave_up()
        self.given_up_in_a_row += 1

    @invariant()
    def the_limit_is_between_one_and_the_ceiling(self) -> None:
        if hasattr(self, "pace"):
            assert 1 <= self.pace.limit <= self.ceiling
            assert self.pace.in_flight == len(self.on_their_way)

    @invariant()
    def patience_and_refusal_follow_the_rows(self) -> None:
        if hasattr(self, "pace"):
            assert self.pace.is_patient == (self.given_up_in_a_row < 3)
            assert self.pace.refusal == self.expected_refusal

    @invariant()
    def no_minute_holds_more_calls_than_allowed(self) -> None:
        if hasattr(self, "pace") and self.rpm is not None and len(self.begun) > self.rpm:
            assert self.begun[-1] - self.begun[-1 - self.rpm] >= 60.0 - 1e-6

    def _take(self, data: st.DataObject) -> float:
        return self.on_their_way.pop(data.draw(st.integers(0, len(self.on_their_way) - 1)))


TestPace = PaceMachine.TestCase


def test_a_burst_of_refusals_halves_once_and_the_next_burst_again() -> None:
    pace = Pace(16)
    for _ in range(16):
        pace.begin(0.0)
    limits = []
    for _ in range(16):
        pace.overloaded(0.0, 5.0, None)
        limits.append(pace.limit)
    assert limits == [8] * 16
    pace.begin(6.0)
    pace.overloaded(6.0, 7.0, None)
    assert pace.limit == 4


def test_a_clock_that_stands_still_during_a_burst_does_not_halve_for_each_call() -> None:
    pace = Pace(16)
    for _ in range(4):
        pace.begin(3.0)
    for _ in range(4):
        pace.overloaded(3.0, 3.0, None)
    assert pace.limit == 8


@given(st.integers(1, 64))
def test_the_limit_grows_by_one_a_round_and_comes_back_to_the_ceiling(ceiling: int) -> None:
    pace = Pace(ceiling)
    pace.begin(0.0)
    pace.overloaded(0.0, 1.0, None)
    rounds, start = 0, pace.limit
    while pace.limit < ceiling:
        before = pace.limit
        for _ in range(before + 1):  # a round of calls, and one more for the rounding of the sum
            pace.begin(2.0)
            pace.succeeded()
        rounds += 1
        assert before + 1 <= pace.limit <= before + 2
    assert rounds <= ceiling - start


def test_calls_are_spread_evenly_and_idle_time_is_not_saved_up() -> None:
    pace = Pace(10, rpm=30)
    begun, now = [], 0.0
    for _ in range(4):
        now += pace.wait(now) or 0.0
        pace.begin(now)
        begun.append(now)
    now = 500.0
    for _ in range(3):
        now += pace.wait(now) or 0.0
        pace.begin(now)
        begun.append(now)
    assert begun == [0.0, 2.0, 4.0, 6.0, 500.0, 502.0, 504.0]


def test_the_longest_retry_after_holds_and_none_is_longer_than_ten_minutes() -> None:
    pace = Pace(8)
    for _ in range(3):
        pace.begin(0.0)
    pace.overloaded(0.0, 1.0, 40.0)
    pace.overloaded(0.0, 2.0, 3.0)
    assert pace.wait(2.0) == 39.0
    pace.overloaded(0.0, 3.0, 1e9)
    assert pace.wait(3.0) == 600.0


def test_a_ceiling_below_one_still_lets_one_call_through() -> None:
    assert Pace(0).limit == 1
    assert Pace(-3).wait(0.0) == 0.0
