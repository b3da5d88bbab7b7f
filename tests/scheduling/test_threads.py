"""Threads for an event loop: results, errors, order, what is cancelled or left at the end."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.scheduling.loop_thread import LoopThread
from pytest_llmkg.scheduling.threads import LoopThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONG = 30.0


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread()
    yield made
    made.close()


async def _in(threads: LoopThreads, work: Callable[[], object]) -> object:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def test_many_results_come_to_those_who_wait_for_them(loop: LoopThread) -> None:
    threads = LoopThreads(3, "many")

    async def all_of() -> list[object]:
        return await asyncio.gather(*(_in(threads, partial(pow, number, 2)) for number in range(2000)))

    assert loop.run(all_of()) == [number * number for number in range(2000)]
    threads.shutdown()


def test_arguments_are_handed_on(loop: LoopThread) -> None:
    threads = LoopThreads(1, "one")

    async def submitted() -> object:
        return await asyncio.wrap_future(threads.submit(divmod, 7, 2))

    assert loop.run(submitted()) == (3, 1)
    threads.shutdown()


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), KeyboardInterrupt(), StopIteration("end")])
def test_what_work_raises_is_raised_where_it_is_awaited_and_the_next_goes_on(
    loop: LoopThread, error: BaseException
) -> None:
    threads = LoopThreads(1, "one")

    def fails() -> None:
        raise error

    async def caught() -> tuple[BaseException | None, object]:
        found: BaseException | None = None
        try:
            await _in(threads, fails)
        except BaseException as raised:  # noqa: BLE001  (any kind is told)
            found = raised
        return found, await _in(threads, lambda: "next")

    found, after = loop.run(caught())
    assert after == "next"
    assert type(found) is (RuntimeError if isinstance(error, StopIteration) else type(error))
    threads.shutdown()


def test_one_thread_works_in_order_and_ends_only_when_all_is_done(loop: LoopThread) -> None:
    threads, may_go, done = LoopThreads(1, "one"), threading.Event(), list[int]()

    async def submit() -> None:
        threads.submit(may_go.wait, LONG)
        for number in range(100):
            threads.submit(done.append, number)

    loop.run(submit())
    assert done == []
    may_go.set()
    threads.shutdown(wait=True)
    assert done == list(range(100))


def test_work_that_nobody_waits_for_any_more_is_left_out_unless_it_is_shielded(loop: LoopThread) -> None:
    threads, may_go, done = LoopThreads(1, "one"), threading.Event(), list[str]()

    async def cancel() -> None:
        threads.submit(may_go.wait, LONG)
        plain = asyncio.ensure_future(_in(threads, lambda: done.append("plain")))
        shielded = asyncio.ensure_future(asyncio.shield(_in(threads, lambda: done.append("shielded"))))
        await asyncio.sleep(0.01)
        for task in (plain, shielded):
            task.cancel()
        assert [type(end) for end in await asyncio.gather(plain, shielded, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2
        may_go.set()
        await _in(threads, lambda: done.append("last"))

    loop.run(cancel())
    assert done == ["shielded", "last"]
    threads.shutdown()


def test_the_end_leaves_waiting_work_out_when_told_so(loop: LoopThread) -> None:
    threads, began, may_go, done = LoopThreads(1, "one"), threading.Event(), threading.Event(), list[int]()

    def first() -> None:
        began.set()
        may_go.wait(LONG)

    async def submit() -> None:
        threads.submit(first)
        threads.submit(done.append, 1)

    loop.run(submit())
    assert began.wait(LONG)
    threads.shutdown(wait=False, cancel_futures=True)
    threads.shutdown()  # a second time does nothing
    may_go.set()

    async def late() -> None:
        threads.submit(done.append, 2)

    with pytest.raises(RuntimeError, match="ended"):
        loop.run(late())
    assert done == []


def test_threads_outlive_the_loop_without_a_word(loop: LoopThread) -> None:
    threads, may_go, done = LoopThreads(1, "one"), threading.Event(), list[int]()

    async def submit() -> None:
        threads.submit(may_go.wait, LONG)
        threads.submit(done.append, 1)

    loop.run(submit())
    loop.close()
    may_go.set()
    threads.shutdown(wait=True)
    assert done == [1]


def test_threads_without_any_work_never_begin() -> None:
    before = threading.active_count()
    LoopThreads(4, "none").shutdown()
    assert threading.active_count() == before
