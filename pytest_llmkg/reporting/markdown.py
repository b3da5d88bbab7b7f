"""The leaderboard as Markdown tables, for a pull request or a readme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pytest_llmkg.reporting.views import ModelView, Report

__all__ = ["render_markdown"]

_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~$#]")


def render_markdown(report: Report, now: datetime) -> str:
    """Ranking and table of models and task labels; ``now`` is the time that the text states as its own."""
    lines = ["# Language models on knowledge graphs", "", f"Made {now:%Y-%m-%d %H:%M} UTC.", ""]
    for header in report.headers:
        versions = ", ".join(f"{name} {version}" for name, version in header.versions.items())
        facts = f"Run {header.run}, started {header.started}, seed {header.seed}, {versions}."
        lines += [_escaped(facts), ""]
    for note in report.notes:
        lines += [f"**Note:** {_escaped(note)}", ""]
    lines += [
        "The mean is the average of a model's means per task label, each label with the same weight.",
        "Unparsable answers count with their score by rule; errors are counted but are never a score of 0.",
        "",
    ]
    head = ("#", "Model", "Mean", "Scored", "Unparsable", "No answer", "Errors", "Cost", "Time")
    lines += _table(head, (_ranking_row(view) for view in report.models), 2)
    names = [view.row.model for view in report.models]
    lines += ["", "## Mean headline score by task label", ""]
    lines += _table(
        ("Task label", "Score", *names),
        (
            (view.label, view.headline, *(formats.score(row.mean if row else None) for row in view.rows))
            for view in report.labels
        ),
        2,
    )
    return "\n".join(lines) + "\n"


def _ranking_row(view: ModelView) -> tuple[str, ...]:
    row, counts = view.row, view.row.counts
    return (
        formats.NONE if row.rank is None else str(row.rank),
        f"{row.model} ({view.note})" if view.note else row.model,
        formats.score(row.mean),
        *(formats.count(n) for n in (counts.scored, counts.unparsable, counts.no_answer, counts.error)),
        formats.cost(row.cost, known=row.cost_known),
        formats.duration(row.seconds),
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], left: int) -> list[str]:
    """A table whose first ``left`` columns are text and whose others are numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return [_line(_escaped(cell) for cell in head), _line(rule), *(_line(map(_escaped, row)) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], " ".join(formats.visible(text).split()))
