"""One worker process: started, asked within a time limit, killed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.protocol import Frame, read_frame, write_frame
from pytest_llmkg.kg.watchdog import Watchdog

if TYPE_CHECKING:
    from pytest_llmkg.kg.limits import Limits

__all__ = ["Ended", "WorkerProcess"]

# The caller's import path comes as an argument; the caller's __main__ is not imported.
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from pytest_llmkg.kg.worker import main; main()"
# Everything else, above all keys of model providers, stays out of the process that reads hostile texts.
_KEPT_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONHOME",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
)


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker ended instead of answering: by the time limit, or by itself with exit status ``status``."""

    timed_out: bool
    status: int | None = None


class WorkerProcess:
    """A running worker. Not thread safe; `pytest_llmkg.kg.Sandbox` sees to that.

    Attributes:
        owner: id of the process that started it.
        answered: how many requests it has answered, the one that got it ready included.

    Raises:
        EngineError: the worker did not get ready; the text holds what it wrote.
    """

    def __init__(self, limits: Limits) -> None:
        self.owner = os.getpid()
        self.answered = 0
        path = [str(Path(p).resolve()) for p in sys.path]
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603  (this interpreter with a constant program)
                [sys.executable, "-P", "-X", "utf8", "-c", _BOOT, *path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=os.sep,
                env={**kept, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            )
        except OSError as error:
            raise EngineError(f"the graph engine's process cannot be started: {error}") from error
        self._watchdog = Watchdog(self._process.kill)
        answer = self.ask({"limits": dataclasses.asdict(limits)}, limits.start_seconds)
        if isinstance(answer, Ended):
            text = self._errors()
            self.kill()
            cause = "did not get ready in time" if answer.timed_out else "ended at its start"
            raise EngineError(f"the graph engine's process {cause}: {text or 'it wrote nothing'}")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs and belongs to this process (not to one that this was forked from)."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, request: Frame, seconds: float) -> Frame | Ended:
        """The answer to ``request``; the worker is killed when it takes longer than ``seconds``."""
        self._watchdog.arm(seconds)
        try:
            answer = self._exchange({**request, "seconds": seconds})
        except BaseException:  # Ctrl-C above all: the late answer must not be taken for that to the next request
            self.kill()
            raise
        finally:
            self._watchdog.disarm()
        if answer is None:
            status = self._process.wait()
            return Ended(self._watchdog.fired or status == -getattr(signal, "SIGALRM", 0), status)
        if "fault" in answer:
            raise EngineError(f"the graph engine's process failed: {answer['fault']}")
        self.answered += 1
        return answer

    def _exchange(self, request: Frame) -> Frame | None:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise EngineError("the graph engine's process has no pipes")
        try:
            write_frame(stdin, request)
            answer = read_frame(stdout)
        except OSError:  # the pipe broke: the process is gone or about to go
            answer = None
        except ValueError as error:
            raise EngineError(f"the graph engine's process sent something unreadable: {error}") from error
        if answer is None:
            self._process.kill()
        return answer

    def _errors(self) -> str:
        stream = self._process.stderr
        return stream.read().decode("utf-8", "replace").strip()[-2000:] if stream else ""

    def kill(self) -> None:
        """Ends the process at once and frees its pipes."""
        self._watchdog.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # unsent bytes of a request that nobody reads any more
                    stream.close()
