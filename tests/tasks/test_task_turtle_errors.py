"""TurtleErrorsStatic, answer by answer, with the sandbox that runs in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number
from pytest_llmkg.tasks.turtle_errors import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

RIGHT = """PREFIX : <urn:x:>

:kelp :growsIn :bay ;
  :seen [ :by :ana ; :in :may ] .
:dulse :growsIn :cove ;
  :seen [ :by :bo ; :in :june ] .
:wrack :growsIn :bay ."""
BROKEN = RIGHT.replace(":in :may ] .", ":in :may ]").replace(":cove ;", ":cove")
FIELDS: dict[str, Json] = {
    "broken": BROKEN,
    "reference": RIGHT,
    "blockStart": "PREFIX",
    "blockEnd": r":growsIn :bay\s?\.",
}
CASE = Case("algae", "TurtleErrorsStatic", "TurtleErrorsStatic", FIELDS)
TRIPLES = 9
NAMES = {
    "onlyTurtle",
    "diffRatioRaw",
    "diffRatio",
    "normAnswerPrecision",
    "normAnswerRecall",
    "normAnswerF1Score",
    "normDiffRatio",
    "parsableTripleRatio",
}
# " ." and " ;" are missing: all of BROKEN is in RIGHT in order.
QUESTION_RATIO = 2 * len(BROKEN) / (len(BROKEN) + len(RIGHT))


def evaluate(text: str, kg: KgEngine, **changes: Json) -> Evaluation:
    case = Case("algae", "TurtleErrorsStatic", "TurtleErrorsStatic", {**FIELDS, **changes})
    evaluation = TASK.evaluate(case, Answer(text), kg)
    to_plain(evaluation)  # can be stored
    return evaluation


def published(evaluation: Evaluation) -> dict[str, Number]:
    return dict(evaluation.score_sets[0].values)


def corrected(evaluation: Evaluation) -> dict[str, Number]:
    return {name.removesuffix("@2"): value for name, value in evaluation.score_sets[1].values.items()}


def test_the_reference_gets_1_by_both_rules(kg: KgEngine) -> None:
    evaluation = evaluate(RIGHT, kg)
    assert evaluation.outcome == "scored"
    assert published(evaluation) == corrected(evaluation) == pytest.approx(dict.fromkeys(NAMES, 1))
    info = evaluation.info
    assert info["diff"] == ""
    assert info["diffRatioQuestion"] == pytest.approx(QUESTION_RATIO)
    assert (info["parsableTriplesCount"], info["normOptimalCount"], info["normAnswerHitCount"]) == (9, 10, 10)


def test_the_unchanged_document_is_worth_0_by_likeness_as_published(kg: KgEngine) -> None:
    evaluation = evaluate(BROKEN, kg)
    scores = published(evaluation)
    assert scores["diffRatioRaw"] == pytest.approx(QUESTION_RATIO)
    assert scores["diffRatio"] == pytest.approx(0)
    assert corrected(evaluation)["diffRatio"] == pytest.approx(0.2)
    assert scores["normAnswerF1Score"] < 1


def test_without_a_block_the_likeness_goes_far_below_0_as_published(kg: KgEngine) -> None:
    evaluation = evaluate("I cannot.", kg)
    scores = published(evaluation)
    assert scores["diffRatio"] == pytest.approx(-QUESTION_RATIO / (1 - QUESTION_RATIO))
    assert scores["diffRatio"] < -20
    assert scores["onlyTurtle"] == 1 / 10
    assert {scores[n] for n in NAMES if n.startswith("norm")} == {0.0}
    assert evaluation.outcome == "unparsable"
    mended = corrected(evaluation)
    assert all(0 <= value <= 1 for value in mended.values())
    assert mended["diffRatio"] < 0.2


@pytest.mark.parametrize("text", ["", "  \n"])
def test_silence(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome == "no_answer"
    assert published(evaluation)["normAnswerF1Score"] == 0
    assert set(corrected(evaluation).values()) == {0}


def test_another_way_to_declare_prefixes_is_no_turtle_as_published_only(kg: KgEngine) -> None:
    evaluation = evaluate(RIGHT.replace("PREFIX : <urn:x:>", "@prefix : <urn:x:> ."), kg)
    assert published(evaluation)["normAnswerF1Score"] == 0
    assert corrected(evaluation)["normAnswerF1Score"] == 1
    assert evaluation.score_sets[1].notes == ("block",)


def test_fences_count_against_only_turtle_as_published_only(kg: KgEngine) -> None:
    evaluation = evaluate(f"```turtle\n{RIGHT}\n```", kg)
    assert published(evaluation)["onlyTurtle"] == 1 / 10
    assert corrected(evaluation)["onlyTurtle"] == 1
    chatty = evaluate(f"Sure\n```turtle\n{RIGHT}\n```\nBye", kg)
    assert published(chatty)["onlyTurtle"] == 1 / (1 + 13 + 3)
    assert corrected(chatty)["onlyTurtle"] == 1 / (1 + 4 + 3)


def test_who_saw_what_when_shows_when_corrected(kg: KgEngine) -> None:
    evaluation = evaluate(RIGHT.replace(":may", ":?").replace(":june", ":may").replace(":?", ":june"), kg)
    assert published(evaluation)["normAnswerF1Score"] == 1
    assert corrected(evaluation)["normAnswerF1Score"] == pytest.approx((TRIPLES - 2) / TRIPLES)
    assert evaluation.score_sets[1].notes == ("blank nodes",)


def test_a_faulty_line_is_left_out_and_the_rest_counts(kg: KgEngine) -> None:
    evaluation = evaluate(RIGHT.replace(":dulse :growsIn :cove ;", ":dulse growsIn :cove ;"), kg)
    # Without its first line the next one has no subject; both go: 5 of 9 triples, and 5 rows and the empty one of 10.
    assert evaluation.info["parsableTriplesCount"] == 5
    scores = published(evaluation)
    assert (scores["normAnswerPrecision"], scores["normAnswerRecall"]) == (1.0, 6 / 10)
    assert scores["parsableTripleRatio"] == 5 / 9


def test_recorded_triples_take_the_place_of_parsing(kg: KgEngine) -> None:
    lines = [line for line in str(evaluate(RIGHT, kg).info["parsableTriples"]).split("\n") if line]
    assert published(evaluate("not read", kg, recordedTriples=[*lines]))["normAnswerF1Score"] == 1


@pytest.mark.parametrize(
    "text",
    ["PREFIX " * 20_000, "PREFIX " + "[ :a " * 20_000 + ":growsIn :bay .", RIGHT * 300, "\ud800\x00", "```\n" * 5_000],
    ids=["starts", "nested", "many", "odd-characters", "fences"],
)
def test_hostile_answers_are_scored_in_range(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert all(0 <= value <= 1 for value in corrected(evaluation).values())
    assert all(published(evaluation)[name] <= 1 for name in NAMES - {"parsableTripleRatio"})


def test_cases_that_cannot_be_asked(kg: KgEngine) -> None:
    with pytest.raises(RecordError, match="nothing to repair"):
        TASK.prompt(Case("x", "t", "l", {**FIELDS, "broken": RIGHT}), kg)
    with pytest.raises(RecordError, match="'reference' does not parse"):
        evaluate("", kg, reference=BROKEN)


def test_the_prompt_shows_the_broken_document_only(kg: KgEngine) -> None:
    (message,) = TASK.prompt(CASE, kg).messages
    assert BROKEN in message.text
    assert RIGHT not in message.text
