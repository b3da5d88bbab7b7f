"""Agreement of sequences: what both hold in the same order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sets import SetMatch, harmonic_mean

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["match_multisets", "match_sequences"]

# With more pairs of equal entries only equal places count: the exact comparison takes a step for each of them. Entries
# that are all different make no more pairs than there are entries.
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
    """Length of the longest common subsequence of ``a`` and ``b`` (Hunt and Szymanski 1977)."""
    places: dict[Hashable, list[int]] = {}
    for place, y in enumerate(b):
        places.setdefault(y, []).append(place)
    if sum(len(places.get(x, ())) for x in a) > _MOST_STEPS:
        return sum(x == y for x, y in zip(a, b, strict=False))
    # The earliest place in b at which a common subsequence of each length can end.
    ends: list[int] = []
    for x in a:
        for place in reversed(places.get(x, [])):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends)
