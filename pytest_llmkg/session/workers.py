"""What a worker process of pytest-xdist is told, writes down and sends back."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import LlmkgError, RunFileError
from pytest_llmkg.plain import Json, from_plain
from pytest_llmkg.session.wire import INPUT
from pytest_llmkg.store import DialogueKey, RunWriter, index_run, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from pytest_llmkg.records import Case, Transcript
    from pytest_llmkg.store import RunIndex

__all__ = ["PartKeeper", "WorkQueue", "WorkerInput", "known_run", "read_input"]


@dataclass(frozen=True, slots=True)
class WorkerInput:
    """What the controller tells a worker.

    Attributes:
        processes: number of workers.
        directory: the run directory, None for a worker that may be on another machine.
        lock: of the run file's sealed lines, None when none is sealed.
        port, token: where the controller's desk is served; 0 for a worker that must keep to its share of each limit.
        knows_more: whether the run may hold finished dialogues that this session must not hold again.
        finished: names of such dialogues, for a worker that cannot look into the run.
        suspects: names of dialogues that a worker was holding when it died.
    """

    processes: int
    directory: str | None = None
    lock: Json = None
    port: int = 0
    token: str = ""
    knows_more: bool = False
    finished: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()


def read_input(config: pytest.Config) -> WorkerInput | None:
    """What this worker was told, None in a process that is no worker."""
    given = getattr(config, "workerinput", {}).get(INPUT)
    return None if given is None else from_plain(WorkerInput, given)


class PartKeeper:
    """Writes a worker's dialogues to a file of its own: beside the run file, or in a temporary folder.

    The controller finds the one beside the run file; of the other, and of what could not be written, it hears by the
    tests' reports and, for what no test asked for, at the end of the session.
    """

    def __init__(self, given: WorkerInput, name: str) -> None:
        self._given, self._name = given, name
        self._lock = threading.Lock()
        self._writer: RunWriter | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._unreported: dict[DialogueKey, tuple[Case, Callable[[], Transcript]]] = {}

    def record(self, case: Case, transcript: Transcript) -> Callable[[], Transcript]:
        """Appends one dialogue, and gives back what reads it again; what cannot be written is kept in memory."""
        try:
            with self._lock:
                writer = self._opened()
                writer.case(case)
                receipt = writer.transcript(transcript)
        except (LlmkgError, OSError):
            # It goes to the controller by the test's report or at the end, and the controller will tell the trouble.
            return self._awaited(case, transcript, lambda: transcript)
        if self._given.directory is not None:
            return lambda: writer.read(receipt)
        return self._awaited(case, transcript, lambda: writer.read(receipt))

    def reported(self, transcript: Transcript) -> None:
        """A test's report carries ``transcript``."""
        with self._lock:
            self._unreported.pop(key_of(transcript), None)

    def unreported(self) -> list[tuple[Case, Transcript]]:
        """The dialogues that were held for no test, of which the controller cannot know."""
        with self._lock:
            unreported = list(self._unreported.values())
        return [(case, read()) for case, read in unreported]

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _awaited(self, case: Case, transcript: Transcript, read: Callable[[], Transcript]) -> Callable[[], Transcript]:
        with self._lock:
            self._unreported[key_of(transcript)] = (case, read)
        return read

    def _opened(self) -> RunWriter:
        if self._writer is None:
            if self._given.directory is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="llmkg-")
            directory = Path(self._temporary.name if self._temporary else str(self._given.directory))
            directory.mkdir(parents=True, exist_ok=True)
            self._writer = RunWriter.part(directory, self._name, self._given.lock)
        return self._writer


class WorkQueue:
    """The tests that a worker has been given; pytest-xdist has no public way to look at them.

    Where its inside differs from what is known here, the queue looks empty, and dialogues are held one by one.
    """

    def __init__(self, config: pytest.Config) -> None:
        plugins = config.pluginmanager.get_plugins()
        self._worker: Any = next((plugin for plugin in plugins if hasattr(plugin, "torun")), None)
        self._length = 0

    def new_items(self, session: pytest.Session) -> list[pytest.Item]:
        """All tests that wait for their turn, in order, if there are more than at the last look; else none."""
        queue = getattr(self._worker, "torun", None)
        if queue is None or not hasattr(queue, "lock"):
            return []
        with queue.lock() as indices:
            grew = len(indices) >= self._length
            self._length = len(indices)
            waiting = list(indices) if grew else []
        first = [getattr(self._worker, name, None) for name in ("item_index", "nextitem_index")] if grew else []
        return [session.items[index] for index in (*first, *waiting) if isinstance(index, int)]


def known_run(given: WorkerInput, resume: Path | None) -> RunIndex | None:
    """What the run holds by now, its workers' files included; None where it cannot be seen or has not begun."""
    directory = given.directory or resume
    try:
        return None if directory is None else index_run(Path(directory))
    except RunFileError:
        return None  # it has no header yet, so no worker has anything to tell
