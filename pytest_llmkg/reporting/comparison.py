"""Two runs side by side as frozen rows: what every form of the comparison shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.changes import (
    CaseChange,
    Change,
    case_changes,
    compare_cases,
    compare_each_label,
    compare_models,
    put_side_by_side,
)
from pytest_llmkg.analysis.comparability import Finding, Side, compare_sides
from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.analysis.paired import Comparison
from pytest_llmkg.analysis.power import Detectable, detectable
from pytest_llmkg.analysis.values import headline_values
from pytest_llmkg.reporting.links import dialogue_fragment

if TYPE_CHECKING:
    from pytest_llmkg.analysis.changes import SideBySide
    from pytest_llmkg.records import Transcript

__all__ = ["FLIPS", "CaseRow", "ComparisonView", "DialogueRef", "LabelPart", "PairPart", "build_comparison"]

FLIPS: tuple[Change, ...] = ("broke", "mended")
"""Changes between solved and not solved."""


@dataclass(frozen=True, slots=True)
class DialogueRef:
    """A dialogue: its iteration, score (None for an error), outcome, and address on its run's page (None without)."""

    iteration: int
    score: float | None
    outcome: str
    address: str | None


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case of a pair of models; ``comparison`` is from its iterations, None without several or any difference."""

    change: CaseChange
    comparison: Comparison | None
    before: tuple[DialogueRef, ...]
    now: tuple[DialogueRef, ...]


@dataclass(frozen=True, slots=True)
class LabelPart:
    """A task variant of a pair of models, with the number of cases by change."""

    label: str
    comparison: Comparison
    changes: Mapping[Change, int]


@dataclass(frozen=True, slots=True)
class PairPart:
    """A pair of models; rows of ``cases`` are flipped ones first, then by the size of the difference."""

    before: str
    now: str
    comparison: Comparison
    power: Detectable
    changes: Mapping[Change, int]
    labels: tuple[LabelPart, ...]
    cases: tuple[CaseRow, ...]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The whole.

    Attributes:
        before, now: names of the runs.
        threshold: an answer counts as good when its headline score is at least this; a case is solved when more than
            half of its answers are good.
        seed: of intervals and permutation tests.
        findings: what keeps the runs from being compared.
        pairs: of models.
    """

    before: str
    now: str
    threshold: float
    seed: int
    findings: tuple[Finding, ...]
    pairs: tuple[PairPart, ...]


def build_comparison(
    before: Side,
    now: Side,
    pairs: Sequence[tuple[str, str]],
    *,
    threshold: float = 1.0,
    pages: tuple[str | None, str | None] = (None, None),
    all_models: bool = True,
) -> ComparisonView:
    """The comparison of two runs; differences are now minus before.

    Args:
        before: the older run.
        now: the newer run.
        pairs: (model before, model now).
        threshold: see `ComparisonView`.
        pages: addresses of the leaderboard pages of the two runs, None without one.
        all_models: whether a model of one run only is a finding.
    """
    seed = now.header.seed
    values = tuple(headline_values(side.transcripts, side.header.tasks) for side in (before, now))
    both = put_side_by_side(values[0], values[1], pairs)
    overall = compare_models(both, seed=seed)
    labels = compare_each_label(both, seed=seed)
    cases = compare_cases(both, seed=seed)
    references = (_references(before, pages[0]), _references(now, pages[1]))
    parts = []
    for number, pair in enumerate(pairs):
        changes = case_changes(both, number, threshold=threshold)
        own = {key: row[number] for key, row in cases.items() if row[number].difference.clusters > 1}
        rows = [_case_row(change, own, pair, references) for change in changes]
        parts.append(
            PairPart(
                before=pair[0],
                now=pair[1],
                comparison=overall[number],
                power=detectable(overall[number].difference),
                changes=_counted(changes),
                labels=_label_parts(both, labels, number, changes),
                cases=tuple(sorted(rows, key=_importance)),
            )
        )
    findings = compare_sides(before, now, None if all_models else pairs)
    return ComparisonView(before.header.run, now.header.run, threshold, seed, findings, tuple(parts))


def _label_parts(
    both: SideBySide, labels: Mapping[str, tuple[Comparison, ...]], number: int, changes: Sequence[CaseChange]
) -> tuple[LabelPart, ...]:
    asked = {label for model, label, _ in both.values.by_case if model in both.names(number)}
    return tuple(
        LabelPart(label, row[number], _counted([change for change in changes if change.label == label]))
        for label, row in labels.items()
        if label in asked
    )


def _counted(changes: Sequence[CaseChange]) -> Mapping[Change, int]:
    return Counter(change.change for change in changes)


def _importance(row: CaseRow) -> tuple[int, float, str, str]:
    order = {"broke": 0, "mended": 1, "only before": 2, "only now": 2, "worse": 3, "better": 3}
    change = row.change
    return order.get(change.change, 4), -abs(change.difference or 0.0), change.label, change.case


_References = Mapping[tuple[str, str, str], tuple[DialogueRef, ...]]


def _references(side: Side, page: str | None) -> _References:
    infos = {info.name: info for info in side.header.tasks}
    found: dict[tuple[str, str, str], list[DialogueRef]] = {}
    for one in sorted(side.transcripts, key=lambda t: t.iteration):
        info = infos.get(one.task)
        score = headline(one, info) if info else None
        reference = DialogueRef(one.iteration, None if score is None else float(score), one.outcome, _at(page, one))
        found.setdefault((one.model, one.label, one.case), []).append(reference)
    return {key: tuple(row) for key, row in found.items()}


def _at(page: str | None, one: Transcript) -> str | None:
    return None if page is None else f"{page}#{dialogue_fragment(one.label, one.case, one.model, one.iteration)}"


def _case_row(
    change: CaseChange,
    comparisons: Mapping[tuple[str, str], Comparison],
    pair: tuple[str, str],
    references: tuple[_References, _References],
) -> CaseRow:
    place = (change.label, change.case)
    return CaseRow(
        change,
        comparisons.get(place),
        *(found.get((model, *place), ()) for found, model in zip(references, pair, strict=True)),
    )
