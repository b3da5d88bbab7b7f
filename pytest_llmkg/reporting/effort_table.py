"""The table of seconds and money per question as Markdown and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting.markdown_tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.effort import EffortRow, Spread

__all__ = ["effort_markdown"]

_UNKNOWN = "?"


def effort_markdown(rows: Sequence[EffortRow]) -> str:
    """Two tables, the best mean score first: what a question and a solved question took, and the time by stage.

    ``?`` stands for what nobody told.
    """
    ordered = sorted(rows, key=lambda row: (row.label or "", -(row.mean_score or 0.0), row.model))
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
    stages = list(dict.fromkeys(stage for row in ordered for stage, _ in row.stages))
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
        _UNKNOWN if row.mean_score is None else f"{row.mean_score:.3f}",
        *(_seconds(value) for value in _three(row.seconds)),
        _seconds(row.seconds_per_solved),
        _money(None if row.cost is None else row.cost.mean),
        _money(None if row.cost is None else row.cost.p95),
        _money(row.cost_per_solved),
        _UNKNOWN if row.tokens is None else f"{row.tokens:.0f}",
        f"{row.calls:.2f}",
    ]


def _three(spread: Spread | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if spread is None else (spread.mean, spread.median, spread.p95)


def _stages(row: EffortRow, stages: Sequence[str]) -> list[str]:
    told = dict(row.stages)
    return [_seconds(told[stage]) if stage in told else "" for stage in stages]


def _seconds(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.3f}"


def _money(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.6f}"
