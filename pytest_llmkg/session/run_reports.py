"""Writes the reports at the end of a run: in this process, or in one that has made itself ready meanwhile."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pytest_llmkg.errors import LlmkgError, UserError
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import (
    Answer,
    Evaluation,
    ModelSpec,
    Prompt,
    RunHeader,
    ScoreSet,
    TaskInfo,
    Transcript,
    Turn,
    Usage,
)
from pytest_llmkg.store import FILE_NAME, SCHEMA, RunWriter

__all__ = ["ReportProcess", "ReportRequest", "Written", "write_run_reports"]

_READY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Which run to report, where else its page goes, and how many columns the terminal has."""

    directory: str
    newest_page: str
    width: int


@dataclass(frozen=True, slots=True)
class Written:
    """What the reports of a run came to.

    Attributes:
        page: path of the leaderboard page.
        lines: the leaderboard as text for a terminal.
        problem: why a report is missing, None if all are there.
    """

    page: str
    lines: tuple[str, ...]
    problem: str | None = None


def write_run_reports(request: ReportRequest) -> Written:
    """Writes all reports of a run into its directory, and the page also where the newest one stands.

    Raises:
        RunFileError: the run cannot be read.
    """
    from pytest_llmkg.reporting.files import copy_page, write_report_files
    from pytest_llmkg.reporting.terminal import leaderboard_lines
    from pytest_llmkg.reporting.views import build_report
    from pytest_llmkg.store import index_run

    directory, run = Path(request.directory), index_run(Path(request.directory))
    try:
        page, report = write_report_files([run], directory, datetime.now(UTC))
        problem = None
        copy_page(page, Path(request.newest_page))
    except (UserError, OSError) as error:
        page, report = directory / "leaderboard.html", build_report([run])
        problem = f"not every report was written: {error}"
    return Written(str(page), tuple(leaderboard_lines(report, request.width)), problem)


class ReportProcess:
    """A process that loads what reports need while dialogues are still held, and writes them when it is told to.

    It spares a large run the seconds of that, and its memory. Where it fails, the caller's process writes them.
    """

    def __init__(self) -> None:
        # The interpreter's path goes along, for a package that is not installed.
        start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        self._process: subprocess.Popen[str] | None = subprocess.Popen(  # noqa: S603  (our own interpreter and code)
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def write(self, request: ReportRequest) -> Written:
        """Like `write_run_reports`."""
        process, self._process = self._process, None
        if process is not None:
            try:
                said, _ = process.communicate(json.dumps(to_plain(request)) + "\n", _READY_SECONDS)
                return from_plain(Written, json.loads(said))
            except (OSError, ValueError, LlmkgError, subprocess.TimeoutExpired):
                process.kill()  # and the reports are written here, with an error that can be read
        return write_run_reports(request)

    def close(self) -> None:
        """Ends the process, if nothing was written."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def main() -> None:
    """Loads what reports need, reads a request from standard input and writes the outcome to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; the reports are still wanted
    output, sys.stdout = sys.stdout, sys.stderr
    gc.disable()
    _rehearse()
    gc.freeze()  # what was loaded stays, so that looking for garbage in it is in vain
    gc.enable()
    line = sys.stdin.readline()
    if line:
        output.write(json.dumps(to_plain(write_run_reports(from_plain(ReportRequest, json.loads(line))))))
        output.flush()


def _rehearse() -> None:
    """Writes the reports of a made-up run to nowhere: what they need is loaded, compiled and drawn once."""
    info = TaskInfo("Rehearsal", "1", "RDF", "A rehearsal.", "score")
    evaluation = Evaluation("scored", (ScoreSet("rehearsal", {"score": 1.0}),))
    turns = (Turn(Prompt.user("?"), Answer("!", usage=Usage(1, 1, 0.1), seconds=1.0), evaluation),)
    made = [
        Transcript(case, "Rehearsal", info.name, model, 1, turns, "2026-01-01T00:00:00+00:00", 1.0)
        for case in ("a", "b", "c")
        for model in ("one", "two")
    ]
    models = tuple(ModelSpec(name, name, "none") for name in ("one", "two"))
    with tempfile.TemporaryDirectory(prefix="llmkg-") as folder, RunWriter(Path(folder) / FILE_NAME) as writer:
        writer.header(RunHeader(SCHEMA, "rehearsal", made[0].started, {}, models, (info,), 1, 1))
        for transcript in made:
            writer.transcript(transcript)
        write_run_reports(ReportRequest(folder, str(Path(folder) / "newest.html"), 80))
