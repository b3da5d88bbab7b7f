"""Agreement of sequences: what both hold in the same order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sets import SetMatch, harmonic_mean

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["match_multisets", "match_sequences"]

# Above this product of lengths only equal places count, since the exact comparison takes that many steps.
_MOST_STEPS = 4_000_000


def match_multisets(answered: Sequence[Hashable], reference: Sequence[Hashable]) -> SetMatch:
    """Agreement whatever the order, doubles counted; two empty sequences agree."""
    return _match((Counter(answered) & Counter(reference)).total(), len(answered), len(reference))


def match_sequences(answered: Sequence[Hashable], reference: Sequence[Hashable]) -> SetMatch:
    """Agreement in order, by the longest common subsequence; two empty sequences agree."""
    return _match(_common(answered, reference), len(answered), len(reference))


def _match(hits: int, answered: int, reference: int) -> SetMatch:
    if not answered and not reference:
        return SetMatch(1.0, 1.0, 1.0)
    precision = hits / answered if answered else 0.0
    recall = hits / reference if reference else 0.0
    return SetMatch(precision, recall, harmonic_mean(precision, recall))


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence of ``a`` and ``b``."""
    if len(a) * len(b) > _MOST_STEPS:
        return sum(x == y for x, y in zip(a, b, strict=False))
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, 1):
            above = row[j]
            row[j] = diagonal + 1 if x == y else max(above, row[j - 1])
            diagonal = above
    return row[-1]
