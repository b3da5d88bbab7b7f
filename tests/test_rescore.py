"""Recorded answers through a task's rules again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

import pytest

from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.records import Answer, Case, Evaluation, Feedback, Prompt, ScoreSet, Transcript, Turn, Usage
from pytest_llmkg.rescore import rescore_answers, rescore_transcript
from tests.builders import DIALOGUE, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_KG = cast("KgEngine", object())
CASE = Case("c1", "Talk", "Talk", {"word": "kelp"})


def no_prompt(_case: Case, _kg: KgEngine) -> Prompt:
    raise AssertionError("rescoring writes no prompts")


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    return Evaluation("scored", (ScoreSet("new", {"combined": float(answer.text == case.text("word"))}),))


def feedback(_case: Case, turn: Turn) -> Feedback | None:
    return None if turn.evaluation.scores()["combined"] else Feedback("wrong", "Again.")


TASK = Task(DIALOGUE, {"word": "text"}, no_prompt, evaluate, feedback)  # three answers at most


@pytest.mark.parametrize(
    ("answers", "scores", "hints"),
    [
        (["kelp"], [1], [None]),
        (["sand", "kelp"], [0, 1], ["wrong", None]),
        # Stopped early by the record: the rules would have gone on, and say so.
        (["sand"], [0], ["wrong"]),
        # Went on although the rules would have stopped.
        (["kelp", "sand", "kelp"], [1, 0, 1], [None, "wrong", None]),
        # After the last turn that the task allows there is no hint.
        (["a", "b", "c"], [0, 0, 0], ["wrong", "wrong", None]),
        ([], [], []),
    ],
)
def test_every_answer_is_scored_and_decided_anew(
    answers: Sequence[str], scores: list[float], hints: list[str | None]
) -> None:
    turns = rescore_answers(TASK, CASE, answers, NO_KG)
    assert [turn.answer.text for turn in turns] == list(answers)
    assert [turn.evaluation.scores()["combined"] for turn in turns] == scores
    assert [turn.feedback for turn in turns] == hints
    assert all(turn.prompt == Prompt(()) for turn in turns)


def test_a_transcript_keeps_all_but_evaluations_and_hints() -> None:
    first = make_turn({"combined": 0.9}, "unparsable", text="sand", usage=Usage(3, 4, 0.5), feedback="syntax")
    second = make_turn({"combined": 0.1}, text="kelp")
    before = make_transcript(first, second, info=DIALOGUE, seconds=7.5, error="broke off")
    after = rescore_transcript(TASK, CASE, before, NO_KG)
    assert [turn.evaluation.scores() for turn in after.turns] == [{"combined": 0.0}, {"combined": 1.0}]
    assert [turn.feedback for turn in after.turns] == ["wrong", None]
    assert [(turn.prompt, turn.answer) for turn in after.turns] == [(turn.prompt, turn.answer) for turn in before.turns]
    assert dataclasses.replace(after, turns=()) == dataclasses.replace(before, turns=())


def test_rescoring_twice_changes_nothing() -> None:
    once = rescore_transcript(TASK, CASE, make_transcript(make_turn({}, text="sand"), info=DIALOGUE), NO_KG)
    assert rescore_transcript(TASK, CASE, once, NO_KG) == once


def test_an_empty_transcript_stays_one() -> None:
    empty: Transcript = make_transcript(info=DIALOGUE, error="endpoint down")
    assert rescore_transcript(TASK, CASE, empty, NO_KG) == empty
