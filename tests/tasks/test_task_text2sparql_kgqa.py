"""Text2SparqlKgqa, answer by answer, with the sandbox that runs in earnest, and the categories of its errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.analysis.error_categories import CATEGORIES, category_rows, error_categories
from pytest_llmkg.errors import RecordError
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, Transcript, Turn
from pytest_llmkg.tasks.text2sparql_kgqa import INFO, TASK

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

GRAPH = """\
@prefix : <https://kg.example/> .
@prefix o: <https://kg.example/other/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:kelp a :Alga ; :growsIn :bay ; o:livesIn :bay ; :metres 40 ; rdfs:label "kelp"@en .
:wrack a :Alga ; :growsIn :bay, :cove ; :metres 2 ; rdfs:label "wrack"@en .
:dulse a :Alga ; :growsIn :cove ; o:livesIn :cove ; :metres 2 ; rdfs:label "dulse"@en .
<https://kg.example/caf%C3%A9> :near :bay . :bay :called "Low\u2013Quay" .
"""
DATA: dict[str, Json] = {
    "kg": "shore",
    "graph": GRAPH,
    "format": "turtle",
    "prefixes": {"": "https://kg.example/", "o": "https://kg.example/other/"},
    "questions": {"en": "What grows in the bay? {kg} %s", "de": "Was wächst in der Bucht?"},
    "language": "de",
    "query": "SELECT ?plant { ?plant :growsIn :bay }",
}
CASE = Case("bay", "Text2SparqlKgqa", "Text2SparqlKgqa-shore-de", DATA)


def case(**changes: Json) -> Case:
    return replace(CASE, data={**DATA, **changes})


def evaluate(query: str, kg: KgEngine, of: Case = CASE) -> Evaluation:
    evaluation = TASK.evaluate(of, Answer(f"```sparql\n{query}\n```" if query else ""), kg)
    return from_plain(Evaluation, to_plain(evaluation))  # as it is stored


def scores(query: str, kg: KgEngine, of: Case = CASE) -> dict[str, Any]:
    return evaluate(query, kg, of).scores()


def test_prompt(kg: KgEngine) -> None:
    (message,) = TASK.prompt(CASE, kg).messages
    assert "Question: Was wächst in der Bucht?\n" in message.text
    assert 'knowledge graph "shore"' in message.text
    assert ":Alga: " in message.text
    assert "o: <https://kg.example/other/>" in message.text
    assert "SELECT" not in message.text
    (bare,) = TASK.prompt(case(context="none", language="en"), kg).messages
    assert ":Alga: " not in bare.text
    assert "What grows in the bay? {kg} %s" in bare.text


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"language": "es"}, "no question in 'es'; it has en, de"),
        ({"context": "all"}, "field 'context' must be 'schema' or 'none'"),
        ({"query": "SELECT ?x {"}, "the reference query does not run"),
        ({"query": "SELECT ?x { ?x nope:y 1 }", "source": "q.yml:7"}, r"\(q.yml:7\): the reference query does not run"),
        ({"resultHash": "sha256:0"}, "gives another result than the frozen one"),
        ({"graph": "kg:shore@sha256:" + "0" * 64}, "give --kg shore=FILE"),
    ],
)
def test_a_faulty_case_costs_no_answer(kg: KgEngine, changes: dict[str, Json], complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        TASK.prompt(case(**changes), kg)


def test_a_right_answer(kg: KgEngine) -> None:
    found = scores("SELECT DISTINCT ?p { ?p :growsIn :bay } ORDER BY ?p", kg)
    assert found == {
        "set_P": 1.0,
        "set_recall": 1.0,
        "set_F": 1.0,
        "row_f1": 1.0,
        "set_P@2": 1.0,
        "set_recall@2": 1.0,
        "set_F@2": 1.0,
    }


def test_usual_prefixes_need_no_declaration(kg: KgEngine) -> None:
    assert scores('SELECT ?p { ?p :growsIn :bay ; rdfs:label ?l FILTER(LANG(?l) = "en") }', kg)["set_F@2"] == 1.0


def test_ask_by_both_rules(kg: KgEngine) -> None:
    no = case(query="ASK { :kelp :growsIn :cove }")
    found = scores("ASK { :dulse :growsIn :bay }", kg, no)
    assert (found["set_F"], found["row_f1"], found["set_F@2"]) == (0.0, 1.0, 1.0)
    yes = case(query="ASK { :kelp :growsIn :bay }")
    found = scores("ASK { :dulse :growsIn :bay }", kg, yes)
    assert (found["set_F"], found["row_f1"], found["set_F@2"]) == (1.0, 0.0, 0.0)
    assert evaluate("ASK { :dulse :growsIn :bay }", kg, yes).score_sets[1].notes == ("truth values",)


def test_ordered_questions_have_ndcg(kg: KgEngine) -> None:
    ordered = case(query="SELECT ?p { ?p :metres ?m } ORDER BY DESC(?m)", features=["RESULT_ORDER_MATTERS"])
    right = scores("SELECT ?p { ?p :metres ?m } ORDER BY DESC(?m) ?p", kg, ordered)
    assert (right["ndcg"], right["ndcg@2"], right["set_F@2"]) == (1.0, 1.0, 1.0)
    turned = scores("SELECT ?p { ?p :metres ?m } ORDER BY ?m", kg, ordered)
    assert (turned["ndcg"], turned["set_F"]) == (1.0, 1.0)
    assert turned["set_F@2"] == pytest.approx(2 / 3)
    assert turned["ndcg@2"] < 1.0


def test_equal_rows_at_a_limit(kg: KgEngine) -> None:
    limited = case(query="SELECT ?p { ?p :metres ?m } ORDER BY ?m LIMIT 1")
    for name in ("wrack", "dulse"):
        assert scores(f"SELECT ?p {{ VALUES ?p {{ :{name} }} }}", kg, limited)["set_F@2"] == 1.0
    assert scores("SELECT ?p { VALUES ?p { :kelp } }", kg, limited)["set_F@2"] == 0.0


# What an answer is called, by its query; the reference is that of CASE unless another one is given.
ANSWERS = [
    ("", CASE, ("no query",)),
    ("SELECT ?p { ?p :growsIn :bay", CASE, ("syntax",)),
    ("SELECT ?p { ?p nope:growsIn :bay }", CASE, ("undeclared prefix", "namespace")),
    ("SELECT ?p { SERVICE <https://kg.example/s> { ?p :growsIn :bay } }", CASE, ("refused or failed",)),
    ("SELECT ?p { ?p :growsIn :pond }", CASE, ("empty result",)),
    ("SELECT ?p { ?p o:growsIn :bay }", CASE, ("empty result", "namespace", "alternative predicate")),
    ("SELECT ?p { ?p :thrivesIn :bay }", CASE, ("empty result", "unknown name", "alternative predicate")),
    ("SELECT ?p { ?p o:livesIn :bay }", CASE, ("alternative predicate", "incomplete")),
    ("SELECT ?p ?m { ?p :growsIn :bay ; :metres ?m }", case(result=[]), ()),
    (
        "SELECT ?p ?a ?b ?c ?d { ?p :growsIn :bay . BIND(1 AS ?a) BIND(2 AS ?b) BIND(3 AS ?c) BIND(4 AS ?d) }",
        CASE,
        ("redundant projection",),
    ),
    (
        'SELECT ?n { VALUES ?n { "Low-Quay" } }',
        case(query="SELECT ?n { :bay :called ?n }"),
        ("wrong encoding",),
    ),
    ("ASK { ?p :growsIn :bay }", CASE, ("wrong query type",)),
    ("SELECT (COUNT(?p) AS ?n) { ?p :growsIn :bay }", CASE, ("wrong query type",)),
    (
        "SELECT ?p { ?p :metres ?m } ORDER BY DESC(?m) LIMIT 2",
        case(query="SELECT ?p { ?p :metres ?m } ORDER BY DESC(?m) LIMIT 1"),
        ("top-k", "too much"),
    ),
    (
        "SELECT ?p { ?p :metres ?m } ORDER BY ?m",
        case(query="SELECT ?p { ?p :metres ?m } ORDER BY DESC(?m)", features=["RESULT_ORDER_MATTERS"]),
        ("wrong order",),
    ),
    ("SELECT ?p { ?p :growsIn ?x . ?x :called ?n . ?p :metres 40 }", CASE, ("incomplete",)),
    ("SELECT ?p { ?p a :Alga }", CASE, ("too much",)),
    ("SELECT ?p { VALUES ?p { :bay } }", CASE, ("wrong patterns",)),
    ("SELECT ?x { ?p :growsIn :bay BIND(:pond AS ?x) }", CASE, ("other",)),
]


@pytest.mark.parametrize(("query", "of", "names"), ANSWERS, ids=[f"{i}" for i in range(len(ANSWERS))])
def test_error_categories(kg: KgEngine, query: str, of: Case, names: tuple[str, ...]) -> None:
    assert error_categories(evaluate(query, kg, of)) == names


def transcript(evaluation: Evaluation, **changes: Any) -> Transcript:
    turn = Turn(Prompt.user("?"), Answer("!"), evaluation)
    made = Transcript("bay", CASE.label, CASE.task, "m1", 1, (turn,), "2026-01-01T00:00:00+00:00", 1.0)
    return replace(made, **changes)


def test_category_rows(kg: KgEngine) -> None:
    right = evaluate("SELECT ?p { ?p :growsIn :bay }", kg)
    empty = evaluate("SELECT ?p { ?p :growsIn :pond }", kg)
    held = [
        transcript(right),
        transcript(empty),
        transcript(empty, case="pond", iteration=2),
        transcript(empty, model="m2"),
        transcript(empty, error="the connection was lost"),
        transcript(empty, task="Text2SparqlList"),
    ]
    first, second = category_rows(held, examples=1)
    assert (first.model, first.category, first.count, first.wrong, first.answers) == ("m1", "empty result", 2, 2, 3)
    assert first.is_published
    (example,) = first.examples
    assert (example.case, example.query, example.error) == ("bay", "SELECT ?p { ?p :growsIn :pond }", None)
    assert (second.model, second.count, second.answers) == ("m2", 1, 1)
    assert category_rows([transcript(right)]) == ()


def test_the_seven_published_categories_are_there() -> None:
    assert [category.name for category in CATEGORIES if category.is_published] == [
        "no query",
        "empty result",
        "namespace",
        "alternative predicate",
        "redundant projection",
        "wrong encoding",
        "wrong query type",
        "top-k",
    ]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("", "missing"),
        ("SELECT ?p {", "syntax"),
        ("SELECT ?p { SERVICE <https://kg.example/s> { ?p ?q ?r } }", "execution"),
        ("SELECT ?p { ?p :growsIn :pond }", "empty"),
        ("SELECT ?p { ?p :growsIn :cove }", None),
    ],
)
def test_feedback(kg: KgEngine, query: str, kind: str | None) -> None:
    turn = Turn(Prompt.user("?"), Answer(query), evaluate(query, kg))
    hint = TASK.feedback(CASE, turn)
    assert (hint.kind if hint else None) == kind
    assert TASK.feedback(case(feedback="none"), turn) is None
    if kind == "syntax" and hint:
        assert "SELECT ?p {" in hint.text
    if kind == "empty" and hint:
        again = replace(turn, prompt=Prompt.user(hint.text))
        assert TASK.feedback(CASE, again) is None  # it is meant so


def test_the_last_answer_counts(kg: KgEngine) -> None:
    right = evaluate("SELECT ?p { ?p :growsIn :bay }", kg)
    wrong = evaluate("SELECT ?p {", kg)
    turns = tuple(Turn(Prompt.user("?"), Answer("!"), found) for found in (right, wrong))
    assert headline(transcript(right, turns=turns), INFO) == 0.0
    assert headline(transcript(right, turns=turns[::-1]), INFO) == 1.0


@pytest.mark.parametrize(
    "text", ["", " ", "```", "```sparql\n\x00\n```", "SELECT", "ASK {" * 3000, "```\nASK\n```" * 20]
)
def test_any_text_gets_scores(kg: KgEngine, text: str) -> None:
    evaluation = TASK.evaluate(CASE, Answer(text), kg)
    to_plain(evaluation)
    assert evaluation.scores()["set_F@2"] == 0.0
    assert evaluation.outcome == ("unparsable" if text.strip() else "no_answer")
