from __future__ import annotations

import pytest

from pytest_llmkg.analysis.gains import gain_rows, last_gain, turn_scores
from pytest_llmkg.analysis.intervals import score_intervals
from pytest_llmkg.analysis.values import values_of
from pytest_llmkg.records import TaskInfo, Transcript
from tests.builders import DIALOGUE, FLAT, make_transcript, make_turn


def talk(*scores: float, case: str = "c1", error: str | None = None) -> Transcript:
    return make_transcript(*(make_turn({"combined": s}) for s in scores), info=DIALOGUE, case=case, error=error)


TALKS = [
    talk(0.2, 0.5, 0.8, case="a"),
    talk(0.9, 1.0, 0.5, case="b"),
    talk(0.4, case="c"),
    talk(0.3, 0.3, case="d"),
    talk(0.1, 0.9, case="e", error="down"),
    make_transcript(make_turn({"other": 1}), info=DIALOGUE, case="f"),
    make_transcript(make_turn({"f1": 1}), info=FLAT),
]


def test_gain_and_harm() -> None:
    (row,) = gain_rows(TALKS, (FLAT, DIALOGUE))
    assert (row.model, row.label, row.score) == ("m", "Talk", "combined")
    assert (row.dialogues, row.continued, row.errors, row.missing) == (4, 3, 1, 1)
    assert (row.first, row.last, row.best) == pytest.approx((0.45, 0.5, 0.625))
    assert (row.improved, row.harmed, row.unchanged, row.spoiled) == (1, 1, 2, 1)
    assert (row.gain, row.harm) == pytest.approx((0.6, -0.4))


def test_first_and_last_answers_are_those_of_the_published_scores() -> None:
    assert turn_scores(TALKS[0], DIALOGUE) == (0.2, 0.5, 0.8)
    lacking = make_transcript(make_turn({"other": 1}), make_turn({"combined": 0.5}), info=DIALOGUE)
    assert turn_scores(lacking, DIALOGUE) == (0.0, 0.5)
    assert turn_scores(TALKS[4], DIALOGUE) is None
    assert turn_scores(TALKS[6], FLAT) is None


@pytest.mark.parametrize(
    "headline", ["0_combined", "max_combined", "mean_combined", "meanExt_combined", "last_combined"]
)
def test_score_of_a_turn_by_the_name_of_the_dialogue_score(headline: str) -> None:
    info = TaskInfo("Talk", "1", "SPARQL", "Up to three answers.", headline, 3, ("combined",))
    assert gain_rows(TALKS, (info,))[0].score == "combined"


def test_only_errors_and_nothing() -> None:
    (row,) = gain_rows([talk(error="down")], (DIALOGUE,))
    assert (row.dialogues, row.first, row.best, row.gain, row.errors) == (0, None, None, None, 1)
    assert gain_rows([], (DIALOGUE,)) == ()
    assert gain_rows(TALKS, ()) == ()


def test_interval_of_the_mean_gain() -> None:
    values = values_of(TALKS, (DIALOGUE,), last_gain)
    found = score_intervals(values, seed=1).labels["m", "Talk"]
    assert found.mean == pytest.approx((0.6 - 0.4 + 0 + 0) / 4)
    assert found.clusters == 4
    assert found.low is not None
    assert found.low < 0


def test_scores_beyond_all_bounds_count_as_absent() -> None:
    assert turn_scores(talk(1e308, 0.5), DIALOGUE) == (0.0, 0.5)
    assert turn_scores(talk(float("inf")), DIALOGUE) is None


@pytest.mark.parametrize("kind", ["observation", "spent"])
def test_looking_around_is_no_answer_and_so_no_gain(kind: str) -> None:
    looked = make_transcript(
        make_turn({"combined": 0}, "unparsable", feedback=kind), make_turn({"combined": 1}), info=DIALOGUE, case="x"
    )
    assert turn_scores(looked, DIALOGUE) is None
    assert last_gain(looked, DIALOGUE) is None
    assert gain_rows([*TALKS, looked], (FLAT, DIALOGUE)) == ()
    hinted = make_transcript(
        make_turn({"combined": 0}, feedback="missing"), make_turn({"combined": 1}), info=DIALOGUE, case="x"
    )
    assert gain_rows([hinted], (DIALOGUE,))[0].improved == 1
