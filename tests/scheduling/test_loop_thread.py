"""One event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

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


def test_blocking_calls_run_side_by_side_and_tell_results_and_errors() -> None:
    together = threading.Barrier(40)

    def call(number: int) -> int:
        together.wait(30)  # all are on their way at once
        if number == 7:
            raise LookupError("seven")
        return number

    async def calls() -> list[int | BaseException]:
        return await asyncio.gather(*(asyncio.to_thread(call, n) for n in range(40)), return_exceptions=True)

    loop = LoopThread()
    results = loop.run(calls())
    loop.close()
    assert [result for result in results if isinstance(result, int)] == [n for n in range(40) if n != 7]
    assert isinstance(results[7], LookupError)


HANGING = """\
import asyncio, threading
from pytest_llmkg.scheduling.loop_thread import LoopThread

entered = threading.Event()

def hangs():
    entered.set()
    threading.Event().wait()

async def work():
    task = asyncio.ensure_future(asyncio.to_thread(hangs))
    while not entered.is_set():
        await asyncio.sleep(0.01)
    task.cancel()

loop = LoopThread()
loop.run(work())
loop.close()
print("closed")
"""


def test_a_call_that_never_ends_does_not_keep_the_process_from_ending() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "closed\n"), ended.stderr


def test_what_is_posted_runs_on_the_loop_in_its_order() -> None:
    happened: list[int] = []
    done = threading.Event()
    loop = LoopThread()
    for number in range(5):
        loop.post(partial(happened.append, number))
    loop.post(done.set)
    assert done.wait(30)
    loop.close()
    assert happened == [0, 1, 2, 3, 4]
