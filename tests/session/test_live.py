"""The progress on a terminal: a small VT interpreter shows what a user sees of a real pytest session on a pty."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX")

# The state goes on by itself: a dialogue in 0.1 s with each of two models, one of which has a name that steers.
CONFTEST = """\
import os, threading, time
from pytest_llmkg.session.live import LiveProgress
from pytest_llmkg.reporting.progress import ModelProgress

SPEED = float(os.environ.get("SPEED", "1"))

class Source:
    began = time.monotonic()

    def __call__(self):
        done = min(int((time.monotonic() - self.began) * 10), 1000)
        return [
            ModelProgress("model-a", 1000, done, 0, 4, 8, 0, 3, 0.75, 1000 * done, 0.01 * done),
            ModelProgress("model-b\\x1b[2J", 1000, done // 2, 0, 4, None, 1, 0, None, None, None),
        ]

def pytest_sessionfinish(session):
    time.sleep(float(os.environ.get("LATE", "0")) * (not hasattr(session.config, "workerinput")))

def pytest_configure(config):
    if "OFF" not in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(LiveProgress(config, Source(), lambda: time.monotonic() * SPEED))
"""
TESTS = """\
import logging, os, time, warnings, pytest

NAP = float(os.environ.get("NAP", "0.1"))

@pytest.mark.parametrize("number", range(10))
def test_slow(number):
    print("captured, never seen")
    time.sleep(NAP)

def test_warns():
    warnings.warn("take care")

def test_logs():
    logging.getLogger("own").warning("a logged line")
    time.sleep(NAP * 4)
    logging.getLogger("own").warning("a second logged line")
"""
FAILING = """\
import os, time

NAP = float(os.environ.get("NAP", "0.1"))

def test_fails():
    print("captured, seen after the failure")
    time.sleep(NAP * 4)
    assert [1, 2] == [1, 3]

def test_after():
    time.sleep(NAP * 3)
"""
# A pseudo terminal makes each end of line a return and a new line.
DRAWN = "\x1b7\r\r\nmodel-a"
BLOCK_LINE = re.compile(r"^(llmkg: )?model-[ab]")


@dataclass
class Screen:
    """What a terminal shows, with the lines that have scrolled off above it; an unknown escape is an error."""

    columns: int
    rows: int
    lines: list[list[str]] = field(default_factory=lambda: [[]])
    top: int = 0
    row: int = 0
    column: int = 0
    saved: tuple[int, int] = (0, 0)

    ESCAPES = re.compile(
        r"\x1b\[([?\d;]*)([A-Za-z])|\x1b([78D])|\x1b\]([^\x1b\x07]*)(?:\x1b\\|\x07)|([\r\n])|([^\x1b])"
    )

    def feed(self, text: str) -> Screen:
        position = 0
        while position < len(text):
            found = self.ESCAPES.match(text, position)
            assert found, f"unknown escape: {text[position : position + 20]!r}"
            self._take(*found.groups())
            position = found.end()
        return self

    def _take(
        self, number: str | None, letter: str | None, short: str | None, osc: str | None, *rest: str | None
    ) -> None:
        control, character = rest
        if letter is not None:
            self._sequence(letter, number or "")
        elif short == "7":
            self.saved = (self.row, self.column)  # From the top of the screen, as terminals do.
        elif short == "8":
            self.row, self.column = self.saved
        elif short == "D" or control == "\n":
            self._down()
        elif control == "\r":
            self.column = 0
        elif character is not None:
            self._put(character)

    def _sequence(self, letter: str, number: str) -> None:
        if letter == "A":
            self.row = max(self.row - int(number or 1), 0)
        elif letter == "K" and number == "":
            del self._line()[self.column :]
        elif letter == "J" and number == "":
            del self._line()[self.column :]
            del self.lines[self.top + self.row + 1 :]
        else:
            assert letter == "m", f"unknown sequence: {number}{letter}"

    def _line(self) -> list[str]:
        while len(self.lines) <= self.top + self.row:
            self.lines.append([])
        return self.lines[self.top + self.row]

    def _down(self) -> None:
        if self.row == self.rows - 1:
            self.top += 1
        else:
            self.row += 1
        self._line()

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self._down()
        line = self._line()
        line.extend(" " * (self.column + 1 - len(line)))
        line[self.column] = character
        self.column += 1

    def text(self) -> list[str]:
        return ["".join(line).rstrip() for line in self.lines]


def environment(**more: str) -> dict[str, str]:
    names = ("CI", "BUILD_NUMBER", "COLUMNS", "LINES", "PYTEST_ADDOPTS", "NO_COLOR", "FORCE_COLOR", "PY_COLORS")
    kept = {name: value for name, value in os.environ.items() if name not in names and not name.startswith("PYTEST_")}
    # Without plugins of the environment: these tests are about pytest's own output.
    return {**kept, "TERM": "xterm-256color", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}


def on_terminal(
    directory: Path,
    *arguments: str,
    size: tuple[int, int] = (100, 24),
    act: Callable[[str, int, int], None] | None = None,
    **variables: str,
) -> tuple[str, Screen]:
    """Runs pytest on a pseudo terminal; returns everything that it wrote, and the screen at the end.

    ``act`` is told what came so far, the terminal and the process, each time something comes.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    child = subprocess.Popen(
        command,
        cwd=directory,
        env=environment(**variables),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    text = ""
    end = time.monotonic() + 60
    while time.monotonic() < end and select.select([ours], [], [], 60)[0]:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed.
            break
        if not chunk:
            break
        text += chunk.decode()
        if act is not None:
            act(text, ours, child.pid)
    child.wait(10)
    os.close(ours)
    return text, Screen(*size).feed(text)


def without_times(lines: Sequence[str]) -> list[str]:
    """``lines`` of pytest itself, without what differs between any two runs."""
    # Which test was the slowest, and in which phase, depends on what else the machine does.
    own = [line for line in lines if not BLOCK_LINE.match(line)]
    return [re.sub(r"=+ (.* in) [\d.]+s =+|\d\.\d\ds (?:call|setup|teardown) +\S+", r"\1", line) for line in own]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test_b.py").write_text(FAILING, encoding="utf-8")
    return tmp_path


LARGE, SMALL = (100, 40), (62, 8)


@pytest.mark.parametrize(
    ("size", "arguments"),
    [
        (LARGE, ()),
        (SMALL, ()),
        (LARGE, ("-x", "test_b.py", "test_a.py")),
        (LARGE, ("--durations=1", "test_a.py")),
        (LARGE, ("-p", "xdist", "-n", "2")),
        (LARGE, ("-o", "console_output_style=count", "-k", "slow")),
    ],
)
def test_the_screen_holds_all_of_pytest_undamaged(
    project: Path, size: tuple[int, int], arguments: tuple[str, ...]
) -> None:
    # At eight times the speed, so that these sessions are long enough to leave final lines.
    raw, screen = on_terminal(project, *arguments, size=size, SPEED="8")
    _, expected = on_terminal(project, *arguments, size=size, OFF="1", NAP="0.02")
    assert comparable(screen) == comparable(expected)
    assert raw.count(DRAWN) >= 2
    assert re.search(r"\nmodel-a +\d+/1000 .*mean 0.750 .*left\x1b\[K\r+\nmodel-b\\x1b\[2J +\d+/1000", raw)
    final = [line for line in screen.text() if BLOCK_LINE.match(line)]
    assert len(final) == 2
    assert all("not run" in line for line in final)


@pytest.mark.parametrize(
    ("size", "arguments"),
    [(SMALL, ("-v",)), (LARGE, ("-o", "log_cli=true")), (LARGE, ("-v", "-p", "xdist", "-n", "2"))],
)
def test_among_names_of_tests_plain_lines(project: Path, size: tuple[int, int], arguments: tuple[str, ...]) -> None:
    raw, screen = on_terminal(project, "test_a.py", *arguments, size=size, SPEED="30")
    _, expected = on_terminal(project, "test_a.py", *arguments, size=size, OFF="1", NAP="0.02")
    assert "\x1b7" not in raw
    assert sum(bool(BLOCK_LINE.match(line)) for line in screen.text()) >= 4
    # pytest begins the line of a test again after ours, so names and the filling differ; nothing else does.
    assert sorted(bare(screen)) == sorted(bare(expected))
    assert screen.text()[-2].strip("=").split()[:2] == ["12", "passed,"]


def bare(screen: Screen) -> list[str]:
    """Lines without names of tests, progress and workers, and no empty ones."""
    lines = (re.sub(r"test_a\.py::test\S+|\[ *\d+%\]|^\[gw\d\]", "", line) for line in without_times(screen.text()))
    # How often pytest-xdist says that its workers come up depends on how fast they do.
    return [line.strip() for line in lines if line.strip() and not re.match(r"\w+: \d/\d workers", line)]


def comparable(screen: Screen) -> list[str]:
    """What must be equal: under xdist the order of letters and lines is never the same twice."""
    lines = without_times(screen.text())
    if any("workers" in line for line in lines):
        letters = "".join(re.sub(r"\[ *\d+%\]|\s", "", line) for line in lines if re.match(r"[.F]+( |$)", line))
        # Without file names pytest does not know that its line needs an end, and leaves no empty line behind it.
        lines = [line for line in lines if line and not re.match(r"[.F]+( |$)", line)] + ["".join(sorted(letters))]
        lines = [line.replace("[gw1]", "[gw0]") for line in lines]
    return lines


def test_the_block_is_drawn_below_a_test_that_waits(project: Path) -> None:
    raw, _ = on_terminal(project, "test_b.py", size=(100, 12))
    before_the_first_letter = raw[: raw.index("\x1b[31mF")]
    seen = [line for line in Screen(100, 12).feed(before_the_first_letter).text() if line]
    assert seen[-3] == "test_b.py"
    assert seen[-2].startswith("model-a")
    assert seen[-1].startswith(r"model-b\x1b[2J")


def test_a_key_ends_the_session_and_leaves_a_clean_screen(project: Path) -> None:
    sent: list[int] = []

    def interrupt(text: str, _: int, process: int) -> None:
        if text.count(DRAWN) > 3 and not sent:
            sent.append(process)
            os.kill(process, signal.SIGINT)

    _, screen = on_terminal(project, "test_a.py", act=interrupt, SPEED="8")
    assert sent
    lines = screen.text()
    assert any("KeyboardInterrupt" in line for line in lines)
    assert re.search(r"\d+ passed in", lines[-2])
    finals = [number for number, line in enumerate(lines) if BLOCK_LINE.match(line)]
    assert len(finals) == 2
    assert re.match(r"test_a\.py \.+$", lines[finals[0] - 1])


def test_the_debugger_has_the_terminal_to_itself(project: Path) -> None:
    (project / "test_c.py").write_text(
        "import time\ndef test_it():\n    time.sleep(0.5)\n    breakpoint()\n    time.sleep(0.5)\n", encoding="utf-8"
    )
    asked: list[float] = []
    answered: list[int] = []

    def debug(text: str, terminal: int, _: int) -> None:
        if "(Pdb) " in text and not asked:
            asked.append(time.monotonic())
            os.write(terminal, b"import time; time.sleep(0.7)\n")
        elif text.count("(Pdb) ") == 2 and not answered:
            answered.append(len(text))
            os.write(terminal, b"c\n")

    raw, _ = on_terminal(project, "test_c.py", act=debug)
    assert answered
    assert "model-" in raw[: raw.index("(Pdb) ")]
    assert "model-" not in raw[raw.index("(Pdb) ") : answered[0]]
    assert "model-" in raw[answered[0] :]


def run_piped(directory: Path, *arguments: str, **variables: str) -> list[str]:
    """Runs pytest without a terminal."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=directory, env=environment(**variables), capture_output=True, text=True, check=False, timeout=60
    )
    assert "\x1b" not in done.stdout
    assert "model-" not in done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("arguments", [(), ("-v",), ("-p", "xdist", "-n", "2"), ("-s",)], ids=" ".join)
def test_without_a_terminal_plain_lines(project: Path, arguments: tuple[str, ...]) -> None:
    # At sixty times the speed: after 0.2 s and then every 0.5 s.
    lines = run_piped(project, "test_a.py", *arguments, SPEED="60")
    own = [line for line in lines if "model-" in line]
    assert len(own) >= 6
    for line in own:
        assert re.fullmatch(r"llmkg: model-(a|b\\x1b\[2J) +\d+/1000 .*(mean .* left|(spent|cost) .*not run)", line)
    if "-v" in arguments:
        assert len([line for line in lines if re.match(r"test_a.py::\S+ PASSED +\[ *\d+%\]$", line)]) == 12
    elif not arguments:
        letters = "".join(
            re.sub(r"^test_a.py |\[.*|\s", "", line) for line in lines if re.match("test_a.py |[.]", line)
        )
        assert letters == "." * 12


def test_while_reports_are_written_no_line_is_told_twice(project: Path) -> None:
    """The end takes 1.2 s, so more than twice the time between two lines."""
    lines = run_piped(project, "test_a.py", SPEED="60", LATE="1.2")
    last = next(number for number, line in enumerate(lines) if "[100%]" in line)
    assert len([line for line in lines[last:] if line.startswith("llmkg: model-a")]) == 1


def test_ci_gets_plain_lines_on_a_terminal_too(project: Path) -> None:
    raw, screen = on_terminal(project, "test_a.py", CI="true", SPEED="60")
    assert "\x1b7" not in raw
    assert len([line for line in screen.text() if line.startswith("llmkg: model-a")]) >= 3


@pytest.mark.parametrize(
    "arguments", [("-q",), ("-p", "no:terminal"), ("--co",)], ids=["quiet", "no terminal", "only collected"]
)
def test_nothing_is_shown(project: Path, arguments: tuple[str, ...]) -> None:
    raw, _ = on_terminal(project, "test_a.py", *arguments, SPEED="60")
    assert "model-" not in raw
    assert not [line for line in run_piped(project, "test_a.py", *arguments, SPEED="60") if "model-" in line]


def test_a_short_session_leaves_nothing(project: Path) -> None:
    assert not [line for line in run_piped(project, "test_b.py", SPEED="0.5") if "model-" in line]
    raw, screen = on_terminal(project, "test_b.py", SPEED="0.5")
    assert DRAWN in raw
    assert not [line for line in screen.text() if "model-" in line]
