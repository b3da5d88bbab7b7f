from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.blocks import rng_of
from pytest_llmkg.analysis.paired import Unmatched, compare, compare_all, compare_labels
from pytest_llmkg.analysis.values import CaseValues, side_by_side
from tests.analysis.synthetic import from_arrays, one_label


def test_one_label_by_hand_and_by_scipy() -> None:
    first, second = [0.9, 0.5, 1.0, 0.4, 0.8], [0.7, 0.5, 0.6, 0.5, 0.2]
    found = compare(one_label({"a": first, "b": second}), "a", "b", seed=1)
    differences = np.array([0.2, 0.0, 0.4, -0.1, 0.6])
    assert (found.first_mean, found.second_mean) == pytest.approx((0.72, 0.5))
    assert found.difference.mean == pytest.approx(0.22)
    assert found.difference.error == pytest.approx(differences.std(ddof=1) / math.sqrt(5))
    assert found.effect == pytest.approx(0.22 / differences.std(ddof=1))
    assert (found.wins, found.ties, found.losses, found.cases, found.labels) == (3, 1, 1, 5, 1)
    # Of the 16 patterns of 0.2, 0.4, -0.1 and 0.6 four reach 1.1 either way: 1.3, 1.1 and their opposites.
    assert (found.p, found.exact, found.adjusted_p) == (0.25, True, 0.25)
    other = scipy.stats.permutation_test(
        (first, second), lambda a, b: np.mean(a) - np.mean(b), permutation_type="samples", vectorized=False
    )
    assert found.p == pytest.approx(other.pvalue)


def test_iterations_are_averaged_first() -> None:
    found = compare(one_label({"a": [(1.0, 0.0, 0.5), 0.4], "b": [0.5, (0.2, 0.4)]}), "a", "b", seed=1)
    # 0.5 - 0.5 and 0.4 - 0.3
    assert (found.wins, found.ties, found.losses) == (1, 1, 0)
    assert found.difference.mean == pytest.approx(0.05)


def test_every_label_counts_the_same() -> None:
    a = {"A": np.array([[[1.0], [1.0]], [[0.0], [1.0]]]), "B": np.array([[[0.0]] * 8, [[0.25]] * 8])}
    found = compare(from_arrays(a), "m000", "m001", seed=1)
    # A: mean of 1 and 0; B: -0.25; (0.5 - 0.25) / 2, although B has four times as many cases
    assert found.difference.mean == pytest.approx(0.125)
    assert (found.first_mean, found.second_mean) == pytest.approx((0.5, 0.375))


def test_effect_of_two_labels() -> None:
    a = {"A": np.array([[[0.5], [0.1]], [[0.0], [0.0]]]), "B": np.array([[[0.2], [0.0]], [[0.0], [0.0]]])}
    found = compare(from_arrays(a), "m000", "m001", seed=1)
    # All weights are 1/4, so it is the plain dz of 0.5, 0.1, 0.2 and 0.
    differences = np.array([0.5, 0.1, 0.2, 0.0])
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1))


def test_cases_of_one_side_are_named_not_dropped_in_silence() -> None:
    values = one_label({"a": [1.0, 0.5, None, None], "b": [0.5, None, 0.5, None], "c": [1.0]})
    found = compare(values, "a", "b", seed=1)
    assert found.unmatched == Unmatched((("L", "c001"),), (("L", "c002"),), (("L", "c003"),))
    assert (found.cases, found.unmatched.total) == (1, 3)
    assert (found.first_mean, found.second_mean) == (1.0, 0.5)


@pytest.mark.parametrize("second", ["b", "nobody"])
def test_no_common_case(second: str) -> None:
    values = one_label({"a": [1.0, None], "b": [None, 0.5], "c": [1.0, 1.0]})
    found = compare_all(values, seed=1, pairs=[("a", second), ("a", "c")])
    assert (found[0].p, found[0].adjusted_p, found[0].first_mean, found[0].effect) == (None, None, None, None)
    assert found[0].difference.reason == "no case has values of both"
    assert found[1].p == 1.0


def test_empty_runs() -> None:
    nothing = CaseValues({}, {}, {}, {})
    assert compare_all(nothing, seed=1) == ()
    assert compare(nothing, "a", "b", seed=1).difference.reason == "no case has values of both"
    assert compare_labels(nothing, "a", "b", seed=1) == {}


def test_equal_models_do_not_differ() -> None:
    found = compare(one_label({"a": [1.0] * 20, "b": [1.0] * 20}), "a", "b", seed=1)
    assert (found.p, found.effect, found.ties) == (1.0, None, 20)
    assert found.difference.reason == "all 20 values that could differ are equal, so they show no spread"


def test_the_same_difference_everywhere_is_significant_without_an_interval() -> None:
    found = compare(one_label({"a": [1.0] * 10, "b": [0.5] * 10}), "a", "b", seed=1)
    assert (found.p, found.effect, found.difference.low) == pytest.approx((2 / 2**10, None, None))


def test_single_case_is_compared_by_iterations() -> None:
    values = one_label({"a": [(1.0, 0.9, 1.0, 0.8, 0.9, 1.0, 0.9)], "b": [(0.5, 0.4, 0.3, 0.4, 0.5, 0.5)]})
    found = compare(values, "a", "b", seed=1)
    assert found.p == pytest.approx(2 / 2**6)  # the seventh has no partner
    assert found.difference.note is not None
    assert "one case only" in found.difference.note


def test_shared_cases_flip_together() -> None:
    column = np.array([[[1.0]] * 5, [[0.5]] * 5])
    together = compare(from_arrays({"A": column, "B": column}, {"A": "T", "B": "T"}), "m000", "m001", seed=1)
    apart = compare(from_arrays({"A": column, "B": column}), "m000", "m001", seed=1)
    assert (together.p, apart.p) == pytest.approx((2 / 2**5, 2 / 2**10))


def test_a_pair_has_the_same_p_alone_and_among_others() -> None:
    values = from_arrays({"A": rng_of(1).random((4, 20, 2)), "B": rng_of(2).random((4, 9, 1))})
    among = {(one.first, one.second): one for one in compare_all(values, seed=1)}
    assert list(among) == list(combinations(values.models, 2))
    alone = compare(values, "m001", "m003", seed=1)
    turned = compare(values, "m003", "m001", seed=1)
    assert among["m001", "m003"].p == alone.p == turned.p
    assert turned.difference.mean == pytest.approx(-(alone.difference.mean or 0))
    assert all((one.adjusted_p or 0) >= (one.p or 1) for one in among.values())


def test_labels_by_themselves() -> None:
    values = from_arrays({"A": np.array([[[1.0]] * 8, [[0.5]] * 8]), "B": np.array([[[0.2]] * 8, [[0.2]] * 8])})
    found = compare_labels(values, "m000", "m001", seed=1)
    assert {label: one.p for label, one in found.items()} == {"A": pytest.approx(2 / 2**8), "B": 1.0}
    assert found["A"].adjusted_p == pytest.approx(4 / 2**8)


def run(
    seed: int, cases: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """200 runs of one model: answers vary about the same difficulties of cases; often right, so 1.0 often."""
    rng = rng_of(seed, "run")
    return {f"L{k}": np.clip(level + rng.normal(0, 0.4, size=(200, 12, 2)), 0, 1) for k, level in enumerate(cases)}


def test_a_a_comparisons_raise_false_alarms_at_the_stated_level() -> None:
    """200 pairs of runs of the same model on the same 60 cases: 5 % of them may look different."""
    cases = rng_of(4).uniform(0.3, 1.2, size=(5, 1, 12, 1))
    old, new = from_arrays(run(1, cases)), from_arrays(run(2, cases))
    sides = {f"old {m}": (old, m) for m in old.models} | {f"new {m}": (new, m) for m in new.models}
    found = compare_all(
        side_by_side(sides), seed=1, pairs=[(f"old {m}", f"new {m}") for m in old.models], flips=1999, draws=1000
    )
    alarms = sum(one.p is not None and one.p <= 0.05 for one in found)
    # 99.9 % of the binomial distribution of 200 tests at 0.05
    low, high = scipy.stats.binom.ppf([0.001, 0.999], 200, 0.05)
    assert low <= alarms <= high
    held = [(one.difference.low or 0) <= 0 <= (one.difference.high or 0) for one in found]
    assert sum(held) >= scipy.stats.binom.ppf(0.001, 200, 0.95)
    assert not any(one.adjusted_p is not None and one.adjusted_p <= 0.01 for one in found)


def test_models_equal_on_average_whose_strengths_are_shared_by_formats() -> None:
    """Two models each better at some questions; the same 12 questions in eight formats are no 96 questions."""
    rng = rng_of(6, "strengths")
    strengths = rng.normal(0, 0.15, size=(400, 12, 1))
    named = {f"L{k}": np.clip(0.5 + strengths + rng.normal(0, 0.1, size=(400, 12, 1)), 0, 1) for k in range(8)}
    pairs = [(f"m{k:03}", f"m{k + 1:03}") for k in range(0, 400, 2)]

    def alarms(tasks: dict[str, str]) -> int:
        found = compare_all(from_arrays(named, tasks), seed=1, pairs=pairs, flips=1999, draws=10)
        return sum(one.p is not None and one.p <= 0.05 for one in found)

    limit = scipy.stats.binom.ppf(0.999, 200, 0.05)
    assert alarms(dict.fromkeys(named, "T")) <= limit
    assert alarms({label: label for label in named}) > 3 * limit  # what independence of labels would make of it


cells = st.dictionaries(
    st.tuples(st.sampled_from("mno"), st.sampled_from("AB"), st.sampled_from("abc")),
    st.lists(st.sampled_from([0.0, 0.3, 1.0]), max_size=2).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(cells)
def test_whatever_the_values_nothing_is_undefined(by_case: dict[tuple[str, str, str], tuple[float, ...]]) -> None:
    values = CaseValues(dict(sorted(by_case.items())), {"A": "T", "B": "T"}, {}, {})
    for one in compare_all(values, seed=1, draws=20, flips=50):
        assert (one.p is None) == (one.cases == 0) == (one.first_mean is None)
        assert one.p is None or 0 < one.p <= (one.adjusted_p or 0) <= 1
        assert one.effect is None or math.isfinite(one.effect)
        assert (one.difference.low is None) == (one.difference.reason is not None)
        common = values.cases(one.first) & values.cases(one.second)
        assert one.cases <= sum(map(len, by_case.values()))
        assert bool(common) or one.cases == 0


def test_many_pairs_are_compared_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    values = from_arrays({"A": rng.random((5, 16, 1)), "B": rng.random((5, 3, 2))})
    pairs = [*combinations(values.models, 2), ("m000", "nobody")]
    whole = compare_all(values, seed=3, pairs=pairs, draws=200, flips=500)
    monkeypatch.setattr("pytest_llmkg.analysis.paired._AT_ONCE", 4)
    parts = compare_all(values, seed=3, pairs=pairs, draws=200, flips=500)
    assert [(one.first, one.second, one.p, one.adjusted_p) for one in parts] == [
        (one.first, one.second, one.p, one.adjusted_p) for one in whole
    ]
    for one, other in zip(parts, whole, strict=True):
        assert one.difference.low == pytest.approx(other.difference.low)
        assert one.difference.high == pytest.approx(other.difference.high)
    assert (parts[-1].p, parts[-1].adjusted_p) == (None, None)


def test_limits_of_differences_of_scores_stay_within_1() -> None:
    few = compare(one_label({"a": [0.0, 0.0, 0.4], "b": [1.0, 0.4, 1.0]}), "a", "b", seed=1).difference
    assert few.mean == pytest.approx(-2 / 3)
    # Student's limits of -1, -0.4 and -0.6: -2/3 -/+ 4.303 * 0.176 = -1.43 to 0.09
    assert few.low == -1.0
    assert few.high == pytest.approx(-2 / 3 + scipy.stats.t.ppf(0.975, 2) * few.error)
    wide = compare(one_label({"a": [0.0, 0.0, 4.0], "b": [10.0, 4.0, 10.0]}), "a", "b", seed=1).difference
    assert wide.low is not None
    assert wide.low < -10
