"""Corrected scores of a question: rows, columns, order, ties, truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.challenge_rows import TieGroup, corrected_scores, groups_without_ties

if TYPE_CHECKING:
    from collections.abc import Sequence

XSD = "http://www.w3.org/2001/XMLSchema#"
TRUE, FALSE = QueryResult(None, boolean=True), QueryResult(None, boolean=False)


def table(*rows: str) -> QueryResult:
    count = len(rows[0]) if rows else 1
    cells = tuple(tuple(Term("iri", letter) for letter in row) for row in rows)
    return QueryResult(None, tuple(f"v{i}" for i in range(count)), cells)


def group(wanted: int, *rows: str) -> TieGroup:
    return TieGroup(table(*rows).rows, wanted)


def scores(answered: QueryResult, reference: QueryResult, *, ordered: bool = False) -> dict[str, float]:
    return corrected_scores(answered, reference, groups_without_ties(reference, ordered=ordered), ordered=ordered)


def f(answered: QueryResult, reference: QueryResult) -> float:
    return scores(answered, reference)["set_F@2"]


def test_truth_values_are_compared() -> None:
    assert f(TRUE, TRUE) == f(FALSE, FALSE) == 1.0
    assert f(TRUE, FALSE) == f(FALSE, TRUE) == f(table("a"), TRUE) == f(TRUE, table("a")) == 0.0


def test_empty_results_agree_with_each_other_only() -> None:
    assert f(table(), table()) == 1.0
    assert f(table("a"), table()) == f(table(), table("a")) == f(QueryResult("syntax"), table()) == 0.0


def test_rows_count_as_a_whole() -> None:
    assert f(table("ab", "cd"), table("cd", "ab")) == 1.0
    assert f(table("ad", "cb"), table("ab", "cd")) == 0.0
    assert scores(table("ab", "xy"), table("ab"))["set_P@2"] == 0.5


def test_the_best_projection_counts() -> None:
    assert f(table("xa", "yb"), table("a", "b")) == 1.0
    assert f(table("ba"), table("ab")) == 1.0
    assert f(table("axyz"), table("a")) == 1.0
    assert f(table("awxyz"), table("a")) == 0.0  # a column for each guess
    assert f(table("a"), table("ab")) == 0.0


def test_doubles_do_not_count() -> None:
    assert f(table("a", "a"), table("a")) == f(table("a"), table("a", "a")) == 1.0


def test_numbers_are_compared_by_value() -> None:
    two = QueryResult(None, ("n",), ((Term("literal", "2", f"{XSD}integer"),),))
    assert f(QueryResult(None, ("n",), ((Term("literal", "2.0", f"{XSD}decimal"),),)), two) == 1.0
    assert f(QueryResult(None, ("n",), ((Term("literal", "2"),),)), two) == 0.0


def test_the_order_counts_where_it_is_asked_for() -> None:
    reference = table("a", "b", "c")
    assert scores(table("a", "b", "c"), reference, ordered=True) == {
        "set_P@2": 1.0,
        "set_recall@2": 1.0,
        "set_F@2": 1.0,
        "ndcg@2": 1.0,
    }
    turned = scores(table("c", "b", "a"), reference, ordered=True)
    assert turned["set_F@2"] == pytest.approx(1 / 3)
    assert 0 < turned["ndcg@2"] < 1
    assert scores(table("c", "b", "a"), reference)["set_F@2"] == 1.0
    assert "ndcg@2" not in scores(table("a"), reference)


def test_any_choice_among_equal_rows_is_right() -> None:
    reference = table("a", "b")
    groups = (group(1, "a"), group(1, "b", "c"))
    for answered in (table("a", "b"), table("a", "c")):
        for ordered in (True, False):
            assert corrected_scores(answered, reference, groups, ordered=ordered)["set_F@2"] == 1.0
    assert corrected_scores(table("a", "b", "c"), reference, groups, ordered=False)["set_P@2"] == pytest.approx(2 / 3)
    assert corrected_scores(table("b", "c"), reference, groups, ordered=False)["set_recall@2"] == 0.5


def test_inside_a_group_the_order_is_free() -> None:
    groups = (group(2, "a", "b"), group(1, "c"))
    assert corrected_scores(table("b", "a", "c"), table("a", "b", "c"), groups, ordered=True)["set_F@2"] == 1.0
    assert corrected_scores(table("c", "a", "b"), table("a", "b", "c"), groups, ordered=True)["set_F@2"] < 1.0


def letters(width: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text("abcd", min_size=width, max_size=width), max_size=5)


@given(letters(2), letters(2), st.booleans())
def test_scores_stay_between_zero_and_one(answered: list[str], reference: list[str], ordered: bool) -> None:
    found = scores(table(*answered), table(*reference), ordered=ordered)
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in found.values())
    same = scores(table(*reference), table(*reference), ordered=ordered)
    assert set(same.values()) == {1.0}


@given(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1), st.data())
def test_whatever_a_limit_chooses_among_equals_is_right(rows: Sequence[str], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(1, len(rows)))
    chosen = data.draw(st.permutations(rows))[:wanted]
    groups = (TieGroup(table(*rows).rows, wanted),)
    assert corrected_scores(table(*chosen), table(*rows[:wanted]), groups, ordered=True)["set_F@2"] == 1.0
