"""Capability scores: weighted means over the scores of several tasks, by a configuration.

A task that has no values is never silently left out: the capability says what it lacks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, finite
from pytest_llmkg.analysis.published_records import CapabilityScore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.analysis.published_config import Capability, Definition, PublishedConfig
    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["Cell", "Measured", "Measurements", "capability_scores", "cells_of", "measure", "weighted"]


@dataclass(slots=True)
class Measured:
    """What one model got on one label: values by score name, the cases asked, finished and broken dialogues."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    cases: set[str] = field(default_factory=set)
    dialogues: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Measurements:
    """All values that a configuration may use: by model and label; ``notes`` say what is not among them."""

    by_model: Mapping[str, Mapping[str, Measured]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of one score on one label, and where they stand in a definition (``part`` is a number)."""

    capability: str
    part: int
    label: str
    score: str
    values: tuple[float, ...]


def measure(transcripts: Iterable[Transcript], infos: Iterable[TaskInfo], config: PublishedConfig) -> Measurements:
    """The scores of all dialogues on labels that ``config`` uses.

    A dialogue that broke off has no score and is counted as an error. Values of 10^100 and more are left out.
    """
    by_name, wanted = {info.name: info for info in infos}, config.labels()
    by_model: dict[str, dict[str, Measured]] = {}
    unused, unknown = Counter[str](), Counter[str]()
    asked: Counter[tuple[str, str, str, int]] = Counter()
    for transcript in transcripts:
        labels = by_model.setdefault(transcript.model, {})
        if transcript.label not in wanted:
            unused[transcript.label] += 1
        elif transcript.task not in by_name:
            unknown[transcript.task] += 1
        else:
            _add(labels.setdefault(transcript.label, Measured()), transcript, by_name[transcript.task])
            asked[transcript.model, transcript.label, transcript.case, transcript.iteration] += 1
    twice = sum(count - 1 for count in asked.values())
    return Measurements(by_model, tuple(_notes(unused, unknown, twice, empty=not by_model)))


def _add(measured: Measured, transcript: Transcript, info: TaskInfo) -> None:
    if transcript.outcome == "error":
        measured.errors += 1
        return
    measured.dialogues += 1
    measured.cases.add(transcript.case)
    for name, value in dialogue_scores(transcript, info).items():
        number = finite(value)
        if number is not None:
            measured.scores.setdefault(name, []).append(number)


def _notes(unused: Counter[str], unknown: Counter[str], twice: int, *, empty: bool) -> list[str]:
    found = ["There is no dialogue to analyse."] if empty else []
    found += [
        f"No definition uses the label {label!r}; dialogues left out: {count}."
        for label, count in sorted(unused.items())
    ]
    found += [
        f"Task {task!r} is not described, so the scores of its dialogues cannot be read; left out: {count}."
        for task, count in sorted(unknown.items())
    ]
    if twice:
        found.append(
            f"Dialogues with the same model, label, case and iteration as another one: {twice}. All are counted. Was a "
            "file given twice, or do runs share a model id?"
        )
    return found


def cells_of(
    definition: Definition, config: PublishedConfig, labels: Mapping[str, Measured]
) -> tuple[list[Cell], list[str]]:
    """The values of one model for each place in ``definition``, and in words what it lacks (each once)."""
    cells: list[Cell] = []
    missing: dict[str, None] = {}
    for capability in definition.capabilities:
        found, lacking = _capability_cells(capability, config, labels)
        cells += found
        missing |= dict.fromkeys(lacking)
    return cells, list(missing)


def _capability_cells(
    capability: Capability, config: PublishedConfig, labels: Mapping[str, Measured]
) -> tuple[list[Cell], list[str]]:
    cells, missing = [], []
    for number, part in enumerate(capability.parts):
        for task in part.tasks:
            asked = [name for name in config.tasks[task] if name in labels]
            if not asked:
                missing.append(f"no dialogue of {' or '.join(config.tasks[task])}")
                continue
            # One whose dialogues all broke off does not hide another that has values.
            label = next((name for name in asked if labels[name].scores.get(part.score)), asked[0])
            values = labels[label].scores.get(part.score, [])
            if values:
                cells.append(Cell(capability.name, number, label, part.score, tuple(sorted(values))))
            elif labels[label].dialogues:
                missing.append(f"no score {part.score!r} on {label}")
            else:
                missing.append(f"all dialogues of {label} broke off")
    return cells, missing


def weighted(cells: Sequence[Cell], definition: Definition) -> tuple[float, float]:
    """Weighted mean and standard deviation of the values in ``cells``, which must not be empty.

    With nested weights each capability has the same weight, in it each part, in that each cell, in that each value;
    else every value has the same. The deviation is ``sqrt(sum w (x - mean)^2)`` without correction for the degrees
    of freedom.
    """
    weights = [_weight(cell, cells) if definition.weights == "nested" else 1.0 for cell in cells]
    total = math.fsum(w * len(cell.values) for w, cell in zip(weights, cells, strict=True))
    mean = math.fsum(w * x for w, cell in zip(weights, cells, strict=True) for x in cell.values) / total
    spread = math.fsum(w * (x - mean) ** 2 for w, cell in zip(weights, cells, strict=True) for x in cell.values)
    return mean, math.sqrt(spread / total)


def _weight(cell: Cell, cells: Sequence[Cell]) -> float:
    """The weight of one value of ``cell``."""
    capabilities = len({other.capability for other in cells})
    parts = len({other.part for other in cells if other.capability == cell.capability})
    beside = sum(other.capability == cell.capability and other.part == cell.part for other in cells)
    return 1 / (capabilities * parts * beside * len(cell.values))


def capability_scores(config: PublishedConfig, measurements: Measurements) -> tuple[CapabilityScore, ...]:
    """Every capability of every definition for every model, also of those that have nothing of it."""
    return tuple(
        _capability_score(definition, capability, model, config, labels)
        for definition in config.definitions
        for capability in definition.capabilities
        for model, labels in sorted(measurements.by_model.items())
    )


def _capability_score(
    definition: Definition, capability: Capability, model: str, config: PublishedConfig, labels: Mapping[str, Measured]
) -> CapabilityScore:
    cells, missing = _capability_cells(capability, config, labels)
    used = tuple(dict.fromkeys(cell.label for cell in cells))
    return CapabilityScore(
        definition=definition.name,
        capability=capability.name,
        model=model,
        mean=weighted(cells, definition)[0] if cells else None,
        values=sum(len(cell.values) for cell in cells),
        dialogues=sum(labels[label].dialogues for label in used),
        cases=sum(len(labels[label].cases) for label in used),
        labels=used,
        missing=tuple(dict.fromkeys(missing)),
    )
