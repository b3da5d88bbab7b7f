from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.passing import pass_all, pass_any, pass_rows
from pytest_llmkg.analysis.values import CaseValues
from pytest_llmkg.errors import UserError
from tests.analysis.synthetic import from_arrays, one_label


def published(n: int, c: int, k: int) -> float:
    """The numerically stable form printed in Chen et al. 2021, figure 3."""
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


@given(st.integers(1, 60), st.data())
def test_as_published(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_any(n, c, k) == pytest.approx(published(n, c, k))
    # All k good: none of the k is bad.
    assert pass_all(n, c, k) == pytest.approx(1 - published(n, n - c, k))


@pytest.mark.parametrize(("n", "good", "k"), [(5, 2, 1), (5, 2, 3), (6, 4, 2), (4, 0, 2), (4, 4, 4)])
def test_by_counting(n: int, good: int, k: int) -> None:
    draws = list(combinations([True] * good + [False] * (n - good), k))
    assert pass_any(n, good, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all(n, good, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(("n", "good", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_impossible_counts(n: int, good: int, k: int) -> None:
    for rule in (pass_any, pass_all):
        with pytest.raises(ValueError, match="needs 0 <= good <= n"):
            rule(n, good, k)


def test_rows_by_label_and_model() -> None:
    a = np.array([[[1.0, 0.2, 1.0], [0.0, 0.0, 0.5]]])
    values = from_arrays({"A": a, "B": np.array([[[1.0, 1.0, 1.0]]])})
    mean, label_a, label_b = pass_rows(values, 2)
    # A: two of three good: 1 and 1/3; none of three: 0 and 0. B: 1 and 1.
    assert (label_a.any_of, label_a.all_of) == pytest.approx((0.5, 1 / 6))
    assert (label_b.any_of, label_b.all_of, label_b.cases) == (1.0, 1.0, 1)
    assert (mean.label, mean.any_of, mean.all_of) == pytest.approx((None, 0.75, 7 / 12))
    assert (mean.labels, mean.cases, mean.short, mean.reason) == (2, 3, 0, None)


def test_threshold_is_itself_good_in_spite_of_rounding() -> None:
    values = one_label({"m": [(0.1 + 0.2, 0.7)]})
    assert pass_rows(values, 1, 0.3)[0].any_of == 1.0
    assert pass_rows(one_label({"m": [(0.3, 0.1 * 3)]}), 1, 0.1 + 0.2)[0].any_of == 1.0


def test_cases_with_too_few_values_are_counted() -> None:
    mean, label = pass_rows(one_label({"m": [(1.0, 1.0), 1.0, None]}), 2)
    assert (label.any_of, label.cases, label.short) == (1.0, 1, 2)
    assert label.reason == mean.reason == "2 of 3 cases have fewer than 2 values"


def test_label_without_enough_values() -> None:
    values = from_arrays({"A": np.array([[[1.0, 0.0]]]), "B": np.array([[[1.0]]])})
    mean, label_a, label_b = pass_rows(values, 2)
    assert (label_b.any_of, label_b.reason) == (None, "none of 1 cases has 2 values")
    assert (mean.any_of, mean.labels) == (label_a.any_of, 1)
    assert mean.reason == "1 of 2 labels have no case with 2 values; 1 of 2 cases have fewer than 2 values"
    assert pass_rows(values, 3)[0].any_of is None


def test_nothing_and_no_k() -> None:
    assert pass_rows(CaseValues({}, {}, {}, {}), 1) == ()
    with pytest.raises(UserError, match="at least 1, found 0"):
        pass_rows(CaseValues({}, {}, {}, {}), 0)
