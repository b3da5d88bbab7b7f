"""Holds dialogues ahead of the tests that will report them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.errors import LlmkgError
from pytest_llmkg.records import Case, ModelSpec, Transcript, Usage
from pytest_llmkg.scheduling.budget import Bill
from pytest_llmkg.scheduling.prices import Bid
from pytest_llmkg.scheduling.threads import LoopThreads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from pytest_llmkg.scheduling.desk import Desk
    from pytest_llmkg.scheduling.loop_thread import LoopThread

__all__ = ["Ahead", "DialogueKey", "Job", "NotRunError"]

DialogueKey = tuple[str, str, str, int]
_KEPT_IN_MEMORY = 256
_CANCEL_SECONDS = 1.0


class NotRunError(LlmkgError):
    """Why a dialogue was not begun: the run's budget is spent, or the session ends."""


@dataclass(frozen=True, slots=True)
class Job:
    """A dialogue to be held: a case, asked of a model for the nth time."""

    case: Case
    model: ModelSpec
    iteration: int

    @property
    def key(self) -> DialogueKey:
        """Label, case, model and iteration, which name the dialogue in a run."""
        return (self.case.label, self.case.id, self.model.id, self.iteration)

    @property
    def name(self) -> str:
        """The key as a text."""
        return "/".join(map(str, self.key))


Finished = concurrent.futures.Future["Callable[[], Transcript]"]


@dataclass(slots=True)
class _Lane:
    """One model's dialogues: those to come, and how many are being held of so many at once."""

    width: int
    waiting: deque[DialogueKey] = field(default_factory=deque)
    active: int = 0


class Ahead:
    """Holds dialogues in the order of their tests, several at once for each model, and hands over their transcripts.

    Every transcript is recorded the moment its dialogue ends, whether a test asks for it or not. Public methods may
    be called from any thread.

    Args:
        loop: where dialogues are held.
        hold: holds one dialogue; tells errors in the transcript.
        record: writes a transcript down, in a thread of its own; gives it back as it was written, and what reads it
            again, so that finished transcripts need not stay in memory.
        desk: gives leave for each dialogue.
        widths: dialogues at once, by model id.
        bid: what is known of a dialogue before it begins, for its price to be reckoned; None when nobody needs that.
    """

    def __init__(
        self,
        loop: LoopThread,
        hold: Callable[[Job], Awaitable[Transcript]],
        record: Callable[[Job, Transcript], tuple[Transcript, Callable[[], Transcript]]],
        desk: Desk,
        widths: Mapping[str, int],
        bid: Callable[[Job], Awaitable[Bid]] | None = None,
    ) -> None:
        self._loop, self._hold, self._record, self._desk = loop, hold, record, desk
        self._bid = bid
        self._lanes = {model: _Lane(width) for model, width in widths.items()}
        self._jobs: dict[DialogueKey, tuple[Job, Finished]] = {}
        self._recent: OrderedDict[DialogueKey, Transcript] = OrderedDict()
        self._tasks: dict[DialogueKey, asyncio.Task[None]] = {}
        self._why_stopped: str | None = None
        self._lock = threading.Lock()
        self._recorder = LoopThreads(1, "llmkg-record")

    def plan(self, jobs: Iterable[Job]) -> None:
        """Adds dialogues that tests will ask for, in this order; those that are planned already stay as they are."""
        with self._lock:
            for job in jobs:
                key = job.key
                if key not in self._jobs:
                    self._jobs[key] = (job, concurrent.futures.Future())
                    self._lanes[job.model.id].waiting.append(key)
        self._loop.post(self._pump)

    def is_planned(self, job: Job) -> bool:
        """Whether ``job`` waits to be held, is being held, or was held and no test has asked for it yet."""
        with self._lock:
            return job.key in self._jobs

    def transcript(self, job: Job) -> Transcript:
        """The transcript of ``job``, once its dialogue has ended; it is begun at once if it was not planned.

        Raises:
            NotRunError: the dialogue was not begun.
            LlmkgError: the transcript could not be recorded.
        """
        key = job.key
        with self._lock:
            is_new = key not in self._jobs
            if is_new:
                self._jobs[key] = (job, concurrent.futures.Future())
                self._lanes[job.model.id].waiting.appendleft(key)
            finished = self._jobs[key][1]
        if is_new:  # what was planned is begun as soon as there is room; waking the loop for it would cost more
            self._loop.post(self._pump)
        recent = None
        try:
            read = finished.result()
        finally:
            with self._lock:
                # Another thread may have asked, too, and a third one again after that.
                if finished.done() and self._jobs.get(key, (None, None))[1] is finished:
                    del self._jobs[key]
                    recent = self._recent.pop(key, None)
        return recent if recent is not None else read()

    def stop(self, why: str, grace: float) -> None:
        """Begins no dialogue any more; those being held get ``grace`` seconds to end, then they are cancelled."""
        self._why_stopped = self._why_stopped or why
        self._loop.run(self._stop(grace))

    def close(self) -> None:
        """Waits until all that was held is recorded; to be called after `stop`."""
        self._recorder.shutdown(wait=True)

    async def _stop(self, grace: float) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in late:
                task.cancel()
            if late:  # one that swallows its cancellation is left behind, or it would keep the session from ending
                await asyncio.wait(late, timeout=_CANCEL_SECONDS)
            if late:  # one that was cancelled while it was written down is to be there before anybody counts
                await asyncio.get_running_loop().run_in_executor(self._recorder, _nothing)
        with self._lock:
            waiting = [key for lane in self._lanes.values() for key in lane.waiting]
            for lane in self._lanes.values():
                lane.waiting.clear()
        for key in waiting:
            self._settle(key, NotRunError(self._why_stopped or "the session ends"))

    def _pump(self) -> None:
        """Begins as many dialogues as there is room for; runs on the loop."""
        for lane in self._lanes.values():
            while lane.active < lane.width:
                with self._lock:
                    key = lane.waiting.popleft() if lane.waiting else None
                if key is None:
                    break
                lane.active += 1
                task = asyncio.ensure_future(self._run(self._jobs[key][0], lane))
                self._tasks[key] = task

    async def _run(self, job: Job, lane: _Lane) -> None:
        try:
            self._settle(job.key, await self._held(job))
        except asyncio.CancelledError:
            self._settle(job.key, NotRunError(self._why_stopped or "interrupted"))
        except BaseException as error:  # noqa: BLE001  (handed to the test, also what pytest.fail raises)
            self._settle(job.key, error)
        finally:
            self._tasks.pop(job.key, None)
            lane.active -= 1
            self._pump()

    async def _held(self, job: Job) -> Callable[[], Transcript]:
        """Holds a dialogue and records it."""
        name = job.name
        bid = Bid() if self._bid is None else await self._bid(job)
        reason = self._why_stopped or await self._desk.begin_dialogue(job.model.id, name, bid)
        if reason is not None:
            raise NotRunError(reason)
        bill = Bill(0.0, 0)
        try:
            if self._why_stopped is not None:  # while this one waited for the budget
                raise NotRunError(self._why_stopped)
            transcript = await self._hold(job)
            bill = _bill(transcript)
        finally:
            self._desk.end_dialogue(job.model.id, name, bill)
        # Shielded, since a record that was begun must be whole.
        record = asyncio.get_running_loop().run_in_executor(self._recorder, self._record, job, transcript)
        transcript, read = await asyncio.shield(record)
        with self._lock:
            self._recent[job.key] = transcript
            while len(self._recent) > _KEPT_IN_MEMORY:
                self._recent.popitem(last=False)
        return read

    def _settle(self, key: DialogueKey, result: Callable[[], Transcript] | BaseException) -> None:
        with self._lock:
            entry = self._jobs.get(key)
        if entry is None or entry[1].done():
            return
        if isinstance(result, BaseException):
            entry[1].set_exception(result)
        else:
            entry[1].set_result(result)


def _nothing() -> None:
    """For a thread to do after all that it was given before."""


def _bill(transcript: Transcript) -> Bill:
    """What was paid for a dialogue now; of unknown price when the price of any call is.

    A call that failed without telling any usage is taken as free, as providers do.
    """
    answers = [turn.answer for turn in transcript.turns]
    if transcript.unevaluated is not None:
        answers.append(transcript.unevaluated)
    paid = [answer.usage for answer in answers if not answer.from_cache]
    failed = [call for answer in answers for call in answer.failed_calls] + list(transcript.failed_calls)
    lost = [call.usage for call in failed if call.usage != Usage()]
    if not paid and not lost:
        return Bill(0.0, 0)
    costs = [usage.cost for usage in (*paid, *lost)]
    known = [cost for cost in costs if cost is not None]
    longest = max(usage.output_tokens or 0 for usage in (*paid, *lost))
    return Bill(sum(known) if len(known) == len(costs) else None, max(1, len(paid)), longest)
