"""RdfSyntaxFixList, answer by answer, with the sandbox that runs in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Prompt, Turn
from pytest_llmkg.tasks.rdf_syntax_fix import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

BROKEN = "@prefix : <urn:x:> .\n\n:kelp :growsIn :bay\n:wrack :growsIn :bay .\n:dulse :growsIn :cove .\n"
RIGHT = BROKEN.replace(":bay\n", ":bay .\n")
CASE = Case("dot", "RdfSyntaxFixList", "Fix-turtle", {"format": "turtle", "broken": BROKEN, "reference": RIGHT})

# A = 95 characters of the stripped reference, T = 93 of the stripped question, all in order: q = 2 * 93 / (93 + 95).
QUESTION_RATIO = 2 * (len(BROKEN) - 1) / (len(BROKEN) - 1 + len(RIGHT) - 1)


def evaluate(text: str, kg: KgEngine, case: Case = CASE) -> Evaluation:
    evaluation = TASK.evaluate(case, Answer(text), kg)
    to_plain(evaluation)  # can be stored
    return evaluation


def hint(evaluation: Evaluation) -> str | None:
    feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluation))
    return None if feedback is None else feedback.kind


def block(content: str) -> str:
    return f"```turtle\n{content}```"


def scores(evaluation: Evaluation) -> dict[str, Number]:
    """The scores of the published rules, which come first."""
    return dict(evaluation.score_sets[0].values)


def test_perfect_repair(kg: KgEngine) -> None:
    evaluation = evaluate(block(RIGHT), kg)
    assert evaluation.outcome == "scored"
    found = scores(evaluation)
    assert found.keys() == set(TASK.info.aggregated)
    assert found == pytest.approx(dict.fromkeys(TASK.info.aggregated, 1), abs=1e-9)
    assert type(found["parsableSyntax"]) is int
    assert hint(evaluation) is None


def test_names_and_order_of_the_info_are_as_published(kg: KgEngine) -> None:
    info = evaluate(block(RIGHT), kg).info
    assert set(info) == {
        "taskUid",
        "codeBlockCount",
        "rdfString",
        "rdfStringLenDiff",
        "rdfStringDiff",
        "brevityLenDiff",
        "diffRatioQuestion",
        "diffRatioRaw",
        "syntaxError",
    }
    assert (info["codeBlockCount"], info["brevityLenDiff"], info["syntaxError"]) == (1, 0, None)
    assert info["rdfStringLenDiff"] == -1  # the block is stripped, the reference is not
    assert info["diffRatioQuestion"] == QUESTION_RATIO


def test_unchanged_question(kg: KgEngine) -> None:
    evaluation = evaluate(block(BROKEN), kg)
    assert evaluation.outcome == "unparsable"
    # strSimilarity 0.2 for the question itself; a tenth of it counts, nothing else does.
    assert scores(evaluation) == {
        "brevity": 1.0,
        "strSimilarity": 0.2,
        "parsableSyntax": 0,
        "combined": pytest.approx(0.02),
    }
    assert hint(evaluation) == "syntax"


def test_parsable_but_a_fact_is_missing(kg: KgEngine) -> None:
    evaluation = evaluate(block("@prefix : <urn:x:> .\n\n:kelp :growsIn :bay .\n:wrack :growsIn :bay .\n"), kg)
    found = scores(evaluation)
    # 2 of 3 triples and the empty line: P = 3/3, R = 3/4, F1 = 2 * 0.75 / 1.75 = 6/7
    assert (found["contentPrecision"], found["contentRecall"]) == (1.0, 0.75)
    assert found["contentF1"] == pytest.approx(6 / 7)
    assert found["combined"] == pytest.approx(0.1 * found["strSimilarity"] + 0.2 + 0.7 * 6 / 7)
    assert hint(evaluation) == "content"


def test_right_facts_in_another_layout(kg: KgEngine) -> None:
    evaluation = evaluate(block(RIGHT.replace("\n:wrack", "\n\n\n:wrack")), kg)
    found = scores(evaluation)
    assert found["contentF1"] == 1.0
    # r = 2 * 94 / (94 + 96) for two added characters; similarity = 0.2 + 0.8 * (r - q) / (1 - q)
    length = len(RIGHT) - 1
    ratio = 2 * length / (2 * length + 2)
    assert found["strSimilarity"] == pytest.approx(0.2 + 0.8 * (ratio - QUESTION_RATIO) / (1 - QUESTION_RATIO))
    assert hint(evaluation) == "format"


def test_text_outside_of_the_block_costs_brevity_and_nothing_else(kg: KgEngine) -> None:
    fenced = block(RIGHT)
    evaluation = evaluate(f"  Here you are:\n{fenced}\n", kg)
    assert scores(evaluation)["brevity"] == len(fenced) / (len(fenced) + len("Here you are:\n"))
    assert evaluation.info["brevityLenDiff"] == len("Here you are:\n")
    assert scores(evaluation)["combined"] == pytest.approx(1, abs=1e-9)
    assert hint(evaluation) is None


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_empty_answer(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome == "no_answer"
    assert scores(evaluation) == {"brevity": 0.0, "strSimilarity": 0.0, "parsableSyntax": 0, "combined": 0.0}
    assert hint(evaluation) == "syntax"


def test_empty_block_scores_by_the_published_rule(kg: KgEngine) -> None:
    found = scores(evaluate("```\n```", kg))
    # An empty graph parses and shares the empty line: P = 1/1, R = 1/4, F1 = 2 * 0.25 / 1.25 = 0.4
    assert (found["contentPrecision"], found["contentRecall"]) == (1.0, 0.25)
    assert found["combined"] == pytest.approx(0.1 * 0 + 0.2 + 0.7 * 0.4)


def test_without_a_block_the_whole_answer_is_read(kg: KgEngine) -> None:
    evaluation = evaluate(RIGHT, kg)
    assert evaluation.outcome == "scored"
    assert scores(evaluation)["brevity"] == 0.0
    assert evaluation.info["codeBlockCount"] == 0
    assert scores(evaluation)["combined"] == pytest.approx(1, abs=1e-9)


def test_an_unclosed_block_is_none(kg: KgEngine) -> None:
    evaluation = evaluate(f"```turtle\n{RIGHT}", kg)
    assert evaluation.outcome == "unparsable"
    assert evaluation.info["codeBlockCount"] == 0
    assert hint(evaluation) == "syntax"


def test_the_first_of_several_blocks_counts(kg: KgEngine) -> None:
    right, wrong = block(RIGHT), block(":kelp")
    assert scores(evaluate(f"{right}\n{wrong}", kg))["combined"] == pytest.approx(1, abs=1e-9)
    evaluation = evaluate("\n".join([wrong, *[right] * 9]), kg)
    assert evaluation.outcome == "unparsable"
    assert evaluation.info["codeBlockCount"] == 10


HOSTILE = {
    "1 MB of prose": "All work and no play. " * 45_000,
    "1 MB of one triple": block(":a :b :c .\n" * 90_000),
    "1 MB without a line break": block("<" * 1_000_000),
    "binary-looking": "\x00\x01\x7f\ufffd\u2028\x85PK\x03\x04" * 50,
    "binary in a block": block("\x00\x01\x7f\ufffd"),
    "open brackets": block("[" * 20_000),
    "fences": "`" * 5000,
    "many blocks": block(":a :b :c .\n") * 2000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_get_a_low_score_and_a_hint(name: str, kg: KgEngine) -> None:
    evaluation = evaluate(HOSTILE[name], kg)
    assert evaluation.outcome in {"scored", "unparsable"}
    assert 0 <= scores(evaluation)["combined"] < 0.6
    assert hint(evaluation) in {"syntax", "content"}


def test_language_and_type_together_are_an_error(kg: KgEngine) -> None:
    text = '@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n<urn:a> <urn:b> "x"@en^^rdf:langString .'
    evaluation = evaluate(block(text), kg)
    assert evaluation.outcome == "unparsable"
    assert evaluation.info["syntaxError"] == "Turtle literals with both language and type are not allowed."


def test_hints_tell_the_error_and_never_the_repair(kg: KgEngine) -> None:
    for text in (
        block(BROKEN),
        block(":kelp :growsIn ."),
        block(f"\n{RIGHT} "),
        block("<urn:a> <urn:b> <urn:c> ."),
        "",
    ):
        evaluation = evaluate(text, kg)
        feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(text), evaluation))
        if feedback is not None:
            assert ":kelp :growsIn :bay ." not in feedback.text
        if feedback is not None and feedback.kind == "syntax" and text:
            assert str(evaluation.info["syntaxError"]) in feedback.text


def test_a_perfect_repair_one_bit_above_1_gets_no_hint(kg: KgEngine) -> None:
    """For some questions strSimilarity of the reference is 1.0000000000000002, as published."""
    over = []
    for length in range(1, 40):
        right = f"<urn:s> <urn:p> <urn:{'o' * length}> ."
        case = Case("x", "RdfSyntaxFixList", "F", {"format": "turtle", "broken": right[:-2], "reference": right})
        evaluation = evaluate(block(right + "\n"), kg, case)
        over.append(scores(evaluation)["strSimilarity"])
        assert hint(evaluation) is None
    assert set(over) <= {0.9999999999999999, 1.0, 1.0000000000000002}
    assert 1.0000000000000002 in over


def test_a_case_that_is_wrong_itself_is_an_error_not_a_score(kg: KgEngine) -> None:
    parses = Case("x", "RdfSyntaxFixList", "F", {"format": "turtle", "broken": RIGHT, "reference": RIGHT})
    with pytest.raises(RecordError, match="case F/x: the field 'broken' parses"):
        TASK.prompt(parses, kg)
    bad = Case("x", "RdfSyntaxFixList", "F", {"format": "turtle", "broken": BROKEN, "reference": BROKEN})
    with pytest.raises(RecordError, match="case F/x: the field 'reference' does not parse"):
        evaluate(block(RIGHT), kg, bad)


def test_a_hint_does_not_repeat_a_line_of_a_million_characters(kg: KgEngine) -> None:
    case = Case("nt", "RdfSyntaxFixList", "Fix", {**CASE.data, "format": "nt", "reference": "<a:a> <a:b> <a:c> ."})
    evaluation = TASK.evaluate(case, Answer("x" * 500_000), kg)
    feedback = TASK.feedback(case, Turn(Prompt.user("?"), Answer(""), evaluation))
    assert feedback is not None
    assert feedback.kind == "syntax"
    assert len(feedback.text) < 3000
