from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.blocks import make_blocks, rng_of
from pytest_llmkg.analysis.intervals import Interval, _limits, score_intervals, total_spread, wilson
from pytest_llmkg.analysis.values import CaseValues
from tests.analysis.synthetic import from_arrays, one_label

NOTHING = CaseValues({}, {}, {}, {})


# Made with statsmodels 0.15.0: proportion_confint(successes, trials, alpha=1 - level, method="wilson").
@pytest.mark.parametrize(
    ("successes", "trials", "level", "low", "high"),
    [
        (0, 10, 0.95, 0.0, 0.27753279986288926),
        (7, 20, 0.95, 0.18119182410108203, 0.5671457233147638),
        (7, 20, 0.9, 0.202260040056761, 0.5334873111515284),
        (20, 20, 0.95, 0.8388748419471804, 1.0),
        (1, 1, 0.95, 0.2065493143772374, 1.0),
        (45, 1000, 0.9, 0.0353896080294477, 0.057065793318734376),
    ],
)
def test_wilson_as_statsmodels(successes: int, trials: int, level: float, low: float, high: float) -> None:
    found = wilson(successes, trials, level)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.mean, found.clusters) == (successes / trials, trials)


def test_wilson_without_trials_and_with_impossible_counts() -> None:
    assert wilson(0, 0) == Interval(None, None, None, 0, reason="no trial")
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2)


def test_mean_and_standard_error_of_one_label() -> None:
    found = score_intervals(one_label({"m": [0.2, 0.4, 0.9]}), seed=1).models["m"]
    # mean 1.5 / 3; deviation sqrt(0.13); error sqrt(0.13 / 3)
    assert (found.mean, found.error) == pytest.approx((0.5, math.sqrt(0.13 / 3)))
    assert (found.clusters, found.degrees) == pytest.approx((3, 2))
    assert found.note == "only 3 independent values: the interval is rather too narrow"


def test_mean_of_label_means_and_its_degrees_of_freedom() -> None:
    values = from_arrays({"A": np.array([[[0.0], [1.0]]]), "B": np.array([[[0.2], [0.4], [0.9]]])})
    found = score_intervals(values, seed=1)
    # A: mean 0.5, variance of the mean 0.5 / 2 = 0.25; B: mean 0.5, 0.13 / 3. Halves: each by 4.
    a, b = 0.25 / 4, 0.13 / 3 / 4
    assert found.models["m000"].mean == pytest.approx(0.5)
    assert found.models["m000"].error == pytest.approx(math.sqrt(a + b))
    assert found.models["m000"].degrees == pytest.approx((a + b) ** 2 / (a**2 / 1 + b**2 / 2))
    assert found.labels["m000", "A"].error == pytest.approx(0.5)


def test_label_mean_is_that_of_its_dialogues_as_on_the_leaderboard() -> None:
    # Means of dialogues: (1 + 0 + 0 + 0) / 4, not (1 + 0) / 2.
    found = score_intervals(one_label({"m": [1.0, (0.0, 0.0, 0.0)]}), seed=1)
    assert found.models["m"].mean == 0.25


def test_cases_shared_by_labels_of_a_task_are_drawn_together() -> None:
    column = np.array([[[0.0], [1.0], [0.5], [0.25]]])
    together = score_intervals(from_arrays({"A": column, "B": column}, {"A": "T", "B": "T"}), seed=1).models["m000"]
    apart = score_intervals(from_arrays({"A": column, "B": column}), seed=1).models["m000"]
    single = score_intervals(from_arrays({"A": column}), seed=1).models["m000"]
    assert together.error == pytest.approx(single.error)  # the same cases again tell nothing new
    assert apart.error is not None
    assert together.error == pytest.approx(apart.error * math.sqrt(2))
    assert (together.clusters, apart.clusters) == (4, 8)


def test_bca_limits_as_scipy() -> None:
    """With n of n cases drawn and normal quantiles the limits are those of scipy.stats.bootstrap(method="BCa")."""
    data = np.random.default_rng(5).beta(5, 0.7, size=40)
    blocks = make_blocks(one_label({"m": data.tolist()}))
    spread = replace(total_spread(blocks), welch=np.array([1e-30]))  # degrees of freedom beyond all bounds
    drawn = data[np.random.default_rng(6).integers(40, size=(40_000, 40))].mean(axis=1)[:, None]
    low, high = _limits(drawn, np.array([data.mean()]), spread, 0.95)
    other = scipy.stats.bootstrap((data,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(7))
    # Both are draws; the limits' own standard error is about 0.02 of the width.
    width = other.confidence_interval.high - other.confidence_interval.low
    assert low[0] == pytest.approx(other.confidence_interval.low, abs=0.05 * width)
    assert high[0] == pytest.approx(other.confidence_interval.high, abs=0.05 * width)
    normal = 2 * 1.96 * data.std(ddof=1) / math.sqrt(40)
    assert width == pytest.approx(normal, rel=0.15)


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        ([0.5], "a single value: its spread is unknown"),
        ([1.0] * 20, "all 20 values that could differ are equal, so they show no spread"),
        ([(0.1, 0.2), (0.2, 0.1), (0.15, 0.15)], "all 3 values that could differ are equal, so they show no spread"),
    ],
)
def test_no_limits_without_spread(cases: list[float | tuple[float, ...] | None], reason: str) -> None:
    found = score_intervals(one_label({"m": cases}), seed=1)
    for one in (found.models["m"], found.labels["m", "L"]):
        assert (one.low, one.high, one.error, one.degrees, one.reason) == (None, None, None, None, reason)
        assert one.mean is not None


def test_nothing_at_all() -> None:
    assert score_intervals(NOTHING, seed=1).models == {}
    found = score_intervals(one_label({"m": [None, None]}), seed=1)
    assert (found.models["m"].mean, found.models["m"].reason, found.labels) == (None, "no value", {})


def test_one_model_without_values_beside_another() -> None:
    found = score_intervals(one_label({"m": [None, None], "n": [0.0, 1.0]}), seed=1)
    assert (found.models["m"].mean, found.models["m"].reason) == (None, "no value")
    assert found.models["n"].mean == 0.5
    assert list(found.labels) == [("n", "L")]


def test_label_with_one_case_speaks_for_that_case_only() -> None:
    repeated = score_intervals(one_label({"m": [(0.0, 1.0, 0.5, 0.5)]}), seed=1).models["m"]
    assert repeated.low is not None
    assert repeated.note is not None
    assert "1 of 1 labels have one case only" in repeated.note
    values = from_arrays({"A": np.array([[[0.5]]]), "B": np.array([[[0.2], [0.4], [0.9]]])})
    mixed = score_intervals(values, seed=1).models["m000"]
    assert mixed.error == pytest.approx(math.sqrt(0.13 / 3) / 2)
    assert mixed.note is not None
    assert "1 part of it (a task label, or labels that share cases) has only one case" in mixed.note


def test_seed_decides() -> None:
    values = one_label({"m": [0.1, 0.5, 0.3, 0.9, 0.8, 0.2, 1.0, 0.0, 0.4, 0.6, 0.7]})
    assert score_intervals(values, seed=1) == score_intervals(values, seed=1)
    assert score_intervals(values, seed=1) != score_intervals(values, seed=2)


def skewed(columns: int, cases: int, labels: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Scores with a ceiling, of true mean 0.85, two iterations a case that are alike; (labels, columns, cases, 2)."""
    rng = rng_of(seed, "skewed")
    of_case = rng.normal(size=(1, columns, cases, 1))
    of_answer = rng.normal(size=(labels, columns, cases, 2))
    place = scipy.stats.norm.cdf(0.8 * of_case + 0.6 * of_answer)
    # Uniform places: a quarter spread evenly over 0 to 0.8, the rest 1: mean 0.25 * 0.4 + 0.75 = 0.85.
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.where(place < 0.25, place / 0.25 * 0.8, 1.0)
    return found


@pytest.mark.parametrize(
    ("cases", "labels", "shared", "expected"),
    [(20, 1, False, 0.949), (8, 6, False, 0.958), (20, 4, True, 0.944), (6, 8, True, 0.880)],
)
def test_coverage_of_the_true_mean(cases: int, labels: int, shared: bool, expected: float) -> None:
    """Of 400 runs each, about 95 % of the intervals hold the true mean.

    ``expected`` is from 6,000 replications by a plain program that draws each one by itself (few cases of skewed
    scores stay below 95 %); the tolerance is three standard errors of 400 replications.
    ``shared``: the labels ask the same cases.
    """
    runs = 400
    if shared:
        by_label = skewed(runs, cases, labels, 11)
    else:
        by_label = np.concatenate([skewed(runs, cases, 1, 20 + number) for number in range(labels)])
    named = {f"L{number}": values for number, values in enumerate(by_label)}
    tasks = {label: "T" if shared else label for label in named}
    found = score_intervals(from_arrays(named, tasks), seed=3, draws=2000).models.values()
    hits = [one.low <= 0.85 <= one.high for one in found if one.low is not None and one.high is not None]
    tolerance = 3 * math.sqrt(expected * (1 - expected) / runs)
    assert sum(hits) / runs == pytest.approx(expected, abs=tolerance)
    naive = [
        abs(values.mean() - 0.85) <= 1.96 * values.std(ddof=1) / math.sqrt(values.size)
        for values in by_label.swapaxes(0, 1)
    ]
    assert sum(naive) < sum(hits)  # iterations taken as independent: too narrow


@pytest.mark.parametrize("cases", [3, 4, 5])
def test_few_cases_are_covered_too(cases: int) -> None:
    """Draws alone cover 75 to 90 % there, since they never leave the range of the values."""
    rng, runs = np.random.default_rng(cases), 250
    held = 0
    for seed in range(runs):
        both = from_arrays({"L": rng.normal(5, 1, (1, cases, 2))})
        one = score_intervals(both, seed=seed, draws=500).models["m000"]
        assert one.low is not None
        assert one.high is not None
        held += one.low <= 5 <= one.high
    assert scipy.stats.binomtest(held, runs, 0.95).pvalue > 0.01, held


def test_two_cases_have_no_limits_but_an_error() -> None:
    one = score_intervals(one_label({"m": [0.2, 0.8]}), seed=1).models["m"]
    assert (one.mean, one.low, one.high) == (0.5, None, None)
    assert one.error == pytest.approx(0.3)
    assert one.reason == "its spread rests on two independent values, too few for limits"


def test_limits_of_scores_stay_where_scores_are() -> None:
    inside = score_intervals(one_label({"m": [0.1, 0.9, 1.0]}), seed=1)
    assert (inside.models["m"].low, inside.models["m"].high) == (0.0, 1.0)
    assert (inside.labels["m", "L"].low, inside.labels["m", "L"].high) == (0.0, 1.0)
    outside = score_intervals(one_label({"m": [0.1, 0.9, 1.1]}), seed=1).models["m"]
    assert outside.low is not None
    assert outside.low < 0


values_by_case = st.dictionaries(
    st.tuples(st.sampled_from("mno"), st.sampled_from("ABC"), st.sampled_from("abcd")),
    st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0]), max_size=3).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(values_by_case, st.sampled_from([{"A": "T", "B": "T", "C": "U"}, {"A": "T", "B": "U", "C": "V"}]))
def test_whatever_the_values_there_is_an_interval_or_a_reason(
    by_case: dict[tuple[str, str, str], tuple[float, ...]], tasks: dict[str, str]
) -> None:
    found = score_intervals(CaseValues(dict(sorted(by_case.items())), tasks, {}, {}), seed=1, draws=50)
    assert set(found.models) == {model for model, _, _ in by_case}
    for one in [*found.models.values(), *found.labels.values()]:
        assert (one.low is None) == (one.high is None) == (one.reason is not None)
        if one.low is not None and one.high is not None and one.mean is not None:
            assert -1e-12 <= one.low <= one.high <= 1 + 1e-12
            assert 0 <= one.mean <= 1
