from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_llmkg.analysis.changes import (
    case_changes,
    compare_cases,
    compare_each_label,
    compare_models,
    put_side_by_side,
)
from pytest_llmkg.analysis.comparability import Side, compare_sides, gaps_of, same_models
from pytest_llmkg.analysis.paired import compare_labels
from pytest_llmkg.analysis.values import CaseValues, headline_values, side_by_side
from tests.builders import FLAT
from tests.run_pairs import Scores, header_of, one_model, side, transcripts_of


def values(scores: Scores) -> CaseValues:
    return headline_values(transcripts_of(scores), (FLAT,))


BEFORE = one_model([1.0, 0.0, 1.0, 0.5, (1.0, 1.0, 0.0), 1.0, None, 1.0])
NOW = one_model([0.0, 1.0, 1.0, 0.25, (1.0, 0.0, 0.0), None, 1.0])


def test_what_flipped() -> None:
    both = put_side_by_side(values(BEFORE), values(NOW), [("m", "m")])
    found = {one.case: (one.change, one.difference) for one in case_changes(both, 0)}
    assert found == {
        "c0": ("broke", -1.0),
        "c1": ("mended", 1.0),
        "c2": ("same", 0.0),
        "c3": ("worse", -0.25),
        "c4": ("broke", pytest.approx(-1 / 3)),  # two of three answers were good, now one
        "c5": ("only before", None),
        "c6": ("only now", None),
        "c7": ("only before", None),
    }


def test_threshold_of_a_good_answer() -> None:
    both = put_side_by_side(values(one_model([0.6, 0.4])), values(one_model([0.4, 0.6])), [("m", "m")])
    assert [one.change for one in case_changes(both, 0, threshold=0.5)] == ["broke", "mended"]
    assert [one.change for one in case_changes(both, 0, threshold=0.6)] == ["broke", "mended"]
    assert [one.change for one in case_changes(both, 0, threshold=0.7)] == ["worse", "better"]


def test_comparisons_are_those_of_two_models() -> None:
    """The same numbers as when each comparison is made alone."""
    old, new = (
        {**one_model(scores, label="A"), **one_model(reversed_, label="B")}
        for scores, reversed_ in (([1.0, 0.5, 0.7, 0.9], [0.1, 0.2]), ([0.5, 0.5, 0.8, 0.2], [0.9, 0.3]))
    )
    both = put_side_by_side(values(old), values(new), [("m", "m")])
    (overall,) = compare_models(both, seed=3)
    assert (overall.first, overall.second) == ("m", "m")
    assert overall.difference.mean == pytest.approx(((0.5 - 0.775) + (0.6 - 0.15)) / 2)
    alone = compare_labels(
        side_by_side({"now": (values(new), "m"), "before": (values(old), "m")}), "now", "before", seed=3
    )
    for label, (found,) in compare_each_label(both, seed=3).items():
        assert (found.p, found.adjusted_p) == (alone[label].p, alone[label].adjusted_p)
        assert found.difference == alone[label].difference


def test_different_models_of_one_run() -> None:
    run = values({**one_model([1.0, 1.0], "a"), **one_model([0.0, 1.0], "b")})
    both = put_side_by_side(run, run, [("a", "b"), ("b", "a")])
    assert [(one.first, one.second, one.difference.mean) for one in compare_models(both, seed=1)] == [
        ("b", "a", -0.5),
        ("a", "b", 0.5),
    ]


def test_single_cases_from_their_iterations() -> None:
    old = one_model([(1.0,) * 8, (1.0, 1.0), 1.0, (0.5, 0.5)])
    new = one_model([(0.0,) * 8, (1.0, 0.0), 0.0, (0.5, 0.5)])
    found = compare_cases(put_side_by_side(values(old), values(new), [("m", "m")]), seed=1)
    assert [case for _, case in found] == ["c0", "c1"]  # c2 has one value, and c3 no difference
    assert found["Flat", "c0"][0].p == 2 / 2**8
    assert found["Flat", "c0"][0].adjusted_p == 2 * 2 / 2**8
    assert found["Flat", "c1"][0].p == 1.0


def test_findings_name_dialogues_but_not_all() -> None:
    old = side(one_model([1.0] * 9), "the baseline")
    new = side(one_model([1.0]), "this run", cases=[])
    texts = [one.text for one in compare_sides(old, new) if one.kind == "missing"]
    assert texts == [
        (
            "this run lacks 8 of 9 dialogues of model 'm' on 'Flat' that the baseline has (8 not run): "
            "c1, c2, c3, c4, c5 and 3 more"
        )
    ]


def test_more_iterations_are_a_signature_not_missing() -> None:
    found = compare_sides(side(one_model([1.0])), side(one_model([(1.0, 1.0)])))
    assert [(one.kind, one.text) for one in found] == [("signature", "iterations is 2, was 1")]


def test_a_label_that_is_missing_is_told_once() -> None:
    both = {**one_model([1.0], label="A"), **one_model([1.0], label="B")}
    found = compare_sides(side(both, "the baseline"), side(one_model([1.0], label="A")))
    assert [one.kind for one in found] == ["missing"]
    assert "on 'B'" in found[0].text


def test_runs_of_old_versions_do_not_say_what_they_measured() -> None:
    new = side(one_model([1.0]))
    header = header_of(one_model([1.0]), run="old")
    header = replace(header, settings={})
    old = Side("the baseline", header, new.transcripts)
    assert [one.text for one in compare_sides(old, new)] == [
        "run 'old' does not say what it measured, as those of old versions"
    ]


def test_same_models_in_the_order_of_the_new_run() -> None:
    old = side({**one_model([1.0], "a"), **one_model([1.0], "b"), **one_model([1.0], "x")})
    new = side({**one_model([1.0], "b"), **one_model([1.0], "a"), **one_model([1.0], "y")})
    assert same_models(old, new) == (("b", "b"), ("a", "a"))
    assert gaps_of(new) == ()
