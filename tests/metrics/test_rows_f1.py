"""Row-wise F1: hand-made pairs, and the assignment by trying all of them."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.rows_f1 import rows_f1


def table(*rows: str, width: int | None = None) -> QueryResult:
    """A result whose cells are single letters."""
    count = width or (len(rows[0]) if rows else 1)
    names = tuple(f"v{i}" for i in range(count))
    return QueryResult(None, names, tuple(tuple(Term("literal", letter) for letter in row) for row in rows))


ASK_TRUE, ASK_FALSE = QueryResult(None, boolean=True), QueryResult(None, boolean=False)


@pytest.mark.parametrize(
    ("answered", "reference", "f1"),
    [
        (table("ab", "cd"), table("cd", "ab"), 1.0),
        (table("ba"), table("ab"), 1.0),  # columns are not told apart
        (table("xab"), table("ab"), 1.0),  # further columns cost nothing
        (table("a"), table("ab"), 2 / 3),  # half of the row: precision 1, recall 1/2
        (table("ab", "xy"), table("ab"), 2 / 3),
        (table("ab"), table("ab", "cd"), 2 / 3),
        (table("aa"), table("ab"), 2 / 3),
        (table("xy"), table("ab"), 0.0),
        (table(), table(), 1.0),
        (table("a"), table(), 0.0),
        (table(), table("a"), 0.0),
        (QueryResult("syntax"), table(), 0.0),
        (ASK_TRUE, ASK_TRUE, 1.0),
        (ASK_FALSE, ASK_FALSE, 1.0),
        (ASK_FALSE, ASK_TRUE, 0.0),
        (table("a"), ASK_TRUE, 1.0),
        (table(), ASK_FALSE, 1.0),
        (ASK_TRUE, table("a"), 0.0),
    ],
)
def test_pairs(answered: QueryResult, reference: QueryResult, f1: float) -> None:
    assert rows_f1(answered, reference) == pytest.approx(f1)


def test_an_iri_is_no_string_of_the_same_letters() -> None:
    answered = QueryResult(None, ("x",), ((Term("iri", "a"),),))
    assert rows_f1(answered, table("a")) == 0.0


def test_large_results_count_equal_rows_only() -> None:
    rows = [f"{chr(0x4E00 + i)}{chr(0x4E00 + i)}" for i in range(1100)]
    assert rows_f1(table(*rows), table(*rows)) == 1.0
    halves = table(*(row[0] + "x" for row in rows))
    assert rows_f1(halves, table(*rows)) == 0.0


ROWS = st.lists(st.text("abc", min_size=2, max_size=2), min_size=1, max_size=4)


@given(ROWS, ROWS)
def test_the_assignment_is_the_best_of_all(answered: list[str], reference: list[str]) -> None:
    def share(row: str, wanted: str) -> float:
        return (Counter(row) & Counter(wanted)).total() / len(wanted)

    padded = [*answered, *[""] * max(0, len(reference) - len(answered))]
    best = max(
        sum(share(row, wanted) for row, wanted in zip(chosen, reference, strict=False))
        for chosen in itertools.permutations(padded)
    )
    precision = best / (best + max(0, len(answered) - len(reference))) if best else 0.0
    recall = best / len(reference)
    expected = 2 * precision * recall / (precision + recall) if best else 0.0
    assert rows_f1(table(*answered), table(*reference)) == pytest.approx(expected)
