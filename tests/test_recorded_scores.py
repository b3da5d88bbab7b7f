"""Result records as transcripts with the scores that they hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.dialogue import dialogue_scores
from pytest_llmkg.interchange import GENERATOR
from pytest_llmkg.interchange.layout_3 import CONVERTERS
from pytest_llmkg.interchange.recorded_scores import recorded_scores
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Transcript
from pytest_llmkg.tasks import discover_tasks
from tests.recorded import ALL, FIX, FRIENDS

TURNS = {
    "0": {"combined": 0.0, "parsableSyntax": 1},
    "1": {"combined": 0.5},
    "2": {"combined": 1},
    "last": {"combined": 1},
    "max": {"combined": 1},
}


def test_scores_of_every_turn_stand_with_their_prompt_and_answer() -> None:
    record = {**FIX, "scores": TURNS, "info": {"1": {"n": 3}, "multiShotCount": 3}}
    (found,) = recorded_scores([record]).transcripts
    assert (found.task, found.label, found.case, found.model) == (
        "RdfSyntaxFixList",
        "RdfSyntaxFixList-x",
        "dot",
        "maker--m1",
    )
    assert [turn.evaluation.scores() for turn in found.turns] == [TURNS[n] for n in "012"]
    assert [turn.answer.text for turn in found.turns] == [
        text for role, _, text in FIX["interactions"] if role == "response"
    ]
    assert found.turns[1].prompt.messages[0].text == "The last query has syntax errors: at line 1"
    assert found.turns[1].evaluation.info == {"n": 3}
    assert (found.outcome, found.iteration, found.seconds) == ("scored", 1, 1.5)
    info = discover_tasks().get("RdfSyntaxFixList").info
    flat = dialogue_scores(found, info)
    assert (flat["0_combined"], flat["max_combined"], flat["last_combined"]) == (0.0, 1, 1)


def test_flat_scores_are_one_turn_and_equal_cases_are_iterations() -> None:
    record = {**FRIENDS, "scores": {"f1": 0.5, "note": "x", "ok": True}}
    found = recorded_scores([record, record, {**record, "modelId": "other"}]).transcripts
    assert [(t.model, t.case, t.iteration) for t in found] == [
        ("maker--m1", "RdfFriendCount-x", 1),
        ("maker--m1", "RdfFriendCount-x", 2),
        ("other", "RdfFriendCount-x", 1),
    ]
    assert [turn.evaluation.scores() for turn in found[0].turns] == [{"f1": 0.5}]


def test_blank_answers_and_records_without_scores_are_told_apart() -> None:
    blank = {**FRIENDS, "scores": {"f1": 0.0}, "interactions": [["prompt", "", "?"], ["response", "", " \n"]]}
    cut = {**FRIENDS, "scores": {"f1": 0.0}, "interactions": []}
    found = recorded_scores([blank, cut, {**FRIENDS, "scores": {}}, {**FRIENDS, "scores": {"f1": None}}]).transcripts
    assert [t.outcome for t in found] == ["no_answer", "scored", "error", "error"]
    assert found[2].error == "the record holds no scores"


def test_tasks_are_called_as_in_this_project() -> None:
    for record in ALL:
        (found,) = recorded_scores([record]).transcripts
        assert found.task == CONVERTERS[record["taskInfo"]["taskId"]][0]
    own: dict[str, Any] = {"taskInfo": {"taskId": "Mine", "generator": f"{GENERATOR} 1"}, "scores": {"f1": 1}}
    old: dict[str, Any] = {"taskInfo": {"taskId": "SyntheticDatasetGeneration"}, "scores": {"f1": 1}}
    new: dict[str, Any] = {"taskInfo": {"taskId": "NeverHeardOf", "taskLabel": "NeverHeardOf-2"}, "scores": {"f1": 1}}
    transcripts = recorded_scores([own, old, new]).transcripts
    assert [(t.task, t.label, t.model) for t in transcripts] == [
        ("Mine", "Mine", "unknown"),
        ("TurtleSampleGeneration", "SyntheticDatasetGeneration", "unknown"),
        ("NeverHeardOf", "NeverHeardOf-2", "unknown"),
    ]


def test_records_that_name_no_task_are_counted() -> None:
    found = recorded_scores([{"taskInfo": {}}, {"taskInfo": None}, {}])
    assert found.transcripts == ()
    assert found.skipped == {"which do not name their task": 3}


@pytest.mark.parametrize(
    ("duration", "seconds"), [("1 day, 0:00:01", 86401.0), ("0:01:00.5", 60.5), ("soon", 0.0), (3, 0.0)]
)
def test_durations(duration: Any, seconds: float) -> None:
    (found,) = recorded_scores([{**FRIENDS, "duration": duration}]).transcripts
    assert found.seconds == seconds


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "1", "f1", "uid"]), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {"taskInfo": st.just(FIX["taskInfo"]) | _JSON}, optional={name: _JSON for name in FIX if name != "taskInfo"}
    )
)
def test_any_record_can_be_read(record: dict[str, Any]) -> None:
    found = recorded_scores([record])
    assert len(found.transcripts) + sum(found.skipped.values()) == 1
    for transcript in found.transcripts:
        assert from_plain(Transcript, to_plain(transcript)) == transcript
