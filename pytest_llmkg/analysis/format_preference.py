"""Which of two RDF formats a model handles better (Table 7 of the article on LLM-KG-Bench 3).

As published: one unpaired t-test for each model and task, and one over all tasks together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.published_records import PreferenceCell, PreferenceRow, PreferenceTable
from pytest_llmkg.analysis.published_ttest import t_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.capabilities import Measured, Measurements
    from pytest_llmkg.analysis.published_config import PreferenceColumn, Preferences

__all__ = ["preference_table"]


def preference_table(preferences: Preferences, measurements: Measurements) -> PreferenceTable:
    """The preference of every model in every column; the pooled column stands first."""
    rows = tuple(
        PreferenceRow(model, _row(preferences, labels)) for model, labels in sorted(measurements.by_model.items())
    )
    columns = (preferences.pooled, *(column.name for column in preferences.columns))
    return PreferenceTable(
        first=preferences.first,
        second=preferences.second,
        columns=columns,
        alpha=preferences.alpha,
        strong=preferences.strong,
        rows=rows,
        warnings=_warnings(preferences, rows, measurements),
    )


def _row(preferences: Preferences, labels: Mapping[str, Measured]) -> tuple[PreferenceCell, ...]:
    firsts: list[float] = []
    seconds: list[float] = []
    cells, left_out = [], []
    for column in preferences.columns:
        first, second = (_values(label, column.score, labels) for label in (column.first, column.second))
        note = _lack(column, labels)
        cells.append(_cell(column.name, first, second, preferences, note))
        if first and second:
            firsts, seconds = [*firsts, *first], [*seconds, *second]
        else:
            left_out.append(column.name)
    note = f"without {', '.join(left_out)}, which lack values" if left_out and firsts else ""
    note = note or ("no task has values of both formats" if left_out else "")
    return _cell(preferences.pooled, firsts, seconds, preferences, note), *cells


def _values(label: str, score: str, labels: Mapping[str, Measured]) -> list[float]:
    return labels[label].scores.get(score, []) if label in labels else []


def _lack(column: PreferenceColumn, labels: Mapping[str, Measured]) -> str:
    found = []
    for label in (column.first, column.second):
        if label not in labels:
            found.append(f"no dialogue of {label}")
        elif not labels[label].dialogues:
            found.append(f"all dialogues of {label} broke off")
        elif not labels[label].scores.get(column.score):
            found.append(f"no score {column.score!r} on {label}")
        elif lacking := labels[label].dialogues - len(labels[label].scores[column.score]):
            found.append(f"dialogues of {label} without the score {column.score!r}, left out: {lacking}")
    found += [
        f"dialogues of {label} that broke off, left out: {labels[label].errors}"
        for label in (column.first, column.second)
        if label in labels and labels[label].errors and labels[label].dialogues
    ]
    return "; ".join(found)


def _cell(
    column: str, first: Sequence[float], second: Sequence[float], preferences: Preferences, note: str
) -> PreferenceCell:
    test = t_test(first, second)
    means = _mean(first), _mean(second)
    side, strong = None, False
    if test.p is not None and test.p < preferences.alpha:
        side = preferences.first if (means[0] or 0.0) > (means[1] or 0.0) else preferences.second
        strong = test.p < preferences.strong
    mark = "-" if side is None else f"**{side}**" if strong else side
    reasons = [text for text in (note, test.reason if first and second else "") if text]
    return PreferenceCell(
        column=column,
        side=side,
        strong=strong,
        mark=mark if first and second else "",
        p=test.p,
        first_mean=means[0],
        second_mean=means[1],
        first_values=len(first),
        second_values=len(second),
        note="; ".join(reasons),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _warnings(preferences: Preferences, rows: Sequence[PreferenceRow], measurements: Measurements) -> tuple[str, ...]:
    tests = sum(cell.p is not None for row in rows for cell in row.cells)
    if not tests:
        return ("No model has values of both formats to compare.",)
    names = {label for column in preferences.columns for label in (column.first, column.second)}
    cases = [
        len(measured.cases)
        for labels in measurements.by_model.values()
        for label, measured in labels.items()
        if label in names and measured.cases
    ]
    number = str(min(cases)) if min(cases) == max(cases) else f"{min(cases)} to {max(cases)}"
    dependent = (
        f"Each test takes the values of a format for independent; they come from {number} different cases a task, and "
        "repeats of a case are alike. Both formats are asked the same things, which an unpaired test does not use."
    )
    many = (
        f"Tests made without correction for their number: {tests}. At the level {preferences.alpha:g} about "
        f"{tests * preferences.alpha:.1f} marks are expected where there is no preference at all."
    )
    pooled = f"{preferences.pooled} pools tasks with different scores; each task weighs by its number of values."
    return dependent, many, pooled
