"""Runs a command and tells what it cost: wall time, CPU of it and its descendants, peak memory of its process tree."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Cost", "alternated", "median_cost", "output_of", "run", "tree_rss"]

_PERIOD = 0.05
_PAGE = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command cost.

    Attributes:
        wall, cpu: seconds; ``cpu`` is user and system time of the command and of all descendants that were waited for.
        peak: MiB: the largest sum of the resident memory of all processes of its tree, sampled 20 times a second
            (shared pages count once for each process); None where the system has no ``/proc``.
        largest: MiB: peak resident memory of the largest single process, from the operating system, not sampled. A
            process begins with the size of the one that started it, so that values below the caller's own mean little.
    """

    wall: float
    cpu: float
    peak: float | None
    largest: float


class CommandFailedError(RuntimeError):
    """A measured command ended otherwise than it should, so that its cost means nothing."""


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None) -> Cost:
    """Runs ``command`` in ``directory`` and waits for its end; its output goes to ``output.txt`` there.

    Args:
        command: program and arguments.
        directory: where it runs.
        environment: set on top of this process's environment.

    Raises:
        CommandFailedError: its exit status is not 0; the text holds the end of its output.
    """
    output = directory / "output.txt"
    with output.open("wb") as file:
        began = time.perf_counter()
        process = subprocess.Popen(  # the command is the caller's
            command,
            cwd=directory,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        with _Sampler(process.pid) as sampler:
            _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        end = output_of(directory)[-3000:]
        raise CommandFailedError(f"{' '.join(command)} ended with {process.returncode}:\n{end}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, sampler.peak, usage.ru_maxrss / 1024)


def output_of(directory: Path) -> str:
    """What the last command that ran in ``directory`` wrote to its terminal."""
    return (directory / "output.txt").read_text(encoding="utf-8", errors="replace")


class _Sampler:
    """Looks at the memory of a process tree until it is left."""

    def __init__(self, pid: int) -> None:
        self.peak: float | None = None
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(_PERIOD):
            size = tree_rss(self._pid)
            if size:
                self.peak = max(size, self.peak or 0.0)


def tree_rss(pid: int) -> float:
    """Resident memory of ``pid`` and all its descendants in MiB, 0 when it is gone or there is no ``/proc``."""
    total, waiting = 0, [str(pid)]
    while waiting:
        base = Path("/proc") / waiting.pop()
        try:
            total += int((base / "statm").read_text(encoding="ascii").split()[1])
            for thread in (base / "task").iterdir():
                waiting += (thread / "children").read_text(encoding="ascii").split()
        except OSError:  # it has ended meanwhile
            continue
    return total * _PAGE / 2**20


def median_cost(costs: Sequence[Cost]) -> Cost:
    """The medians of ``costs``, each figure for itself."""
    values: dict[str, float | None] = {}
    for field in fields(Cost):
        found = [value for cost in costs if (value := getattr(cost, field.name)) is not None]
        values[field.name] = statistics.median(found) if found else None
    return Cost(values["wall"] or 0.0, values["cpu"] or 0.0, values["peak"], values["largest"] or 0.0)


def alternated(names: Sequence[str], repeats: int, measure: Callable[[str], None]) -> None:
    """Calls ``measure`` with each name ``repeats`` times: round by round, every other round in reverse order.

    A machine that slows down or speeds up meanwhile then does so for all names alike.
    """
    for number in range(repeats):
        for name in names if number % 2 == 0 else reversed(names):
            measure(name)
