"""The numbers for other programs: every score as a CSV row, the aggregates as JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores
from pytest_llmkg.plain import Json, to_plain

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_llmkg.records import Transcript
    from pytest_llmkg.reporting.views import Report

__all__ = ["COLUMNS", "render_csv", "render_json"]

COLUMNS = ("model", "task", "label", "case", "iteration", "outcome", "score", "value", "signature")

REPORT_SCHEMA = 1


def render_csv(report: Report) -> str:
    """One row for each dialogue and score, by published names; a dialogue without scores has one with none.

    An aggregate (``mean_combined``) has the signature of the scores that it is made of.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    infos = {info.name: info for info in report.tasks}
    for transcript in report.transcripts:
        info = infos.get(transcript.task)
        scores = dialogue_scores(transcript, info) if info else {}
        signatures = _signatures(transcript)
        key = (
            transcript.model,
            transcript.task,
            transcript.label,
            transcript.case,
            transcript.iteration,
            transcript.outcome,
        )
        for name, value in scores.items():
            turn_name = name if name in signatures else name.partition("_")[2]
            writer.writerow((*key, name, repr(value), signatures.get(turn_name, "")))
        if not scores:
            writer.writerow((*key, "", "", ""))
    return buffer.getvalue()


def _signatures(transcript: Transcript) -> dict[str, str]:
    return {
        name: scores.signature
        for turn in transcript.turns
        for scores in turn.evaluation.score_sets
        for name in scores.values
    }


def render_json(report: Report, now: datetime) -> str:
    """Ranking, label means and tasks as JSON; ``schema`` is the number of this layout."""
    data: dict[str, Json] = {
        "schema": REPORT_SCHEMA,
        "made": now.isoformat(timespec="seconds"),
        "runs": [_run(index, report) for index in range(len(report.headers))],
        "notes": list(report.notes),
        "ranking": [_with(to_plain(view.row), note=view.note) for view in report.models],
        "labels": [to_plain(row) for view in report.labels for row in view.rows if row is not None],
        "tasks": [to_plain(info) for info in report.tasks],
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _run(index: int, report: Report) -> Json:
    header = report.headers[index]
    return {
        "run": header.run,
        "started": header.started,
        "seed": header.seed,
        "iterations": header.iterations,
        "versions": to_plain(header.versions),
        "settings": to_plain(header.settings),
        "models": [spec.id for spec in header.models],
    }


def _with(plain: Json, note: str | None) -> Json:
    return {**plain, "note": note} if isinstance(plain, dict) else plain
