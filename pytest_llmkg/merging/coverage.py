"""What the runs of a suite hold of it, and what is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.store import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.records import Case, RunHeader
    from pytest_llmkg.store import DialogueKey, RunIndex

MISSING_SHARDS = "missing_shards"
"""Setting of a joined run: the shards that were missing, e.g. ``["3/4"]``; None or absent when all were there."""

__all__ = ["MISSING_SHARDS", "Gap", "find_gaps", "missing_shards", "planned_dialogues", "run_name"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Dialogues of a model and a task variant that no run holds.

    Attributes:
        model, label: id of the model, task variant.
        missing: how many there are at least; exactly so many when no shard is missing.
        planned: how many the runs were to hold, None when they do not say.
        named: those of them that are known by case id and iteration.
    """

    model: str
    label: str
    missing: int
    planned: int | None
    named: tuple[tuple[str, int], ...]


def run_name(index: RunIndex) -> str:
    """What the user calls the run: its directory, or its file if that has a name of its own."""
    return str(index.path.parent if index.path.name == FILE_NAME else index.path)


def missing_shards(runs: Sequence[RunIndex]) -> tuple[str, ...]:
    """The shards that are not there; none when a run that was to hold everything is."""
    found: dict[int, int] = {}
    for index in runs:
        shards = _shards_of(index)
        if shards is None:
            return ()
        found |= dict(shards)
        if len(set(found.values())) > 1:
            raise RunFileError(f"{run_name(index)} is of another division into shards than {run_name(runs[0])}")
    total = next(iter(found.values()))
    return tuple(f"{number}/{total}" for number in range(1, total + 1) if number not in found)


def _shards_of(index: RunIndex) -> tuple[tuple[int, int], ...] | None:
    """(number, total) of the shards that a run holds; None when it was to hold everything.

    A run that was joined while shards were missing names these, and holds the others.
    """
    settings = index.header.settings
    absent = settings.get(MISSING_SHARDS)
    if isinstance(absent, list) and absent:
        parsed = [_parsed(index, one) for one in absent]
        gone, total = {number for number, _ in parsed}, parsed[0][1]
        return tuple((number, total) for number in range(1, total + 1) if number not in gone)
    shard = settings.get("shard")
    return None if shard is None else (_parsed(index, shard),)


def _parsed(index: RunIndex, shard: object) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", str(shard), re.ASCII)
    if match is None or int(match[1]) > int(match[2]):
        raise RunFileError(f"{run_name(index)}: the header's setting 'shard' is {shard!r}, expected e.g. '2/4'")
    return int(match[1]), int(match[2])


def planned_dialogues(runs: Sequence[RunIndex]) -> dict[str, dict[str, int]] | None:
    """Dialogues that the runs were to hold together, by model and label; None when one does not say.

    A shard that was run twice counts once, with its larger number; so does one that a joined run among them holds.
    """
    parts: dict[tuple[tuple[int, int], ...] | None, dict[tuple[str, str], int]] = {}
    for index in runs:
        planned = index.header.settings.get("planned")
        if not isinstance(planned, dict):
            return None
        cells = parts.setdefault(_shards_of(index), {})
        for model, labels in planned.items():
            for label, count in labels.items() if isinstance(labels, dict) else ():
                if isinstance(count, int):
                    cells[model, label] = max(count, cells.get((model, label), 0))
    whole = parts.pop(None, {})
    total: dict[str, dict[str, int]] = {}
    chosen = _apart(parts)
    for cell in dict.fromkeys(cell for cells in (whole, *parts.values()) for cell in cells):
        shards = sum(parts[key].get(cell, 0) for key in chosen)
        total.setdefault(cell[0], {})[cell[1]] = max(whole.get(cell, 0), shards)
    return total


def _apart(parts: Iterable[tuple[tuple[int, int], ...] | None]) -> list[tuple[tuple[int, int], ...]]:
    """Sets of shards of which none holds a shard of another, the largest sets first."""
    chosen: list[tuple[tuple[int, int], ...]] = []
    for shards in sorted((one for one in parts if one), key=lambda one: (-len(one), one)):
        if not any(set(shards) & set(other) for other in chosen):
            chosen.append(shards)
    return chosen


def find_gaps(
    header: RunHeader, cases: Mapping[str, Case], held: Iterable[DialogueKey], *, all_planned: bool
) -> tuple[Gap, ...]:
    """The gaps of a joined run, by model and label.

    Where no run says what was planned, every case that any run holds is expected of every model and in every
    iteration.

    Args:
        header: of the joined run, with what was planned.
        cases: of the joined run.
        held: the dialogues that it holds.
        all_planned: whether the plans of all shards are there, so that what they do not count is not missing.
    """
    done: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for key in held:
        done.setdefault((key.model, key.label), set()).add((key.case, key.iteration))
    expected: dict[str, list[tuple[str, int]]] = {}
    for case in sorted(cases.values(), key=lambda case: case.id):
        expected.setdefault(case.label, []).extend((case.id, i) for i in range(1, header.iterations + 1))
    plan = header.settings.get("planned")
    is_told = isinstance(plan, dict)
    found = []
    for model in dict.fromkeys((*(plan if isinstance(plan, dict) else ()), *(spec.id for spec in header.models))):
        row = plan.get(model) if isinstance(plan, dict) else None
        counts = row if isinstance(row, dict) else {}
        for label in sorted({*counts, *expected}):
            count = counts.get(label, 0 if is_told else None)
            planned = count if isinstance(count, int) else None
            known = done.get((model, label), set())
            unseen = tuple(pair for pair in expected.get(label, ()) if pair not in known)
            missing = len(unseen) if planned is None else planned - len(known)
            if not all_planned:
                missing = max(missing, len(unseen))
            if missing > 0:
                # When more are unseen than missing, since not all were chosen, nobody knows which ones are meant.
                found.append(Gap(model, label, missing, planned, unseen if len(unseen) <= missing else ()))
    return tuple(found)
