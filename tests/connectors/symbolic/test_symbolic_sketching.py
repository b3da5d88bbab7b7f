"""Queries from a schema or from a list of names: the graph that they are run on is never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.connector import answer_messages
from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.sketching import is_schema, sketch_list, sketch_schema
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import find_query
from tests.connectors.symbolic.prompts import HUTS, ask_query, fence, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

PREFIXES = {
    "x": "http://huts.example/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
SCHEMA = """\
@prefix x: <http://huts.example/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
x:MountainHut a owl:Class ; rdfs:label "mountain hut" .
x:Valley a owl:Class ; rdfs:label "valley" .
foaf:Person a owl:Class ; rdfs:label "person" .
x:altitude a owl:DatatypeProperty ; rdfs:domain x:MountainHut ; rdfs:range xsd:integer .
x:opened a owl:DatatypeProperty ; rdfs:domain x:MountainHut ; rdfs:range xsd:date .
x:phone a owl:DatatypeProperty ; rdfs:domain x:MountainHut ; rdfs:range xsd:string .
x:inValley a owl:ObjectProperty ; rdfs:domain x:MountainHut ; rdfs:range x:Valley ; rdfs:label "lies in valley" .
x:teacher a owl:ObjectProperty ; rdfs:domain foaf:Person ; rdfs:range foaf:Person .
foaf:name a owl:DatatypeProperty ; rdfs:domain foaf:Person ; rdfs:range xsd:string .
"""
LIST = """\
iri,label
x:lutta,Lutta Valley@en | Luttatal@de
x:ibex,Ibex Hut
x:tom,Tom Vale
x:MountainHut,mountain hut@en
x:inValley,lies in valley
x:altitude,altitude in metres
x:teacher,was taught by
"""


def found(prompt: str, engine: KgEngine) -> list[str]:
    query = find_query(answer_messages(user(prompt), engine))
    assert query is not None
    result = engine.run_query(GraphText(HUTS, "turtle"), query, PREFIXES)
    assert result.error is None
    return sorted(t.value.rpartition("/")[2] for row in result.rows for t in row if t is not None)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which mountain huts are there?", ["gentian", "ibex", "marmot"]),
        ("How many mountain huts are there?", ["3"]),
        ('Give the IRIs of all huts in the valley with the label "Lutta Valley".', ["ibex", "marmot"]),
        ('How many huts lie in the valley with the label "Lutta Valley"?', ["2"]),
        ('What is the altitude of the hut with the label "Ibex Hut"?', ["2795"]),
        ("Which huts have an altitude above 2000?", ["ibex", "marmot"]),
        ("Which huts were opened before 1 January 1990?", ["ibex", "marmot"]),
        ("Which huts have no phone?", ["gentian", "marmot"]),
        ("Which hut has the highest altitude?", ["ibex"]),
        ('Give the IRI of the teacher of the person with the name "Tom Vale".', ["pia"]),
    ],
)
def test_questions_on_a_schema(engine: KgEngine, question: str, expected: list[str]) -> None:
    assert found(ask_query(question, SCHEMA), engine) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which mountain huts are there?", ["gentian", "ibex", "marmot"]),
        ('Give the IRIs of all huts in the valley with the label "Lutta Valley".', ["ibex", "marmot"]),
        ('What is the altitude of the hut with the label "Ibex Hut"?', ["2795"]),
        ("By whom was Tom Vale taught? Give the IRI.", ["pia"]),
        ("Which mountain huts have an altitude above 2000?", ["ibex", "marmot"]),
    ],
)
def test_questions_on_a_list_of_names(engine: KgEngine, question: str, expected: list[str]) -> None:
    prompt = (
        f"Say it in SPARQL. The prefixes x:, foaf:, rdfs: are known.\n\nQuestion: {question}\n\n{fence('', LIST)}\n"
    )
    assert found(prompt, engine) == expected


def test_a_hint_brings_another_query(engine: KgEngine) -> None:
    prompt = ask_query("Which huts have an altitude above 2000?", SCHEMA)
    first = answer_messages(user(prompt), engine)
    second = answer_messages(user(prompt, first, "It finds nothing."), engine)
    assert find_query(second) not in {None, find_query(first)}


def test_only_a_graph_without_things_is_a_schema(engine: KgEngine) -> None:
    facts = load_facts(GraphText(SCHEMA, "turtle"), engine)
    assert is_schema(facts)
    assert not is_schema(load_facts(GraphText(HUTS, "turtle"), engine))
    assert not is_schema(load_facts(GraphText(SCHEMA + HUTS, "turtle"), engine))
    assert not is_schema(())


def test_examples_keep_to_domain_and_range(engine: KgEngine) -> None:
    facts = load_facts(GraphText(SCHEMA, "turtle"), engine)
    made = set(sketch_schema(facts, 'Who is "Tom"@en?')) - set(facts)
    kinds = {s.value: o.value for s, p, o in made if p.value.endswith("#type")}
    pairs = {(kinds[s.value], kinds[o.value]) for s, p, o in made if p.value == "http://huts.example/inValley"}
    assert pairs == {("http://huts.example/MountainHut", "http://huts.example/Valley")}
    assert {(o.value, o.language) for _, p, o in made if p.value.endswith("#label")} == {("Tom", "en")}


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.text(max_size=80))
def test_any_list_gives_a_bounded_sketch(table: str, question: str) -> None:
    known = sketch_list(table, question, question)
    assert known.made_up
    assert len(known.facts) <= 5_000
