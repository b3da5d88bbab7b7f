"""Text2SparqlList, answer by answer, with the sandbox that runs in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import RecordError
from pytest_llmkg.kg import Limits, Sandbox
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Prompt, Turn
from pytest_llmkg.tasks.text2sparql import TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

GRAPH = """\
@prefix : <https://kg.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:kelp :growsIn :bay ; :metres 40 ; rdfs:label "kelp"@en .
:wrack :growsIn :bay ; :metres 2 .
:dulse :growsIn :cove ; :metres 0 .
"""
QUERY = "SELECT ?plant WHERE { ?plant :growsIn :bay }"
DATA: dict[str, Json] = {
    "format": "turtle",
    "graph": GRAPH,
    "prefixes": {"": "https://kg.example/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"},
    "question": "What grows in the bay? {0} {question} %s",
    "query": QUERY,
    "result": [":kelp", ":wrack"],
}
CASE = Case("bay", "Text2SparqlList", "T2S", DATA)


def evaluate(text: str, kg: KgEngine, case: Case = CASE) -> Evaluation:
    evaluation = TASK.evaluate(case, Answer(text), kg)
    to_plain(evaluation)  # can be stored
    return evaluation


def hint(evaluation: Evaluation) -> str | None:
    feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluation))
    return None if feedback is None else feedback.kind


def block(query: str, tag: str = "sparql") -> str:
    return f"```{tag}\n{query}\n```"


PERFECT = {"answerParse": 1.0, "combined": 1.0, "f1measure": 1.0, "precision": 1.0, "recall": 1.0}
EMPTY = {"answerParse": 1.0, "combined": 0.2, "f1measure": 0.0, "precision": 1.0, "recall": 0.0}
WRONG = {**EMPTY, "precision": 0.0}
UNPARSABLE = {"answerParse": 0.0, "combined": 0.0}


def published(evaluation: Evaluation) -> dict[str, Number]:
    """The scores of the published rules, which come first."""
    return dict(evaluation.score_sets[0].values)


@pytest.mark.parametrize(
    "text",
    [
        block(QUERY),
        block(QUERY.lower().replace("growsin", "growsIn")),
        block(QUERY, tag=""),
        f"Here:\n{block(QUERY)}\nIt lists all plants.",
        # The graph is quoted first; it holds no SELECT.
        f"{block(GRAPH, 'turtle')}\nThe query:\n{block(QUERY)}",
        # The first of ten blocks.
        "\n".join([block(QUERY), *[block("SELECT ?x WHERE { ?x ?y ?z }")] * 9]),
        # Another way to say it; order, doubles and names of variables do not count.
        block("PREFIX k: <https://kg.example/>\nSELECT ?x WHERE { ?x k:growsIn k:bay } ORDER BY DESC(?x)"),
        block("SELECT ?x WHERE { ?x <https://kg.example/growsIn> :bay . ?a ?b ?c }"),
    ],
)
def test_right_queries(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome == "scored"
    assert published(evaluation) == PERFECT
    assert hint(evaluation) is None


@pytest.mark.parametrize(
    ("query", "precision", "recall", "f1"),
    [
        # one of two: 2 * 1 * 0.5 / 1.5
        ("SELECT ?x WHERE { ?x :growsIn :bay ; :metres 40 }", 1.0, 0.5, 2 / 3),
        # three plants, two of them right: 2 * (2/3) / (5/3)
        ("SELECT ?x WHERE { ?x :growsIn ?y }", 2 / 3, 1.0, 0.8),
        # a further column with one more value
        ("SELECT ?x ?y WHERE { ?x :growsIn ?y . FILTER(?y = :bay) }", 2 / 3, 1.0, 0.8),
    ],
)
def test_partly_right_queries_get_no_hint(query: str, precision: float, recall: float, f1: float, kg: KgEngine) -> None:
    evaluation = evaluate(block(query), kg)
    assert published(evaluation) == pytest.approx(
        {"answerParse": 1.0, "combined": 0.2 + 0.8 * f1, "f1measure": f1, "precision": precision, "recall": recall}
    )
    assert hint(evaluation) is None


def test_wrong_result_gets_no_hint(kg: KgEngine) -> None:
    evaluation = evaluate(block("SELECT ?x WHERE { ?x :growsIn :cove }"), kg)
    assert published(evaluation) == pytest.approx(WRONG)
    assert hint(evaluation) is None


def test_empty_result_is_precise_and_gets_a_hint(kg: KgEngine) -> None:
    evaluation = evaluate(block("SELECT ?x WHERE { ?x :growsIn :lake }"), kg)
    assert published(evaluation) == pytest.approx(EMPTY)
    assert (evaluation.info["answerResultLength"], evaluation.info["answerSet"]) == (0, [])
    assert hint(evaluation) == "empty"


def test_a_falsy_result_is_not_empty_but_never_right(kg: KgEngine) -> None:
    zero = Case("zero", "Text2SparqlList", "T2S", {**DATA, "result": ["0"]})
    evaluation = evaluate(block("SELECT ?n WHERE { :dulse :metres ?n }"), kg, zero)
    assert evaluation.info["answerSet"] == ["0"]
    assert published(evaluation) == pytest.approx(WRONG)
    assert hint(evaluation) is None


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (block("SELECT ?x WHERE { ?x :growsIn "), "unparsable"),
        (block("SELECT everything"), "unparsable"),
        (block(f"{QUERY}\n{QUERY}"), "unparsable"),
        (QUERY, "unparsable"),
        (f"```sparql\n{QUERY}", "unparsable"),
        (block("# nothing to ask"), "unparsable"),
        (block("ASK { :kelp :growsIn :bay }"), "unparsable"),
        ("I do not know.", "unparsable"),
        ("\x00\x01\x7f\ufffdPK\x03\x04", "unparsable"),
        (block("SELECT \x00\x01\ufffd"), "unparsable"),
        ("", "no_answer"),
        (" \n ", "no_answer"),
    ],
)
def test_answers_without_a_query_that_parses(text: str, outcome: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome == outcome
    assert published(evaluation) == UNPARSABLE
    assert hint(evaluation) == "syntax"


@pytest.mark.parametrize(
    "text",
    [
        "All work and no play. " * 45_000,
        block("SELECT * WHERE { " + "?s ?p ?o . " * 90_000 + "}"),
        block("SELECT " + "(" * 20_000),
        block("SELECT * WHERE " + "{" * 5_000 + "}" * 5_000),
        "`" * 1_000_000,
    ],
    ids=["prose", "triples", "brackets", "braces", "fences"],
)
def test_hostile_answers_get_a_low_score(text: str, kg: KgEngine) -> None:
    evaluation = evaluate(text, kg)
    assert evaluation.outcome in {"scored", "unparsable"}
    assert published(evaluation)["combined"] < 0.7


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * WHERE { SERVICE <http://127.0.0.1:1/sparql> { ?s ?p ?o } }",
        "SELECT * FROM <file:///etc/hostname> WHERE { ?s ?p ?o }",
        "SELECT ?x WHERE { ?x unknown:growsIn :bay }",
    ],
)
def test_what_the_engine_refuses_counts_as_an_empty_result(query: str, kg: KgEngine) -> None:
    evaluation = evaluate(block(query), kg)
    assert published(evaluation) == pytest.approx(EMPTY)
    assert evaluation.info["EvaluationException"]
    assert hint(evaluation) == "empty"


def test_runaway_query_is_stopped_and_counts_as_an_empty_result() -> None:
    product = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12))
    query = f"SELECT (COUNT(*) AS ?n) WHERE {{ {product} }}"  # 7^12 = 13,841,287,201 rows to count
    with Sandbox(Limits(query_seconds=1.0)) as short:
        evaluation = evaluate(block(query), short)
        assert published(evaluation) == pytest.approx(EMPTY)
        assert "longer than 1 s" in str(evaluation.info["EvaluationException"])
        assert hint(evaluation) == "empty"
        assert published(evaluate(block(QUERY), short)) == PERFECT  # the next one is not harmed


def test_too_many_rows_count_as_an_empty_result(kg: KgEngine) -> None:
    product = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(5))  # 7^5 = 16,807 rows
    evaluation = evaluate(block(f"SELECT * WHERE {{ {product} }}"), kg)
    assert published(evaluation) == pytest.approx(EMPTY)
    assert "limit" in str(evaluation.info["EvaluationException"])


def test_info_of_a_scored_answer(kg: KgEngine) -> None:
    info = evaluate(block("SELECT ?x WHERE { ?x a :Plant ; :growsIn ?y }"), kg).info
    assert info["testUid"] == "bay"
    assert info["sparql"] == "SELECT ?x WHERE { ?x a :Plant ; :growsIn ?y }"
    assert info["parseError"] == "The SPARQL query syntax is correct."
    assert (info["parseErrorEmpty"], info["parseErrorUnexpected"], info["parseErrorPrefix"]) == (False, "", "")
    # names: rdf:type :Plant :growsIn against :growsIn :bay; 1 of 3, 1 of 2, F1 = 2 * (1/6) / (5/6) = 0.4
    assert info["sparqlIrisPrecision"] == 1 / 3
    assert info["sparqlIrisRecall"] == 1 / 2
    assert info["sparqlIrisF1measure"] == pytest.approx(0.4)
    assert info["sparqlIrisSuffixF1measure"] == pytest.approx(0.4)


def test_declarations_are_no_names_and_suffixes_forget_prefixes(kg: KgEngine) -> None:
    query = "PREFIX k: <https://kg.example/>\nSELECT ?x WHERE { ?x k:growsIn <https://kg.example/bay> }"
    info = evaluate(block(query), kg).info
    # k:growsIn is another name than :growsIn; <https://kg.example/bay> is shortened to :bay
    assert info["sparqlIrisF1measure"] == 0.5
    assert info["sparqlIrisSuffixF1measure"] == 1.0


def test_info_of_an_answer_without_query(kg: KgEngine) -> None:
    info = evaluate("I do not know.", kg).info
    assert info["sparql"] is None
    assert info["parseErrorEmpty"] is True
    assert "sparqlIrisPrecision" not in info
    assert "answerSet" not in info


def test_syntax_hint_holds_error_and_query(kg: KgEngine) -> None:
    evaluation = evaluate(block("SELECT ?x WHERE { {0} ?x }"), kg)
    feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluation))
    assert feedback is not None
    assert "```sparql\nSELECT ?x WHERE { {0} ?x }\n```" in feedback.text
    assert str(evaluation.info["parseError"]) in feedback.text
    assert evaluation.info["parseErrorUnexpected"]


def test_hint_for_a_missing_query_names_no_python_error(kg: KgEngine) -> None:
    feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluate("Hm.", kg)))
    assert feedback is not None
    assert "bytes-like" not in feedback.text
    assert "None" not in feedback.text


def test_the_prompt_shows_question_and_graph_and_not_the_reference(kg: KgEngine) -> None:
    (message,) = TASK.prompt(CASE, kg).messages
    assert str(DATA["question"]) in message.text
    assert f"```turtle\n{GRAPH.rstrip()}\n```" in message.text
    assert QUERY not in message.text
    labelled = Case("l", "Text2SparqlList", "T2S", {**DATA, "labels": "iri,label\n:1,{kelp}\n"})
    assert "```csv\niri,label\n:1,{kelp}\n```" in TASK.prompt(labelled, kg).messages[0].text


def test_a_case_that_is_wrong_itself_is_an_error_not_a_score(kg: KgEngine) -> None:
    bad = Case("x", "Text2SparqlList", "T2S", {**DATA, "query": "SELECT"})
    with pytest.raises(RecordError, match="case T2S/x: the field 'query' does not parse"):
        evaluate(block(QUERY), kg, bad)


def test_a_hint_repeats_a_long_query_in_part_only(kg: KgEngine) -> None:
    evaluation = evaluate(block(f"SELECT ?s {{ {'x' * 500_000} }}"), kg)
    feedback = TASK.feedback(CASE, Turn(Prompt.user("?"), Answer(""), evaluation))
    assert feedback is not None
    assert feedback.kind == "syntax"
    assert len(feedback.text) < 30_000
