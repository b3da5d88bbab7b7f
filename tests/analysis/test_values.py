from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.values import headline_values, side_by_side
from tests.builders import DIALOGUE, FLAT, make_transcript, make_turn

if TYPE_CHECKING:
    import random

INFOS = (FLAT, DIALOGUE)
DIALOGUES = [
    make_transcript(make_turn({"f1": 0.25}), case="b", iteration=2),
    make_transcript(make_turn({"f1": 1}), case="b", iteration=1),
    make_transcript(make_turn({"f1": 0}, "unparsable"), case="a"),
    make_transcript(make_turn({"f1": 1}), case="c", error="endpoint down"),
    make_transcript(make_turn({"other": 1}), case="d"),
    make_transcript(make_turn({"combined": 0.5}), make_turn({"combined": 0.75}), info=DIALOGUE, model="n"),
    make_transcript(make_turn({"combined": 0.1}), make_turn({"combined": 0.2}), info=DIALOGUE, model="n", error="down"),
]


def test_values_by_case_with_errors_and_missing_scores_counted() -> None:
    values = headline_values(DIALOGUES, INFOS)
    assert values.by_case == {
        ("m", "Flat", "a"): (0.0,),
        ("m", "Flat", "b"): (1.0, 0.25),
        ("m", "Flat", "c"): (),
        ("m", "Flat", "d"): (),
        ("n", "Talk", "c1"): (0.75,),
    }
    assert values.tasks == {"Flat": "Flat", "Talk": "Talk"}
    assert values.errors == {("m", "Flat"): 1, ("n", "Talk"): 1}
    assert values.missing == {("m", "Flat"): 1}
    assert (values.models, values.labels) == (("m", "n"), ("Flat", "Talk"))
    assert values.cases("m") == {("Flat", "a"), ("Flat", "b")}


def test_task_unknown_to_the_header_is_missing() -> None:
    values = headline_values(DIALOGUES[:1], ())
    assert (values.by_case, values.missing) == ({("m", "Flat", "b"): ()}, {("m", "Flat"): 1})


@settings(max_examples=10)
@given(st.randoms())
def test_order_changes_nothing(chance: random.Random) -> None:
    shuffled = DIALOGUES.copy()
    chance.shuffle(shuffled)
    found, expected = headline_values(shuffled, INFOS), headline_values(DIALOGUES, INFOS)
    assert found == expected
    assert list(found.by_case) == list(expected.by_case)


def test_only_some_labels_and_models() -> None:
    values = headline_values(DIALOGUES, INFOS).only(models={"n"})
    assert (values.models, values.labels, values.tasks) == (("n",), ("Talk",), {"Talk": "Talk"})
    assert (values.errors, values.missing) == ({("n", "Talk"): 1}, {})
    assert headline_values(DIALOGUES, INFOS).only(labels=()).by_case == {}


def test_two_runs_of_one_model_side_by_side() -> None:
    old = headline_values(DIALOGUES, INFOS)
    new = headline_values([make_transcript(make_turn({"f1": 0.5}), case="a")], INFOS)
    values = side_by_side({"now": (new, "m"), "before": (old, "m")})
    assert values.models == ("before", "now")
    assert values.by_case["before", "Flat", "b"] == (1.0, 0.25)
    assert values.by_case["now", "Flat", "a"] == (0.5,)
    assert values.errors == {("before", "Flat"): 1}
