"""Seconds and money per question, against figures worked out by hand."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.effort import asks_question, dialogue_seconds, effort_rows, effort_tables, question_effort
from pytest_llmkg.records import Answer, FailedCall, Prompt, Question, Transcript, Usage
from tests.builders import FLAT, make_transcript, make_turn

INFOS = {FLAT.name: FLAT}


def dialogue(*answers: Answer, score: float = 1.0) -> Transcript:
    return make_transcript(*(replace(make_turn({"f1": score}), answer=answer) for answer in answers))


def test_seconds_hold_failed_calls_and_leave_out_the_wait_and_what_is_done_once() -> None:
    bare = Answer("a", seconds=2.0, failed_calls=(FailedCall("down", seconds=0.5),))
    # A pipeline's clock: its model stage has the failed call in it; the sum of its stages is its seconds.
    stages = {"prepare": 9.0, "wait": 4.0, "retrieve": 0.25, "model": 1.75}
    metered = Answer("a", seconds=2.0, stages=stages, failed_calls=(FailedCall("down", seconds=0.5),))
    one, two = (question_effort(dialogue(answer), FLAT) for answer in (bare, metered))
    assert (one.seconds, one.prepare, one.stages) == (2.5, 0.0, {"model": 2.5})
    assert (two.seconds, two.prepare, two.stages) == (2.0, 9.0, {"retrieve": 0.25, "model": 1.75})
    assert one.calls == two.calls == 2


def test_what_a_foreign_systems_stages_leave_out_is_shown() -> None:
    told = Answer("a", seconds=3.0, stages={"model": 2.0}, failed_calls=(FailedCall("down", seconds=1.0),))
    effort = question_effort(dialogue(told), FLAT)
    assert effort.seconds == 4.0
    assert effort.stages == {"model": 2.0, "other": 2.0}


def test_a_repeated_answer_took_no_call_and_a_pipeline_tells_its_calls() -> None:
    first = Answer("a", seconds=1.0, notes={"calls": 3})
    again = Answer("a", seconds=1e-7, notes={"repeated": True})
    effort = question_effort(dialogue(first, again), FLAT)
    assert effort.calls == 3
    assert effort.stages == {"model": 1.0}


def test_what_is_unknown_makes_the_sum_unknown_and_never_zero() -> None:
    known, unknown = Usage(10, 5, 0.5), Usage()
    assert question_effort(dialogue(Answer("a", usage=known), Answer("b", usage=known)), FLAT).cost == 1.0
    assert question_effort(dialogue(Answer("a", usage=known), Answer("b", usage=unknown)), FLAT).cost is None
    untimed = Answer("a", notes={"untimed": True})
    assert question_effort(dialogue(untimed, Answer("b", seconds=1.0)), FLAT).seconds is None
    [row] = effort_rows([dialogue(Answer("a", seconds=1.0)), dialogue(untimed)], INFOS)
    assert (row.seconds, row.cost, row.tokens) == (None, None, None)
    assert (row.seconds_per_solved, row.cost_per_solved) == (None, None)


def test_failed_calls_cost_what_they_told() -> None:
    failed = (FailedCall("cut", usage=Usage(4, 1, 0.25)), FailedCall("down"))
    effort = question_effort(dialogue(Answer("a", usage=Usage(10, 5, 0.5), failed_calls=failed)), FLAT)
    assert (effort.cost, effort.input_tokens, effort.output_tokens) == (0.75, 14, 6)


def test_a_dialogue_that_broke_off_solved_nothing_and_took_its_time() -> None:
    broken = replace(dialogue(), error="no answer within 3 s", failed_calls=(FailedCall("late", seconds=3.0),))
    good = dialogue(Answer("a", usage=Usage(1, 1, 0.5), seconds=1.0), score=0.5)
    [row] = effort_rows([good, broken], INFOS)
    assert (row.questions, row.errors, row.solved, row.mean_score) == (2, 1, 0.5, 0.5)
    assert row.seconds is not None
    assert row.seconds.total == 4.0
    assert row.seconds_per_solved == 8.0
    assert row.cost is None  # what the failed call cost, nobody knows
    assert dict(row.stages) == {"model": 2.0}


def test_figures_by_hand() -> None:
    seconds = [float(n) for n in range(1, 21)]
    dialogues = [
        dialogue(Answer("a", usage=Usage(100, 10, 0.5), seconds=s), score=1.0 if s > 15 else 0.0) for s in seconds
    ]
    [row] = effort_rows(dialogues, INFOS)
    assert row.seconds is not None
    assert row.cost is not None
    assert (row.seconds.mean, row.seconds.median, row.seconds.p95, row.seconds.most) == (10.5, 10.5, 19.0, 20.0)
    assert (row.solved, row.seconds_per_solved, row.cost_per_solved) == (5.0, 42.0, 2.0)
    assert (row.tokens, row.calls) == (110.0, 1.0)


def test_rows_by_model_and_by_label_and_unknown_tasks_are_left_out() -> None:
    one = dialogue(Answer("a", seconds=1.0))
    rows = effort_rows([one, replace(one, label="L2"), replace(one, model="n")], INFOS, "label")
    assert [(row.model, row.label, row.questions) for row in rows] == [
        ("m", "Flat", 1),
        ("m", "L2", 1),
        ("n", "Flat", 1),
    ]
    assert [row.questions for row in effort_rows([one, replace(one, label="L2")], INFOS)] == [2]
    assert effort_rows([replace(one, task="Other")], INFOS) == ()


def test_a_question_is_known_by_its_prompt() -> None:
    turn = make_turn({"f1": 1.0})
    asked = replace(turn, prompt=Prompt.user("p", Question("Who?", "lifts")))
    assert not asks_question(make_transcript(turn))
    assert asks_question(make_transcript(asked, turn))


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=40))
def test_spreads_are_those_of_the_numbers(seconds: list[float]) -> None:
    [row] = effort_rows([dialogue(Answer("a", seconds=s)) for s in seconds], INFOS)
    found = row.seconds
    assert found is not None
    assert found.total == pytest.approx(sum(seconds))
    assert found.median == pytest.approx(statistics.median(seconds))
    assert found.p95 in seconds
    assert sum(s <= found.p95 for s in seconds) >= math.ceil(0.95 * len(seconds))
    assert sum(s < found.p95 for s in seconds) < 0.95 * len(seconds)
    assert found.most == max(seconds)


def test_what_is_known_of_a_sum_is_a_lower_bound_of_it() -> None:
    known, unknown = Answer("a", usage=Usage(10, 5, 0.5)), Answer("b")
    [row] = effort_rows([dialogue(known), dialogue(unknown)], INFOS)
    assert (row.cost, row.cost_at_least, row.tokens, row.tokens_at_least) == (None, 0.5, None, 15.0)
    [row] = effort_rows([dialogue(unknown)], INFOS)
    assert (row.cost_at_least, row.tokens_at_least) == (None, None)
    [row] = effort_rows([dialogue(known), dialogue(known)], INFOS)
    assert row.cost is not None
    assert row.cost.total == row.cost_at_least == 1.0


def test_both_tables_come_from_one_pass() -> None:
    held = [
        replace(dialogue(Answer("a", seconds=n)), label=label) for n, label in ((1.0, "de"), (2.0, "en"), (3.0, "en"))
    ]
    by_model, by_label = effort_tables(held, INFOS)
    assert [(row.label, row.questions) for row in by_model] == [(None, 3)]
    assert [(row.label, row.questions) for row in by_label] == [("de", 1), ("en", 2)]
    assert (by_model, by_label) == (effort_rows(held, INFOS), effort_rows(held, INFOS, "label"))


def test_seconds_of_any_dialogue_are_those_of_its_calls() -> None:
    failed = FailedCall("down", seconds=0.5)
    held = dialogue(Answer("a", seconds=2.0, failed_calls=(failed,)), Answer("b", seconds=1.0, stages={"wait": 9.0}))
    assert dialogue_seconds(held) == 3.5
    assert dialogue_seconds(make_transcript(error="never asked")) == 0.0
    assert dialogue_seconds(replace(make_transcript(error="down"), failed_calls=(failed, failed))) == 1.0
    assert dialogue_seconds(dialogue(Answer("a", notes={"untimed": True}))) is None
