"""Row-wise F1 of two query results by the best assignment of answered rows to reference rows.

Source: SPINACH and GRASP (``f1_score`` with assignment); rows are bags of values, so that order and names of columns do
not count and further columns cost nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sequences import match_multisets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.contracts import QueryResult, Term

__all__ = ["rows_f1"]

_MOST_ROWS = 1024
"""With more rows on either side only equal rows count (GRASP)."""

Row = tuple[str, ...]


def rows_f1(answered: QueryResult, reference: QueryResult) -> float:
    """F1 of the rows of ``answered``, between 0 and 1.

    An answered row that is assigned to a reference row counts for the share of the reference row's values that it
    holds; the assignment is the one with the largest sum. For an ASK reference an answered table is true when it has
    rows; an ASK answer to a SELECT reference gets 0. Two empty results agree; a failed query gets 0.
    """
    if answered.error is not None:
        return 0.0
    if reference.boolean is not None:
        given = bool(answered.rows) if answered.boolean is None else answered.boolean
        return float(given is reference.boolean)
    if answered.boolean is not None:
        return 0.0
    if not answered.rows or not reference.rows:
        return float(not answered.rows and not reference.rows)
    rows, wanted = _rows(answered), _rows(reference)
    if max(len(rows), len(wanted)) > _MOST_ROWS:
        return match_multisets(rows, wanted).f1
    return _assigned_f1(rows, wanted)


def _rows(result: QueryResult) -> list[Row]:
    return [tuple(map(_text, row)) for row in result.rows]


def _text(term: Term | None) -> str:
    """A cell as GRASP writes it: N-Triples like, so that an IRI differs from a string."""
    if term is None:
        return ""
    if term.kind == "iri":
        return f"<{term.value}>"
    if term.kind == "bnode":
        return f"_:{term.value}"
    tail = f"@{term.language}" if term.language else (f"^^<{term.datatype}>" if term.datatype else "")
    return f'"{term.value}"{tail}'


def _assigned_f1(rows: Sequence[Row], wanted: Sequence[Row]) -> float:
    # Equal rows first: they are part of some best assignment, and most results consist of them.
    common = Counter(rows) & Counter(wanted)
    exact = common.total()
    rest, missing = _without(rows, common), _without(wanted, common)
    hits = exact + (_best_sum(rest, missing) if rest and missing else 0.0)
    if hits <= 0.0:
        return 0.0
    # False positives are unassigned answered rows only; the misses of assigned ones count against recall.
    assigned = min(len(rows), len(wanted))
    precision = hits / (hits + len(rows) - assigned)
    recall = hits / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _without(rows: Sequence[Row], common: Counter[Row]) -> list[Row]:
    left = common.copy()
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
        else:
            kept.append(row)
    return kept


def _best_sum(rows: Sequence[Row], wanted: Sequence[Row]) -> float:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    bags, targets = [Counter(row) for row in rows], [Counter(row) for row in wanted]
    shares = np.zeros((len(bags), len(targets)))
    holders: dict[str, list[int]] = {}
    for i, bag in enumerate(bags):
        for value in bag:
            holders.setdefault(value, []).append(i)
    for j, target in enumerate(targets):
        for i in {i for value in target for i in holders.get(value, ())}:
            shares[i, j] = (bags[i] & target).total() / max(1, target.total())
    chosen = linear_sum_assignment(shares, maximize=True)
    return float(shares[chosen].sum())
