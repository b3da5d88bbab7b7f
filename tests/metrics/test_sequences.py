"""Rows in order: the longest common subsequence, against the textbook's table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.sequences import match_sequences

ROWS = st.lists(st.integers(0, 4), max_size=12)


def table(a: list[int], b: list[int]) -> int:
    """Wagner and Fischer's table, cell by cell."""
    cells = {(i, j): 0 for i in range(len(a) + 1) for j in range(len(b) + 1)}
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            cells[i, j] = cells[i - 1, j - 1] + 1 if x == y else max(cells[i - 1, j], cells[i, j - 1])
    return cells[len(a), len(b)]


@given(ROWS, ROWS)
def test_as_many_rows_agree_as_the_table_says(a: list[int], b: list[int]) -> None:
    match = match_sequences(a, b)
    assert match.precision * len(a) == pytest.approx(match.recall * len(b))
    assert match.recall * len(b) == pytest.approx(table(a, b) if a or b else 0)


def test_a_missing_first_row_of_many_costs_that_row_only() -> None:
    match = match_sequences(list(range(1, 5_000)), list(range(5_000)))
    assert (match.precision, match.recall) == (1, 4_999 / 5_000)
