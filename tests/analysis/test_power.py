from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from pytest_llmkg.analysis.blocks import rng_of
from pytest_llmkg.analysis.intervals import Interval
from pytest_llmkg.analysis.paired import compare, compare_all
from pytest_llmkg.analysis.power import detectable, detectable_by_rerun
from pytest_llmkg.analysis.values import CaseValues
from tests.analysis.synthetic import from_arrays, one_label


# Made with statsmodels 0.15.0: TTestPower().solve_power(nobs=n, alpha=alpha, power=power), in standard deviations.
@pytest.mark.parametrize(
    ("n", "alpha", "power", "effect"),
    [
        (5, 0.05, 0.8, 1.6819970833232674),
        (20, 0.05, 0.8, 0.6604416544380312),
        (520, 0.05, 0.8, 0.12308565679212764),
        (30, 0.01, 0.9, 0.7477426903642257),
    ],
)
def test_as_statsmodels(n: int, alpha: float, power: float, effect: float) -> None:
    deviation = 0.3
    found = detectable(Interval(0.1, 0, 0.2, n, deviation / math.sqrt(n), n - 1), alpha=alpha, power=power)
    assert found.difference == pytest.approx(effect * deviation, rel=1e-5)  # both solve numerically


@pytest.mark.parametrize("degrees", [1.0, 1.3, 2.0, 7.5])
def test_few_cases(degrees: float) -> None:
    """The power at what was found, as the mean over the standard deviations that so few cases may show."""
    found = detectable(Interval(0.0, -1.0, 1.0, 2, 1.0, degrees)).difference
    assert found is not None
    critical = scipy.stats.t.ppf(0.975, degrees)
    shown = np.sqrt(scipy.stats.chi2.ppf((np.arange(200_000) + 0.5) / 200_000, degrees) / degrees)
    power = scipy.stats.norm.sf(critical * shown - found) + scipy.stats.norm.cdf(-critical * shown - found)
    assert power.mean() == pytest.approx(0.8, abs=1e-4)


def test_a_true_difference_of_this_size_is_found_that_often() -> None:
    """200 pairs that differ by what is detectable with 80 %: the sign-flip test finds about 80 % of them."""
    deviation, cases = 0.2, 25
    size = detectable(Interval(0, None, None, cases, deviation / math.sqrt(cases), cases - 1)).difference
    assert size is not None
    rng = rng_of(3)
    base = rng.random((200, cases, 1))
    other = base + rng.normal(size, deviation, size=base.shape)
    values = from_arrays({"A": np.concatenate([base, other])})
    pairs = [(f"m{k:03}", f"m{k + 200:03}") for k in range(200)]
    found = compare_all(values, seed=1, pairs=pairs, flips=1999, draws=10)
    seen = sum(one.p is not None and one.p <= 0.05 for one in found)
    assert seen / 200 == pytest.approx(0.8, abs=3 * math.sqrt(0.8 * 0.2 / 200))


def test_in_words() -> None:
    values = one_label({"a": [0.9, 0.5, 1.0, 0.4, 0.8], "b": [0.7, 0.5, 0.6, 0.5, 0.2]})
    found = detectable(compare(values, "a", "b", seed=1).difference)
    # 1.682 standard deviations, which are sqrt((0.0004 + 0.0484 + 0.0324 + 0.1024 + 0.1444) / 4)
    assert found.difference == pytest.approx(1.6819970833 * math.sqrt(0.328 / 4))
    assert found.sentence == (
        "With these 5 cases, a difference smaller than 0.482 is likely to go unseen "
        "(found with a chance below 80% at alpha 0.05)."
    )


def test_unknown_without_spread() -> None:
    found = detectable(compare(one_label({"a": [1.0], "b": [0.5]}), "a", "b", seed=1).difference)
    assert found.difference is None
    assert found.sentence == ("How small a difference could be seen is unknown: a single value: its spread is unknown.")


@pytest.mark.parametrize(("alpha", "power"), [(0, 0.8), (0.05, 1), (0.5, 0.4)])
def test_impossible_levels(alpha: float, power: float) -> None:
    with pytest.raises(ValueError, match="0 < alpha < power < 1"):
        detectable(Interval(0, None, None, 5, 0.1, 4), alpha=alpha, power=power)


def test_by_rerun_of_one_label() -> None:
    found = detectable_by_rerun(one_label({"m": [(0.2, 0.4), (0.5, 0.9), (1.0, 1.0)]}), "m")
    # Squares about the case means: 0.02 + 0.08 + 0, by 3 degrees: variance 0.1 / 3; six values; two runs.
    error = math.sqrt(2 * 0.1 / 3 / 6)
    assert found.difference == detectable(Interval(0, None, None, 3, error, 3.0)).difference
    assert found.clusters == 3


def test_by_rerun_without_iterations_values_or_noise() -> None:
    reasons = {
        "some labels have no case that was asked twice": one_label({"m": [0.5, 1.0]}),
        "no value": CaseValues({}, {}, {}, {}),
        "repeated answers to a case always had the same score": one_label({"m": [(0.5, 0.5), (1.0, 1.0)]}),
    }
    for reason, values in reasons.items():
        found = detectable_by_rerun(values, "m")
        assert (found.difference, found.reason) == (None, reason)
