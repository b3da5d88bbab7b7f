from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.dialogue import dialogue_scores, headline, layout_of_turns, published_scores
from tests import strategies
from tests.builders import DIALOGUE, FLAT, make_transcript, make_turn

if TYPE_CHECKING:
    from pytest_llmkg.records import Number


def test_one_turn_task_has_its_scores_as_they_are() -> None:
    transcript = make_transcript(make_turn({"f1": 0.25, "listF1": 1}))
    assert dialogue_scores(transcript, FLAT) == {"f1": 0.25, "listF1": 1}
    assert published_scores(transcript, FLAT) == {"f1": 0.25, "listF1": 1}
    assert headline(transcript, FLAT) == 0.25


def test_two_turns_of_three() -> None:
    turns = (
        make_turn({"answerParse": 0, "combined": 0.0}),
        make_turn({"answerParse": 1, "combined": 0.5, "recall": 0.75}),
    )
    transcript = make_transcript(*turns, info=DIALOGUE)
    assert dialogue_scores(transcript, DIALOGUE) == {
        "0_answerParse": 0,
        "0_combined": 0.0,
        "1_answerParse": 1,
        "1_combined": 0.5,
        "1_recall": 0.75,  # not aggregated, but kept by turn and as last
        "mean_answerParse": 0.5,  # (0 + 1) / 2
        "mean_combined": 0.25,  # (0 + 0.5) / 2
        "max_answerParse": 1,
        "max_combined": 0.5,
        "meanExt_answerParse": pytest.approx(2 / 3),  # (0 + 1 + 1) / 3
        "meanExt_combined": pytest.approx(1 / 3),  # (0 + 0.5 + 0.5) / 3
        "last_answerParse": 1,
        "last_combined": 0.5,
        "last_recall": 0.75,
    }
    assert headline(transcript, DIALOGUE) == 0.5


def test_missing_score_of_a_turn_counts_as_zero() -> None:
    info = replace(DIALOGUE, aggregated=("f1",))
    layout = layout_of_turns([{"f1": 0.9}, {"other": 1}], info)
    assert layout["mean"] == {"f1": 0.45}  # (0.9 + 0) / 2
    assert layout["max"] == {"f1": 0.9}
    assert layout["meanExt"] == {"f1": pytest.approx(0.3)}  # (0.9 + 0 + 0) / 3: the last turn lacks it, twice
    assert layout["last"] == {"other": 1}


def test_missing_score_is_the_maximum_of_negative_ones() -> None:
    info = replace(DIALOGUE, aggregated=("x",))
    assert layout_of_turns([{"x": -1}, {}], info)["max"] == {"x": 0}
    assert layout_of_turns([{"x": -2}, {"x": -1}], info)["max"] == {"x": -1}


def test_score_that_no_turn_has_is_absent() -> None:
    layout = layout_of_turns([{"answerParse": 0}], DIALOGUE)
    assert layout["mean"] == layout["max"] == layout["meanExt"] == {"answerParse": 0}


def test_without_names_every_score_is_aggregated() -> None:
    info = replace(DIALOGUE, aggregated=())
    assert layout_of_turns([{"a": 1}, {"b": 0.5}], info)["mean"] == {"a": 0.5, "b": 0.25}


def test_corrected_variant_is_aggregated_like_its_published_score() -> None:
    layout = layout_of_turns([{"combined": 0.5, "combined@2": 0.25, "recall@2": 1}], DIALOGUE)
    assert layout["max"] == {"combined": 0.5, "combined@2": 0.25}


def test_values_keep_their_type_and_sums_their_published_bits() -> None:
    layout = layout_of_turns(
        [{"combined": 1, "answerParse": 0.2}] + [{"combined": 0, "answerParse": 0.2}] * 2, DIALOGUE
    )
    assert type(layout["max"]["combined"]) is int
    # 0.2 + 0.2 + 0.2 is 0.6000000000000001 when added one by one
    assert layout["mean"]["answerParse"] == 0.20000000000000004


def test_dialogue_cut_to_one_turn_keeps_its_names() -> None:
    info = replace(DIALOGUE, max_turns=1)
    transcript = make_transcript(make_turn({"combined": 0.5}), info=info)
    assert published_scores(transcript, info) == {
        "0": {"combined": 0.5},
        "mean": {"combined": 0.5},
        "max": {"combined": 0.5},
        "meanExt": {"combined": 0.5},
        "last": {"combined": 0.5},
    }


def test_error_has_no_aggregate_and_no_headline() -> None:
    broken = make_transcript(make_turn({"combined": 1}), info=DIALOGUE, error="endpoint down")
    assert dialogue_scores(broken, DIALOGUE) == {"0_combined": 1}
    assert headline(broken, DIALOGUE) is None
    assert dialogue_scores(make_transcript(error="endpoint down"), FLAT) == {}
    assert headline(make_transcript(), FLAT) is None


def test_absent_headline_is_none() -> None:
    assert headline(make_transcript(make_turn({"other": 1})), FLAT) is None


@given(st.lists(st.dictionaries(st.sampled_from("abc"), strategies.scores), min_size=1, max_size=3))
def test_aggregates_keep_their_bounds(turns: list[dict[str, Number]]) -> None:
    info = replace(DIALOGUE, aggregated=())
    layout = layout_of_turns(turns, info)
    assert layout["last"] == turns[-1]
    assert set(layout["mean"]) == set(layout["max"]) == set(layout["meanExt"]) == {k for t in turns for k in t}
    for name, best in layout["max"].items():
        assert 0 <= layout["mean"][name] <= best + 1e-15
        assert 0 <= layout["meanExt"][name] <= best + 1e-15
    if len(turns) == 3:
        assert layout["mean"] == layout["meanExt"]
