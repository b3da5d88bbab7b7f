"""Precision, recall and F1 of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["SetMatch", "harmonic_mean", "match_sets"]


@dataclass(frozen=True, slots=True)
class SetMatch:
    """Agreement of an answered set with a reference set; each value lies between 0 and 1."""

    precision: float
    recall: float
    f1: float


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 of ``precision`` and ``recall``; 0 when both are 0. Operations in the published order, to the bit."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def match_sets(
    answered: AbstractSet[object], reference: AbstractSet[object], *, empty_precision: float = 0.0
) -> SetMatch:
    """How well ``answered`` agrees with ``reference``.

    Args:
        answered: what the model gave.
        reference: what is right; when it is empty, recall is 0.
        empty_precision: precision of an empty answer; LLM-KG-Bench counts 1 for empty SPARQL results.
    """
    hits = len(answered & reference)
    precision = hits / len(answered) if answered else empty_precision
    recall = hits / len(reference) if reference else 0.0
    return SetMatch(precision, recall, harmonic_mean(precision, recall))
