"""Normalised discounted cumulative gain, as the TEXT2SPARQL challenge computes it and by the real order of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

__all__ = ["ranked_ndcg", "trec_ndcg"]


def trec_ndcg(answered: Mapping[str, int], reference: Mapping[str, int]) -> float:
    """``ndcg`` of trec_eval: the values of ``reference`` are gains, those of ``answered`` say what comes first.

    Equal ones come in descending order of their keys' bytes. In the challenge all are equal, so that the order of the
    answer has no effect.

    Source: trec_eval's measure ``ndcg``, used by the TEXT2SPARQL challenge for RESULT_ORDER_MATTERS.
    """
    order = sorted(answered, key=lambda key: (answered[key], key.encode("utf-8", "surrogatepass")), reverse=True)
    ideal = sorted((gain for gain in reference.values() if gain > 0), reverse=True)
    return _ratio([max(reference.get(key, 0), 0) for key in order], ideal)


def ranked_ndcg(answered: Sequence[Hashable], reference: Sequence[Sequence[Hashable]]) -> float:
    """The gain of ``answered`` in its own order, between 0 and 1; 1 only for the order of ``reference``.

    Args:
        answered: rows in order; a repeated one gains nothing.
        reference: groups of rows, best first; the order inside a group is free. The rows of the last of n groups gain
            1, those of the first n.
    """
    gains: dict[Hashable, int] = {}
    for gain, group in enumerate(reversed(reference), 1):
        gains.update(dict.fromkeys(group, gain))
    seen: set[Hashable] = set()
    found = []
    for row in answered:
        found.append(0 if row in seen else gains.get(row, 0))
        seen.add(row)
    if not gains:
        return float(not answered)
    return _ratio(found, sorted(gains.values(), reverse=True))


def _ratio(found: Sequence[int], ideal: Sequence[int]) -> float:
    best = _gain(ideal)
    return _gain(found) / best if best else 0.0


def _gain(gains: Sequence[int]) -> float:
    # A plain loop: from Python 3.12 on, sum() adds floats with compensation, which trec_eval does not.
    total = 0.0
    for place, gain in enumerate(gains):
        total += gain / math.log2(place + 2)
    return total
