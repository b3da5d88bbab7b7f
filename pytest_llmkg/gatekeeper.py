"""The gate's doors: reads the runs, has them judged, and tells everybody who asked; for pytest and command line."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.comparability import Side
from pytest_llmkg.baselines import baseline_title, read_slim
from pytest_llmkg.errors import RunFileError, UserError
from pytest_llmkg.gate import GateResult, Rule, judge, parse_rules
from pytest_llmkg.reporting.files import write_atomically
from pytest_llmkg.reporting.verdicts import (
    github_annotations,
    verdict_lines,
    verdicts_json,
    verdicts_junit,
    verdicts_markdown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.records import Case, ModelSpec
    from pytest_llmkg.store import Run

__all__ = ["JUNIT_NAME", "Gatekeeper", "Judged", "make_gatekeeper", "publish", "side_of"]

JUNIT_NAME = "gate.xml"

MOST_SUMMARY = 900_000
"""Bytes of a job summary: GitHub takes 1 MiB of a step, and of more nothing at all."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it: verdicts, lines for the terminal, and what could not be written."""

    result: GateResult
    lines: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """Rules and baseline, read before any model is called."""

    rules: tuple[Rule, ...]
    baseline: Side | None
    title: str | None = None
    """What the baseline is called; ``None``: as its run."""

    def judge(self, path: Path) -> GateResult:
        """The verdicts on the run in ``path``.

        Raises:
            RunFileError: it cannot be read.
        """
        now = side_of(read_slim(path), "this run")
        result = judge(now, self.baseline, self.rules, seed=now.header.seed)
        return result if self.title is None else replace(result, baseline=self.title)

    def judge_and_tell(self, directory: Path) -> Judged:
        """Like `judge`, and tells it everywhere.

        Raises:
            RunFileError: the run cannot be read.
        """
        return publish(self.judge(directory), directory, directory / JUNIT_NAME)

    def check_scopes(self, models: Iterable[ModelSpec], cases: Iterable[Case]) -> None:
        """Complains about a rule that fits no model or no case of a session that is to come.

        Raises:
            UserError: there is one.
        """
        names, labels = [spec.id for spec in models], {(case.label, case.task) for case in cases}
        for rule in self.rules:
            if not any(map(rule.takes_model, names)):
                raise UserError(f"gate rule {rule.text!r} fits none of the models {', '.join(names)}")
            if not any(rule.takes_label(label, task) for label, task in labels):
                raise UserError(f"gate rule {rule.text!r} fits no task variant that is asked; llmkg tasks lists them")


def make_gatekeeper(rules: Iterable[str], baseline: Path | None) -> Gatekeeper | None:
    """The gatekeeper; None when there is nothing to judge.

    Raises:
        UserError: a rule is wrong, or the baseline cannot be read or holds no dialogue.
    """
    parsed = parse_rules(rules, has_baseline=baseline is not None)
    if not parsed:
        return None
    if baseline is None:
        return Gatekeeper(parsed, None)
    run = read_slim(baseline)
    if not run.transcripts:
        raise RunFileError(f"{baseline}: the run holds no dialogue, so nothing can be compared with it")
    return Gatekeeper(parsed, side_of(run, "the baseline"), baseline_title(baseline, run.header.run))


def side_of(run: Run, name: str) -> Side:
    """``run`` for a comparison, in which it is called ``name``."""
    return Side(name, run.header, run.transcripts, run.truncated)


def publish(result: GateResult, directory: Path | None, junit: Path | None) -> Judged:
    """Writes what was judged wherever it is looked for, and returns the lines for the terminal.

    That is: the section ``gate`` of ``report.json`` in ``directory``, if there is one; the JUnit file; on GitHub
    Actions the job summary and, among the lines, annotations. What cannot be written is told in ``problems``.
    """
    lines, problems = verdict_lines(result), []
    if os.environ.get("GITHUB_ACTIONS") == "true":
        lines += github_annotations(result)
    try:
        if junit is not None:
            write_atomically(junit, '<?xml version="1.0" encoding="utf-8"?>\n' + verdicts_junit(result))
        if directory is not None and (directory / "report.json").is_file():
            _add_to_report(directory / "report.json", result)
    except UserError as error:
        problems.append(f"the gate's verdicts were not written: {error}")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(_shortened(verdicts_markdown(result)))
        except OSError as error:
            problems.append(f"the gate's verdicts were not added to the job summary: {error.strerror}")
    return Judged(result, tuple(lines), tuple(problems))


def _shortened(text: str) -> str:
    """``text`` up to the last whole line for which a job summary has room; failures stand first."""
    if len(text.encode()) <= MOST_SUMMARY:
        return text
    kept = text.encode()[:MOST_SUMMARY].rpartition(b"\n")[0].decode()
    return f"{kept}\n\nCut here, since a job summary takes no more; all verdicts are in {JUNIT_NAME}.\n"


def _add_to_report(path: Path, result: GateResult) -> None:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}; make it again by llmkg report") from error
    if not isinstance(report, dict):
        raise UserError(f"{path}: is no report; make it again by llmkg report")
    report["gate"] = verdicts_json(result)
    write_atomically(path, json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1) + "\n")
