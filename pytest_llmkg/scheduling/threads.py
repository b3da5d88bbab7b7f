"""Threads that work for an event loop, at a fraction of what a common pool costs."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LoopThreads"]

P = ParamSpec("P")
R = TypeVar("R")
_Work = tuple["Callable[[], Any]", "asyncio.Future[Any]"]


class LoopThreads(Executor):
    """Threads for the coroutines of one event loop, which call `run_in_executor` or `submit` on it.

    A `ThreadPoolExecutor` makes two futures with locks for each work and wakes the loop for each that ended. Here
    there is one future, the loop's own, and one waking for all that ended until the loop looked. The threads are
    daemons, so that one that hangs does not keep the process from ending.

    Args:
        size: number of threads; they start with the first work.
        name: of the threads, before their numbers.
    """

    def __init__(self, size: int, name: str) -> None:
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}_{number}", daemon=True) for number in range(size)
        ]
        self._has_begun = False
        self._has_ended = False
        self._waiting: SimpleQueue[_Work | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._is_told = False

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Begins ``fn`` in a thread; to be called on the loop, whose future comes back, to be awaited there.

        Work whose future is cancelled before a thread takes it is left out.

        Raises:
            RuntimeError: after `shutdown`.
        """
        if self._has_ended:
            raise RuntimeError("the threads have ended")
        if not self._has_begun:
            self._has_begun, self._loop = True, asyncio.get_running_loop()
            for thread in self._threads:
                thread.start()
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.put((partial(fn, *args, **kwargs) if args or kwargs else cast("Callable[[], Any]", fn), future))
        # What run_in_executor makes of a future of threads is one of the loop; it takes one as it is.
        return cast("Future[R]", future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  (inherited)
        """Ends the threads when all work is done, or (``cancel_futures``) what they are at."""
        if self._has_ended:
            return
        self._has_ended = True
        if cancel_futures:
            with suppress(Empty):
                while True:
                    self._waiting.get_nowait()
        if self._has_begun:
            for _ in self._threads:
                self._waiting.put(None)
            for thread in self._threads if wait else ():
                thread.join()

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            function, future = work
            if future.cancelled():
                continue
            try:
                self._ended.append((future, function(), None))
            except BaseException as error:  # noqa: BLE001  (handed to who waits for the work)
                self._ended.append((future, None, error))
            del work, function, future  # nothing stays in memory while the thread waits
            if not self._is_told and self._loop is not None:
                self._is_told = True
                with suppress(RuntimeError):  # the loop is closed, and nobody waits
                    self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._is_told = False  # before looking: what ends from here on tells again
        while self._ended:
            future, result, error = self._ended.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):  # which no future takes
                future.set_exception(RuntimeError(f"StopIteration: {error}"))
            else:
                future.set_exception(error)
