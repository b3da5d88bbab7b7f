"""How models compare that were measured under different task labels: their means under the labels that all have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_llmkg.analysis.aggregates import LabelRow

__all__ = ["SharedMeans", "shared_means"]


@dataclass(frozen=True, slots=True)
class SharedMeans:
    """Means under some labels, of the models that have all of them.

    Attributes:
        labels: the labels, in the order of the table.
        means: model and mean of its means under ``labels``, each with the same weight; best first.
    """

    labels: tuple[str, ...]
    means: tuple[tuple[str, float], ...]


def shared_means(rows: Sequence[LabelRow], ranked: Collection[str]) -> tuple[SharedMeans, ...]:
    """For each model that has other labels than the ranked ones: the means under those that it shares with them.

    Without ranked models, the labels that all models share. Nothing for a model that shares no label; models that
    share the same labels are told of together, those with the most labels first.

    Args:
        rows: of all models and labels.
        ranked: the models with a rank, which all have the same labels.
    """
    means: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.mean is not None:
            means.setdefault(row.model, {})[row.label] = row.mean
    covered = {model: frozenset(found) for model, found in means.items()}
    if len(set(covered.values())) < 2:
        return ()
    common = frozenset.intersection(*(own for model, own in covered.items() if not ranked or model in ranked))
    order = list(dict.fromkeys(row.label for row in rows))
    found = {own & common for own in covered.values() if own != common or not ranked} - {frozenset()}
    return tuple(
        _means_of(sorted(labels, key=order.index), means)
        for labels in sorted(found, key=lambda labels: (-len(labels), sorted(labels)))
    )


def _means_of(labels: Sequence[str], means: Mapping[str, Mapping[str, float]]) -> SharedMeans:
    found = {
        model: math.fsum(own[label] for label in labels) / len(labels)
        for model, own in means.items()
        if all(label in own for label in labels)
    }
    best_first = sorted(found.items(), key=lambda pair: (-round(pair[1], 12), pair[0]))
    return SharedMeans(tuple(labels), tuple(best_first))
