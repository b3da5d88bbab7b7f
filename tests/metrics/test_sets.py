"""Precision, recall and F1 of sets, with pairs counted by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.sets import SetMatch, harmonic_mean, match_sets


@pytest.mark.parametrize(
    ("answered", "reference", "expected"),
    [
        ("abc", "abc", SetMatch(1.0, 1.0, 1.0)),
        # 1 hit of 2 given, 1 of 4 right: 2 * 0.5 * 0.25 / 0.75 = 1/3
        ("ax", "abcd", SetMatch(0.5, 0.25, 1 / 3)),
        # 2 hits of 4 given, 2 of 2 right: 2 * 0.5 * 1 / 1.5 = 2/3
        ("abxy", "ab", SetMatch(0.5, 1.0, 2 / 3)),
        ("xy", "ab", SetMatch(0.0, 0.0, 0.0)),
        ("", "ab", SetMatch(0.0, 0.0, 0.0)),
        ("ab", "", SetMatch(0.0, 0.0, 0.0)),
        ("", "", SetMatch(0.0, 0.0, 0.0)),
    ],
)
def test_pairs(answered: str, reference: str, expected: SetMatch) -> None:
    assert match_sets(set(answered), set(reference)) == expected


def test_an_empty_answer_may_count_as_precise_but_never_as_complete() -> None:
    assert match_sets(set(), {"a"}, empty_precision=1.0) == SetMatch(1.0, 0.0, 0.0)


def test_harmonic_mean_multiplies_in_the_published_order() -> None:
    # 2pr / (p + r); as 2 / (1/p + 1/r) the same mean would be 0.3076923076923077.
    assert harmonic_mean(1 / 3, 2 / 7) == 0.30769230769230765
    assert harmonic_mean(0, 0) == 0.0
    assert harmonic_mean(1, 1) == 1.0


sets = st.frozensets(st.integers(0, 9))
shares = st.floats(0, 1)


@given(shares, shares)
def test_harmonic_mean_lies_between_its_parts_and_is_symmetric(one: float, other: float) -> None:
    mean = harmonic_mean(one, other)
    assert mean == pytest.approx(harmonic_mean(other, one), abs=1e-12)
    assert 0 <= mean <= 1 + 1e-12
    assert mean <= max(one, other) + 1e-12
    assert mean >= min(one, other) - 1e-12 or min(one, other) < 1e-150  # below that the product vanishes


@given(sets, sets)
def test_swapping_both_sets_swaps_precision_and_recall(answered: frozenset[int], reference: frozenset[int]) -> None:
    one, other = match_sets(answered, reference), match_sets(reference, answered)
    assert (one.precision, one.recall) == (other.recall, other.precision)
    assert one.f1 == pytest.approx(other.f1, abs=1e-12)
