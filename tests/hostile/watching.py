"""Watches what hostile answers reach: the network, from this process and from the sandbox's, and memory."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["OBSERVED_BOOT", "Guard", "MemorySampler", "Notes", "peak_of"]

_REACHING = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostby",
    "socket.sendto",
    "socket.sendmsg",
    "socket.bind",
    "urllib.",
    "http.",
    "ftplib.",
    "smtplib.",
)

# The worker's own start, with two changes: attempts to reach anything are written to a pipe of the test, and nothing
# at the level of the kernel holds a connection back, so that one that is tried would be seen by the test's server.
OBSERVED_BOOT = """
import contextlib, os, sys
sys.path[:] = sys.argv[1:]
from pytest_llmkg.kg import lockdown
notes = os.open({pipe!r}, os.O_WRONLY | os.O_NONBLOCK)
def note(event, args):
    if event.startswith({reaching!r}):
        os.write(notes, (event + ' ' + repr(args)[:200] + chr(10)).encode('utf-8', 'replace'))
sys.addaudithook(note)
lockdown._leave_network = lambda: None
lockdown.no_new_files = contextlib.nullcontext
from pytest_llmkg.kg.worker import main
main()
"""


class Notes:
    """A pipe to which workers that start with `boot` write what they try to reach."""

    def __init__(self, directory: Path) -> None:
        self.pipe = directory / "notes"
        os.mkfifo(self.pipe)
        self._end = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._keep_open = os.open(self.pipe, os.O_WRONLY)  # or the end of one worker would end the pipe
        self.boot = OBSERVED_BOOT.format(pipe=str(self.pipe), reaching=_REACHING)

    def read(self) -> list[str]:
        """What was tried since the last call."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._end, 1 << 20).decode("utf-8", "replace").splitlines()
        return []

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self._end)
        os.close(self._keep_open)


class Guard:
    """Refuses and records every attempt of this process to reach the network while it is entered."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._on = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        if self._on and event.startswith(_REACHING):
            self.attempts.append(f"{event} {args!r}"[:200])
            raise PermissionError(f"{event} while a hostile answer is looked at")

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """While it is entered, nothing may be reached."""
        self._on = True
        try:
            yield
        finally:
            self._on = False


class MemorySampler:
    """The highest peak of memory, in bytes, of any process that it was told of, looked at every few milliseconds."""

    def __init__(self, pids: Callable[[], tuple[int, ...]]) -> None:
        self.peak = 0
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.peak = max(self.peak, *(peak_of(pid) for pid in self._pids()), 0)

    def stop(self) -> None:
        """Ends the thread."""
        self._over.set()
        self._thread.join()


def peak_of(pid: int | None = None) -> int:
    """Peak resident memory in bytes of process ``pid`` (this one when None); 0 where the system does not tell."""
    if pid is None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
