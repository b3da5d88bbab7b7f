"""RdfFriendCount, answer by answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Prompt, Turn
from pytest_llmkg.tasks.rdf_friend_count import TASK, generate

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

NO_KG = cast("KgEngine", object())  # the task needs none
ENTRY: dict[str, Json] = {"format": "nt", "n": 8, "knowsCount": 2, "specialIndex": 5, "specialAddKnowsCount": 2}
CASE = Case("n8", "RdfFriendCount", "Friends-nt", dict(generate(ENTRY, 1)))
IRI = "https://kg.example/people/person-00000006"  # 41 characters


def evaluate(text: str) -> Evaluation:
    evaluation = TASK.evaluate(CASE, Answer(text), NO_KG)
    to_plain(evaluation)  # can be stored
    return evaluation


def published(evaluation: Evaluation) -> dict[str, Number]:
    """The scores of the published rules, which come first."""
    return dict(evaluation.score_sets[0].values)


@pytest.mark.parametrize(
    ("text", "outcome", "expected"),
    [
        # recall, brevity, precision, f1, noSpecialFriends
        (IRI, "scored", (1, 1, 1.0, 1.0, 1.0)),
        (f"<{IRI}>", "scored", (1, 1, 1.0, 1.0, 1.0)),
        (f"<{IRI}>\n", "scored", (1, 43 / 44, 1.0, 1.0, 1.0)),
        # One of two special friends beside the right person: 2 mentions, P = 1/2, F1 = 2/3.
        ("person-00000001 knows person-00000006", "scored", (1, 1, 0.5, 2 / 3, 0.5)),
        ("person-00000001 or person-00000002", "scored", (0, 1, 0, 0, 0.0)),
        ("person-00000008", "scored", (0, 1, 0, 0, 1.0)),
        ("I cannot tell.", "unparsable", (0, 1, 0, 0, 1.0)),
        ("", "no_answer", (0, 0, 0, 0, 0)),
        (" \n", "no_answer", (0, 0, 0, 0, 0)),
        ("x" * 86, "unparsable", (0, 0.5, 0, 0, 1.0)),
    ],
)
def test_answers(text: str, outcome: str, expected: tuple[float, ...]) -> None:
    evaluation = evaluate(text)
    names = ("recall", "brevity", "precision", "f1", "noSpecialFriends")
    assert evaluation.outcome == outcome
    assert published(evaluation) == pytest.approx(dict(zip(names, expected, strict=True)))


def test_info() -> None:
    assert evaluate(f"{IRI} (known by person-00000001)").info == {
        "persons": 8,
        "triples": 26,  # 8 types, 16 links of the ring, 2 more
        "graphSizeChar": len(str(CASE.data["graph"])),
        "specialNode": IRI,
        "answerPersonCount": 2,
        "specialFriendsInAnswer": 1,
        "personsInAnswer": ["6", "1"],
    }


def test_there_is_one_turn_only() -> None:
    assert TASK.info.max_turns == 1
    assert TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluate(""))) is None


def test_the_prompt_shows_the_graph_and_no_more_of_the_case() -> None:
    (message,) = TASK.prompt(CASE, NO_KG).messages
    graph = str(CASE.data["graph"]).rstrip("\n")
    assert f"```ntriples\n{graph}\n```" in message.text
    rest = message.text.replace(graph, "")
    assert "N-Triples" in rest
    assert "person-" not in rest


@given(st.text() | st.text("person-0123456789 \n"))
def test_any_answer_stays_in_range(text: str) -> None:
    evaluation = evaluate(text)
    assert all(0 <= value <= 1 for value in published(evaluation).values())
    assert (evaluation.outcome == "no_answer") == (not text.strip())


@pytest.mark.parametrize("text", ["person-" * 140_000, "person-" + "0" * 1_000_000, f"{IRI} " * 20_000, "\x00" * 10**6])
def test_a_megabyte_is_scored(text: str) -> None:
    scores = published(evaluate(text))
    assert scores["brevity"] < 0.001
    assert scores["f1"] < 0.001
