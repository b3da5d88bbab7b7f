"""Corrected scores of a TEXT2SPARQL question: rows of typed terms instead of one set of texts.

What differs from `challenge`: truth values are compared as such, two empty results agree, a row counts as a whole,
numbers are compared by value and other literals with datatype and language, the choice of answered columns that agrees
best is taken, the order counts where the question asks for one, and of rows that a LIMIT cuts off among equals any
choice is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.ndcg import ranked_ndcg
from pytest_llmkg.metrics.result_rows import FURTHER_COLUMNS, column_choices, term_key
from pytest_llmkg.metrics.sequences import match_multisets, match_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.metrics.sets import SetMatch

__all__ = ["TieGroup", "corrected_scores", "groups_without_ties"]

Row = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class TieGroup:
    """Rows of a reference result that nothing puts in order, of which ``wanted`` (any of them) belong to the result."""

    rows: tuple[tuple[Term | None, ...], ...]
    wanted: int


def groups_without_ties(reference: QueryResult, *, ordered: bool) -> tuple[TieGroup, ...]:
    """The rows of ``reference`` as they stand: each a group of its own when ``ordered``, else all in one."""
    if ordered:
        return tuple(TieGroup((row,), 1) for row in reference.rows)
    return (TieGroup(reference.rows, len(reference.rows)),) if reference.rows else ()


def corrected_scores(
    answered: QueryResult, reference: QueryResult, groups: Sequence[TieGroup], *, ordered: bool
) -> dict[str, float]:
    """``set_P@2``, ``set_recall@2``, ``set_F@2`` and, when ``ordered``, ``ndcg@2``; each between 0 and 1.

    Rows are a set, or when ``ordered`` a sequence without repetitions whose common subsequence counts. Up to three
    columns beyond those of the reference are left out; an answer with more of them, or with fewer columns than the
    reference, has no right row.

    Args:
        answered: what the answered query gave; a failed one gets 0.
        reference: what the reference query gave; must not have failed.
        groups: the rows of ``reference`` with those that could stand in their place, best first.
        ordered: whether the question asks for an order.
    """
    if answered.error is not None:
        return _named(0.0, 0.0, 0.0, 0.0 if ordered else None)
    if answered.boolean is not None or reference.boolean is not None:
        right = float(answered.boolean is reference.boolean)
        return _named(right, right, right, right if ordered else None)
    keyed = [(_distinct(group.rows), group.wanted) for group in groups if group.wanted]
    given, fitted = _best_columns(_distinct(answered.rows), keyed)
    found = [row for group in fitted for row in group]
    match = match_sequences(given, found) if ordered else match_multisets(given, found)
    return _from_match(match, ranked_ndcg(given, fitted) if ordered else None)


def _from_match(match: SetMatch, ndcg: float | None) -> dict[str, float]:
    return _named(match.precision, match.recall, match.f1, ndcg)


def _named(precision: float, recall: float, f1: float, ndcg: float | None) -> dict[str, float]:
    scores = {"set_P@2": precision, "set_recall@2": recall, "set_F@2": f1}
    return scores if ndcg is None else {**scores, "ndcg@2": ndcg}


def _distinct(rows: Sequence[tuple[Term | None, ...]]) -> list[Row]:
    return list(dict.fromkeys(tuple(map(term_key, row)) for row in rows))


def _best_columns(given: list[Row], groups: Sequence[tuple[list[Row], int]]) -> tuple[list[Row], list[list[Row]]]:
    """The answered rows in the columns that agree best, and the reference rows that fit them best, by group."""
    wanted = [row for rows, _ in groups for row in rows]
    width = len(wanted[0]) if wanted else 0
    if not wanted or not given or not width <= len(given[0]) <= width + FURTHER_COLUMNS:
        return given, _fitted(given, groups)
    best, most = (given, _fitted(given, groups)), -1.0
    for choice in column_choices(given, wanted, width):
        rows = list(dict.fromkeys(tuple(row[i] for i in choice) for row in given))
        fitted = _fitted(rows, groups)
        f1 = match_multisets(rows, [row for group in fitted for row in group]).f1
        if f1 > most:
            best, most = (rows, fitted), f1
        if most == 1.0:
            break
    return best


def _fitted(given: Sequence[Row], groups: Sequence[tuple[list[Row], int]]) -> list[list[Row]]:
    """Of each group as many rows as wanted: answered ones first, in the order of the answer."""
    places = {row: place for place, row in enumerate(given)}
    seen: set[Row] = set()
    chosen = []
    for rows, wanted in groups:
        fresh = [row for row in rows if row not in seen]
        fresh.sort(key=lambda row: places.get(row, len(places)))
        seen.update(fresh[:wanted])
        chosen.append(fresh[:wanted])
    return chosen
