"""The table of seconds and money per question, for pages and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_llmkg.reporting.formats import UNKNOWN
from pytest_llmkg.reporting.markdown_tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.effort import EffortRow, Spread
    from pytest_llmkg.reporting.views import Report

__all__ = ["by_score", "effort_markdown", "ordered_stages", "question_facts", "score_title"]

_STAGES = ("retrieve", "model", "validate", "execute")


def question_facts(report: Report) -> dict[str, Any]:
    """What the page's section on questions shows: rows, best first, the stages, and which score it is."""
    rows = report.figures.questions
    return {
        "questions": by_score(rows),
        "stages": ordered_stages(rows),
        "question_scores": list(dict.fromkeys(view.headline for view in report.labels if view.label in report.asking)),
        "question_title": score_title(report),
    }


def score_title(report: Report) -> str:
    """``F1`` when the headline score of all tasks that put questions is one, else ``Mean score``."""
    names = {view.headline for view in report.labels if view.label in report.asking}
    return "F1" if names and all("set_F" in name or "f1" in name.lower() for name in names) else "Mean score"


def ordered_stages(rows: Sequence[EffortRow]) -> tuple[str, ...]:
    """The stages of all ``rows``: the usual ones as they follow each other, then others by name."""
    found = {stage for row in rows for stage, _ in row.stages}
    return (*(stage for stage in _STAGES if stage in found), *sorted(found.difference(_STAGES)))


def by_score(rows: Sequence[EffortRow]) -> list[EffortRow]:
    """By label, then the best mean score first."""
    return sorted(rows, key=lambda row: (row.label or "", -(row.mean_score or 0.0), row.model))


def effort_markdown(rows: Sequence[EffortRow]) -> str:
    """Two tables, the best mean score first: what a question and a solved question took, and the time by stage."""
    ordered = by_score(rows)
    with_label = any(row.label is not None for row in rows)
    names = [[row.model, *([row.label or ""] if with_label else [])] for row in ordered]
    head = ["model", *(["label"] if with_label else [])]
    figures = [
        *("questions", "errors", "score", "s mean", "s median", "s p95", "s / solved"),
        *("USD mean", "USD p95", "USD / solved", "tokens", "calls"),
    ]
    lines = table(
        [*head, *figures], [[*name, *_figures(row)] for name, row in zip(names, ordered, strict=True)], len(head)
    )
    stages = ordered_stages(ordered)
    lines += ["", "Mean seconds of a question by stage; `prepare` is the sum that was spent once.", ""]
    lines += table(
        [*head, *stages, "prepare"],
        [[*name, *_stages(row, stages), _seconds(row.prepare)] for name, row in zip(names, ordered, strict=True)],
        len(head),
    )
    return "\n".join(lines) + "\n"


def _figures(row: EffortRow) -> list[str]:
    return [
        str(row.questions),
        str(row.errors),
        UNKNOWN if row.mean_score is None else f"{row.mean_score:.3f}",
        *(_seconds(value) for value in _three(row.seconds)),
        _seconds(row.seconds_per_solved),
        _money(None if row.cost is None else row.cost.mean),
        _money(None if row.cost is None else row.cost.p95),
        _money(row.cost_per_solved),
        UNKNOWN if row.tokens is None else f"{row.tokens:.0f}",
        f"{row.calls:.2f}",
    ]


def _three(spread: Spread | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if spread is None else (spread.mean, spread.median, spread.p95)


def _stages(row: EffortRow, stages: Sequence[str]) -> list[str]:
    told = dict(row.stages)
    return [_seconds(told[stage]) if stage in told else "" for stage in stages]


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


def _money(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.6f}"
