"""Dialogues ahead of their tests: order, width, handing over, ending early, memory, many threads."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import ConnectorError, RunFileError
from pytest_llmkg.records import Answer, Case, FailedCall, ModelSpec, Transcript, Usage
from pytest_llmkg.scheduling.ahead import Ahead, Job, NotRunError
from pytest_llmkg.scheduling.budget import Bill
from pytest_llmkg.scheduling.desk import LocalDesk, ModelLimits
from pytest_llmkg.scheduling.loop_thread import LoopThread
from pytest_llmkg.scheduling.prices import Bid
from tests.builders import make_turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pytest_llmkg.scheduling.ahead import DialogueKey

LONG = 30.0
"""Seconds that a test waits for what must come, before it fails."""


def job(number: int, model: str = "m", iteration: int = 1) -> Job:
    return Job(Case(f"c{number}", "Task", "Label", {}), ModelSpec(model, model, "test"), iteration)


def jobs(count: int, model: str = "m") -> list[Job]:
    return [job(number, model) for number in range(count)]


def told(of: Job, *answers: Answer, **more: object) -> Transcript:
    turns = tuple(replace(make_turn({"f1": 1.0}), answer=answer) for answer in answers)
    plain = Transcript(of.case.id, "Label", "Task", of.model.id, of.iteration, turns, "2026-01-01T00:00:00Z", 1.0)
    return replace(plain, **more)  # type: ignore[arg-type]  # fields of a transcript


class Desk(LocalDesk):
    """A desk that notes how dialogues end."""

    def __init__(self, max_cost: float | None = None) -> None:
        super().__init__({"m": ModelLimits(99), "n": ModelLimits(99)}, max_cost)
        self.ended: list[tuple[str, float | None, bool]] = []

    def end_dialogue(self, model: str, key: str, bill: Bill) -> None:
        self.ended.append((key, bill.cost, bill.turns > 0))
        super().end_dialogue(model, key, bill)


class Stage:
    """Holds dialogues as the test says, and keeps count."""

    def __init__(self, ahead_of: LoopThread, widths: dict[str, int], desk: Desk) -> None:
        self.loop, self.desk = ahead_of, desk
        self.begun: queue.SimpleQueue[DialogueKey] = queue.SimpleQueue()
        self.order: list[DialogueKey] = []
        self.active: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.written: list[Transcript] = []
        self.read: list[DialogueKey] = []
        self.holding: Callable[[Job], Awaitable[Transcript]] = self.at_once
        self.recording: Callable[[Transcript], None] = lambda _transcript: None
        self.gates: dict[DialogueKey, asyncio.Event] = {}
        self.ahead = Ahead(ahead_of, self.hold, self.record, desk, widths)

    async def hold(self, this: Job) -> Transcript:
        model = this.model.id
        self.active[model] += 1
        self.most[model] = max(self.most[model], self.active[model])
        self.order.append(this.key)
        self.gates[this.key] = asyncio.Event()
        self.begun.put(this.key)
        try:
            return await self.holding(this)
        finally:
            self.active[model] -= 1

    async def at_once(self, this: Job) -> Transcript:
        await asyncio.sleep(0)
        return told(this, Answer("a", usage=Usage(cost=0.1)))

    async def until_opened(self, this: Job) -> Transcript:
        await self.gates[this.key].wait()
        return told(this, Answer("a", usage=Usage(cost=0.1)))

    def open(self, this: Job) -> None:
        self.loop.post(self.gates[this.key].set)

    def record(self, this: Job, transcript: Transcript) -> tuple[Transcript, Callable[[], Transcript]]:
        self.recording(transcript)
        self.written.append(told(this))
        turns = transcript.turns

        def read() -> Transcript:
            self.read.append(this.key)
            return told(this, *(turn.answer for turn in turns))

        return transcript, read

    def next_begun(self) -> DialogueKey:
        return self.begun.get(timeout=LONG)

    def nothing_more_begins(self) -> None:
        """All that the loop has to do is done, and no dialogue began."""
        for _ in range(5):
            self.loop.run(asyncio.sleep(0))
        assert self.begun.empty()

    def written_keys(self) -> list[DialogueKey]:
        return [(t.label, t.case, t.model, t.iteration) for t in self.written]


@contextmanager
def stage(desk: Desk | None = None, **widths: int) -> Iterator[Stage]:
    loop = LoopThread()
    this = Stage(loop, widths or {"m": 2}, desk or Desk())
    try:
        yield this
    finally:
        this.ahead.stop("the test is over", 0.0)
        this.ahead.close()
        loop.close()


def test_dialogues_are_held_in_the_order_of_the_plan_and_recorded_unasked() -> None:
    with stage(m=1) as this:
        this.ahead.plan(jobs(6))
        last = this.ahead.transcript(jobs(6)[5])
        assert last == told(job(5), Answer("a", usage=Usage(cost=0.1)))
        assert this.order == [one.key for one in jobs(6)]
        assert this.written_keys() == this.order
        assert [this.ahead.transcript(one).case for one in jobs(5)] == [one.case.id for one in jobs(5)]
        assert len(this.order) == 6
        assert this.most == {"m": 1}
        assert this.read == []  # all were recent


def test_no_more_than_the_width_at_once_and_models_side_by_side() -> None:
    with stage(m=3, n=1) as this:
        this.holding = this.until_opened
        this.ahead.plan([*jobs(5), *jobs(3, "n")])
        begun = {this.next_begun() for _ in range(4)}
        assert begun == {one.key for one in (*jobs(3), job(0, "n"))}
        this.nothing_more_begins()
        this.open(job(0, "n"))
        assert this.next_begun() == job(1, "n").key  # though all of the other model are stuck
        this.open(job(1))
        assert this.next_begun() == job(3).key
        this.nothing_more_begins()
        assert this.most == {"m": 3, "n": 1}


def test_a_transcript_is_handed_over_once_and_then_held_anew() -> None:
    with stage() as this:
        this.ahead.plan(jobs(1))
        for times in (1, 2, 3):
            assert this.ahead.transcript(job(0)).case == "c0"
            assert this.order == [job(0).key] * times
        this.ahead.plan([job(0), job(0), job(0, iteration=2)])
        this.ahead.transcript(job(0))
        this.ahead.transcript(job(0, iteration=2))
        assert Counter(this.order) == {job(0).key: 4, job(0, iteration=2).key: 1}
        assert this.ahead._jobs == {}
        assert not this.ahead._recent


def test_what_is_asked_for_unplanned_comes_before_what_waits() -> None:
    with stage(m=1) as this, ThreadPoolExecutor(1) as pool:
        this.holding = this.until_opened
        this.ahead.plan(jobs(3))
        assert this.next_begun() == job(0).key
        asked = pool.submit(this.ahead.transcript, job(9))
        while job(9).key not in this.ahead._jobs:
            this.loop.run(asyncio.sleep(0))
        this.ahead.plan([*jobs(3), job(9)])  # changes nothing
        this.open(job(0))
        assert this.next_begun() == job(9).key
        this.open(job(9))
        assert asked.result(LONG).case == "c9"
        assert this.next_begun() == job(1).key


def test_unplanned_on_an_idle_lane() -> None:
    with stage() as this:
        assert this.ahead.transcript(job(3)).case == "c3"


def test_stop_lets_dialogues_end_within_the_grace_and_begins_none() -> None:
    with stage(m=2) as this, ThreadPoolExecutor(1) as pool:
        this.holding = this.until_opened
        this.ahead.plan(jobs(4))
        this.next_begun()
        this.next_begun()
        stopping = pool.submit(this.ahead.stop, "that was enough", LONG)
        while this.ahead._why_stopped is None:
            this.loop.run(asyncio.sleep(0))
        for one in jobs(2):
            this.open(one)
        stopping.result(LONG)
        assert this.written_keys() == [job(0).key, job(1).key]
        assert this.ahead.transcript(job(0)).case == "c0"
        for late in (job(2), job(3), job(7)):
            with pytest.raises(NotRunError, match="that was enough"):
                this.ahead.transcript(late)
        this.ahead.plan(jobs(9))
        this.ahead.stop("for another reason", 0.0)
        with pytest.raises(NotRunError, match="that was enough"):
            this.ahead.transcript(job(8))
        assert len(this.order) == 2


def test_stop_cancels_late_dialogues_and_records_what_was_answered() -> None:
    async def talkative(this: Job) -> Transcript:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if this.case.id == "c1":
                raise
        return told(this, Answer("paid", usage=Usage(1, 1, 0.5)), error="the dialogue was interrupted")

    with stage(m=2) as this:
        this.holding = talkative
        this.ahead.plan(jobs(3))
        this.next_begun()
        this.next_begun()
        this.ahead.stop("Ctrl-C", 0.0)
        assert this.ahead.transcript(job(0)).error == "the dialogue was interrupted"
        for other in (job(1), job(2)):
            with pytest.raises(NotRunError, match="Ctrl-C"):
                this.ahead.transcript(other)
        assert this.written_keys() == [job(0).key]
        assert this.desk.held == set()
        assert sorted(this.desk.ended) == [(job(0).name, 0.5, True), (job(1).name, 0.0, False)]


def test_stop_returns_when_a_record_that_was_begun_is_whole() -> None:
    entered, may_write, stopped = threading.Event(), threading.Event(), threading.Event()
    happened: list[str] = []

    def slow(_transcript: Transcript) -> None:
        entered.set()
        assert may_write.wait(LONG)
        happened.append("recorded")

    with stage() as this, ThreadPoolExecutor(1) as pool:
        this.recording = slow
        this.ahead.plan(jobs(1))
        assert entered.wait(LONG)

        def stop() -> None:
            this.ahead.stop("the end", 0.0)
            happened.append("stopped")
            stopped.set()

        stopping = pool.submit(stop)
        with pytest.raises(NotRunError):
            this.ahead.transcript(job(0))
        assert not stopped.is_set()
        may_write.set()
        stopping.result(LONG)
        assert happened == ["recorded", "stopped"]
        assert this.written_keys() == [job(0).key]


def test_who_waits_for_the_budget_when_all_ends_does_not_begin() -> None:
    """The end of the dialogue that it waited for would let it begin, within the grace."""
    with stage(Desk(max_cost=9.0), m=2) as this, ThreadPoolExecutor(1) as pool:
        this.holding = this.until_opened
        this.ahead.plan(jobs(2))
        this.next_begun()
        this.nothing_more_begins()  # its price is unknown, so the second one waits
        stopping = pool.submit(this.ahead.stop, "the end", LONG)
        while this.ahead._why_stopped is None:
            this.loop.run(asyncio.sleep(0))
        this.holding = this.at_once
        this.open(job(0))
        stopping.result(LONG)
        with pytest.raises(NotRunError, match="the end"):
            this.ahead.transcript(job(1))
        assert this.order == [job(0).key]
        assert this.desk.held == set()
        assert this.desk.ended[1:] == [(job(1).name, 0.0, False)]


def test_the_desk_is_told_what_is_known_before_and_what_was_paid_after() -> None:
    """Two answers, the first one after a call that failed and was charged; an answer from the cache is no turn."""
    answers = (
        Answer("a", usage=Usage(9, 40, 0.25), failed_calls=(FailedCall("no choices", 200, Usage(9, 3, 0.125)),)),
        Answer("b", usage=Usage(9, 20, 0.5)),
        Answer("c", usage=Usage(9, 70, 4.0), from_cache=True),
    )
    heard: list[Bid | Bill] = []

    class Listening(Desk):
        async def begin_dialogue(self, model: str, key: str, bid: Bid) -> str | None:
            heard.append(bid)
            return await super().begin_dialogue(model, key, bid)

        def end_dialogue(self, model: str, key: str, bill: Bill) -> None:
            heard.append(bill)
            super().end_dialogue(model, key, bill)

    async def known(this: Job) -> Bid:
        return Bid(1234 if this == job(0) else 1, 3)

    async def hold(this: Job) -> Transcript:
        return told(this, *answers)

    with stage(Listening(), m=1) as this:
        this.holding = hold
        ahead = Ahead(this.loop, this.hold, this.record, this.desk, {"m": 1}, known)
        ahead.transcript(job(0))
        ahead.stop("the end", LONG)
        ahead.close()
    assert heard == [Bid(1234, 3), Bill(0.875, 2, 40)]


def test_a_spent_budget_is_told_and_the_rest_is_not_run() -> None:
    async def dear(this: Job) -> Transcript:
        return told(this, Answer("a", usage=Usage(1, 1, 0.6)))

    with stage(Desk(max_cost=1.0), m=4) as this:
        this.holding = dear
        this.ahead.plan(jobs(5))
        assert this.ahead.transcript(job(0)).case == "c0"
        for late in range(1, 5):
            with pytest.raises(NotRunError, match=r"--llmkg-max-cost=1 .* 0\.6 US dollars are spent"):
                this.ahead.transcript(job(late))
        assert len(this.order) == 1


@pytest.mark.parametrize("problem", [RunFileError("disk full"), OSError(28, "no space"), pytest.fail.Exception("x")])
def test_what_cannot_be_recorded_is_told_to_its_test_and_the_others_go_on(problem: BaseException) -> None:
    def failing(transcript: Transcript) -> None:
        if transcript.case == "c1":
            raise problem

    with stage(m=1) as this:
        this.recording = failing
        this.ahead.plan(jobs(3))
        with pytest.raises(type(problem)):
            this.ahead.transcript(job(1))
        assert this.ahead.transcript(job(2)).case == "c2"
        this.recording = lambda _transcript: None
        assert this.ahead.transcript(job(1)).case == "c1"


@pytest.mark.parametrize(
    "problem",
    [
        ValueError("odd"),
        ConnectorError("gone"),
        SystemExit(3),
        pytest.fail.Exception("no"),
        pytest.skip.Exception("no"),
    ],
)
def test_whatever_holding_raises_reaches_the_test_and_blocks_nobody(problem: BaseException) -> None:
    async def faulty(this: Job) -> Transcript:
        if this.case.id == "c0":
            raise problem
        return told(this)

    with stage(m=1) as this:
        this.holding = faulty
        this.ahead.plan(jobs(2))
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(this.ahead.transcript, job(0))
            with pytest.raises(type(problem)):
                waits.result(LONG)
        assert this.ahead.transcript(job(1)).case == "c1"
        assert this.desk.held == set()
        assert this.desk.ended[0] == (job(0).name, 0.0, False)


def test_a_desk_that_is_gone_is_told_to_every_test() -> None:
    class Gone(Desk):
        async def begin_dialogue(self, model: str, key: str, bid: Bid) -> str | None:
            raise ConnectorError("the process that controls this run is gone")

    with stage(Gone(), m=1) as this:
        this.ahead.plan(jobs(3))
        for one in jobs(3):
            with pytest.raises(ConnectorError, match="gone"):
                this.ahead.transcript(one)
        assert this.order == []


COSTS = [
    ([Answer("a", usage=Usage(1, 1, 0.25)), Answer("b", usage=Usage(1, 1, 0.5))], {}, 0.75, True),
    ([Answer("a", usage=Usage(1, 1, 0.25)), Answer("b", usage=Usage(1, 1))], {}, None, True),
    ([Answer("a", usage=Usage(1, 1, 0.25), from_cache=True)], {}, 0.0, False),
    ([Answer("a", usage=Usage(1, 1, 0.25), from_cache=True), Answer("b", usage=Usage(cost=0.5))], {}, 0.5, True),
    ([Answer("a", usage=Usage(cost=0.0))], {}, 0.0, True),
    ([], {"unevaluated": Answer("a", usage=Usage(cost=0.25)), "error": "x"}, 0.25, True),
    ([], {"failed_calls": (FailedCall("503"),), "error": "503"}, 0.0, False),
    ([], {"failed_calls": (FailedCall("cut", usage=Usage(7, cost=0.5)),), "error": "cut"}, 0.5, True),
    ([], {"failed_calls": (FailedCall("cut", usage=Usage(7)),), "error": "cut"}, None, True),
    ([], {"failed_calls": (FailedCall("cut", usage=Usage(cost=0.5)),), "error": "cut"}, 0.5, True),
    ([Answer("a", usage=Usage(cost=0.5), failed_calls=(FailedCall("x", usage=Usage(cost=0.25)),))], {}, 0.75, True),
]


@pytest.mark.parametrize(("answers", "more", "cost", "was_asked"), COSTS)
def test_the_desk_hears_what_a_dialogue_cost(
    answers: list[Answer], more: dict[str, object], cost: float | None, was_asked: bool
) -> None:
    async def holding(this: Job) -> Transcript:
        return told(this, *answers, **more)

    with stage() as this:
        this.holding = holding
        this.ahead.transcript(job(0))
        assert this.desk.ended == [(job(0).name, cost, was_asked)]


def test_only_the_newest_transcripts_stay_in_memory_and_the_others_are_read_again() -> None:
    kept, count = 256, 700

    def alive() -> int:
        gc.collect()
        return sum(isinstance(thing, Transcript) and bool(thing.turns) for thing in gc.get_objects())

    with stage(m=16) as this:
        before = alive()
        this.ahead.plan(jobs(count))
        for _ in range(count):
            this.next_begun()
        assert this.ahead.transcript(job(count - 1))
        while len(this.written) < count or this.ahead._tasks:
            this.loop.run(asyncio.sleep(0))
        assert alive() - before <= kept
        assert len(this.ahead._recent) <= kept
        got = [this.ahead.transcript(one) for one in jobs(count - 1)]
        assert [transcript.case for transcript in got] == [one.case.id for one in jobs(count - 1)]
        assert all(transcript.turns[0].answer.text == "a" for transcript in got)
        assert count - kept - 1 <= len(this.read) < count
        assert this.ahead._jobs == {}
        assert this.ahead._tasks == {}


def test_many_threads_get_what_they_ask_for() -> None:
    """Several threads ask for the same few dialogues again and again: nobody waits for ever or gets another's."""
    rounds, threads = 150, 6

    with stage(m=3, n=2) as this:
        start = threading.Barrier(threads)

        def ask(number: int) -> int:
            start.wait(LONG)
            right = 0
            for turn in range(rounds):
                wanted = job(turn % 3, "mn"[turn % 2])
                if number == 0:
                    this.ahead.plan([wanted])
                got = this.ahead.transcript(wanted)
                right += (got.case, got.model) == (wanted.case.id, wanted.model.id)
            return right

        with ThreadPoolExecutor(threads) as pool:
            asked = [pool.submit(ask, number) for number in range(threads)]
            assert [one.result(2 * LONG) for one in asked] == [rounds] * threads
        this.ahead.stop("all asked", LONG)
        assert this.most["m"] <= 3
        assert this.most["n"] <= 2
        assert len(this.order) == len(this.written) <= rounds * (threads + 1)


def test_an_interrupted_wait_leaves_the_dialogue_to_be_asked_for_again() -> None:
    with stage(m=1) as this:
        this.holding = this.until_opened
        this.ahead.plan(jobs(1))
        this.next_begun()
        finished = this.ahead._jobs[job(0).key][1]
        original = finished.result
        finished.result = _interrupt  # type: ignore[method-assign]  # as Ctrl-C does while the main thread waits
        with pytest.raises(KeyboardInterrupt):
            this.ahead.transcript(job(0))
        finished.result = original  # type: ignore[method-assign]
        this.open(job(0))
        assert this.ahead.transcript(job(0)).case == "c0"
        assert this.order == [job(0).key]


def _interrupt(timeout: float | None = None) -> Callable[[], Transcript]:
    raise KeyboardInterrupt


def test_the_name_of_a_job_is_its_key() -> None:
    assert job(4, "n", 2).key == ("Label", "c4", "n", 2)
    assert job(4, "n", 2).name == "Label/c4/n/2"
