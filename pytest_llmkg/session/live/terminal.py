"""pytest's terminal, written to beside pytest and in the middle of a test.

How a block stays out of pytest's way: the cursor always rests where pytest left it. Drawing makes room below, writes
the block there and goes back; whatever pytest (or anybody) writes next continues its own line. The only thing to take
care of is that the block is wiped before that line ends, so the one method through which everything of pytest's
reporter passes, ``TerminalWriter.write_raw``, is watched while something may be drawn.

What is written here goes to a duplicate of the terminal's file descriptor: descriptor 1 itself belongs to pytest's
capturing while a test runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Terminal"]

UNFINISHED_LINE = -2
"""pytest's own word, in ``currentfspath``, for a line that it has to end before it writes anything else."""


class _Reporter(Protocol):
    """What is used of pytest's terminal reporter."""

    currentfspath: Path | str | int | None

    @property
    def showlongtestinfo(self) -> bool: ...


class _Writer(Protocol):
    """What is used of pytest's terminal writer."""

    @property
    def width_of_current_line(self) -> int: ...

    def write(self, msg: str, *, flush: bool = False) -> None: ...

    def write_raw(self, msg: str, *, flush: bool = False) -> None: ...


class Terminal:
    """The terminal as pytest writes to it, with a way to write beside pytest."""

    def __init__(self, reporter: _Reporter, writer: _Writer, lock: threading.RLock) -> None:
        self._reporter = reporter
        self._writer = writer
        self._write_through = writer.write_raw
        self._lock = lock
        self._drawn: list[str] = []
        self._is_own = False
        self._descriptor: int | None = None
        self._stream: TextIO = sys.stdout
        try:
            self._descriptor = os.dup(self._stream.fileno())
        except (AttributeError, OSError, ValueError):
            self._descriptor = None  # No file of the operating system: capturing does not hide the stream, either.

    def watch(self) -> None:
        """Begins to watch what pytest writes."""
        _replace(self._writer, "write_raw", self._write_raw)

    def release(self) -> None:
        """Ends watching, and lets go of the terminal."""
        _replace(self._writer, "write_raw", self._write_through)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def size(self) -> tuple[int, int]:
        """Columns and rows; ``COLUMNS``, which pytest honours, can only make it narrower."""
        try:
            columns, rows = os.get_terminal_size(-1 if self._descriptor is None else self._descriptor)
        except OSError:
            columns, rows = 0, 0
        wanted = os.environ.get("COLUMNS", "")
        if wanted.isdecimal() and int(wanted) > 0:
            columns = min(columns or int(wanted), int(wanted))
        return columns or 80, rows or 24

    def draw(self, lines: list[str], unless: Callable[[], bool]) -> None:
        """Shows ``lines`` below the line that pytest is writing."""
        with self._lock:
            used, columns = self._writer.width_of_current_line, self.size()[0]
            # A cursor that hangs over the edge of the screen would not come back to the same place.
            is_at_edge = used > 0 and used % columns == 0
            if not lines or lines == self._drawn or is_at_edge or unless():
                return
            room = (
                "\x1bD" * len(lines) + f"\x1b[{len(lines)}A"
            )  # Down, scrolling if need be, and up in the same column.
            body = "".join(f"\r\n{line}\x1b[K" for line in lines)
            self._write(f"\x1b[K{room}\x1b7{body}\x1b[J\x1b8")
            self._drawn = lines

    def erase(self) -> None:
        """Wipes what is drawn."""
        with self._lock:
            if self._drawn:
                self._drawn = []
                self._write("\x1b[J")

    def forget(self) -> None:
        """Takes what is drawn for gone."""
        self._drawn = []

    def insert(self, lines: list[str]) -> None:
        """Writes ``lines`` on lines of their own amid pytest's output."""
        with self._lock:
            self._write_lines(lines, end="\n")
            if self._reporter.showlongtestinfo:
                # A line with the name of the test is begun anew; letters just go on below.
                self._reporter.currentfspath = None

    def append(self, lines: list[str]) -> None:
        """Writes ``lines`` on lines of their own after pytest's last line; pytest's summary ends the last of them."""
        with self._lock:
            self._write_lines(lines, end="")
            self._reporter.currentfspath = UNFINISHED_LINE

    def _write_lines(self, lines: list[str], end: str) -> None:
        # By the writer, which has to know where its line begins, but not to where its writing goes now.
        self._is_own = True
        try:
            begin = "\n" if self._writer.width_of_current_line else ""
            self._writer.write(begin + "\n".join(lines) + end)
        finally:
            self._is_own = False

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            self._stream.write(text)
            self._stream.flush()
            return
        # At once, so that no other process gets in between the escapes.
        data = text.encode("ascii", "backslashreplace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def _write_raw(self, msg: str, *, flush: bool = False) -> None:
        """Stands in for the writer's method while the display is on."""
        with self._lock:
            if self._is_own:
                self._write(msg)
                return
            used = self._writer.width_of_current_line  # With msg, which the writer has counted in already.
            if "\n" in msg or "\r" in msg or not 0 <= used < self.size()[0]:
                self.erase()
            # Flushed: text that waits in a buffer would come after what is drawn here meanwhile.
            self._write_through(msg, flush=flush or self._descriptor is not None)


def _replace(writer: _Writer, method: str, by: Callable[..., None]) -> None:
    setattr(writer, method, by)
