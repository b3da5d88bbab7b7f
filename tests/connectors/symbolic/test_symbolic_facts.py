"""Counting, evaluating and walking."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.prefixes import named_iris, prefixes_of, shorten
from pytest_llmkg.connectors.symbolic.walking import shortest_walk
from pytest_llmkg.contracts import GraphText, Term
from tests.connectors.symbolic.prompts import HUTS, fence, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

VOTES = """\
@prefix v: <http://votes.example/> .
v:a v:votesFor v:b , v:c ; v:likes v:a , v:d .
v:b v:votesFor v:c ; v:likes v:a .
v:d v:votesFor v:c , v:b ; v:likes v:a .
"""


def test_the_node_with_the_most_incoming_edges_of_the_named_predicate(engine: KgEngine) -> None:
    prompt = "Which node is the object of the most {} triples?\n" + fence("turtle", VOTES)
    assert answer_messages(user(prompt.format("v:votesFor")), engine) == "http://votes.example/c"
    assert answer_messages(user(prompt.format("<http://votes.example/likes>")), engine) == "http://votes.example/a"
    assert answer_messages(user(prompt.format("v:hates")), engine) == CANNOT


def test_the_node_with_the_most_outgoing_edges_the_smallest_of_equals(engine: KgEngine) -> None:
    prompt = f"Which node is the subject of the most v:votesFor triples?\n{fence('turtle', VOTES)}"
    assert answer_messages(user(prompt), engine) == "http://votes.example/a"


def test_a_query_is_run_and_its_values_written_as_asked(engine: KgEngine) -> None:
    query = "SELECT ?t ?n WHERE { ?t x:job/x:task x:cook ; foaf:name ?n }"
    prompt = f"{{}}\n{fence('sparql', query)}\n{fence('turtle', HUTS)}"
    short = answer_messages(user(prompt.replace("{}", "Write IRIs as prefixed names.")), engine)
    full = answer_messages(user(prompt.replace("{}", "What is the result?")), engine)
    assert sorted(short.splitlines()) == ["Eli Stone", "Pia Roth", "x:eli", "x:pia"]
    assert sorted(full.splitlines()) == ["Eli Stone", "Pia Roth", "http://huts.example/eli", "http://huts.example/pia"]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("ASK { ?x a x:Valley }", "true"),
        ("ASK { ?x a x:Lake }", "false"),
        ("SELECT (COUNT(?x) AS ?n) WHERE { ?x a x:Valley }", "2"),
        ("SELECT ?x WHERE { ?x a x:Lake }", "EMPTY"),
        ("SELECT ?x WHERE { ?x a", CANNOT),
    ],
)
def test_other_forms_of_queries(engine: KgEngine, query: str, answer: str) -> None:
    prompt = f"Evaluate.\n{fence('sparql', query)}\n{fence('turtle', HUTS)}"
    assert answer_messages(user(prompt), engine) == answer


def test_json_ld_gets_its_empty_prefix_from_the_prompts_example(engine: KgEngine) -> None:
    context = '{"@vocab": "http://t.example/v/", "@base": "http://t.example/i/"}'
    graph = f'{{"@context": {context}, "@id": "one", "knows": {{"@id": "two"}}}}'
    query = fence("sparql", "SELECT ?s { ?s ?p ?o }")
    prompt = f"For <http://t.example/i/thing> write :thing.\n{query}\n{fence('json', graph)}"
    vocab = prompt.replace("/i/thing> write", "/v/thing> write")
    assert prefixes_of(GraphText(graph, "json-ld"), "")[""] == "http://t.example/i/"
    assert answer_messages(user(prompt), engine) == ":one"
    assert answer_messages(user(vocab), engine) in {":one", "http://t.example/i/one"}


def test_a_walk_goes_through_blank_nodes_and_lists_the_resources(engine: KgEngine) -> None:
    prompt = f"Give the shortest path from x:eli to x:lutta, one resource a line.\n{fence('turtle', HUTS)}"
    expected = ["eli", "ibex", "lutta"]
    assert answer_messages(user(prompt), engine).splitlines() == [f"http://huts.example/{n}" for n in expected]
    short = prompt.replace("resource", "resource as a prefixed name")
    assert answer_messages(user(short), engine).splitlines() == [f"x:{n}" for n in expected]
    nowhere = prompt.replace("x:lutta", "x:nowhere", 1)
    assert answer_messages(user(nowhere), engine) == CANNOT


def test_a_predicate_that_does_not_count_is_not_walked(engine: KgEngine) -> None:
    prompt = f"Give the shortest path from x:lutta to x:sorra. rdf:type does not count.\n{fence('turtle', HUTS)}"
    assert answer_messages(user(prompt), engine) == CANNOT
    free = answer_messages(user(prompt.replace("rdf:type", "x:teacher")), engine)
    assert free.splitlines() == [f"http://huts.example/{n}" for n in ("lutta", "Valley", "sorra")]


def test_a_plain_question_is_answered_with_values(engine: KgEngine) -> None:
    prompt = f"Write IRIs as prefixed names.\nQuestion: Which huts have no phone?\n{fence('turtle', HUTS)}"
    assert sorted(answer_messages(user(prompt), engine).splitlines()) == ["x:gentian", "x:marmot"]


def test_literals_connect_nothing_and_directions_count_when_asked() -> None:
    a, b, c = (Term("iri", f"http://w.example/{n}") for n in "abc")
    year, edge = Term("literal", "1900"), Term("iri", "http://w.example/e")
    assert shortest_walk([(a, edge, year), (b, edge, year)], a, b, directed=False) == ()
    facts = [(b, edge, a), (b, edge, c)]
    assert shortest_walk(facts, a, c, directed=False) == (a, b, c)
    assert shortest_walk(facts, a, c, directed=True) == ()
    assert shortest_walk(facts, a, a, directed=True) == (a,)


def test_facts_do_not_depend_on_the_order_or_the_blank_node_labels_of_the_text(engine: KgEngine) -> None:
    lines = [
        "_:{} <http://f.example/p> _:{} .",
        '_:{} <http://f.example/q> "1" .',
        '_:{} <http://f.example/q> "2" .',
    ]
    texts = []
    for one, other in permutations(["n1", "m7"], 2):
        written = [lines[0].format(one, other), lines[1].format(one), lines[2].format(other)]
        texts += ["\n".join(order) for order in permutations(written)]
    loaded = {load_facts(GraphText(text, "nt"), engine) for text in texts}
    assert len(loaded) == 1
    assert len(next(iter(loaded))) == 3


def test_names_are_written_short_only_where_they_can_be_read_back() -> None:
    prefixes = {"": "http://n.example/", "v": "http://n.example/v/"}
    assert shorten("http://n.example/v/x", prefixes) == "v:x"
    assert shorten("http://n.example/x", prefixes) == ":x"
    assert shorten("http://n.example/x/y", prefixes) == "<http://n.example/x/y>"
    assert shorten("urn:z", prefixes) == "<urn:z>"
    assert named_iris("from v:x (see <urn:z>) to foaf:knows, not ftp://q", prefixes) == (
        "http://n.example/v/x",
        "urn:z",
        "http://xmlns.com/foaf/0.1/knows",
    )
