"""The published analysis as plain lines for a terminal: ASCII only, so that no model name can steer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.published_records import CapabilityScore, CombinedRow, PreferenceTable, PublishedAnalysis

__all__ = ["render_published"]

_WIDEST_NAME = 48


def render_published(analysis: PublishedAnalysis) -> str:
    """Combined scores side by side, capabilities by definition, format preferences, and every note and warning."""
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
        lines += [f"  {row.model}: {note}" for row in table.rows for note in row.notes]
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
        lacking = [
            f"  {score.model}, {score.capability}: {'; '.join(score.missing)}" for score in scores if score.missing
        ]
        lines += [*(["", "  ~ = without tasks that have no values:", *lacking] if lacking else []), ""]
    return lines


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
    return lines + [
        f"  {row.model}, {cell.column}: {cell.note}" for row in table.rows for cell in row.cells if cell.note
    ]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [[_shortened(plain_line(cell)) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in shown]


def _shortened(text: str) -> str:
    half = (_WIDEST_NAME - 2) // 2
    return text if len(text) <= _WIDEST_NAME else f"{text[:half]}..{text[-half:]}"
