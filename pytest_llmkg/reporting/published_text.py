"""The published analysis as plain lines for a terminal: ASCII only, so that no model name can steer it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import plain_line
from pytest_llmkg.reporting.short_names import short_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.analysis.published_records import (
        CapabilityScore,
        CombinedRow,
        PreferenceRow,
        PreferenceTable,
        PublishedAnalysis,
    )

__all__ = ["render_published"]

_WIDEST_NAME = 48
_LONGEST_TASK = 120


def render_published(analysis: PublishedAnalysis) -> str:
    """Combined scores side by side, capabilities by definition, format preferences, notes and warnings.

    Lists of tasks without values are cut after the first; ``to_plain`` of the analysis holds them whole.
    """
    lines = [f"By the method of: {analysis.source}", ""]
    if analysis.models:
        lines += [*_combined(analysis), "", *_capabilities(analysis)]
        if analysis.preferences is not None:
            lines += [*_preferences(analysis.preferences), ""]
    lines += [f"note: {note}" for note in analysis.notes]
    return "".join(f"{plain_line(line).rstrip()}\n" for line in lines)


def _combined(analysis: PublishedAnalysis) -> list[str]:
    rows = {(table.definition, row.model): row for table in analysis.combined for row in table.rows}
    names = [table.definition for table in analysis.combined]
    printed = {row.model: row.published for row in rows.values() if row.published}
    body = [
        [model, printed.get(model, "-"), *(_combined_cell(rows[name, model]) for name in names)]
        for model in _ordered(analysis)
    ]
    lines = ["Combined SPARQL score: mean (standard deviation), * = leader group, p against the leader", ""]
    lines += _table([["model", "published", *names], *body])
    for table in analysis.combined:
        lines += ["", f"{table.definition}: {table.title}. {table.summary}"]
        lines += [f"  warning: {warning}" for warning in table.warnings]
        lines += _by_model((row.model, _brief(note)) for row in table.rows for note in row.notes)
    return lines


def _ordered(analysis: PublishedAnalysis) -> list[str]:
    if not analysis.combined:
        return list(analysis.models)
    return [row.model for row in analysis.combined[0].rows]


def _combined_cell(row: CombinedRow) -> str:
    star = "*" if row.star else ""
    # A model without a star and without a p-value could not be tested, which its notes explain.
    tested = "" if row.mean is None or row.leader else "  p undefined" if row.p is None else f"  p {row.p:.2g}"
    return f"{row.text}{star}{tested}"


def _capabilities(analysis: PublishedAnalysis) -> list[str]:
    lines: list[str] = []
    for definition in dict.fromkeys(score.definition for score in analysis.capabilities):
        scores = [score for score in analysis.capabilities if score.definition == definition]
        names = list(dict.fromkeys(score.capability for score in scores))
        found = {(score.model, score.capability): score for score in scores}
        body = [[model, *(_capability_cell(found[model, name]) for name in names)] for model in _ordered(analysis)]
        lines += [f"Capability scores, {definition}", "", *_table([["model", *names], *body])]
        lacking: dict[str, list[CapabilityScore]] = {}
        for score in (score for score in scores if score.missing):
            lacking.setdefault(score.model, []).append(score)
        told = _by_model((model, _lacking(found_there, len(names))) for model, found_there in lacking.items())
        lines += [
            *(["", "  ~ = without tasks that have no values (all of them with --json):", *told] if told else []),
            "",
        ]
    return lines


def _lacking(scores: Sequence[CapabilityScore], capabilities: int) -> str:
    """Which capabilities of a model lack a task, in one line, and the first task."""
    tasks = list(dict.fromkeys(task for score in scores for task in score.missing))
    names = "all capabilities" if len(scores) == capabilities > 1 else ", ".join(score.capability for score in scores)
    return f"{names}: {_first(tasks)}"


def _first(tasks: Sequence[str]) -> str:
    return textwrap.shorten(tasks[0], _LONGEST_TASK, placeholder=" ...") + (
        f" (and {len(tasks) - 1} more tasks)" if len(tasks) > 2 else " (and 1 more task)" if len(tasks) > 1 else ""
    )


def _brief(note: str) -> str:
    """A note whose list of tasks is cut after the first."""
    head, sign, tasks = note.partition(": ")
    if not sign or "; " not in tasks:
        return note
    return f"{head}: {_first(tasks.rstrip('.').split('; '))}."


def _by_model(notes: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each note, with all models that it stands for."""
    models: dict[str, list[str]] = {}
    for model, note in notes:
        models.setdefault(note, []).append(model)
    return [f"  {', '.join(named)}: {note}" for note, named in models.items()]


def _capability_cell(score: CapabilityScore) -> str:
    return "-" if score.mean is None else f"{'' if score.complete else '~'}{score.mean:.3f}"


def _preferences(table: PreferenceTable) -> list[str]:
    body = [[row.model, *(cell.mark or "n/a" for cell in row.cells)] for row in table.rows]
    lines = [
        f"Format preference: {table.first} or {table.second} where p < {table.alpha:g}, ** where p < {table.strong:g}",
        "",
        *_table([["model", *table.columns], *body]),
    ]
    lines += ["", *(f"  warning: {warning}" for warning in table.warnings)]
    return lines + _by_model(
        (row.model, f"{', '.join(columns)}: {note}")
        for row in table.rows
        for note, columns in _column_notes(row).items()
    )


def _column_notes(row: PreferenceRow) -> dict[str, list[str]]:
    """The columns that each note of a model is on; what lacks dialogues is one note, whatever it lacks."""
    found: dict[str, list[str]] = {}
    for cell in row.cells:
        if cell.note:
            note = "a format has no dialogue" if cell.note.startswith("no dialogue of ") else cell.note
            found.setdefault(note, []).append(cell.column)
    return found


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [[short_name(plain_line(cell), _WIDEST_NAME) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in shown]
