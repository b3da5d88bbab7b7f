"""What the desk promises, whether it is met in its own process or over loopback."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.scheduling.budget import Bill
from pytest_llmkg.scheduling.desk import CallReport, LocalDesk, ModelLimits
from pytest_llmkg.scheduling.prices import Bid
from tests.scheduling.desks import KINDS, Kind, Place, in_flight, opened, settle, waiting
from tests.scheduling.virtual_time import run

if TYPE_CHECKING:
    from pytest_llmkg.scheduling.desk import Ending, Permit

both = pytest.mark.parametrize("kind", KINDS)
ENDINGS: tuple[Ending, ...] = ("answer", "abandoned", "overloaded", "failed", "refused")


def now() -> float:
    return asyncio.get_running_loop().time()


@both
def test_first_come_first_served_and_urgent_ones_before_all_others(kind: Kind) -> None:
    order: list[str] = []

    async def scenario() -> None:
        async with opened(kind) as place:

            async def call(name: str) -> None:
                permit = await place.enter(urgent=name.startswith("urgent"))
                order.append(name)
                await place.leave(permit)

            first = await place.enter()
            names = ["a", "urgent 1", "b", "urgent 2", "c", "urgent 3"]
            calls = []
            for name in names:
                calls.append(asyncio.ensure_future(call(name)))
                await settle()
            await place.leave(first)
            await asyncio.gather(*calls)
            assert in_flight(place.local) == waiting(place.local) == 0

    run(scenario())
    assert order == ["urgent 1", "urgent 2", "urgent 3", "a", "b", "c"]


@both
def test_never_more_at_once_than_allowed(kind: Kind) -> None:
    async def scenario() -> int:
        async with opened(kind, 3) as place:
            most = 0

            async def call(seconds: float) -> None:
                nonlocal most
                permit = await place.enter()
                most = max(most, in_flight(place.local))
                await asyncio.sleep(seconds)
                await place.leave(permit)

            await asyncio.gather(*(call(number % 4) for number in range(20)))
            assert in_flight(place.local) == waiting(place.local) == 0
            return most

    assert run(scenario()) == 3


@both
def test_a_call_that_is_cancelled_while_it_waits_is_passed_over(kind: Kind) -> None:
    async def scenario() -> None:
        async with opened(kind) as place:
            first = await place.enter()
            cancelled, follower = place.enters(), place.enters()
            await settle()
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            await settle()
            await place.leave(first)
            permit = await follower
            await place.leave(permit)
            assert in_flight(place.local) == waiting(place.local) == 0

    run(scenario())


@both
@pytest.mark.parametrize("steps", range(6))
def test_a_call_that_is_cancelled_around_the_moment_of_its_leave_leaks_nothing(kind: Kind, steps: int) -> None:
    """Cancelled so many steps of the event loop after leave was given."""

    async def scenario() -> None:
        async with opened(kind) as place:
            first = await place.enter()
            task = place.enters()
            await settle()
            place.desk.leave("m", first, CallReport("answer"))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            try:
                permit = await task
            except asyncio.CancelledError:
                pass
            else:
                await place.leave(permit)
            await settle()
            assert in_flight(place.local) == waiting(place.local) == 0
            await place.leave(await place.enter())

    run(scenario())


CALLS = st.lists(
    st.tuples(
        st.integers(0, 6),  # arrival
        st.integers(0, 5),  # seconds that the call takes
        st.none() | st.integers(0, 9),  # cancelled after so many seconds
        st.booleans(),  # urgent
        st.sampled_from(ENDINGS),
        st.none() | st.integers(0, 8),  # Retry-After
    ),
    max_size=14,
)


async def _any_calls(place: Place, calls: Calls) -> None:
    limit_at_begin: list[tuple[int, int]] = []

    async def call(seconds: int, urgent: bool, ending: Ending, retry_after: int | None) -> None:
        permit = await place.enter(urgent=urgent)
        if permit.refusal is not None:
            place.desk.leave("m", permit, CallReport("abandoned"))
            return
        report = CallReport("abandoned")
        try:
            limit_at_begin.append((in_flight(place.local), place.local._queues["m"].pace.ceiling))
            await asyncio.sleep(seconds)
            report = CallReport(ending, retry_after, "no such model")
        finally:
            place.desk.leave("m", permit, report)

    async def come(arrival: int, cancelled: int | None, *rest: object) -> None:
        await asyncio.sleep(arrival)
        task = asyncio.ensure_future(call(*rest))  # type: ignore[arg-type]  # the rest of one tuple of CALLS
        if cancelled is not None:
            await asyncio.sleep(cancelled)
            task.cancel()
        await asyncio.wait([task])

    await asyncio.gather(*(come(a, c, s, u, e, r) for a, s, c, u, e, r in calls))
    # Of calls that were cancelled in another process, leave still comes, and is given back then.
    for _ in range(30):
        await (asyncio.sleep(10) if waiting(place.local) else settle())
    assert all(number <= ceiling for number, ceiling in limit_at_begin)
    assert in_flight(place.local) == waiting(place.local) == 0


RATES = (st.integers(1, 4), st.none() | st.integers(10, 120), CALLS)
Calls = list[tuple[int, int, int | None, bool, "Ending", int | None]]


@given(*RATES)
def test_any_mix_of_calls_ends_with_nothing_held(at_once: int, rpm: int | None, calls: Calls) -> None:
    async def scenario() -> None:
        async with opened("local", {"m": ModelLimits(at_once, rpm)}) as place:
            await _any_calls(place, calls)

    run(scenario())


@settings(max_examples=15)
@given(*RATES)
def test_any_mix_of_calls_of_another_process_likewise(at_once: int, rpm: int | None, calls: Calls) -> None:
    async def scenario() -> None:
        async with opened("remote", {"m": ModelLimits(at_once, rpm)}) as place:
            await _any_calls(place, calls)

    run(scenario())


@both
def test_calls_a_minute_are_spread_over_it(kind: Kind) -> None:
    async def scenario() -> list[float]:
        async with opened(kind, {"m": ModelLimits(10, rpm=20)}) as place:
            begun: list[float] = []

            async def call() -> None:
                permit = await place.enter()
                begun.append(now())
                await place.leave(permit)

            start = now()
            await asyncio.gather(*(call() for _ in range(5)))
            return [round(time - start, 3) for time in begun]

    assert run(scenario()) == [0.0, 3.0, 6.0, 9.0, 12.0]


@both
def test_a_refusal_with_retry_after_lets_all_wait(kind: Kind) -> None:
    async def scenario() -> float:
        async with opened(kind, 4) as place:
            first = await place.enter()
            start = now()
            await place.leave(first, CallReport("overloaded", retry_after=45.0))
            early = place.enters()  # waits by a timer
            other = await place.enter()
            assert await early
            assert other
            return round(now() - start, 3)

    assert run(scenario()) == 45.0


@both
def test_a_later_pause_holds_for_who_waits_by_a_timer_already(kind: Kind) -> None:
    async def scenario() -> float:
        async with opened(kind, 8) as place:
            first, second = await place.enter(), await place.enter()
            start = now()
            await place.leave(first, CallReport("overloaded", retry_after=5.0))
            task = place.enters()
            await settle()
            await place.leave(second, CallReport("overloaded", retry_after=50.0))
            await task
            return round(now() - start, 3)

    assert run(scenario()) == 50.0


@both
def test_models_do_not_wait_for_each_other(kind: Kind) -> None:
    async def scenario() -> None:
        async with opened(kind, {"m": ModelLimits(1), "n": ModelLimits(1)}) as place:
            first = await place.enter()
            blocked = place.enters()
            await place.leave(await place.enter("n"), CallReport("overloaded", 100.0), "n")
            assert place.local.calls_at_once("m") == 1
            await settle()
            assert not blocked.done()
            await place.leave(first)
            start = now()
            await place.leave(await blocked)
            assert now() - start < 1
            assert in_flight(place.local) == in_flight(place.local, "n") == 0

    run(scenario())


@both
def test_after_three_refusals_for_good_nobody_asks_again(kind: Kind) -> None:
    async def scenario() -> list[Permit]:
        async with opened(kind) as place:
            calls = [place.enters() for _ in range(5)]
            for call in calls[:3]:
                permit = await call
                assert permit.refusal is None
                await place.leave(permit, CallReport("refused", reason="model 'm': no such model"))
            again = await place.enter(urgent=True)
            await place.leave(again)  # as a caller that does not look
            assert in_flight(place.local) == waiting(place.local) == 0
            return [await calls[3], await calls[4], again]

    for permit in run(scenario()):
        assert permit.refusal == "model 'm': no such model"


@both
def test_patience_ends_with_three_lost_dialogues_and_comes_back_with_an_answer(kind: Kind) -> None:
    async def scenario() -> list[bool]:
        async with opened(kind) as place:
            patient = []
            for ending in ("failed", "overloaded", "failed", "answer", "answer"):
                permit = await place.enter()
                patient.append(permit.patient)
                await place.leave(permit, CallReport(ending, gave_up=ending != "answer"))
            return patient

    assert run(scenario()) == [True, True, True, False, True]


@both
def test_counts_for_the_progress_line(kind: Kind) -> None:
    async def scenario() -> None:
        async with opened(kind, 4) as place:
            for report in (
                CallReport("failed", repeated=True),
                CallReport("overloaded", repeated=True),
                CallReport("failed", gave_up=True),
                CallReport("failed"),  # a 400, which nobody repeats
                CallReport("answer"),
            ):
                await place.leave(await place.enter(), report)
            assert place.local.retries("m") == 2
            assert await place.desk.begin_dialogue("m", "one", Bid()) is None
            assert await place.desk.begin_dialogue("m", "two", Bid()) is None
            assert place.local.dialogues("m") == 2
            assert place.local.held == {("m", "one"), ("m", "two")}
            place.desk.end_dialogue("m", "one", Bill(0.5))
            await settle()
            assert place.local.held == {("m", "two")}

    run(scenario())


@both
def test_the_budget_is_waited_for_and_then_spent(kind: Kind) -> None:
    async def scenario() -> list[str | None]:
        async with opened(kind, 9, max_cost=1.0) as place:
            desk = place.desk
            assert await desk.begin_dialogue("m", "1", Bid()) is None
            others = [asyncio.ensure_future(desk.begin_dialogue("m", str(number), Bid())) for number in range(2, 6)]
            await settle()
            assert place.local.dialogues("m") == 1  # its price is not known yet
            desk.end_dialogue("m", "1", Bill(0.4))
            await settle()
            assert place.local.dialogues("m") == 1  # 0.4 spent, 0.4 reserved
            cancelled = others.pop()
            cancelled.cancel()
            desk.end_dialogue("m", "2", Bill(0.3))
            await settle()
            assert place.local.dialogues("m") == 0
            return await asyncio.gather(*others)

    begun, *reasons = run(scenario())
    assert begun is None
    assert len(reasons) == 2
    assert all(reason and "0.7 US dollars are spent" in reason for reason in reasons)


@both
def test_free_models_are_no_part_of_the_budget_and_unknown_prices_stop_one_model(kind: Kind) -> None:
    limits = {"free": ModelLimits(9, is_free=True), "dark": ModelLimits(9), "known": ModelLimits(9)}

    async def scenario() -> None:
        async with opened(kind, limits, max_cost=0.5) as place:
            desk = place.desk
            for number in range(3):
                assert await desk.begin_dialogue("free", str(number), Bid()) is None
            assert await desk.begin_dialogue("dark", "1", Bid()) is None
            desk.end_dialogue("dark", "1", Bill(None))
            desk.end_dialogue("free", "1", Bill(None))
            assert "price of dark is unknown" in str(await desk.begin_dialogue("dark", "2", Bid()))
            assert await desk.begin_dialogue("known", "1", Bid()) is None
            desk.end_dialogue("known", "1", Bill(0.6))
            assert "0.6 US dollars are spent" in str(await desk.begin_dialogue("known", "2", Bid()))
            assert await desk.begin_dialogue("free", "9", Bid()) is None

    run(scenario())


@both
def test_a_cancelled_wait_for_the_budget_holds_nothing(kind: Kind) -> None:
    async def scenario() -> None:
        async with opened(kind, 9, max_cost=1.0) as place:
            assert await place.desk.begin_dialogue("m", "1", Bid()) is None
            waits = asyncio.ensure_future(place.desk.begin_dialogue("m", "2", Bid()))
            await settle()
            waits.cancel()
            place.desk.end_dialogue("m", "1", Bill(0.1))
            with pytest.raises(asyncio.CancelledError):
                await waits
            await settle()
            assert place.local.held == set()
            assert await place.desk.begin_dialogue("m", "3", Bid()) is None

    run(scenario())


def test_a_model_that_nobody_knows_is_an_error() -> None:
    async def scenario() -> None:
        with pytest.raises(KeyError):
            await LocalDesk({}).enter("m", urgent=False)

    run(scenario())
