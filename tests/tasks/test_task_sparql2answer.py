"""Sparql2AnswerList, answer by answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Prompt, Turn
from pytest_llmkg.tasks.sparql2answer import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

NO_KG = cast("KgEngine", object())  # the task needs none
DATA: dict[str, Json] = {
    "format": "json-ld",
    "graph": '{"@id": "urn:kelp", "urn:growsIn": {"@id": "urn:bay"}, "{0}": "{title} %s"}\n',
    "prefixes": {"": "https://kg.example/"},
    "query": "SELECT ?p WHERE { ?p :growsIn ?q }",
    "result": [":kelp", ":dulse"],
    "question": "What grows where?",
}
CASE = Case("growth", "Sparql2AnswerList", "S2A-jsonld", DATA)
COUNT = Case("count", "Sparql2AnswerList", "S2A-jsonld", {**DATA, "result": ["2"]})


def evaluate(text: str, case: Case = CASE) -> Evaluation:
    evaluation = TASK.evaluate(case, Answer(text), NO_KG)
    to_plain(evaluation)  # can be stored
    return evaluation


F1S = ("f1", "trimF1", "fixedF1", "relaxedF1", "combinedF1")


def published(evaluation: Evaluation) -> dict[str, Number]:
    """The scores of the published rules, which come first."""
    return dict(evaluation.score_sets[0].values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":kelp\n:dulse", (1, 1, 1, 1, 1)),
        (":dulse\n:kelp\n", (1, 1, 1, 1, 1)),
        (":kelp\r\n:dulse\r\n", (1, 1, 1, 1, 1)),
        # P = 1, R = 1/2: F1 = 2/3 in all readings
        (":kelp", (2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3)),
        # one blank too many in both lines: the strict reading sees nothing, 3/4 in all
        (":kelp \n:dulse ", (0, 1, 1, 1, 0.75)),
        ("<https://kg.example/kelp>\n<https://kg.example/dulse>", (0, 0, 1, 1, 0.5)),
        ("kelp\ndulse", (0, 0, 0, 1, 0.25)),
        # fences: 4 lines, "```" once in the set: P = 2/4 ("```x" and "```" are two), R = 1, F1 = 2/3
        ("```x\n:kelp\n:dulse\n```", (2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3)),
        ("I do not know.", (0, 0, 0, 0, 0)),
    ],
)
def test_answers(text: str, expected: tuple[float, ...]) -> None:
    evaluation = evaluate(text)
    scores = published(evaluation)
    assert evaluation.outcome == "scored"
    assert [scores[name] for name in F1S] == pytest.approx(list(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", (1, 1, 1, 1, 1)),
        ('"2"', (0, 0, 1, 1, 0.5)),
        # The things instead of their number: two lines, relaxed reading only.
        (":kelp\n:dulse", (0, 0, 0, 1, 0.25)),
        # Any two lines would do, as published.
        ("It is\nthree.", (0, 0, 0, 1, 0.25)),
        # A fenced right number: P = 1/2 of ("```", "2"), F1 = 2/3; three lines in the relaxed reading.
        ("```\n2\n```", (2 / 3, 2 / 3, 2 / 3, 0, 0.5)),
        ("3", (0, 0, 0, 0, 0)),
    ],
)
def test_counts(text: str, expected: tuple[float, ...]) -> None:
    scores = published(evaluate(text, COUNT))
    assert [scores[name] for name in F1S] == pytest.approx(list(expected))


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_answer_gets_nothing_although_a_line_would_count(text: str) -> None:
    evaluation = evaluate(text, Case("one", "S", "S", {**DATA, "result": ["1"]}))
    assert evaluation.outcome == "no_answer"
    assert set(published(evaluation).values()) == {0.0}


def test_names_of_the_scores_are_as_published() -> None:
    measures = ("Precision", "Recall", "F1")
    names = {"precision", "recall", "f1", "brevity", "combinedF1"}
    names |= {f"{reading}{measure}" for reading in ("trim", "fixed", "relaxed") for measure in measures}
    assert published(evaluate(":kelp")).keys() == names
    assert published(evaluate("")).keys() == names


def test_brevity_counts_blanks() -> None:
    assert published(evaluate(":kelp\n:dulse"))["brevity"] == 1.0
    assert published(evaluate("it is :kelp"))["brevity"] == 1 / 3
    assert published(evaluate("\t:kelp\n\n"))["brevity"] == 1.0


@pytest.mark.parametrize(
    ("text", "case", "flags"),
    [
        (":kelp\n:dulse", CASE, set()),
        ("<https://kg.example/kelp>", CASE, {"errorHttp", "errorGreaterThan", "errorF1Format"}),
        ('":kelp"', CASE, {"errorQuotationMark", "errorF1Format"}),
        (":kelp ", CASE, {"errorF1Spaces"}),
        ("KELP", CASE, {"errorF1Minor"}),
        (":kelp\n:dulse", COUNT, {"errorNumber", "errorF1Minor"}),
        ("2", COUNT, set()),
    ],
)
def test_flags(text: str, case: Case, flags: set[str]) -> None:
    info = evaluate(text, case).info
    assert {name for name, value in info.items() if name.startswith("error") and value} == flags


def test_info_counts_lines() -> None:
    info = evaluate(":kelp\n:kelp\n\n:dulse").info
    assert (info["answerResultLength"], info["answerSetSize"]) == (4, 3)
    assert info["answerSet"] == [":kelp", "", ":dulse"]


def test_there_is_one_turn_only() -> None:
    assert TASK.info.max_turns == 1
    assert TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluate(""))) is None


def test_the_prompt_shows_texts_with_braces_as_they_are() -> None:
    (message,) = TASK.prompt(CASE, NO_KG).messages
    assert f"```json\n{str(DATA['graph']).rstrip()}\n```" in message.text
    assert f"```sparql\n{DATA['query']}\n```" in message.text
    assert "<https://kg.example/example>" in message.text
    assert "JSON-LD" in message.text
    # Neither the words of the question nor the result are shown.
    assert "What grows where?" not in message.text
    assert ":dulse" not in message.text


@given(st.text() | st.text(':kelpdus0<>" \r\n`'))
def test_any_answer_stays_in_range(text: str) -> None:
    for case in (CASE, COUNT):
        evaluation = evaluate(text, case)
        assert all(0 <= value <= 1 + 1e-12 for value in published(evaluation).values())
        assert (evaluation.outcome == "no_answer") == (not text.strip())


@pytest.mark.parametrize("text", ["x\n" * 500_000, "x" * 1_000_000, "\x00" * 1_000_000, "0:" * 500_000])
def test_a_megabyte_is_scored(text: str) -> None:
    assert published(evaluate(text))["combinedF1"] == 0
