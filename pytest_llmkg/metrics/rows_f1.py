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
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import csr_matrix

    # As many values as both bags hold: the product of their incidence vectors, where the second "x" of a row is
    # another value than the first. Values that only one side has are left out.
    sides = [[_numbered(row) for row in side] for side in (rows, wanted)]
    both = {value for row in sides[0] for value in row} & {value for row in sides[1] for value in row}
    if not both:
        return 0.0
    columns = {value: number for number, value in enumerate(both)}
    matrices = []
    for side in sides:
        places = [(number, columns[value]) for number, row in enumerate(side) for value in row if value in columns]
        data = [1.0] * len(places)
        matrices.append(csr_matrix((data, tuple(zip(*places, strict=True))), shape=(len(side), len(columns))))
    # All rows of a result have the same width.
    shares = (matrices[0] @ matrices[1].T).toarray() / max(1, len(wanted[0]))
    chosen = linear_sum_assignment(shares, maximize=True)
    return float(shares[chosen].sum())


def _numbered(row: Row) -> list[tuple[str, int]]:
    """The values of ``row``, each with how often it stands before."""
    seen: Counter[str] = Counter()
    found = []
    for value in row:
        found.append((value, seen[value]))
        seen[value] += 1
    return found
