"""Writing a run file: whole lines or none, from any thread."""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.store.index import index_run, part_cases
from pytest_llmkg.store.lines import (
    SEALED_LINES,
    Receipt,
    cipher_of,
    decode_line,
    encode_line,
    read_line,
    read_transcript,
    seal_line,
)

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path
    from types import TracebackType

    from pytest_llmkg.records import Case, RunHeader, Transcript
    from pytest_llmkg.sealing import Cipher

__all__ = ["SYNC_SECONDS", "RunWriter"]

SYNC_SECONDS = 5.0
"""A line that is written so long after the last fsync brings the next one."""

_BLOCK = 2**16


class RunWriter:
    """Appends records to a run file; its methods may be called from several threads, but only one writer may be open.

    Args:
        path: the file; its directory is made. Unless ``resume`` is set it must not exist, so that no run is
            lost.
        resume: go on with an existing file; a last line that was cut off is removed first.
        is_part, lock: see `part`.

    Raises:
        RunFileError: the file exists (or, to resume, cannot be read), or cannot be written, or is to be sealed
            with a key that is missing.
    """

    def __init__(self, path: Path, *, resume: bool = False, is_part: bool = False, lock: Json = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._cases: dict[str, Json] = {}
        self._has_header = resume or is_part
        self._cipher: Cipher | None = None
        self._synced = time.monotonic()
        self._is_torn = False
        if resume:
            index = index_run(path, with_parts=False)
            self._cipher = index.cipher or cipher_of(index.header.settings.get(SEALED_LINES), f"{path}:1")
            self._cases = {key: to_plain(case) for key, case in index.cases.items()}
        elif is_part:
            self._cipher = cipher_of(lock, str(path))
            self._cases = {key: to_plain(case) for key, case in part_cases(path, self._cipher).items()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume or is_part:
                path.touch()
                _mend_end(path)
            else:
                path.touch(exist_ok=False)
            # For appending, since a file of mode "xb" would go on behind what was cut off again.
            self._file = path.open("ab", buffering=0)
            _claim(self._file)
            self._end = os.fstat(self._file.fileno()).st_size
        except FileExistsError as error:
            raise RunFileError(f"{path}: the run file exists already; choose another directory or resume it") from error
        except BlockingIOError as error:
            raise RunFileError(f"{path}: another process is writing this run; let it end first") from error
        except OSError as error:
            raise self._trouble(error) from error

    @classmethod
    def part(cls, directory: Path, name: str, lock: Json = None) -> Self:
        """A writer of the part ``run.<name>.jsonl`` beside the run file of ``directory``; goes on with an old one.

        Args:
            directory: the run directory; it is made.
            name: of the worker, e.g. ``gw0``.
            lock: the setting `SEALED_LINES` of the run's header, None when nothing is sealed.

        Raises:
            RunFileError: it cannot be read or written, or is to be sealed with a key that is missing.
        """
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise RunFileError(f"{directory}: a part cannot be named {name!r}; use letters, digits, - and _")
        return cls(directory / f"run.{name}.jsonl", is_part=True, lock=lock)

    def header(self, header: RunHeader) -> None:
        """Writes the first line; exactly once for each file, never into a part."""
        with self._lock:
            if self._has_header:
                raise RunFileError(f"{self.path}: the run file has a header already")
            self._cipher = cipher_of(header.settings.get(SEALED_LINES), f"{self.path}:1")
            self._write(encode_line("header", to_plain(header)))
            self._has_header = True
            self._sync()
            _sync_directory(self.path)

    def case(self, case: Case) -> None:
        """Writes ``case`` unless the file holds it; the same label and id with other data is an error."""
        key, plain = f"{case.label}/{case.id}", to_plain(case)
        with self._lock:
            if key not in self._cases:
                self._write(self._line("case", plain, secret=case.sealed))
                self._cases[key] = plain
            elif self._cases[key] != plain:
                raise RunFileError(f"{self.path}: case {key} differs from the one in this run file; start a new run")

    def transcript(self, transcript: Transcript) -> Receipt:
        """Writes a finished dialogue; where lines are sealed, those of unknown cases are sealed to be safe."""
        plain = to_plain(transcript)
        with self._lock:
            case = self._cases.get(f"{transcript.label}/{transcript.case}")
            secret = not isinstance(case, dict) or bool(case["sealed"])
            return self._write(self._line("transcript", plain, secret=secret))

    def copy(self, receipt: Receipt) -> Receipt:
        """Writes the line of another file as it stands there; if it is sealed, this file must have the same lock."""
        line = read_line(receipt)
        with self._lock:
            return self._write(line)

    def read(self, receipt: Receipt) -> Transcript:
        """The transcript that ``receipt`` is of, opened if it is sealed."""
        return read_transcript(receipt, self._cipher)

    def sync(self) -> None:
        """Returns when all lines are on the disk."""
        with self._lock:
            self._sync()

    def close(self) -> None:
        """Closes the file, with its lines on the disk; calling it again does nothing."""
        with self._lock:
            if not self._file.closed:
                try:
                    self._sync()
                finally:
                    self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _line(self, kind: str, plain: Json, *, secret: bool) -> bytes:
        if not self._has_header:
            raise RunFileError(f"{self.path}: the header must be written first")
        line = encode_line(kind, plain)
        return seal_line(line, self._cipher) if secret and self._cipher is not None else line

    def _write(self, line: bytes) -> Receipt:
        """Appends ``line``, whole or not at all; the lock must be held."""
        if self._file.closed:
            raise RunFileError(f"{self.path}: the run file is closed, so nothing more can be written")
        receipt = Receipt(self.path, self._end, len(line))
        try:
            if self._is_torn:
                self._cut()
            if os.fstat(self._file.fileno()).st_size != self._end:
                raise RunFileError(f"{self.path}: another process changed the run file; let one alone write it")
            self._append(line + b"\n")
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()
        except OSError as error:
            raise self._trouble(error) from error
        return receipt

    def _append(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:  # an unbuffered write may take only a part
                rest = rest[self._file.write(rest) :]
        except BaseException:  # also a Ctrl-C between two parts of the line
            self._is_torn = True
            with suppress(OSError):  # tried again before the next line
                self._cut()
            raise
        self._end += len(line)

    def _cut(self) -> None:
        self._file.truncate(self._end)
        self._is_torn = False

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._trouble(error) from error
        self._synced = time.monotonic()

    def _trouble(self, error: OSError) -> RunFileError:
        return RunFileError(f"{self.path}: cannot write the run file: {error.strerror}")


def _claim(file: FileIO) -> None:
    """Makes sure that nobody else writes ``file``, as far as the system can tell; the claim ends with the process."""
    with suppress(ImportError):  # there is no fcntl on Windows
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _mend_end(path: Path) -> None:
    """Makes ``path`` end with a whole line and a newline, or with none; the other lines have been checked before."""
    with path.open("r+b") as file:
        position, tail = file.seek(0, os.SEEK_END), b""
        while position and b"\n" not in tail.rstrip(b"\n"):
            step = min(position, _BLOCK)
            position = file.seek(position - step)
            tail = file.read(step) + tail
        body = tail.rstrip(b"\n")
        start = body.rfind(b"\n") + 1
        if decode_line(body[start:]) is None:
            file.truncate(position + start)
        elif tail == body:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")


def _sync_directory(path: Path) -> None:
    """Makes the file's name last, too, where the system lets directories be synced."""
    with suppress(OSError):
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
