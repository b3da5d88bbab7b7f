"""Worker processes side by side: each takes one call at a time, a further one starts when the others are busy."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.process import Ended, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.kg.limits import Limits
    from pytest_llmkg.kg.protocol import Frame

__all__ = ["Lane", "Lanes", "was_exhausted", "was_killed"]

_FRESH = 3  # answers: ready, graph missing, graph loaded; nothing of earlier texts fills its memory


class Lane:
    """One worker process after another, started when it is needed. Not thread safe; `Lanes` sees to that."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._worker: WorkerProcess | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None while none runs."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive() else None

    def ask(self, request: Frame, seconds: float) -> Frame | Ended:
        """The answer; asked once more of a new worker if the first failed for a reason that may not lie in the text.

        Raises:
            EngineError: the worker cannot be started, or ends by itself again and again.
        """
        worker = self._running()
        fresh = worker.answered <= _FRESH
        answer = worker.ask(request, seconds)
        if was_killed(answer) or (was_exhausted(answer) and not fresh):
            worker.kill()
            answer = self._running().ask(request, seconds)
        if isinstance(answer, Ended) and not answer.timed_out and (answer.status or 0) >= 0:
            raise EngineError(f"the graph engine's process ended twice by itself, with status {answer.status}")
        return answer

    def stop(self) -> None:
        """Ends the worker, if there is one."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _running(self) -> WorkerProcess:
        if self._worker is None or not self._worker.alive():
            self.stop()
            self._worker = self._started()
        return self._worker

    def _started(self) -> WorkerProcess:
        try:
            return WorkerProcess(self.limits)
        except EngineError:  # a machine short of memory or processes may have recovered
            return WorkerProcess(self.limits)


class Lanes:
    """Up to ``size`` lanes, of which a caller takes one for the time of its call. Thread safe.

    The first idle lane is taken, so that few processes start and the same ones hold the graphs.
    """

    def __init__(self, limits: Limits, size: int) -> None:
        self._lanes = tuple(Lane(limits) for _ in range(size))
        self._busy: set[int] = set()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self) -> Iterator[Lane]:
        """A lane for the caller alone; waits while all are taken."""
        number = self._take(range(len(self._lanes)))
        try:
            yield self._lanes[number]
        finally:
            self._give_back(number)

    def close(self) -> None:
        """Ends each worker as soon as its call is over."""
        for number, lane in enumerate(self._lanes):
            self._take((number,))
            try:
                lane.stop()
            finally:
                self._give_back(number)

    def stop(self) -> None:
        """Ends all workers at once; for a pool that nobody can call any more."""
        for lane in self._lanes:
            lane.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(pid for lane in self._lanes if (pid := lane.pid) is not None)

    @property
    def busy(self) -> int:
        """How many lanes are taken."""
        return len(self._busy)

    def _take(self, wanted: range | tuple[int, ...]) -> int:
        with self._changed:
            while True:
                idle = next((number for number in wanted if number not in self._busy), None)
                if idle is not None:
                    self._busy.add(idle)
                    return idle
                self._changed.wait()

    def _give_back(self, number: int) -> None:
        with self._changed:
            self._busy.discard(number)
            self._changed.notify_all()


def was_exhausted(answer: Frame | Ended) -> bool:
    """Whether the worker ran out of memory or stack (or panicked)."""
    if not isinstance(answer, Ended):
        return "gave_up" in answer
    own = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL, -getattr(signal, "SIGBUS", signal.SIGSEGV)}
    return not answer.timed_out and answer.status in own


def was_killed(answer: Frame | Ended) -> bool:
    """Whether something else ended the worker, perhaps from outside."""
    return isinstance(answer, Ended) and not answer.timed_out and not was_exhausted(answer)
