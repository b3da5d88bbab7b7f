"""The desk: where every call to a model asks for leave, so that limits hold for all dialogues together.

There is one `LocalDesk` for a run, in the process that controls it; worker processes reach it through
`pytest_llmkg.scheduling.remote_desk`. All methods are called on the event loop of `LoopThread`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_llmkg.scheduling.budget import Bill, Budget
from pytest_llmkg.scheduling.pace import Pace
from pytest_llmkg.scheduling.prices import Bid, Prices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CallReport", "Desk", "LocalDesk", "ModelLimits", "Permit"]

Ending = Literal["answer", "abandoned", "overloaded", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one model may be asked at once (all processes together) and a minute, and what asking costs, if anything."""

    at_once: int
    rpm: int | None = None
    is_free: bool = False
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call.

    Attributes:
        number: names the permit when it is given back.
        patient: whether the call is worth repeating if it fails.
        refusal: why the call must not be made, None for leave.
    """

    number: int
    patient: bool = True
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class CallReport:
    """How a call ended.

    Attributes:
        ending: ``refused`` is for good (key, model name), ``failed`` may pass, ``abandoned`` was cancelled.
        retry_after: seconds that the endpoint asked to wait.
        reason: one sentence for ``refused``.
        gave_up: True when this was the last of the repeated calls.
        repeated: True when another call follows for the same answer.
    """

    ending: Ending
    retry_after: float | None = None
    reason: str = ""
    gave_up: bool = False
    repeated: bool = False


class Desk(Protocol):
    """Gives leave for dialogues and calls."""

    def give_up(self, model: str) -> None:
        """A dialogue ended without an answer to calls that had failed."""
        ...

    async def begin_dialogue(self, model: str, key: str, bid: Bid) -> str | None:
        """Waits until a dialogue may begin; the reason when it must not, None when it has begun."""
        ...

    def end_dialogue(self, model: str, key: str, bill: Bill) -> None:
        """A dialogue that had begun ended, and has cost so much."""
        ...

    async def enter(self, model: str, *, urgent: bool) -> Permit:
        """Waits for leave to make a call; ``urgent`` ones, of dialogues that are on their way, come first."""
        ...

    def leave(self, model: str, permit: Permit, report: CallReport) -> None:
        """Gives a permit back."""
        ...


@dataclass(slots=True)
class _Queue:
    """One model's calls: its pace, who waits, and when those on their way began."""

    pace: Pace
    urgent: deque[asyncio.Future[Permit]] = field(default_factory=deque)
    waiting: deque[asyncio.Future[Permit]] = field(default_factory=deque)
    begun: dict[int, float] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    retries: int = 0


class LocalDesk:
    """The desk itself.

    Args:
        limits: of each model, by its id.
        max_cost: US dollars that the run may cost, None for no limit.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        limits: Mapping[str, ModelLimits],
        max_cost: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = Budget(max_cost, {name: limit.prices for name, limit in limits.items()})
        self.held: set[tuple[str, str]] = set()
        self._clock = clock
        self._free = {name for name, limit in limits.items() if limit.is_free}
        self._queues = {name: _Queue(Pace(limit.at_once, limit.rpm)) for name, limit in limits.items()}
        self._numbers = itertools.count(1)
        self._changed = asyncio.Event()

    async def begin_dialogue(self, model: str, key: str, bid: Bid) -> str | None:
        """See `Desk.begin_dialogue`."""
        while model not in self._free:
            verdict = self.budget.verdict(model, bid)
            if isinstance(verdict, str):
                return verdict
            if verdict:
                break
            self._changed.clear()
            await self._changed.wait()
        if model not in self._free:
            self.budget.begin(model, key, bid)
        self.held.add((model, key))
        return None

    def end_dialogue(self, model: str, key: str, bill: Bill) -> None:
        """See `Desk.end_dialogue`."""
        if model not in self._free:
            self.budget.end(model, key, bill)
        self.held.discard((model, key))
        self._changed.set()

    async def enter(self, model: str, *, urgent: bool) -> Permit:
        """See `Desk.enter`."""
        queue = self._queues[model]
        ticket: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        line = queue.urgent if urgent else queue.waiting
        line.append(ticket)
        self._serve(queue)
        try:
            return await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():  # leave came at the same moment
                self.leave(model, ticket.result(), CallReport("abandoned"))
            elif ticket in line:
                line.remove(ticket)
            raise

    def leave(self, model: str, permit: Permit, report: CallReport) -> None:
        """See `Desk.leave`."""
        queue = self._queues[model]
        begun = queue.begun.pop(permit.number, None)
        if begun is None:  # refused before it was made
            return
        pace = queue.pace
        match report.ending:
            case "answer":
                pace.succeeded()
            case "abandoned":
                pace.abandoned()
            case "overloaded":
                pace.overloaded(begun, self._clock(), report.retry_after)
            case "refused":
                pace.refused(report.reason)
            case "failed":
                pace.failed()
        if report.gave_up:
            pace.gave_up()
        queue.retries += report.repeated
        self._serve(queue)

    def give_up(self, model: str) -> None:
        """See `Desk.give_up`."""
        self._queues[model].pace.gave_up()

    def dialogues(self, model: str) -> int:
        """Dialogues of ``model`` that are being held."""
        return sum(1 for name, _ in self.held.copy() if name == model)

    def calls_at_once(self, model: str) -> int:
        """Calls to ``model`` that may be on their way at once now."""
        return self._queues[model].pace.limit

    def retries(self, model: str) -> int:
        """Calls to ``model`` that failed and were, or will be, repeated."""
        return self._queues[model].retries

    def _serve(self, queue: _Queue) -> None:
        """Gives leave to as many as may call now, and comes back when the next may."""
        pace = queue.pace
        while queue.urgent or queue.waiting:
            if pace.refusal is not None:
                self._answer(queue, Permit(0, refusal=pace.refusal))
                continue
            now = self._clock()
            wait = pace.wait(now)
            if wait is None:
                return
            if wait > 0:
                if queue.timer is not None:
                    queue.timer.cancel()
                queue.timer = asyncio.get_running_loop().call_later(wait, self._serve, queue)
                return
            number = next(self._numbers)
            if self._answer(queue, Permit(number, pace.is_patient)):
                pace.begin(now)
                queue.begun[number] = now

    def _answer(self, queue: _Queue, permit: Permit) -> bool:
        ticket = (queue.urgent or queue.waiting).popleft()
        if ticket.done():  # cancelled while it waited
            return False
        ticket.set_result(permit)
        return True
