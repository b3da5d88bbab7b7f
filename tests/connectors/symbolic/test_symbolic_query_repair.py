"""Repair of SPARQL queries: what they find afterwards, whatever small thing was wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.connector import answer_messages
from pytest_llmkg.connectors.symbolic.sparql_edits import query_key
from pytest_llmkg.connectors.symbolic.sparql_grammar import first_query_fault
from pytest_llmkg.connectors.symbolic.sparql_tokens import sparql_tokens
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import find_query
from tests.connectors.symbolic.prompts import HUTS, fence, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

PREFIXES = {
    "x": "http://huts.example/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
LISTED = """\
SELECT ?hut ?name WHERE {
  ?hut a x:MountainHut ;
    rdfs:label ?name ;
    x:altitude ?metres .
  OPTIONAL { ?hut x:phone ?phone }
  FILTER (?metres > 1700 && ?name != "Other Hut")
}
ORDER BY DESC(?metres)
LIMIT 5"""
GROUPED = """\
SELECT ?valley (COUNT(?hut) AS ?n) WHERE {
  ?hut x:inValley ?valley .
  ?hut x:opened ?day .
  FILTER (?day < "2001-01-01"^^xsd:date)
}
GROUP BY ?valley
HAVING (COUNT(?hut) > 1)"""
NESTED = """\
SELECT ?hut ?mean WHERE {
  ?hut x:altitude ?metres .
  { SELECT (AVG(?m) AS ?mean) WHERE { ?any x:altitude ?m } }
}"""
JOINED = """\
SELECT DISTINCT ?task WHERE {
  { ?p x:job/x:task ?task } UNION { ?p x:teacher+/x:job ?j . ?j x:task ?task . }
  BIND(STR(?task) AS ?text)
}"""


def repaired(broken: str, engine: KgEngine, *before: str) -> str:
    prompt = f"The parser refuses this query. Fix its syntax.\n\n{fence('sparql', broken)}\n"
    query = find_query(answer_messages(user(prompt, *before), engine))
    assert query is not None
    return query


def rows(query: str, engine: KgEngine) -> set[object]:
    result = engine.run_query(GraphText(HUTS, "turtle"), query, PREFIXES)
    assert result.error is None
    return set(result.rows)


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        (LISTED, "}\nORDER", "ORDER"),
        (LISTED, "WHERE {", "WHERE"),
        (LISTED, "?phone }", "?phone"),
        (LISTED, "OPTIONAL {", "OPTIONAL"),
        (LISTED, "MountainHut ;", "MountainHut"),
        (LISTED, "MountainHut ;", "MountainHut ,"),
        (LISTED, "{ ?hut x:phone", "{ hut x:phone"),
        (LISTED, "?hut ?name", "?hut, ?name"),
        (LISTED, '"Other Hut"', '"Other Hut'),
        (LISTED, '"Other Hut"', "\u201cOther Hut\u201d"),
        (LISTED, "&&", "and"),
        (LISTED, "&&", "&"),
        (LISTED, "!=", "<>"),
        (LISTED, "FILTER (?metres", "FILTR (?metres"),
        (LISTED, "DESC(?metres)", "DESC ?metres"),
        (LISTED, "ORDER BY DESC(?metres)\nLIMIT 5", "LIMIT 5\nORDER BY DESC(?metres)"),
        (LISTED, "ORDER BY", "ORDER"),
        (LISTED, "SELECT", "SELCT"),
        (LISTED, "}\nORDER BY DESC(?metres)\nLIMIT 5", "ORDER BY DESC(?metres)\nLIMIT 5 }"),
        (LISTED, "LIMIT 5", "LIMIT 5 }"),
        (GROUPED, "(COUNT(?hut) AS ?n)", "(COUNT(?hut) ?n)"),
        (GROUPED, "(COUNT(?hut) AS ?n)", "COUNT(?hut) AS ?n"),
        (GROUPED, "(COUNT(?hut) AS ?n)", "COUNT(?hut)"),
        (GROUPED, "?valley .", "?valley"),
        (GROUPED, '"2001-01-01"^^xsd:date', "2001-01-01^^xsd:date"),
        (GROUPED, '(?day < "2001-01-01"^^xsd:date)', '?day < "2001-01-01"^^xsd:date'),
        (GROUPED, "HAVING (COUNT(?hut) > 1)", "HAVING COUNT(?hut) > 1"),
        (GROUPED, "GROUP BY ?valley\nHAVING (COUNT(?hut) > 1)", "HAVING (COUNT(?hut) > 1)\nGROUP BY ?valley"),
        (
            NESTED,
            "{ SELECT (AVG(?m) AS ?mean) WHERE { ?any x:altitude ?m } }",
            "SELECT (AVG(?m) AS ?mean) WHERE { ?any x:altitude ?m }",
        ),
        (JOINED, "{ ?p x:job/x:task ?task } UNION", "?p x:job/x:task ?task . UNION"),
        (JOINED, "x:job/x:task", "x:job -> x:task"),
        (JOINED, "x:teacher+/", "+x:teacher/"),
        (JOINED, "BIND(STR(?task) AS ?text)", "BIND(?text = STR(?task))"),
    ],
)
def test_the_repaired_query_finds_the_same(engine: KgEngine, query: str, right: str, wrong: str) -> None:
    broken = query.replace(right, wrong, 1)
    assert engine.check_query(broken).error is not None
    assert rows(repaired(broken, engine), engine) == rows(query, engine) != set()


def test_several_faults_are_mended(engine: KgEngine) -> None:
    broken = LISTED.replace("?hut ?name", "?hut, ?name").replace("MountainHut ;", "MountainHut").replace("&&", "AND")
    assert rows(repaired(broken, engine), engine) == rows(LISTED, engine)


def test_a_hint_brings_another_repair(engine: KgEngine) -> None:
    broken = LISTED.replace("{ ?hut x:phone", "{ hut x:phone")
    first = repaired(broken, engine)
    second = repaired(broken, engine, fence("sparql", first), "It finds nothing.")
    assert query_key(first) != query_key(second)
    assert engine.check_query(second).error is None


@pytest.mark.parametrize("query", [LISTED, GROUPED, JOINED])
def test_sound_queries_have_no_fault_and_cut_ones_have(engine: KgEngine, query: str) -> None:
    assert first_query_fault(query) is None
    ends = {token.end for token in sparql_tokens(query)} - {len(query)}
    for end in sorted(ends):
        assert (first_query_fault(query[:end]) is None) == (engine.check_query(query[:end]).error is None)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_tokens_cover_any_text_in_order(text: str) -> None:
    last = 0
    for token in sparql_tokens(text):
        assert text[token.start : token.end] == token.text
        assert token.start >= last
        last = token.end
    assert first_query_fault(text) is not None


@pytest.mark.parametrize(
    "text", ["SELECT " + "(" * 3000, "ASK " + "{" * 3000, "ASK { ?a " + "^" * 3000, "ASK { ?a :b " * 300]
)
def test_deep_and_long_queries_get_an_answer(engine: KgEngine, text: str) -> None:
    prompt = f"Fix this query.\n{fence('sparql', text)}"
    assert answer_messages(user(prompt), engine)
