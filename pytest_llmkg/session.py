"""A pytest session's two halves: holding dialogues (every process) and keeping them (the controller only)."""

from __future__ import annotations

import platform
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_llmkg
from pytest_llmkg.analysis.dialogue import dialogue_scores, headline
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import Json, from_plain, to_plain
from pytest_llmkg.records import Case, ModelSpec, RunHeader, TaskInfo, Transcript
from pytest_llmkg.reporting.files import write_reports
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.scheduler import LoopThread
from pytest_llmkg.store import SCHEMA, Run, RunWriter, read_run

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Connector
    from pytest_llmkg.suite import Suite

__all__ = ["FinishedRun", "Keeper", "Runner", "error_transcript", "versions"]


class Runner:
    """Holds dialogues: one event loop, one graph engine, one connector for each model."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self._loop = LoopThread()
        self._kg = Sandbox()
        self._connectors: dict[str, Connector] = {}

    def hold(self, case: Case, model: ModelSpec, iteration: int) -> Transcript:
        """The transcript of asking ``model`` the ``case``; an error is told in it, not raised."""
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
        return self._loop.run(hold_dialogue(dialogue, self._kg))

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
        """Closes connectors, loop and graph engine."""
        try:
            for connector in self._connectors.values():
                self._loop.run(connector.close())
        finally:
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
        self._suite = suite
        self._reports = root / "reports"
        self._started = datetime.now(UTC)
        self.directory = suite.settings.run_dir or self._new_directory()
        if (self.directory / "run.jsonl").exists():
            raise UserError(f"{self.directory} holds a run already; choose another --llmkg-run-dir")
        self._writer: RunWriter | None = None

    def keep(self, case: Json, transcript: Json) -> None:
        """Appends one dialogue; the run file begins with the first one, so that an empty session leaves nothing."""
        if self._writer is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._writer = RunWriter(self.directory / "run.jsonl")
            self._writer.header(self._header())
        self._writer.case(from_plain(Case, case))
        self._writer.transcript(from_plain(Transcript, transcript))

    def keep_lost(self, node_id: str, error: str) -> None:
        """Records the dialogue of a test whose process died: it knew the id only."""
        test = self._suite.find(node_id.partition("[")[2].partition("]")[0])
        if test is not None and test.case and test.model and test.iteration:
            lost = error_transcript(test.case, test.model.id, test.iteration, error)
            self.keep(to_plain(test.case), to_plain(lost))

    def finish(self) -> FinishedRun | None:
        """Closes the run file and writes the reports; None when no dialogue was held."""
        if self._writer is None:
            return None
        self._writer.close()
        run = read_run(self.directory)
        page = write_reports(run, self.directory, datetime.now(UTC))
        newest = self._reports / "leaderboard.html"
        newest.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, newest)
        return FinishedRun(run, page, newest)

    def _new_directory(self) -> Path:
        models = self._suite.models
        slug = re.sub(r"[^a-z0-9.]+", "-", models[0].id.lower()).strip("-")[:40] if models else "none"
        more = f"+{len(models) - 1}" if len(models) > 1 else ""
        base = self._reports / "runs" / f"{self._started:%Y%m%dT%H%M%SZ}-{slug}{more}"
        directory, number = base, 1
        while directory.exists():
            number += 1
            directory = base.with_name(f"{base.name}.{number}")
        return directory

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
            },
        )


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a finished run left: its records, its page, and the copy that is always the newest page."""

    run: Run
    page: Path
    newest: Path

    def lines(self, width: int) -> list[str]:
        """The leaderboard as text for a terminal of ``width`` columns, and where the page is."""
        return [*leaderboard_lines(build_report([self.run]), width), "", f"leaderboard: {self.page}"]


def versions() -> dict[str, str]:
    """Versions that a score or a price can depend on; a library that is not installed is left out."""
    found = {"pytest-llmkg": pytest_llmkg.__version__, "python": platform.python_version()}
    for name in ("rdflib", "pyoxigraph", "litellm", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def error_transcript(case: Case, model: str, iteration: int, error: str) -> Transcript:
    """The transcript of a dialogue that never began or was lost with its process."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Transcript(case.id, case.label, case.task, model, iteration, (), now, 0.0, " ".join(error.split()))
