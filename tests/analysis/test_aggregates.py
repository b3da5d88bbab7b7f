from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.aggregates import Counts, LabelRow, ModelRow, label_rows, model_rows
from pytest_llmkg.records import Usage
from tests.builders import DIALOGUE, FLAT, make_transcript, make_turn

if TYPE_CHECKING:
    import random

    from pytest_llmkg.records import Transcript

INFOS = (FLAT, DIALOGUE)


def flat(model: str, value: float, case: str = "c1", label: str = "Flat") -> Transcript:
    return make_transcript(make_turn({"f1": value}), model=model, case=case, label=label)


def talk(model: str, value: float) -> Transcript:
    return make_transcript(make_turn({"combined": value}), model=model, info=DIALOGUE)


def ranking(*transcripts: Transcript, models: tuple[str, ...] = ()) -> tuple[ModelRow, ...]:
    return model_rows(label_rows(transcripts, INFOS), transcripts, models)


def test_mean_and_deviation_of_a_label() -> None:
    rows = label_rows([flat("m", 0.2, "a"), flat("m", 0.4, "b"), flat("m", 0.9, "c")], INFOS)
    # mean (0.2 + 0.4 + 0.9) / 3 = 0.5; deviation sqrt((0.09 + 0.01 + 0.16) / 2) = sqrt(0.13)
    deviation = rows[0].deviation
    assert deviation == pytest.approx(math.sqrt(0.13))
    assert rows == (LabelRow("m", "Flat", "Flat", "f1", Counts(scored=3), 0.5, deviation),)


def test_one_value_has_no_deviation() -> None:
    assert label_rows([flat("m", 0.2)], INFOS)[0].deviation is None


def test_unparsable_counts_by_its_score_and_errors_never_do() -> None:
    transcripts = [
        flat("m", 1.0, "a"),
        make_transcript(make_turn({"f1": 0}, "unparsable"), case="b"),
        make_transcript(make_turn({"f1": 0}, "no_answer"), case="c"),
        make_transcript(make_turn({"f1": 1}), case="d", error="endpoint down"),
        make_transcript(make_turn({"other": 1}), case="e"),
    ]
    row = label_rows(transcripts, INFOS)[0]
    assert row.counts == Counts(scored=2, unparsable=1, no_answer=1, error=1, missing=1)
    assert (row.counts.total, row.counts.evaluated, row.counts.in_mean) == (5, 4, 3)
    assert row.mean == pytest.approx(1 / 3)  # (1 + 0 + 0) / 3


def test_only_errors_have_no_mean() -> None:
    row = label_rows([make_transcript(error="down")], INFOS)[0]
    assert row.mean is None
    assert row.counts == Counts(error=1)


def test_task_unknown_to_the_header_is_counted_as_missing() -> None:
    row = label_rows([flat("m", 1.0)], ())[0]
    assert (row.mean, row.headline, row.counts.missing) == (None, "", 1)


def test_labels_weigh_the_same_however_many_dialogues_they_have() -> None:
    row = ranking(flat("m", 1.0, "a"), flat("m", 1.0, "b"), flat("m", 1.0, "c"), talk("m", 0.0))[0]
    assert row.mean == 0.5  # (1.0 + 0.0) / 2, not 3 / 4
    assert row.labels == 2
    assert row.counts == Counts(scored=4)


def test_competition_ranking_with_ties() -> None:
    rows = ranking(flat("d", 0.1), flat("b", 0.5), flat("c", 0.5), flat("a", 0.9))
    assert [(row.rank, row.model) for row in rows] == [(1, "a"), (2, "b"), (2, "c"), (4, "d")]


def test_means_that_differ_by_rounding_alone_are_ties() -> None:
    rows = ranking(flat("a", 0.1 + 0.2), flat("b", 0.3))
    assert [row.rank for row in rows] == [1, 1]


def test_incomplete_models_follow_without_a_rank() -> None:
    rows = ranking(flat("a", 0.1), talk("a", 0.1), flat("b", 1.0), models=("silent",))
    assert [(row.rank, row.model, row.mean, row.incomplete) for row in rows] == [
        (1, "a", 0.1, False),
        (None, "b", 1.0, True),
        (None, "silent", None, True),
    ]


def test_label_that_only_failed_makes_a_model_incomplete() -> None:
    failed = make_transcript(info=DIALOGUE, model="b", error="down")
    rows = ranking(flat("a", 0.1), talk("a", 0.1), flat("b", 1.0), failed)
    assert [(row.model, row.incomplete) for row in rows] == [("a", False), ("b", True)]


def test_cost_seconds_turns_and_tokens() -> None:
    known = make_turn({"combined": 0}, usage=Usage(10, 5, 0.25))
    unknown = make_turn({"combined": 1}, usage=Usage(20, None, None))
    row = ranking(
        make_transcript(known, known, info=DIALOGUE, seconds=2.0),
        make_transcript(known, info=DIALOGUE, case="c2", seconds=0.5, error="down after the first turn"),
    )[0]
    assert (row.cost, row.cost_known, row.seconds, row.turns) == (0.75, True, 2.5, 3)
    assert (row.input_tokens, row.output_tokens) == (30, 15)
    row = ranking(make_transcript(known, unknown, info=DIALOGUE))[0]
    assert (row.cost, row.cost_known, row.input_tokens, row.output_tokens) == (0.25, False, 30, 5)
    row = ranking(flat("m", 1))[0]
    assert (row.cost, row.cost_known, row.input_tokens) == (None, False, None)


@settings(max_examples=10)
@given(st.randoms())
def test_order_of_dialogues_changes_nothing(chance: random.Random) -> None:
    transcripts = [
        flat(model, 0.1 * number, f"c{number}", label)
        for model in ("x", "y", "z")
        for label in ("Flat-2", "Flat-10")
        for number in range(10)
    ]
    transcripts += [talk("x", 0.7), talk("y", 0.7), talk("z", 0.7)]
    expected_labels, expected_models = label_rows(transcripts, INFOS), ranking(*transcripts)
    assert [row.label for row in expected_labels[::3]] == ["Flat-2", "Flat-10", "Talk"]
    chance.shuffle(transcripts)
    assert label_rows(transcripts, INFOS) == expected_labels
    assert ranking(*transcripts) == expected_models


@pytest.mark.parametrize("huge", [1e308, float("inf"), 10**400])
def test_numbers_beyond_all_bounds_are_none(huge: float) -> None:
    usage = Usage(cost=huge if isinstance(huge, float) else 1e200)
    odd = make_transcript(make_turn({"f1": huge}, usage=usage), case="b", seconds=1e308)
    rows = label_rows([flat("m", 0.5), odd], INFOS)
    assert (rows[0].mean, rows[0].counts) == (0.5, Counts(scored=2, missing=1))
    (row,) = model_rows(rows, [flat("m", 0.5), odd, odd])
    assert (row.mean, row.cost, row.cost_known, row.seconds) == (0.5, None, False, 1.0)
