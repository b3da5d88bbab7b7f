"""Counting of wrong answers by kind, of all tasks that turn questions into queries, with a few examples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.analysis.error_categories import (
    ALL_CATEGORIES,
    LONGEST_TEXT,
    ErrorCounts,
    category_rows,
    error_categories,
)
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, Question, ScoreSet, TaskInfo, Transcript, Turn
from tests.builders import make_transcript

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

KGQA = TaskInfo("Text2SparqlKgqa", "1", "SPARQL", "Questions.", "last_set_F@2")
RIGHT = {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0, "set_F@2": 1.0}
WRONG = {"set_P": 0.0, "set_recall": 0.0, "set_F": 0.0, "set_F@2": 0.0}


def evaluation(scores: dict[str, float], **info: Json) -> Evaluation:
    return Evaluation("scored", (ScoreSet("rules", scores),), info)


def dialogue(
    scores: dict[str, float], *, question: str = "What?", info: dict[str, Json] | None = None, **more: Any
) -> Transcript:
    prompt = Prompt.user("prompt", Question(question, "kg"))
    turn = Turn(prompt, Answer("answer"), evaluation(scores, **(info or {"failure": "missing"})))
    return make_transcript(turn, info=KGQA, **more)


@pytest.mark.parametrize(
    ("scores", "info", "names"),
    [
        ({"answerParse": 0.0, "f1measure@2": 0.0}, {"sparql": None}, ("no query",)),
        ({"answerParse": 0.0, "f1measure@2": 0.0}, {"sparql": "SELECT ?x {", "parseError": "no }"}, ("syntax",)),
        (
            {"answerParse": 1.0, "f1measure@2": 0.0},
            {"sparql": "q", "EvaluationException": "time"},
            ("refused or failed",),
        ),
        ({"answerParse": 1.0, "f1measure@2": 0.0}, {"sparql": "q", "answerSetSize": 0}, ("empty result",)),
        (
            {"answerParse": 1.0, "f1measure@2": 0.5, "f1measure": 0.5, "precision": 1.0, "recall": 0.4},
            {"sparql": "q", "answerSetSize": 2, "sparqlIrisF1measure": 0.5},
            ("incomplete",),
        ),
        (
            {"answerParse": 1.0, "f1measure@2": 0.5, "f1measure": 0.5, "precision": 0.4, "recall": 1.0},
            {"sparql": "q", "answerSetSize": 2},
            ("too much",),
        ),
        (
            {"answerParse": 1.0, "f1measure@2": 0.0, "f1measure": 0.0},
            {"sparql": "q", "answerSetSize": 2, "sparqlIrisF1measure": 0.5},
            ("other names",),
        ),
        (
            {"answerParse": 1.0, "f1measure@2": 0.0, "f1measure": 0.0},
            {"sparql": "q", "answerSetSize": 2, "sparqlIrisF1measure": 1.0},
            ("other",),
        ),
        ({"answerParse": 1.0, "f1measure@2": 1.0}, {"sparql": "q", "answerSetSize": 2}, ()),
        ({"answerParse": 1.0}, {"sparql": "q"}, ()),  # nobody knows whether it is right
    ],
)
def test_queries_on_small_graphs(scores: dict[str, float], info: dict[str, Json], names: tuple[str, ...]) -> None:
    assert error_categories(evaluation(scores, **info), "Text2SparqlList") == names


def test_an_agent_that_never_commits_is_told_from_one_that_sends_nothing() -> None:
    undecided = evaluation(WRONG, failure="undecided", tried="SELECT * {}", sparql=None)
    assert error_categories(undecided, "Text2SparqlAgent") == ("no final query",)
    assert error_categories(evaluation(WRONG, failure="missing"), "Text2SparqlAgent") == ("no query",)


def test_other_tasks_and_dialogues_that_broke_off_do_not_count() -> None:
    counts = ErrorCounts()
    assert counts.add(dialogue(WRONG, error="the line was lost")) == ()
    assert counts.add(replace(dialogue(WRONG), task="SparqlSyntaxFixingList")) == ()
    assert (counts.totals(), counts.rows()) == ((), ())
    assert counts.add(dialogue(RIGHT)) == ()
    assert [(total.model, total.answers, total.wrong) for total in counts.totals()] == [("m", 1, 0)]


def test_examples_are_of_different_cases_and_of_each_label_in_turn() -> None:
    held = [dialogue(WRONG, label=label, case=f"c{n}") for label in ("de", "en", "es") for n in range(30)]
    (row,) = category_rows(held, examples=4)
    assert (row.category, row.count, row.wrong, row.answers) == ("no query", 90, 90, 90)
    assert [(one.label, one.case) for one in row.examples] == [("de", "c0"), ("en", "c4"), ("es", "c7"), ("de", "c1")]


def test_every_label_shows_one_even_of_the_same_case() -> None:
    (row,) = category_rows([dialogue(WRONG, label=label, case="only") for label in ("de", "en")])
    assert [(one.label, one.case) for one in row.examples] == [("de", "only"), ("en", "only")]


def test_an_example_holds_question_and_both_queries_cut_to_a_length() -> None:
    case = Case("c1", KGQA.name, KGQA.name, {"query": "SELECT ?right {}", "question": "from the case"})
    info: dict[str, Json] = {"failure": "syntax", "sparql": "S" * 5000, "error": "no }"}
    counts = ErrorCounts()
    assert counts.add(dialogue(WRONG, question="Wer?", info=info), case) == ("syntax",)
    (example,) = counts.rows()[0].examples
    assert (example.question, example.reference, example.error) == ("Wer?", "SELECT ?right {}", "no }")
    assert example.query == "S" * (LONGEST_TEXT - 1) + "…"
    bare = replace(dialogue(WRONG), turns=(Turn(Prompt.user("?"), Answer("!"), evaluation(WRONG, failure="missing")),))
    counts = ErrorCounts()
    counts.add(bare, case)
    assert counts.rows()[0].examples[0].question == "from the case"


def test_a_hidden_answer_is_counted_without_its_texts() -> None:
    counts = ErrorCounts()
    counts.add(dialogue(WRONG, question="secret"), None, hidden=True)
    (row,) = counts.rows()
    assert row.count == 1
    assert "secret" not in repr(row)
    assert row.examples[0].hidden


def test_no_two_categories_share_a_name() -> None:
    assert len({category.name for category in ALL_CATEGORIES}) == len(ALL_CATEGORIES)
    assert len(ALL_CATEGORIES) <= 31  # the page's index has a bit for each
