"""The desk of another process on this machine, reached over loopback.

The controlling process serves its `LocalDesk` to its workers; what a worker holds when its connection ends, is given
back. Messages are JSON lines. The first line must be the token that only the controller's workers were given.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.scheduling.budget import Bill
from pytest_llmkg.scheduling.desk import CallReport, LocalDesk, Permit
from pytest_llmkg.scheduling.prices import Bid

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine

__all__ = ["DeskAddress", "DeskServer", "RemoteDesk"]

_LONGEST_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class DeskAddress:
    """Where a desk is served; ``token`` is handed from process to process and written nowhere."""

    port: int
    token: str


class DeskServer:
    """Serves a `LocalDesk` on the loopback interface.

    Args:
        desk: what is served.
        prepare: called before each dialogue begins; gives the reason why it must not, None when it may.

    Attributes:
        lost: dialogues, as (model, key), that were being held by connections that broke.
    """

    def __init__(self, desk: LocalDesk, prepare: Callable[[], str | None] = lambda: None) -> None:
        self._desk = desk
        self._prepare = prepare
        self._token = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self.lost: set[tuple[str, str]] = set()

    async def start(self) -> DeskAddress:
        """Begins to listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_LINE)
        return DeskAddress(self._server.sockets[0].getsockname()[1], self._token)

    async def stop(self) -> None:
        """Stops listening; may be called twice."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    async def wait_for_loss(self, known: int, seconds: float) -> int:
        """Waits until more than ``known`` dialogues are lost, or so long; how many are.

        A process may be known to be dead a little before its connection is.
        """
        limit = asyncio.get_running_loop().time() + seconds
        while len(self.lost) <= known and asyncio.get_running_loop().time() < limit:
            await asyncio.sleep(0.02)
        return len(self.lost)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = _Visitor(self._desk, self._prepare, self.lost, writer)
        try:
            if hmac.compare_digest((await reader.readline()).strip(), self._token.encode()):
                while line := await reader.readline():
                    visitor.hear(json.loads(line))
        except (ConnectionError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # a worker that died, a stranger, or lines that are no messages; either way the connection is over
        finally:
            self.lost |= visitor.leave()
            writer.close()


class _Visitor:
    """One worker's connection, and what it holds."""

    def __init__(
        self,
        desk: LocalDesk,
        prepare: Callable[[], str | None],
        lost: Collection[tuple[str, str]],
        writer: asyncio.StreamWriter,
    ) -> None:
        self._desk = desk
        self._prepare = prepare
        self._lost = lost
        self._writer = writer
        self._permits: dict[int, tuple[str, Permit]] = {}
        self._dialogues: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, message: dict[str, Any]) -> None:
        model = message["model"]
        match message["do"]:
            case "begin":
                self._start(self._begin(message["id"], model, str(message["key"]), Bid(**message["bid"])))
            case "lost":
                self._say({"id": message["id"], "lost": sorted(name for _, name in self._lost)})
            case "end" if (model, message["key"]) in self._dialogues:
                self._dialogues.remove((model, message["key"]))
                self._desk.end_dialogue(model, message["key"], Bill(**message["bill"]))
            case "enter":
                self._start(self._enter(message["id"], model, urgent=message["urgent"]))
            case "give up":
                self._desk.give_up(model)
            case "leave":
                held = self._permits.pop(message["number"], None)
                if held is not None:
                    self._desk.leave(*held, CallReport(**message["report"]))

    def leave(self) -> set[tuple[str, str]]:
        """Gives back what is held; the dialogues that were not finished."""
        for task in self._tasks:
            task.cancel()
        for model, permit in self._permits.values():
            self._desk.leave(model, permit, CallReport("abandoned"))
        for model, key in self._dialogues:
            self._desk.end_dialogue(model, key, Bill(0.0, 0))
        return self._dialogues

    async def _begin(self, number: int, model: str, key: str, bid: Bid) -> None:
        reason = self._prepare() or await self._desk.begin_dialogue(model, key, bid)
        if reason is None:
            self._dialogues.add((model, key))
        self._say({"id": number, "reason": reason})

    async def _enter(self, number: int, model: str, *, urgent: bool) -> None:
        permit = await self._desk.enter(model, urgent=urgent)
        self._permits[permit.number] = (model, permit)
        self._say({"id": number, "permit": to_plain(permit)})

    def _say(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._writer.close()  # a model that the desk does not know: better no answer than waiting for one


class RemoteDesk:
    """The desk of the controlling process, as its workers see it; connects at the first use."""

    def __init__(self, address: DeskAddress) -> None:
        self._address = address
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._connecting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    async def begin_dialogue(self, model: str, key: str, bid: Bid) -> str | None:
        """See `Desk.begin_dialogue`."""

        def undo(answer: dict[str, Any]) -> None:
            if answer["reason"] is None:
                self.end_dialogue(model, key, Bill(0.0, 0))

        answer = await self._asked({"do": "begin", "model": model, "key": key, "bid": to_plain(bid)}, undo)
        return None if answer["reason"] is None else str(answer["reason"])

    async def lost(self) -> list[str]:
        """Names of the dialogues that other workers were holding when they died."""
        return [str(name) for name in (await self._asked({"do": "lost", "model": ""}, lambda _: None))["lost"]]

    def end_dialogue(self, model: str, key: str, bill: Bill) -> None:
        """See `Desk.end_dialogue`."""
        self._tell({"do": "end", "model": model, "key": key, "bill": to_plain(bill)})

    async def enter(self, model: str, *, urgent: bool) -> Permit:
        """See `Desk.enter`."""

        def undo(answer: dict[str, Any]) -> None:
            self.leave(model, Permit(**answer["permit"]), CallReport("abandoned"))

        return Permit(**(await self._asked({"do": "enter", "model": model, "urgent": urgent}, undo))["permit"])

    def leave(self, model: str, permit: Permit, report: CallReport) -> None:
        """See `Desk.leave`."""
        self._tell({"do": "leave", "model": model, "number": permit.number, "report": to_plain(report)})

    def give_up(self, model: str) -> None:
        """See `Desk.give_up`."""
        self._tell({"do": "give up", "model": model})

    async def close(self) -> None:
        """Ends the connection."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _asked(self, message: dict[str, Any], undo: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """The desk's answer; when nobody waits for it any more, it is undone as soon as it comes."""
        await self._connect()
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._tell({**message, "id": number})
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(
                lambda done: undo(done.result()) if not done.cancelled() and done.exception() is None else None
            )
            raise

    def _tell(self, message: dict[str, Any]) -> None:
        # Without a connection there is nobody left whose limits could be passed.
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def _connect(self) -> None:
        async with self._connecting:
            if self._listener is not None and not self._listener.done():
                return
            if self._listener is not None:
                raise ConnectorError("the process that controls this run is gone")
            try:
                reader, self._writer = await asyncio.open_connection(
                    "127.0.0.1", self._address.port, limit=_LONGEST_LINE
                )
            except OSError as error:
                raise ConnectorError(f"the process that controls this run cannot be reached: {error}") from error
            self._writer.write(self._address.token.encode() + b"\n")
            self._listener = asyncio.create_task(self._listen(reader))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                message = json.loads(line)
                waiting = self._waiting.pop(message["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
        except (ConnectionError, ValueError, LookupError, TypeError):
            pass  # the controller died, or it is none; said below
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectorError("the process that controls this run is gone"))
            self._waiting.clear()
