from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from pytest_llmkg.analysis.blocks import rng_of
from pytest_llmkg.analysis.ranks import rank_models
from pytest_llmkg.analysis.values import CaseValues
from tests.analysis.synthetic import from_arrays, one_label


def test_clear_order() -> None:
    rng = rng_of(1)
    noise = rng.normal(0, 0.05, size=(3, 30, 1))
    values = from_arrays({"A": np.array([0.2, 0.9, 0.5])[:, None, None] + noise})
    found = rank_models(values, seed=1)
    assert [(row.model, row.rank) for row in found.rows] == [("m001", 1), ("m002", 2), ("m000", 3)]
    assert [row.drawn for row in found.rows] == [(1, 1), (2, 2), (3, 3)]
    assert [row.tested for row in found.rows] == [(1, 1), (2, 2), (3, 3)]
    assert found.leaders == ("m001",)
    assert found.rows[0].p is None
    assert found.rows[1].p is not None
    assert found.rows[1].p < 0.001


def test_close_models_share_the_lead() -> None:
    values = from_arrays({"A": rng_of(2).random((4, 12, 1)), "B": rng_of(3).random((4, 12, 1))})
    found = rank_models(values, seed=1)
    assert len(found.leaders) == 4
    assert {row.tested for row in found.rows} == {(1, 4)}
    assert all(row.drawn and row.drawn[0] <= row.rank <= row.drawn[1] for row in found.rows)
    assert len(found.comparisons) == 6


def test_equal_models_have_the_same_rank_and_all_places_are_possible() -> None:
    found = rank_models(one_label({"a": [0.5, 1.0, 0.2], "b": [0.5, 1.0, 0.2], "c": [0.4, 0.9, 0.1]}), seed=1)
    assert [(row.model, row.rank, row.drawn) for row in found.rows] == [
        ("a", 1, (1, 2)),
        ("b", 1, (1, 2)),
        ("c", 3, (3, 3)),
    ]
    # Three cases cannot prove anything: the smallest p is 2 / 8, so a leader group would say nothing.
    assert found.leaders == ()
    assert found.untested is not None
    assert found.untested.startswith("3 independent values are too few for any difference to be significant, corrected")
    assert len(found.comparisons) == 3


def test_models_that_lack_a_label_are_named_not_ranked() -> None:
    by_case = {("a", "A", "1"): (0.5,), ("a", "B", "1"): (0.5,), ("b", "A", "1"): (1.0,), ("b", "B", "1"): ()}
    found = rank_models(CaseValues(by_case, {"A": "A", "B": "B"}, {}, {}), seed=1)
    assert [row.model for row in found.rows] == ["a"]
    assert found.incomplete == ("b",)
    assert found.rows[0].drawn == found.rows[0].tested == (1, 1)
    assert found.rows[0].leader


def test_one_case_under_each_label_says_nothing_of_other_cases() -> None:
    by_case = {("a", "A", "1"): (0.5,), ("a", "B", "1"): (0.7,), ("b", "A", "1"): (1.0,), ("b", "B", "1"): (0.9,)}
    found = rank_models(CaseValues(by_case, {"A": "A", "B": "B"}, {}, {}), seed=1)
    assert [(row.model, row.rank, row.drawn, row.tested) for row in found.rows] == [
        ("b", 1, None, (1, 2)),
        ("a", 2, None, (1, 2)),
    ]


def test_nothing_to_rank() -> None:
    nothing = rank_models(CaseValues({}, {}, {}, {}), seed=1)
    assert (nothing.rows, nothing.reason) == ((), "no value")
    failed = rank_models(one_label({"a": [None]}), seed=1)
    assert (failed.rows, failed.incomplete, failed.reason) == ((), ("a",), "no value")
    by_case = {("a", "A", "1"): (0.5,), ("b", "B", "1"): (0.5,)}
    apart = rank_models(CaseValues(by_case, {"A": "A", "B": "B"}, {}, {}), seed=1)
    assert (apart.incomplete, apart.reason) == (("a", "b"), "no model has values under every label")


def test_no_false_leaders_among_equals() -> None:
    """200 benchmarks of six equal models: in at most 5 % of them may Holm's correction find any difference."""
    rng = rng_of(1, "equals")
    alarms = 0
    for _ in range(200):
        values = from_arrays({"A": rng.random((6, 15, 1)), "B": rng.random((6, 10, 1))})
        alarms += len(rank_models(values, seed=1, draws=20, flips=999).leaders) < 6
    assert alarms <= scipy.stats.binom.ppf(0.999, 200, 0.05)


def test_of_very_many_models_none_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.analysis.ranks.MOST_TESTED", 3)
    shares = {"a": 1.0, "b": 0.9, "c": 0.5, "d": 0.0}
    by_case = {(name, "A", f"c{k}"): (share,) for name, share in shares.items() for k in range(9)}
    values = CaseValues(by_case, {"A": "A"}, {}, {})
    found = rank_models(values, seed=1)
    assert [row.rank for row in found.rows] == [1, 2, 3, 4]
    assert found.comparisons == ()
    assert found.leaders == ()
    assert {row.tested for row in found.rows} == {(1, 4)}
    assert found.untested is not None
    assert found.untested.startswith("the 6 pairs of 4 models are too many")
    three = rank_models(values.only(models={"a", "b", "c"}), seed=1)
    assert three.untested is None
    assert len(three.comparisons) == 3


@pytest.mark.parametrize(("cases", "models", "told"), [(5, 2, True), (6, 2, False), (6, 3, True), (7, 3, False)])
def test_too_few_cases_for_any_test_have_no_leaders(cases: int, models: int, told: bool) -> None:
    """By hand: 2 / 2^5 = 0.0625; 2 / 2^6 = 0.031, by three pairs 0.094; 2 / 2^7 by three pairs 0.047."""
    values = one_label({f"m{k}": [1.0 - k / 10] * cases for k in range(models)})
    found = rank_models(values, seed=1)
    assert (found.untested is not None) == told
    assert found.leaders == (() if told else ("m0",))


def test_nobody_leads_with_a_mean_of_0() -> None:
    nothing = one_label({"a": [0.0] * 8, "b": [0.0] * 8})
    assert (rank_models(nothing, seed=1).leaders, rank_models(nothing, seed=1).untested) == (
        (),
        "no model scored above 0",
    )
    little = rank_models(one_label({"a": [0.0] * 8, "b": [0.0] * 7 + [1.0], "c": [0.0] * 6 + [1.0] * 2}), seed=1)
    assert (little.leaders, little.untested) == (("c", "b"), None)
    losses = rank_models(one_label({"a": [-1.0, 1.0] * 4, "b": [-1.0, 1.0] * 4}), seed=1)
    assert losses.leaders == ("a", "b")
    assert rank_models(one_label({"a": [0.0] * 8}), seed=1).leaders == ()


def test_references_are_measured_but_neither_ranked_nor_tested() -> None:
    scores = {"good": 0.9, "fair": 0.5, "base": 1.0, "dummy": 0.0, "wide": 0.7}
    by_case = {(name, "A", f"c{k}"): (share,) for name, share in scores.items() for k in range(9)}
    by_case |= {("wide", "B", "c1"): (1.0,)}
    values = CaseValues(dict(sorted(by_case.items())), {"A": "A", "B": "B"}, {}, {})
    found = rank_models(values, seed=1, references={"base", "dummy", "wide", "never asked"})
    assert [(row.model, row.rank, row.tested, row.leader) for row in found.rows] == [
        ("good", 1, (1, 1), True),
        ("fair", 2, (2, 2), False),
    ]
    assert [(one.first, one.second) for one in found.comparisons] == [("fair", "good")]
    assert found.incomplete == ()
    assert found.references == ("base", "dummy", "wide")
    assert found.comparable == ("base", "dummy")
    alone = rank_models(values.only(models={"good", "fair"}), seed=1)
    assert found.rows == alone.rows
    assert found.comparisons == alone.comparisons
