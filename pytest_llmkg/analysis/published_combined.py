"""The combined SPARQL score and its leader group (Table 6 of the article on LLM-KG-Bench 3).

The leader group is formed as published: a t-test of every model against the best one, without correction for the
number of tests, on values that are not independent. The table says so; better tests stand beside it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.capabilities import cells_of, weighted
from pytest_llmkg.analysis.published_records import CombinedRow, CombinedTable
from pytest_llmkg.analysis.published_ttest import TTest, printed, t_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.capabilities import Cell, Measured, Measurements
    from pytest_llmkg.analysis.published_config import Definition, PublishedConfig, PublishedFigure

__all__ = ["combined_table", "published_figure"]

# Means closer than this are a tie; floats of equal results may differ in their last bits.
_DECIMALS = 12
_ALONE = "No other model was measured on the same labels, so there is no leader group."


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row with what its test needs: the sample, and the cases by label."""

    row: CombinedRow
    sample: tuple[float, ...]
    cases: Mapping[str, frozenset[str]]


def combined_table(definition: Definition, config: PublishedConfig, measurements: Measurements) -> CombinedTable:
    """The combined score of every model by ``definition``, with the leader group at ``config.alpha``.

    Models that were measured on other labels are ranked and tested apart. A model that lacks a task has no score.
    """
    entries = [_entry(definition, config, model, labels) for model, labels in measurements.by_model.items()]
    groups: dict[tuple[str, ...], list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.row.labels if entry.row.mean is not None else (), []).append(entry)
    rows: list[CombinedRow] = []
    for labels in sorted(groups, key=lambda key: (not key, not _is_published(key, definition, config), key)):
        group = groups[labels]
        rows += _tested(group, config.alpha) if labels else sorted((e.row for e in group), key=lambda r: r.model)
    warnings = _warnings(definition, rows, len([labels for labels in groups if labels]))
    return CombinedTable(definition.name, definition.title, definition.summary, config.alpha, tuple(rows), warnings)


def _entry(definition: Definition, config: PublishedConfig, model: str, labels: Mapping[str, Measured]) -> _Entry:
    cells, missing = cells_of(definition, config, labels)
    used = tuple(dict.fromkeys(cell.label for cell in cells))
    mean, deviation = weighted(cells, definition) if cells and not missing else (None, None)
    sample = tuple(x for cell in cells for x in cell.values)
    row = CombinedRow(
        model=model,
        rank=None,
        mean=mean,
        deviation=deviation,
        text="-" if mean is None or deviation is None else f"{printed(mean)} ({printed(deviation)})",
        leader=False,
        star=None,
        p=None,
        values=len(sample),
        tested=len(sample) * definition.counted,
        dialogues=sum(labels[label].dialogues for label in used),
        cases=sum(len(labels[label].cases) for label in used),
        labels=used,
        published=published_figure(model, config) if _is_published(used, definition, config) else None,
        notes=tuple(_notes(missing, cells, labels)),
    )
    return _Entry(row, sample * definition.counted, {label: frozenset(labels[label].cases) for label in used})


def _notes(missing: Sequence[str], cells: Sequence[Cell], labels: Mapping[str, Measured]) -> list[str]:
    found = [f"No combined score: {'; '.join(missing)}."] if missing else []
    used = dict.fromkeys(cell.label for cell in cells)
    if errors := sum(labels[label].errors for label in used):
        found.append(f"Dialogues that broke off, left out and not counted as 0: {errors}.")
    found += [
        f"Dialogues of {cell.label} without the score {cell.score!r}, left out of it: {lacking}."
        for cell in cells
        if (lacking := labels[cell.label].dialogues - len(cell.values))
    ]
    sizes = sorted({labels[label].dialogues for label in used})
    if not missing and len(sizes) > 1:
        found.append(f"Labels have from {sizes[0]} to {sizes[-1]} dialogues.")
    return list(dict.fromkeys(found))


def _is_published(labels: Sequence[str], definition: Definition, config: PublishedConfig) -> bool:
    """Whether ``labels`` are those of the published run, all of them."""
    tasks = {task for c in definition.capabilities for part in c.parts for task in part.tasks}
    return set(labels) == {config.tasks[task][0] for task in tasks}


def published_figure(model: str, config: PublishedConfig) -> str | None:
    """The printed figure of ``model`` with its star, e.g. ``0.94 (0.20)*``; None without a printed one."""
    found: PublishedFigure | None = next(
        (figure for figure in config.published if any(fnmatch.fnmatchcase(model, p) for p in figure.models)), None
    )
    return None if found is None else f"{found.score} ({found.deviation}){'*' if found.leader else ''}"


def _tested(group: Sequence[_Entry], alpha: float) -> list[CombinedRow]:
    """The rows of models on the same labels, by rank, each tested against the first."""
    ordered = sorted(group, key=lambda entry: (-_comparable(entry), entry.row.model))
    means = [_comparable(entry) for entry in ordered]
    first = ordered[0]
    if len(ordered) == 1:
        return [replace(first.row, rank=1, leader=True, notes=(*first.row.notes, _ALONE))]
    rows = [replace(first.row, rank=1, leader=True, star=True)]
    for entry in ordered[1:]:
        test = t_test(first.sample, entry.sample)
        rows.append(
            replace(
                entry.row,
                rank=means.index(_comparable(entry)) + 1,
                star=None if test.p is None else test.p > alpha,
                p=test.p,
                notes=(*entry.row.notes, *_test_notes(entry, first, test)),
            )
        )
    return rows


def _test_notes(entry: _Entry, leader: _Entry, test: TTest) -> list[str]:
    found = [f"Against {leader.row.model}: {test.reason}."] if test.reason else []
    if _comparable(entry) == _comparable(leader):
        found.append(f"Its mean equals that of {leader.row.model}; the leader is the first by name.")
    if other := [label for label, cases in entry.cases.items() if cases != leader.cases[label]]:
        found.append(f"It was asked other cases than {leader.row.model} on {', '.join(other)}.")
    return found


def _comparable(entry: _Entry) -> float:
    return round(entry.row.mean or 0.0, _DECIMALS)


def _warnings(definition: Definition, rows: Sequence[CombinedRow], groups: int) -> tuple[str, ...]:
    scored = [row for row in rows if row.mean is not None]
    if not scored:
        return ("No model has all the tasks of this score, so there is none.",)
    largest = max(scored, key=lambda row: row.tested)
    twice = "" if definition.counted == 1 else f", each counted {definition.counted} times for no reason that is known"
    dependent = (
        f"The test takes {largest.tested} values of a model for independent. They are {largest.values} scores{twice}, "
        f"from {largest.dialogues} dialogues on {largest.cases} cases: first and best answer of a dialogue are mostly "
        "equal and repeats of a case are alike. So p-values come out too small, and models lose their star on less "
        "evidence than the test claims."
    )
    found = [dependent, "The deviation is that of single scores over different tasks, not the uncertainty of the mean."]
    if len(scored) - groups > 1:
        found.append(f"{len(scored) - groups} tests are made without correction for their number.")
    if groups > 1:
        found.append(
            f"Models were measured on {groups} different sets of labels; each set has its own ranks and leader."
        )
    return tuple(found)
