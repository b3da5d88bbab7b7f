"""One event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_llmkg.scheduling.loop_thread import LoopThread


async def thread_and_loop() -> tuple[int, int]:
    await asyncio.sleep(0)
    return threading.get_ident(), id(asyncio.get_running_loop())


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "llmkg-loop"]


def test_all_work_runs_on_one_loop_in_another_thread() -> None:
    loop = LoopThread()
    places = {loop.run(thread_and_loop()) for _ in range(3)}
    loop.close()
    assert len(places) == 1
    assert threading.get_ident() not in {thread for thread, _ in places}


def test_no_thread_before_the_first_work_and_none_after_the_end() -> None:
    before = len(loop_threads())
    loop = LoopThread()
    assert len(loop_threads()) == before
    loop.run(thread_and_loop())
    assert len(loop_threads()) == before + 1
    loop.close()
    assert len(loop_threads()) == before


def test_closing_twice_or_unused_is_fine() -> None:
    LoopThread().close()
    loop = LoopThread()
    loop.run(thread_and_loop())
    loop.close()
    loop.close()


def test_exceptions_come_through_and_the_loop_lives_on() -> None:
    async def fails() -> None:
        raise LookupError("x")

    loop = LoopThread()
    with pytest.raises(LookupError, match="x"):
        loop.run(fails())
    assert loop.run(thread_and_loop())
    loop.close()


def test_work_that_still_runs_is_cancelled_by_close() -> None:
    ended: list[str] = []

    async def waits(entered: threading.Event) -> None:
        try:
            entered.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    loop = LoopThread()
    entered = threading.Event()
    background: set[asyncio.Task[None]] = set()

    async def start() -> None:
        background.add(asyncio.ensure_future(waits(entered)))

    loop.run(start())
    assert entered.wait(30)
    loop.close()
    assert ended == ["cancelled"]


def test_an_interrupted_wait_cancels_its_work() -> None:
    cancelled = threading.Event()

    async def interrupts() -> None:
        await asyncio.sleep(0.2)  # the main thread waits by now
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    loop = LoopThread()
    with pytest.raises(KeyboardInterrupt):
        loop.run(interrupts())
    assert cancelled.wait(30)
    assert loop.run(thread_and_loop())
    loop.close()


def test_many_threads_may_wait_on_one_loop() -> None:
    loop = LoopThread()
    start = threading.Barrier(8)

    def work(_number: int) -> tuple[int, int]:
        start.wait(30)
        return loop.run(thread_and_loop())

    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(work, range(8)))
    loop.close()
    assert len(places) == 1
