"""The progress of a session on pytest's terminal: a block below pytest's own output, or plain lines between it.

A thread draws, since the main thread spends its time waiting inside a test.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_llmkg.reporting.progress import MOST_MODELS, Pace, progress_lines
from pytest_llmkg.session.live.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pytest_llmkg.reporting.progress import ModelProgress

__all__ = ["LiveProgress"]

REFRESH = 0.2
"""Seconds between two looks at the state, so also between two drawings."""
SHORT = 2.0
"""A session of fewer seconds leaves no line of progress behind: its leaderboard follows at once."""
FIRST, EVERY = 10.0, 30.0
"""Seconds until the first plain lines, and between them."""
PREFIX = "llmkg: "
"""Begins each plain line, like those of the header."""


class LiveProgress:
    """Shows the progress of a session; a plugin object for the process that has the terminal.

    On a terminal: a block with a line per model at the bottom. Without one, in CI, with ``-v`` or ``-s``: plain lines
    after 10 s and then every 30 s for the models that went on. A session of two seconds or more leaves one final line
    per model. With ``-q`` or ``-p no:terminal``: nothing.

    Args:
        config: pytest's, of the process without ``workerinput``.
        source: Gives the state now; called several times per second from a thread, so it must be cheap and safe there.
        clock: Seconds.
    """

    def __init__(
        self,
        config: pytest.Config,
        source: Callable[[], Sequence[ModelProgress]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._source = source
        self._clock = clock
        # Held while something is written, by whichever thread.
        self._lock = threading.RLock()
        self._display: _Display | None = None
        self._has_ended = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Begins with the first test; after the last one only the final lines are to come."""
        if not self._config.getoption("collectonly", default=False):
            self.start()
        try:
            return (yield)
        finally:
            if self._display is not None:
                self._display.fall_silent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        """With ``-v`` a test's line is written in several steps; plain lines have to wait for the last one."""
        with self._lock:
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Ends before pytest writes its summary, and after everybody has finished what was in flight."""
        self.stop()

    def pytest_unconfigure(self) -> None:
        """Ends for certain, also after an internal error."""
        self.stop()

    def pytest_enter_pdb(self) -> None:
        """Leaves the terminal to the debugger."""
        if self._display is not None:
            self._display.pause()

    def pytest_leave_pdb(self) -> None:
        """Goes on after the debugger."""
        if self._display is not None:
            self._display.resume()

    def start(self) -> None:
        """Begins to show the progress, if this session is one that shows it; does nothing when it has begun."""
        mode = _mode(self._config)
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if mode is None or reporter is None or self._display is not None or self._has_ended:
            return
        terminal = Terminal(reporter, self._config.get_terminal_writer(), self._lock)
        self._display = _Display(mode, terminal, self._source, self._clock)
        self._display.begin()

    def stop(self) -> None:
        """Takes the block away and leaves the final lines; does nothing when it has not begun or has ended."""
        display, self._display = self._display, None
        self._has_ended = True
        if display is not None:
            display.end()


def _mode(config: pytest.Config) -> Literal["block", "lines"] | None:
    verbosity = int(config.getoption("verbose", default=0))
    if verbosity < 0:
        return None
    prints_pass_by = config.getoption("capture", default="no") in {"no", "tee-sys"}
    has_escapes = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and sys.platform != "win32"
    if verbosity > 0 or prints_pass_by or os.environ.get("CI") or not has_escapes:
        return "lines"
    return "block"


class _Display:
    """What is shown while it is shown."""

    def __init__(
        self,
        mode: Literal["block", "lines"],
        terminal: Terminal,
        source: Callable[[], Sequence[ModelProgress]],
        clock: Callable[[], float],
    ) -> None:
        self._mode = mode
        self._terminal = terminal
        self._source = source
        self._clock = clock
        self._began = clock()
        self._pace = Pace()
        self._due = FIRST
        self._reported: dict[str, tuple[int, int]] = {}
        self._is_paused = False
        self._is_silent = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="llmkg-progress", daemon=True)

    def begin(self) -> None:
        self._terminal.watch()
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()
        self._terminal.erase()
        models, elapsed = list(self._source()), self._clock() - self._began
        if elapsed >= SHORT and any(p.done or p.in_flight or p.errors for p in models):
            columns = self._terminal.size()[0] - 1 - len(PREFIX)
            self._terminal.append([PREFIX + line for line in progress_lines(models, elapsed, columns, ended=True)])
        self._terminal.release()

    def fall_silent(self) -> None:
        """Plain lines end; a block goes on, since what is in flight may take some seconds."""
        self._is_silent = self._mode == "lines"

    def pause(self) -> None:
        self._is_paused = True
        self._terminal.erase()

    def resume(self) -> None:
        self._is_paused = False

    def _run(self) -> None:
        try:
            while not self._ending.wait(REFRESH):
                if not self._is_paused:
                    self._show()
        except OSError:
            # The terminal is gone, e.g. its window was closed: nobody is left to be told, and the run goes on.
            self._terminal.forget()

    def _show(self) -> None:
        models, elapsed = list(self._source()), self._clock() - self._began
        left = self._pace.note(models, elapsed)
        # The last column stays free: not every terminal agrees on where the cursor is after it.
        columns, rows = self._terminal.size()
        if self._mode == "block":
            most = min(MOST_MODELS, rows - 3)
            lines = progress_lines(models, elapsed, columns - 1, left=left, most=most)[: max(rows - 2, 0)]
            # Asked again with the lock held: the debugger may have come in between.
            self._terminal.draw(lines, unless=lambda: self._is_paused)
        elif elapsed >= self._due and not self._is_silent:
            self._due = elapsed + EVERY
            lines = progress_lines(models, elapsed, columns - 1 - len(PREFIX), left=left)
            news = self._news(models, lines)
            if news:
                self._terminal.insert([PREFIX + line for line in news])

    def _news(self, models: Sequence[ModelProgress], lines: list[str]) -> list[str]:
        """Those of ``lines`` whose model went on since the last time; of many models all or none."""
        before, self._reported = self._reported, {p.model: (p.done, p.errors) for p in models}
        changed = [self._reported[p.model] != before.get(p.model, (0, 0)) for p in models]
        if len(models) > MOST_MODELS:
            return lines if any(changed) else []
        return [line for line, is_new in zip(lines, changed, strict=True) if is_new]
