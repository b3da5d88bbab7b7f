from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from pytest_llmkg.analysis.blocks import rng_of
from pytest_llmkg.analysis.ranks import rank_models
from pytest_llmkg.analysis.values import CaseValues
from tests.analysis.synthetic import from_arrays, one_label

if TYPE_CHECKING:
    import pytest


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
    # Three cases cannot prove anything: the smallest p is 2 / 8.
    assert found.leaders == ("a", "b", "c")


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
