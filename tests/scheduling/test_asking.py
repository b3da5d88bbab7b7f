"""Asking with patience: which calls are repeated, when, how they are told, and that no leave is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.answer_cache import AnswerCache
from pytest_llmkg.contracts import AskRequest, UnansweredError
from pytest_llmkg.errors import ConnectorError, LlmkgError, RecordError, UserError
from pytest_llmkg.records import Answer, FailedCall, Message, ModelSpec, Usage
from pytest_llmkg.scheduling.asking import Patience, PatientConnector
from pytest_llmkg.scheduling.desk import LocalDesk, ModelLimits
from tests.scheduling.desks import in_flight, settle, waiting
from tests.scheduling.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from pytest_llmkg.scheduling.desk import CallReport, Permit

SPEC = ModelSpec("m", "some/model", "test")
QUESTION = AskRequest((Message("user", "Which?"),), "Label/case", 1, 20.0)
FULL = ConnectorError("m: 429 too many", status=429, retryable=True, overloaded=True)
DOWN = ConnectorError("m: 503 busy", status=503, retryable=True)


@dataclass
class Inner:
    """Gives its replies in turn, the last one for ever; notes when it was asked."""

    replies: Sequence[object]
    asked: list[float] = field(default_factory=list)
    closed: int = 0

    async def ask(self, request: AskRequest) -> Answer:
        loop = asyncio.get_running_loop()
        self.asked.append(loop.time())
        await asyncio.sleep(0)
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if callable(reply):
            reply = await cast("Callable[[], Awaitable[object]]", reply)()
        if isinstance(reply, BaseException):
            raise reply
        return cast("Answer", reply)

    async def close(self) -> None:
        self.closed += 1


class Watched(LocalDesk):
    """A desk that notes what it was asked and told."""

    def __init__(self, at_once: int = 1) -> None:
        super().__init__({"m": ModelLimits(at_once)}, None, asyncio.get_running_loop().time)
        self.urgent: list[bool] = []
        self.reports: list[CallReport] = []

    async def enter(self, model: str, *, urgent: bool) -> Permit:
        self.urgent.append(urgent)
        return await super().enter(model, urgent=urgent)

    def leave(self, model: str, permit: Permit, report: CallReport) -> None:
        self.reports.append(report)
        super().leave(model, permit, report)

    @property
    def endings(self) -> list[str]:
        return [report.ending for report in self.reports]


@dataclass
class Talk:
    """One patient connector with all that it uses."""

    desk: Watched
    inner: Inner
    connector: PatientConnector
    problems: list[str]

    async def ask(self, request: AskRequest = QUESTION) -> Answer | UnansweredError:
        """The answer, or the error that says there is none; nothing is on its way any more then."""
        try:
            return await self.connector.ask(request)
        except UnansweredError as error:
            return error
        finally:
            assert in_flight(self.desk) == waiting(self.desk) == 0


def talk(*replies: object, patience: Patience | None = None, cache: AnswerCache | None = None) -> Talk:
    desk, inner, problems = Watched(), Inner(replies), list[str]()
    connector = PatientConnector(SPEC, inner, desk, patience or Patience(), cache, problems.append)
    return Talk(desk, inner, connector, problems)


def test_failed_calls_stand_before_the_answer_with_what_they_used() -> None:
    costly = ConnectorError("m: cut off", retryable=True, usage={"input_tokens": 7, "cost": 0.25})
    own = FailedCall("the connector's own repetition", 500)
    answer = Answer("kelp", usage=Usage(1, 2), failed_calls=(own,))

    async def scenario() -> None:
        this = talk(FULL, costly, answer)
        got = await this.ask()
        assert isinstance(got, Answer)
        assert (got.text, got.usage) == ("kelp", Usage(1, 2))
        assert [(call.error, call.status, call.usage) for call in got.failed_calls] == [
            ("m: 429 too many", 429, Usage()),
            ("m: cut off", None, Usage(7, None, 0.25)),
            (own.error, 500, Usage()),
        ]
        assert this.desk.endings == ["overloaded", "failed", "answer"]
        assert this.desk.retries("m") == 2
        assert this.desk.urgent == [False, True, True]

    run(scenario())


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_all_calls_failed(retries: int) -> None:
    async def scenario() -> None:
        this = talk(DOWN, patience=Patience(retries))
        error = await this.ask()
        assert isinstance(error, UnansweredError)
        assert str(error) == ("m: 503 busy" if retries == 0 else f"m: 503 busy (call {retries + 1})")
        assert len(this.inner.asked) == len(error.failed_calls) == retries + 1
        assert all(call.status == 503 for call in error.failed_calls)
        assert [report.gave_up for report in this.desk.reports] == [False] * retries + [True]
        assert this.desk.retries("m") == retries

    run(scenario())


@pytest.mark.parametrize("status", [None, 400, 401, 402, 403, 404, 422])
def test_what_cannot_change_is_not_asked_again(status: int | None) -> None:
    async def scenario() -> None:
        this = talk(ConnectorError("no", status=status, usage={"output_tokens": 3}))
        error = await this.ask()
        assert isinstance(error, UnansweredError)
        assert str(error) == "no"
        assert [(call.status, call.usage) for call in error.failed_calls] == [(status, Usage(None, 3))]
        assert this.desk.endings == ["refused" if status in (401, 403, 404) else "failed"]
        assert this.desk.retries("m") == 0

    run(scenario())


def test_waits_double_up_to_the_longest_and_are_shortened_by_less_than_half() -> None:
    async def scenario() -> list[float]:
        this = talk(DOWN, patience=Patience(9, first_wait=0.5, longest_wait=20.0))
        await this.ask()
        return [after - before for before, after in zip(this.inner.asked, this.inner.asked[1:], strict=False)]

    waits = run(scenario())
    for wait, most in zip(waits, [0.5, 1, 2, 4, 8, 16, 20, 20, 20], strict=True):
        assert most / 2 - 1e-3 <= wait <= most + 1e-3
    assert len({round(wait / most, 6) for wait, most in zip(waits, [0.5, 1, 2, 4, 8, 16], strict=False)}) > 1


@given(st.integers(0, 10**6), st.none() | st.floats(0, 600))
def test_no_wait_is_longer_than_allowed_nor_shorter_than_asked_for(attempt: int, retry_after: float | None) -> None:
    wait = Patience(first_wait=0.5, longest_wait=30.0).wait(attempt, retry_after)
    assert 0.25 <= wait <= max(30.0, retry_after or 0.0)
    assert wait >= (retry_after or 0.0)


def test_retry_after_is_kept_by_this_call_and_by_all_others() -> None:
    full = ConnectorError("wait", status=429, retryable=True, overloaded=True, retry_after=90.0)

    async def scenario() -> None:
        this = talk(full, Answer("a"), Answer("b"))
        start = asyncio.get_running_loop().time()
        other = asyncio.ensure_future(this.connector.ask(QUESTION))
        first = asyncio.ensure_future(this.connector.ask(QUESTION))
        await asyncio.gather(first, other)
        begun = [time - start for time in this.inner.asked]
        assert begun[0] == pytest.approx(0, abs=0.01)
        assert min(begun[1:]) >= 90.0
        assert max(begun[1:]) <= 91.0

    run(scenario())


def test_who_asks_to_wait_for_hours_is_not_waited_for_and_soon_not_asked() -> None:
    """A day's quota is used up: ten thousand dialogues must not wait ten minutes each."""
    spent = ConnectorError("m: quota", status=429, retryable=True, overloaded=True, retry_after=36_000.0)

    async def scenario() -> None:
        this = talk(spent)
        start = asyncio.get_running_loop().time()
        errors = [await this.ask() for _ in range(6)]
        assert asyncio.get_running_loop().time() - start < 1
        assert len(this.inner.asked) == 3
        assert [str(error) for error in errors] == ["m: quota"] * 3 + ["m: quota (not asked again)"] * 3

    run(scenario())


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_model_that_is_refused_for_good_is_not_asked_for_ever(status: int) -> None:
    no = ConnectorError("m: set OPENAI_API_KEY", status=status)

    async def scenario() -> None:
        this = talk(no, no, Answer("in between"), no, no, no, Answer("never"))
        results = [await this.ask() for _ in range(8)]
        assert len(this.inner.asked) == 6
        assert isinstance(results[2], Answer)
        for late in results[6:]:
            assert isinstance(late, UnansweredError)
            assert str(late) == "m: set OPENAI_API_KEY (not asked again)"
            assert late.failed_calls == ()

    run(scenario())


def test_after_three_lost_dialogues_others_try_once_until_one_succeeds() -> None:
    async def scenario() -> list[int]:
        patience = Patience(2)
        this = talk(*[DOWN] * 10, Answer("up again"), *[DOWN] * 3, patience=patience)
        calls = []
        for _ in range(6):
            before = len(this.inner.asked)
            await this.ask()
            calls.append(len(this.inner.asked) - before)
        return calls

    assert run(scenario()) == [3, 3, 3, 1, 1, 3]


def test_calls_of_dialogues_on_their_way_are_urgent() -> None:
    begun = AskRequest((*QUESTION.messages, Message("assistant", "a"), Message("user", "no")), "Label/case")

    async def scenario() -> None:
        this = talk(Answer("a"))
        await this.ask()
        await this.ask(begun)
        assert this.desk.urgent == [False, True]

    run(scenario())


def test_a_connector_that_does_not_keep_the_time_is_given_up() -> None:
    async def silent() -> object:
        return await asyncio.Event().wait()

    async def scenario() -> None:
        this = talk(silent, patience=Patience(retries=1, grace=10.0))
        start = asyncio.get_running_loop().time()
        error = await this.ask()
        assert str(error) == "model 'm' gave no answer within 20 s (call 2)"
        assert 60 <= asyncio.get_running_loop().time() - start <= 61

    run(scenario())


def test_an_answer_within_the_grace_counts() -> None:
    async def late() -> object:
        await asyncio.sleep(29)
        return Answer("late")

    async def scenario() -> None:
        assert await talk(late, patience=Patience(grace=10.0)).ask() == Answer("late")

    run(scenario())


@pytest.mark.parametrize(
    "problem", [ValueError("odd"), KeyError("x"), RecordError("no record"), UserError("set x"), LlmkgError(), OSError()]
)
def test_other_errors_go_through_at_once_and_give_the_leave_back(problem: Exception) -> None:
    async def scenario() -> None:
        this = talk(problem)
        with pytest.raises(type(problem)):
            await this.ask()
        assert len(this.inner.asked) == 1
        assert this.desk.retries("m") == 0

    run(scenario())


@pytest.mark.parametrize("odd", ["text", None, 7, ["a"], {"text": "a"}, Answer])
def test_what_is_no_answer_is_an_error_that_names_its_type(odd: object) -> None:
    async def scenario() -> None:
        error = await talk(cast("Any", _returns(odd))).ask()
        assert isinstance(error, UnansweredError)
        assert f"gave a {type(odd).__name__}, which is no Answer" in str(error)
        assert len(error.failed_calls) == 1

    run(scenario())


def _returns(value: object) -> Callable[[], Awaitable[object]]:
    async def give() -> object:
        return value

    return give


def test_a_connector_that_is_not_asynchronous_is_an_error() -> None:
    class Blocking:
        def ask(self, request: AskRequest) -> Answer:
            return Answer("at once")

    async def scenario() -> None:
        this = talk(Answer("x"))
        this.connector._inner = cast("Inner", Blocking())
        with pytest.raises(TypeError):
            await this.ask()

    run(scenario())


@pytest.mark.parametrize(
    "usage", [{"tokens": 5}, {"input_tokens": 1.5}, {"cost": float("nan")}, {"cost": "much"}, {3: 4}]
)
def test_odd_usage_of_a_failed_call_does_not_hide_the_error(usage: Any) -> None:
    async def scenario() -> None:
        got = await talk(ConnectorError("busy", retryable=True, usage=usage), Answer("a")).ask()
        assert isinstance(got, Answer)
        (call,) = got.failed_calls
        assert (call.error, call.usage) == ("busy", Usage())

    run(scenario())


def test_a_library_that_cancels_its_own_call_ends_no_dialogue() -> None:
    async def scenario() -> None:
        got = await talk(asyncio.CancelledError(), Answer("a")).ask()
        assert isinstance(got, Answer)
        assert "was cancelled" in got.failed_calls[0].error

    run(scenario())


def test_a_time_out_of_the_connector_itself_is_repeated() -> None:
    async def scenario() -> None:
        got = await talk(TimeoutError(), Answer("a")).ask()
        assert isinstance(got, Answer)
        assert len(got.failed_calls) == 1

    run(scenario())


@pytest.mark.parametrize("seconds", [0.0, 5.0, 20.5])
def test_cancellation_gives_the_leave_back(seconds: float) -> None:
    """While it waits for leave, while it is asked, and while it waits for the repetition."""

    async def slow() -> object:
        await asyncio.sleep(10)
        return DOWN

    async def scenario() -> None:
        this = talk(slow, patience=Patience(first_wait=60, longest_wait=60))
        holder = asyncio.ensure_future(this.connector.ask(QUESTION))
        await settle()
        task = asyncio.ensure_future(this.connector.ask(QUESTION))
        await asyncio.sleep(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        holder.cancel()
        with suppress(asyncio.CancelledError):
            await holder
        assert in_flight(this.desk) == waiting(this.desk) == 0
        assert set(this.desk.endings) <= {"abandoned", "failed"}

    run(scenario())


def test_a_known_answer_takes_no_leave_and_an_unknown_one_is_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        this = talk(DOWN, Answer("kelp", usage=Usage(1, 2, 0.5)), cache=AnswerCache(tmp_path / "cache"))
        first = await this.ask()
        assert isinstance(first, Answer)
        assert (first.from_cache, len(first.failed_calls)) == (False, 1)
        entered = len(this.desk.urgent)
        again = await this.ask()
        assert again == Answer("kelp", usage=Usage(1, 2, 0.5), from_cache=True)
        assert len(this.desk.urgent) == entered
        assert len(this.inner.asked) == 2
        assert this.problems == []

    run(scenario())


def test_errors_are_never_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        this = talk(ConnectorError("no"), Answer("yes"), cache=AnswerCache(tmp_path))
        assert isinstance(await this.ask(), UnansweredError)
        got = await this.ask()
        assert isinstance(got, Answer)
        assert not got.from_cache

    run(scenario())


def test_a_cache_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, no folder")

    async def scenario() -> None:
        this = talk(Answer("a"), Answer("b"), cache=AnswerCache(tmp_path / "cache"))
        assert await this.ask() == Answer("a")
        assert await this.ask() == Answer("b")
        assert len(this.problems) == 2
        assert all("--llmkg-cache" in problem for problem in this.problems)

    run(scenario())


def test_an_answer_that_no_file_can_hold_is_given_back_all_the_same(tmp_path: Path) -> None:
    odd = Answer("a", usage=Usage(cost=float("nan")))

    async def scenario() -> None:
        this = talk(odd, cache=AnswerCache(tmp_path))
        assert await this.ask() is not None
        assert "nan" in this.problems[0]

    run(scenario())


def test_close_closes_what_is_inside() -> None:
    async def scenario() -> None:
        this = talk()
        await this.connector.close()
        assert this.inner.closed == 1

    run(scenario())


def test_a_long_reason_is_cut_before_it_goes_to_other_processes() -> None:
    async def scenario() -> None:
        this = talk(ConnectorError("x" * 5_000_000, status=404))
        await this.ask()
        assert len(this.desk.reports[0].reason) < 10_000

    run(scenario())


REPLIES = st.sampled_from(["answer", "busy", "full", "wrong", "no"])


@given(st.lists(REPLIES, min_size=1, max_size=30), st.integers(0, 4))
def test_any_sequence_of_replies(replies: list[str], retries: int) -> None:
    """A model of the rules on paper beside the connector, dialogue after dialogue until the replies are used up."""
    objects = {
        "answer": Answer("a"),
        "busy": DOWN,
        "full": FULL,
        "wrong": ConnectorError("wrong", status=400),
        "no": ConnectorError("no", status=401),
    }

    async def scenario() -> None:
        this = talk(*(objects[reply] for reply in replies), Answer("end"), patience=Patience(retries))
        rest = [*replies, "answer"]
        lost = refused = 0
        is_refused = False
        while rest:
            before = len(this.inner.asked)
            got = await this.ask()
            calls = len(this.inner.asked) - before
            if is_refused:
                assert calls == 0
                return
            expected = 0
            while True:
                reply, patient = rest.pop(0), lost < 3
                expected += 1
                if reply == "answer":
                    lost = refused = 0
                    break
                if reply in ("wrong", "no"):
                    refused += reply == "no"
                    is_refused = refused >= 3
                    break
                if not patient or expected > retries:
                    lost += 1
                    break
            assert calls == expected
            assert isinstance(got, Answer) == (reply == "answer")
            assert len(got.failed_calls) == expected - (reply == "answer")

    run(scenario())
