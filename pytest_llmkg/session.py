"""A pytest session's two halves: holding dialogues (every process) and keeping them (the controller only)."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.analysis.dialogue import dialogue_scores, headline
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.errors import RecordError, UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.records import Answer, Case, ModelSpec, RunHeader, TaskInfo, Transcript, Turn
from pytest_llmkg.reporting.files import write_atomically, write_reports
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.scheduler import LoopThread
from pytest_llmkg.sealing import PUBLIC, new_cipher, private_key
from pytest_llmkg.store import FILE_NAME, SCHEMA, SEALED_LINES, Run, RunWriter, read_run

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Connector
    from pytest_llmkg.suite import Suite

__all__ = ["FinishedRun", "Keeper", "Runner", "error_transcript", "versions"]

_CLOSE_SECONDS = 10.0
_LOG = logging.getLogger(__name__)


class Runner:
    """Holds dialogues: one event loop, one graph engine, one connector for each model."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self._loop = LoopThread()
        self._kg = Sandbox()
        self._connectors: dict[str, Connector] = {}

    def hold(self, case: Case, model: ModelSpec, iteration: int) -> Transcript:
        """The transcript of asking ``model`` the ``case``; an error is told in it, not raised.

        What a task or a connector of somebody else put into it that no run file can hold is an error, too.
        """
        settings = self.suite.settings
        dialogue = Dialogue(
            case,
            self.suite.tasks.get(case.task),
            model.id,
            self._connector(model),
            iteration,
            settings.timeout,
            settings.max_turns,
        )
        return _storable(self._loop.run(hold_dialogue(dialogue, self._kg)))

    def shortfall(self, transcript: Transcript) -> str | None:
        """One sentence when the headline score is below ``--llmkg-min-score``, else None."""
        wanted, info = self.suite.settings.min_score, self._info(transcript)
        score = headline(transcript, info)
        if wanted is None or (score is not None and score >= wanted):
            return None
        return f"{info.headline} is {score}, wanted at least {wanted:g} (--llmkg-min-score)"

    def properties(self, transcript: Transcript) -> list[tuple[str, object]]:
        """The user properties of a test; plain scalars. What is unknown, e.g. a price, is left out."""
        costs = [turn.answer.usage.cost for turn in transcript.turns]
        values: dict[str, Json] = {
            "model": transcript.model,
            "task": transcript.label,
            "case": transcript.case,
            "iteration": transcript.iteration,
            "outcome": transcript.outcome,
            "turns": len(transcript.turns),
            "seconds": transcript.seconds,
        }
        if costs and None not in costs:
            values["cost"] = sum(cost for cost in costs if cost is not None)
        if transcript.turns:
            values |= dialogue_scores(transcript, self._info(transcript))
        return [(f"llmkg.{name}", to_plain(value)) for name, value in values.items()]

    def close(self) -> None:
        """Closes connectors, loop and graph engine; a connector that cannot be closed must not keep the others open."""
        for name, connector in self._connectors.items():
            try:
                self._loop.run(asyncio.wait_for(connector.close(), _CLOSE_SECONDS))
            except Exception as error:  # noqa: BLE001  (recorded; no result depends on it any more)
                _LOG.warning("model %r could not be closed: %s: %s", name, type(error).__name__, error)
        self._connectors.clear()
        self._loop.close()
        self._kg.close()

    def _info(self, transcript: Transcript) -> TaskInfo:
        return self.suite.tasks.get(transcript.task).info

    def _connector(self, model: ModelSpec) -> Connector:
        if model.id not in self._connectors:
            self._connectors[model.id] = self.suite.connectors.get(model.connector).make(model)
        return self._connectors[model.id]


class Keeper:
    """Keeps what was measured: writes the run file as the run goes and the reports at its end."""

    def __init__(self, suite: Suite, root: Path) -> None:
        """Writes nothing yet.

        Raises:
            UserError: the run directory holds a run already, or cannot be made or written, or the key that the
                run file is to be sealed with cannot be read.
        """
        self._suite = suite
        self._reports = root / "reports"
        self._started = datetime.now(UTC)
        self._lock = new_cipher(private_key() or PUBLIC).lock if suite.settings.seal_run else None
        self._writer: RunWriter | None = None
        self.directory = suite.settings.run_dir or self._default_directory()
        # A default directory of the same second gets a number when it is made.
        if suite.settings.run_dir is not None and self._holds_a_run():
            raise UserError(f"{self.directory} holds a run already; choose another --llmkg-run-dir")
        nearest = next(path for path in (self.directory, *self.directory.parents) if os.access(path, os.F_OK))
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            trouble = "cannot be written" if nearest.is_dir() else "is no folder"
            raise UserError(
                f"no run can be written to {self.directory}, since {nearest} {trouble}; use --llmkg-run-dir"
            )

    def keep(self, case: Json, transcript: Json) -> None:
        """Appends one dialogue; the run file begins with the first one, so that an empty session leaves nothing.

        Raises:
            LlmkgError: it cannot be written; the run file must be left alone from then on.
            OSError: the run directory cannot be made.
        """
        if self._writer is None:
            self._make_directory()
            self._writer = RunWriter(self.directory / FILE_NAME)
            self._writer.header(self._header())
        self._writer.case(from_plain(Case, case))
        self._writer.transcript(from_plain(Transcript, transcript))

    def keep_lost(self, node_id: str, error: str) -> None:
        """Records the dialogue of a test whose process died, of which only the id is known."""
        test = self._suite.find(node_id)
        if test is not None and test.case and test.model and test.iteration:
            lost = error_transcript(test.case, test.model.id, test.iteration, error)
            self.keep(to_plain(test.case), to_plain(lost))

    def finish(self) -> FinishedRun | None:
        """Closes the run file and writes the reports; None when no dialogue was held.

        Raises:
            RunFileError: the run file cannot be read again.
        """
        if self._writer is None:
            return None
        self._writer.close()
        run = read_run(self.directory)
        try:
            page = write_reports(run, self.directory, datetime.now(UTC))
            write_atomically(self._reports / page.name, page.read_text(encoding="utf-8"))
        except (UserError, OSError) as error:
            return FinishedRun(run, self.directory / "leaderboard.html", f"not every report was written: {error}")
        return FinishedRun(run, page)

    def _holds_a_run(self) -> bool:
        try:
            return (self.directory / FILE_NAME).exists()
        except OSError as error:  # e.g. a name that is too long
            raise UserError(f"no run can be written to {self.directory}: {error.strerror}") from error

    def _default_directory(self) -> Path:
        models = self._suite.models
        slug = re.sub(r"[^a-z0-9.]+", "-", models[0].id.lower()).strip("-")[:40]
        more = f"+{len(models) - 1}" if len(models) > 1 else ""
        return self._reports / "runs" / f"{self._started:%Y%m%dT%H%M%SZ}-{slug}{more}"

    def _make_directory(self) -> None:
        """Makes the run directory; a default one is new, also when another session began in the same second."""
        base, is_given, number = self.directory, self._suite.settings.run_dir is not None, 1
        while True:
            try:
                self.directory.mkdir(parents=True, exist_ok=is_given)
            except FileExistsError:
                if is_given:
                    raise
                number += 1
                self.directory = base.with_name(f"{base.name}.{number}")
            else:
                return

    def _header(self) -> RunHeader:
        settings = self._suite.settings
        return RunHeader(
            schema=SCHEMA,
            run=self.directory.name,
            started=self._started.isoformat(timespec="seconds"),
            versions=versions(),
            models=self._suite.models,
            tasks=tuple(task.info for task in self._suite.tasks),
            seed=settings.seed,
            iterations=settings.iterations,
            settings={
                "tasks": list(settings.tasks),
                "timeout": settings.timeout,
                "max_turns": settings.max_turns,
                "min_score": settings.min_score,
                "hide_cases": settings.hide_cases or None,  # reports leave out what is None
                SEALED_LINES: to_plain(self._lock) if self._lock else None,
            },
        )


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a finished run left: its records, its page, and why a report is missing, if one is."""

    run: Run
    page: Path
    problem: str | None = None

    def lines(self, width: int) -> list[str]:
        """The leaderboard as text for a terminal of ``width`` columns."""
        return leaderboard_lines(build_report([self.run]), width)


def versions() -> dict[str, str]:
    """Versions that a score or a price can depend on; a library that is not installed is left out."""
    found = {"pytest-llmkg": pytest_llmkg.__version__, "python": platform.python_version()}
    for name in ("rdflib", "pyoxigraph", "litellm", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _storable(transcript: Transcript) -> Transcript:
    """``transcript`` in exact plain types; an error from its first turn on that is none, whose answer is kept."""
    trouble = _why_not_storable(transcript)
    if trouble is None:
        return from_plain(Transcript, to_plain(transcript))
    turns = tuple(takewhile(lambda turn: _why_not_storable(turn) is None, transcript.turns))
    answers = [turn.answer for turn in transcript.turns[len(turns) :]]
    answer = answers[0] if answers else transcript.unevaluated
    if answer is not None and _why_not_storable(answer):
        answer = Answer(answer.text)
    error = f"the dialogue's task or connector gave what no run file can hold: {trouble}"
    return replace(transcript, turns=turns, unevaluated=answer, error=error)


def _why_not_storable(record: Transcript | Turn | Answer) -> str | None:
    try:
        from_plain(type(record), to_plain(record))
    except RecordError as error:
        return str(error)
    return None


def error_transcript(case: Case, model: str, iteration: int, error: str) -> Transcript:
    """The transcript of a dialogue that never began or was lost with its process."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Transcript(case.id, case.label, case.task, model, iteration, (), now, 0.0, " ".join(error.split()))
