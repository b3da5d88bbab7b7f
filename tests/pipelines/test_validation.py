"""The check of queries against a schema: what SPARQL-LLM's validator misses or gets wrong, and what must stay quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import ClassUse, GraphProfile, PropertyUse
from pytest_llmkg.pipelines.validation import SchemaCheck, check_patterns
from tests.pipelines.harbour import GRAPH, PREFIXES, H

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox

OTHER = "http://other.example/sparql"


def complaints(engine: Sandbox, query: str, services: dict[str, SchemaCheck] | None = None) -> tuple[str, ...]:
    patterns = engine.read_patterns(query, PREFIXES)
    assert patterns.error is None
    assert not patterns.unknown_prefixes
    return check_patterns(patterns, SchemaCheck(engine.profile(GRAPH), PREFIXES), services)


GOOD_QUERIES = {
    "inverse path": "SELECT * { ?p a h:Person ; ^h:captain ?s }",
    "negated path": "SELECT * { ?p a h:Person ; !h:captain ?s }",
    "inverse in a negated path": "SELECT * { ?p a h:Person ; !(^h:captain|h:name) ?s }",
    "property of the second range": "SELECT * { ?s a h:Ship ; h:owner ?o . ?o h:taxNumber ?t }",
    "property of the first range": "SELECT * { ?s a h:Ship ; h:owner ?o . ?o h:born ?t }",
    "types by VALUES": "SELECT * { VALUES ?c { h:Ship h:Person } ?x a ?c ; h:length ?l }",
    "a type that is a variable": "SELECT * { ?x a ?c ; h:taxNumber ?t }",
    "types by BIND": "SELECT * { BIND(h:Firm AS ?c) ?x a ?c ; h:taxNumber ?t }",
    "sequence": "SELECT * { ?s a h:Ship ; h:berth/h:number ?n }",
    "alternative, one of which fits": "SELECT * { ?f a h:Firm ; h:taxNumber|h:born ?n }",
    "zero or more": "SELECT * { ?f a h:Firm ; h:owner*/h:name ?n }",
    "vocabulary in a loose path": "SELECT * { ?s a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>* h:Ship }",
    "subject without a class": "SELECT * { ?s h:text ?t }",
    "two classes": "SELECT * { ?x a h:Ship, h:Firm ; h:taxNumber ?t }",
    "a class of the objects": "SELECT * { ?s a h:Ship ; h:owner ?o . ?o a h:Firm }",
    "another variable of a subquery": "SELECT * { ?x a h:Ship { SELECT ?t { ?x a h:Firm ; h:taxNumber ?t } } }",
    "branches of a union do not mix": "SELECT * { { ?x a h:Ship } UNION { ?x h:taxNumber ?t } }",
    "what OPTIONAL says does not hold outside": "SELECT * { ?x h:taxNumber ?t OPTIONAL { ?x a h:Ship } }",
    "service without a schema": f"SELECT * {{ ?s a h:Ship SERVICE <{OTHER}> {{ ?z a h:Nothing ; h:no ?x }} }}",
    "service that is a variable": "SELECT * { ?s a h:Ship SERVICE ?ep { ?z a h:Nothing ; h:no ?x } }",
    "what CONSTRUCT makes": "CONSTRUCT { ?s h:invented ?n } WHERE { ?s a h:Ship ; h:name ?n }",
    "ask": "ASK { h:s1 h:berth h:q1 }",
    "variable predicate": "SELECT * { ?s a h:Ship ; ?p ?o }",
}


@pytest.mark.parametrize("query", GOOD_QUERIES.values(), ids=GOOD_QUERIES.keys())
def test_no_false_alarm(engine: Sandbox, query: str) -> None:
    assert complaints(engine, query) == ()


BAD_QUERIES = {
    "unknown class alone": ("SELECT * { ?p a h:Human }", "h:Human", "h:Person"),
    "unknown property without any type": ("SELECT * { ?p h:nonsense ?l }", "h:nonsense", "h:name"),
    "not exists": ("SELECT * { ?a a h:Ship FILTER NOT EXISTS { ?a h:taxNumber ?x } }", "h:taxNumber", "h:berth"),
    "exists": ("SELECT * { ?a a h:Ship FILTER EXISTS { ?a h:taxNumber ?x } }", "h:taxNumber", "h:berth"),
    "optional": ("SELECT * { ?a a h:Ship OPTIONAL { ?a h:taxNumber ?x } }", "h:taxNumber", "h:berth"),
    "union": ("SELECT * { ?a a h:Ship { ?a h:taxNumber ?x } UNION { ?a h:name ?x } }", "h:taxNumber", "h:berth"),
    "graph": ("SELECT * { GRAPH ?g { ?a a h:Ship ; h:taxNumber ?x } }", "h:taxNumber", "h:berth"),
    "minus": ("SELECT * { ?a a h:Ship MINUS { ?a h:taxNumber ?x } }", "h:taxNumber", "h:berth"),
    "subquery": ("SELECT * { { SELECT ?a { ?a a h:Ship ; h:taxNumber ?x } } }", "h:taxNumber", "h:berth"),
    "of all ranges": ("SELECT * { ?s a h:Ship ; h:owner ?o . ?o h:depth ?t }", "h:depth", "h:born"),
    "inverse that leads elsewhere": (
        "SELECT * { ?f a h:Firm . ?q a h:Quay ; ^h:taxNumber ?f }", "h:taxNumber", "string"),
    "inverse that does not fit": ("SELECT * { ?f a h:Quay . ?q ^h:born ?f }", "h:born", "h:depth"),
    "in a sequence": ("SELECT * { ?s a h:Ship ; h:berth/h:born ?n }", "h:born", "h:depth"),
    "alternatives that both do not fit": ("SELECT * { ?f a h:Quay ; h:taxNumber|h:born ?n }", "h:taxNumber", "h:depth"),
    "all types by VALUES": ("SELECT * { VALUES ?c { h:Ship h:Quay } ?x a ?c ; h:born ?l }", "h:born", "h:berth"),
    "a plain value": ("SELECT * { ?s a h:Ship ; h:name ?n . ?n h:born ?x }", "h:born", "string"),
    "having": ("SELECT ?c { ?s a h:Ship ; h:berth ?c } GROUP BY ?c HAVING(COUNT(?s) > 1 && EXISTS { ?c h:born 1 })",
               "h:born", "h:depth"),
}  # fmt: skip


@pytest.mark.parametrize(("query", "wrong", "proposed"), BAD_QUERIES.values(), ids=BAD_QUERIES.keys())
def test_a_complaint_names_what_is_wrong_and_what_is_possible(
    engine: Sandbox, query: str, wrong: str, proposed: str
) -> None:
    found = complaints(engine, query)
    assert len(found) == 1
    assert wrong in found[0]
    assert proposed in found[0].partition(wrong)[2] or proposed in found[0]


def test_a_service_is_checked_against_its_own_schema(engine: Sandbox) -> None:
    profile = GraphProfile((ClassUse(f"{H}Z", 1, (PropertyUse(f"{H}good", 1),)),), {f"{H}good": 1})
    query = f"SELECT * {{ ?s a h:Ship SERVICE <{OTHER}> {{ ?z a h:Z ; h:bad ?x }} }}"
    found = complaints(engine, query, {OTHER: SchemaCheck(profile, PREFIXES)})
    assert len(found) == 1
    assert OTHER in found[0]
    assert "h:good" in found[0]
    good = query.replace("h:bad", "h:good")
    assert complaints(engine, good, {OTHER: SchemaCheck(profile, PREFIXES)}) == ()


def test_the_nearest_names_are_proposed_first_and_no_more_than_asked_for(engine: Sandbox) -> None:
    patterns = engine.read_patterns("SELECT * { ?s a h:Ship ; h:lengths ?x }", PREFIXES)
    (found,) = check_patterns(patterns, SchemaCheck(engine.profile(GRAPH), PREFIXES, named=2))
    assert found.partition("h:lengths")[2].partition("h:Ship: ")[2] == "h:length, h:berth, ..."


def test_an_incomplete_schema_says_nothing_of_vocabularies(engine: Sandbox) -> None:
    profile = GraphProfile((ClassUse(f"{H}Z", 1, (PropertyUse(f"{H}good", 1),)),), {f"{H}good": 1}, is_complete=False)
    query = "SELECT * { ?z a h:Z ; <http://www.w3.org/2000/01/rdf-schema#label> ?l }"
    assert check_patterns(engine.read_patterns(query, PREFIXES), SchemaCheck(profile, PREFIXES)) == ()
    complete = SchemaCheck(GraphProfile(profile.classes, profile.predicates), PREFIXES)
    assert len(check_patterns(engine.read_patterns(query, PREFIXES), complete)) == 1
