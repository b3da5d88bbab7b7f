"""One event loop in one thread of its own, for all dialogues of a session."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["LoopThread"]

P = ParamSpec("P")
R = TypeVar("R")
_LOG = logging.getLogger(__name__)
_CANCEL_SECONDS = 1.0


class LoopThread:
    """Runs coroutines on one event loop from start to close.

    A loop of its own keeps connections alive between tests, and asynchronous clients that were made on one loop never
    meet another. The thread starts with the first coroutine. `run` may be called from several threads.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Runs ``work`` on the loop and waits for its result; an exception of ``work`` is raised here.

        When the wait is interrupted (Ctrl-C), ``work`` is cancelled before the interruption goes on.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def post(self, call: Callable[[], object]) -> None:
        """Calls ``call`` on the loop soon, without waiting for it."""
        self._running_loop().call_soon_threadsafe(call)

    def close(self) -> None:
        """Stops the loop and its thread; may be called twice."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:  # or two first calls would start two loops
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_exception_handler(_note)
                self._loop.set_default_executor(_CallThreads())
                self._thread = threading.Thread(target=self._loop.run_forever, name="llmkg-loop", daemon=True)
                self._thread.start()
            return self._loop


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keeps what a connector's library left behind (an unclosed session, an error of nobody) off the terminal."""
    _LOG.debug("the event loop says: %s", context.get("message"))


class _CallThreads(ThreadPoolExecutor):
    """A thread for each call of a blocking library, as many as are on their way.

    Such a call cannot be cancelled. Since the threads are daemons, one that hangs does not keep the process from
    ending, as those of an ordinary pool would.
    """

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Begins ``fn`` in a thread of its own."""
        future: Future[R] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001  (handed to who waits for the call)
                    future.set_exception(error)

        threading.Thread(target=work, name="llmkg-call", daemon=True).start()
        return future


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:  # one that swallows its cancellation is left behind
        await asyncio.wait(others, timeout=_CANCEL_SECONDS)
