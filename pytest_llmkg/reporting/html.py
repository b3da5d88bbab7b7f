"""The leaderboard page: one file without scripts or outside resources, escaped by the template engine."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.dialogues import dialogue_groups

if TYPE_CHECKING:
    from datetime import datetime

    from jinja2 import Environment

    from pytest_llmkg.records import Number
    from pytest_llmkg.reporting.views import Report

__all__ = ["render_page"]

DIALOGUE_LIMIT = 1_000
"""Dialogues that a page shows in full; more make browsers slow. The run file holds all of them."""

MOST_COLUMNS = 16
"""Task labels that fit side by side at 1200 pixels; more become the rows of the table, and models its columns."""


def render_page(report: Report, now: datetime) -> str:
    """The page of ``report`` as HTML text; ``now`` is the time that it states as its own."""
    groups = dialogue_groups(report, DIALOGUE_LIMIT)
    by_model = {model: list(found) for model, found in groupby(groups, key=lambda group: group.model)}
    families = [(name, len(list(found))) for name, found in groupby(view.family for view in report.labels)]
    models = {view.row.model: number for number, view in enumerate(report.models)}
    labels = {view.label: number for number, view in enumerate(report.labels)}
    template = _environment().get_template("leaderboard.html.j2")
    return template.render(
        report=report,
        now=now.strftime("%Y-%m-%d %H:%M UTC"),
        families=families,
        labels_as_rows=len(report.labels) > max(MOST_COLUMNS, len(report.models)),
        groups=by_model,
        model_number=models,
        label_number=labels,
        shown=sum(len(group.dialogues) for group in groups),
        iterated=any(header.iterations > 1 for header in report.headers),
    )


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_llmkg.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=formats.visible,
        score=formats.score,
        number=formats.number,
        count_of=formats.count,
        cost=formats.cost,
        duration=formats.duration,
        shade=shade,
        parts=name_parts,
    )
    return environment


def shade(value: Number | None) -> int:
    """A step from 0 to 10 for the background of a cell; scores outside 0 to 1 get the nearest."""
    return 0 if value is None else round(10 * min(max(value, 0), 1))


def name_parts(name: str) -> tuple[str, ...]:
    """``name`` in pieces between which a line may break: before capitals and after punctuation."""
    parts = [""]
    for before, char in zip(" " + name, name, strict=False):
        if (char.isupper() and before.islower()) or before in "-_/:.":
            parts.append("")
        parts[-1] += char
    return tuple(parts)
