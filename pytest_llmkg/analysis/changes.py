"""Two runs case by case: differences, and what flipped between solved and not solved.

The first of a pair of models is of the run before, the second of the run now; differences are now minus before, so
that a drop is negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from pytest_llmkg.analysis.paired import Comparison, compare_all
from pytest_llmkg.analysis.signflip import holm
from pytest_llmkg.analysis.values import CaseValues, side_by_side

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "CaseChange",
    "Change",
    "SideBySide",
    "case_changes",
    "compare_cases",
    "compare_each_label",
    "compare_models",
    "put_side_by_side",
]

Key = TypeVar("Key")
Change = Literal["broke", "mended", "worse", "better", "same", "only before", "only now"]

_ROUNDING = 1e-9

CASE_DRAWS, CASE_FLIPS = 1000, 9_999
"""For single cases, which are many; their limits and p-values have two digits, not three."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The values of two runs in one table.

    Attributes:
        values: with the models ``before K`` and ``now K`` for the pair number K.
        pairs: (model before, model now).
    """

    values: CaseValues
    pairs: tuple[tuple[str, str], ...]

    def names(self, number: int) -> tuple[str, str]:
        """Names in ``values`` of a pair: now first, since differences are now minus before."""
        return f"now {number}", f"before {number}"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case of one pair of models.

    Attributes:
        label, case: which one.
        before, now: its scores in order of iteration; empty without any.
        change: ``broke`` (solved before and not now), ``mended`` (the reverse), ``worse`` or ``better`` by its mean,
            ``same``; or a value on one side only.
        difference: of the means, now minus before; None without one of them.
    """

    label: str
    case: str
    before: tuple[float, ...]
    now: tuple[float, ...]
    change: Change
    difference: float | None


def put_side_by_side(before: CaseValues, now: CaseValues, pairs: Sequence[tuple[str, str]]) -> SideBySide:
    """The values of ``pairs`` of models, (before, now)."""
    sides: dict[str, tuple[CaseValues, str]] = {}
    for number, (old, new) in enumerate(pairs):
        sides |= {f"before {number}": (before, old), f"now {number}": (now, new)}
    return SideBySide(side_by_side(sides), tuple(pairs))


def compare_models(both: SideBySide, *, seed: int, labels: Collection[str] | None = None) -> tuple[Comparison, ...]:
    """One comparison for each pair over ``labels`` (None: all), with Holm's correction over the pairs.

    ``first`` is the model now, ``second`` the one before.
    """
    names = tuple(both.names(number) for number in range(len(both.pairs)))
    found = compare_all(both.values.only(labels=labels), seed=seed, pairs=names)
    return tuple(replace(one, first=now, second=old) for one, (old, now) in zip(found, both.pairs, strict=True))


def compare_each_label(
    both: SideBySide, *, seed: int, labels: Sequence[str] | None = None
) -> Mapping[str, tuple[Comparison, ...]]:
    """The comparisons of all pairs under each label by itself, with Holm's correction over labels and pairs."""
    chosen = both.values.labels if labels is None else labels
    found = {label: compare_models(both, seed=seed, labels={label}) for label in chosen}
    return _corrected(found)


def compare_cases(both: SideBySide, *, seed: int) -> Mapping[tuple[str, str], tuple[Comparison, ...]]:
    """Each case by itself, from its iterations, with Holm's correction over cases and pairs.

    Only cases with several values on both sides of some pair, and some difference; others show no spread.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str, str], tuple[float, ...]]] = {}
    for key, values in both.values.by_case.items():
        cells.setdefault((key[1], key[2]), {})[key] = values
    names = [both.names(number) for number in range(len(both.pairs))]
    found = {}
    for (label, case), by_case in sorted(cells.items()):
        sides = [(by_case.get((now, label, case), ()), by_case.get((old, label, case), ())) for now, old in names]
        if any(min(len(now), len(old)) > 1 and now != old for now, old in sides):
            alone = CaseValues(by_case, {label: both.values.tasks[label]}, {}, {})
            compared = compare_all(alone, seed=seed, pairs=names, draws=CASE_DRAWS, flips=CASE_FLIPS)
            found[label, case] = tuple(
                replace(one, first=now, second=old) for one, (old, now) in zip(compared, both.pairs, strict=True)
            )
    return _corrected(found)


def _corrected(found: Mapping[Key, tuple[Comparison, ...]]) -> dict[Key, tuple[Comparison, ...]]:
    adjusted = iter(holm(one.p for row in found.values() for one in row))
    return {key: tuple(replace(one, adjusted_p=next(adjusted)) for one in row) for key, row in found.items()}


def case_changes(both: SideBySide, number: int, *, threshold: float = 1.0) -> tuple[CaseChange, ...]:
    """The cases of pair ``number`` by label and id.

    A case counts as solved when more than half of its answers score at least ``threshold``.
    """
    now_name, before_name = both.names(number)
    by_case = both.values.by_case
    keys = sorted({(label, case) for model, label, case in by_case if model in (now_name, before_name)})
    changes = []
    for label, case in keys:
        before, now = by_case.get((before_name, label, case), ()), by_case.get((now_name, label, case), ())
        difference = sum(now) / len(now) - sum(before) / len(before) if before and now else None
        changes.append(CaseChange(label, case, before, now, _change(before, now, threshold), difference))
    return tuple(changes)


def _change(before: Sequence[float], now: Sequence[float], threshold: float) -> Change:
    if not before or not now:
        return "only before" if before else "only now" if now else "same"
    was, is_now = _solved(before, threshold), _solved(now, threshold)
    if was != is_now:
        return "mended" if is_now else "broke"
    difference = sum(now) / len(now) - sum(before) / len(before)
    if abs(difference) <= _ROUNDING:
        return "same"
    return "better" if difference > 0 else "worse"


def _solved(values: Sequence[float], threshold: float) -> bool:
    return 2 * sum(value >= threshold - _ROUNDING for value in values) > len(values)
