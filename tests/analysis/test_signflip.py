from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.signflip import holm, sign_flip_test

DIFFERENCES = [0.3, -0.1, 0.25, 0.0, 0.4, 0.1, -0.05, 0.2, 0.0, 0.35]


def p_of(*columns: list[float], seed: int = 1, flips: int = 99_999) -> tuple[float, ...]:
    shares = np.array(columns).T
    names = [f"c{number}" for number in range(len(shares))]
    return sign_flip_test(shares, names, seed=seed, flips=flips)[0]


def scipy_p(differences: list[float], resamples: float) -> float:
    found = scipy.stats.permutation_test(
        (differences, [0.0] * len(differences)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


def test_all_patterns_as_scipy() -> None:
    assert p_of(DIFFERENCES) == pytest.approx((scipy_p(DIFFERENCES, np.inf),))


def test_by_hand() -> None:
    # Of the eight patterns of three equal differences, +++ and --- are as far from 0 as the observed one.
    assert p_of([0.1, 0.1, 0.1]) == (0.25,)
    # 0.3 + 0.2 + 0.1: only itself and its opposite; adding up in another order must not matter.
    assert p_of([0.1, 0.2, 0.3]) == (0.25,)
    # -0.1 + 0.2 + 0.3 = 0.4: four patterns reach 0.4 or more either way (0.6, 0.4, -0.4, -0.6).
    assert p_of([-0.1, 0.2, 0.3]) == (0.5,)


def test_no_difference_and_a_single_one_prove_nothing() -> None:
    assert p_of([0.0, 0.0], [0.0, 0.5]) == (1.0, 1.0)


def test_random_patterns_come_near_all_of_them() -> None:
    differences = np.random.default_rng(4).normal(0.3, 1, size=16).tolist()
    exact = scipy_p(differences, np.inf)  # scipy goes through all 2 ** 16
    assert 0.05 < exact < 0.5
    # Standard error of a share over 99,999 patterns: at most 0.0016.
    assert p_of(differences) == pytest.approx((exact,), abs=0.005)


def test_smallest_p_is_never_0() -> None:
    assert p_of([1.0] * 60, flips=999) == (0.001,)  # (0 + 1) / (999 + 1)


def test_p_does_not_depend_on_the_company() -> None:
    one = np.random.default_rng(1).normal(0.2, 1, size=30).tolist()
    other = np.random.default_rng(2).normal(0.2, 1, size=30).tolist()
    assert p_of(one, other, flips=20_000) == (*p_of(one, flips=20_000), *p_of(other, flips=20_000))
    assert p_of(one, seed=2, flips=20_000) != p_of(one, flips=20_000)


def test_number_of_patterns_that_is_no_multiple_of_eight() -> None:
    # (k + 1) / (n + 1) with whole k.
    p = p_of(np.random.default_rng(1).normal(0.2, 1, size=30).tolist(), flips=8195)[0]
    assert p * 8196 == pytest.approx(round(p * 8196))


def test_holm_as_statsmodels() -> None:
    # statsmodels 0.15.0: multipletests(p, method="holm")[1]
    found = holm([0.01, 0.04, 0.03, 0.005, 0.02, 0.9, 0.04])
    assert found == pytest.approx((0.06, 0.12, 0.12, 0.035, 0.1, 0.9, 0.12))


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert holm([]) == ()
    assert holm([None, 0.02, None, 0.03]) == pytest.approx((None, 0.04, None, 0.04))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    adjusted = [p for p in holm(p_values) if p is not None]
    assert len(adjusted) == len(p_values)
    assert all(p <= found <= 1 for p, found in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert sorted(adjusted) == [adjusted[place] for place in order]
