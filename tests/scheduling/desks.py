"""The same desk, met in its own process or over loopback, so that one scenario can be played at both."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_llmkg.scheduling.desk import CallReport, Desk, LocalDesk, ModelLimits
from pytest_llmkg.scheduling.remote_desk import DeskAddress, DeskServer, RemoteDesk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pytest_llmkg.scheduling.desk import Permit

__all__ = ["ANSWERED", "KINDS", "Kind", "Place", "in_flight", "opened", "served", "settle", "waiting"]

Kind = Literal["local", "remote"]
KINDS: tuple[Kind, ...] = ("local", "remote")
ANSWERED = CallReport("answer")


@dataclass(frozen=True)
class Place:
    """Where a scenario is played: the desk as the caller sees it, and the desk itself."""

    desk: Desk
    local: LocalDesk

    async def enter(self, model: str = "m", *, urgent: bool = False) -> Permit:
        return await self.desk.enter(model, urgent=urgent)

    def enters(self, model: str = "m", *, urgent: bool = False) -> asyncio.Task[Permit]:
        return asyncio.ensure_future(self.enter(model, urgent=urgent))

    async def leave(self, permit: Permit, report: CallReport = ANSWERED, model: str = "m") -> None:
        self.desk.leave(model, permit, report)
        await settle()


@dataclass(frozen=True)
class Served:
    """A desk with its server and its address."""

    local: LocalDesk
    server: DeskServer
    address: DeskAddress


async def settle() -> None:
    """Lets everything happen that can without time going by, also on sockets."""
    await asyncio.sleep(1e-6)


@asynccontextmanager
async def opened(
    kind: Kind, limits: Mapping[str, ModelLimits] | int = 1, max_cost: float | None = None
) -> AsyncIterator[Place]:
    """A desk of this kind; a number is the limit of the one model ``m``."""
    if kind == "local":
        yield _place(limits, max_cost)
        return
    async with served(limits, max_cost) as place:
        remote = RemoteDesk(place.address)
        try:
            yield Place(remote, place.local)
        finally:
            await remote.close()


@asynccontextmanager
async def served(limits: Mapping[str, ModelLimits] | int = 1, max_cost: float | None = None) -> AsyncIterator[Served]:
    """A desk that is served on loopback; afterwards no error may have been left to the event loop."""
    trouble: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))
    local = _place(limits, max_cost).local
    server = DeskServer(local)
    address = await server.start()
    try:
        yield Served(local, server, address)
    finally:
        await server.stop()
        await settle()
        gc.collect()
    assert trouble == []


def in_flight(desk: LocalDesk, model: str = "m") -> int:
    """Calls on their way, by both of the desk's accounts."""
    queue = desk._queues[model]
    assert queue.pace.in_flight == len(queue.begun)
    return queue.pace.in_flight


def waiting(desk: LocalDesk, model: str = "m") -> int:
    """Calls that wait for leave."""
    queue = desk._queues[model]
    return len(queue.urgent) + len(queue.waiting)


def _place(limits: Mapping[str, ModelLimits] | int, max_cost: float | None) -> Place:
    known = {"m": ModelLimits(limits)} if isinstance(limits, int) else limits
    desk = LocalDesk(known, max_cost, asyncio.get_running_loop().time)
    return Place(desk, desk)
