"""Counting a graph: by hand, and against a count by plain Python over the triples."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, KgEngine
from pytest_llmkg.kg import GraphProfile, Limits, Sandbox
from pytest_llmkg.kg.profile import profile_by_queries

H = "http://harbour.example/"
XSD = "http://www.w3.org/2001/XMLSchema#"
GRAPH = """\
@prefix h: <http://harbour.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
h:Ship rdfs:label "ship"@en , "Schiff"@de ; rdfs:comment "It floats." .
h:s1 a h:Ship ; h:name "Aurora", "Dawn"@en ; h:owner h:f1, h:unknown, [] .
h:s2 a h:Ship, h:Wreck ; h:name "Borealis" ; h:owner h:p1 .
h:f1 a h:Firm, h:Customer . h:p1 a h:Person ; a [] .
h:loose h:text 1 .
"""


@pytest.fixture(scope="module")
def engine() -> Sandbox:
    return Sandbox()


def test_classes_properties_and_ranges_by_frequency(engine: Sandbox) -> None:
    found = engine.profile(GraphText(GRAPH, "turtle"))
    assert found.error is None
    assert found.is_complete
    ship = found.classes[0]
    assert (ship.iri, ship.count) == (f"{H}Ship", 3)  # two, of which one is a wreck as well
    assert {use.iri for use in found.classes} == {
        f"{H}{name}" for name in ("Ship", "Wreck", "Firm", "Customer", "Person")
    }
    owner, name = ship.properties
    assert (owner.iri, owner.count, name.iri, name.count) == (f"{H}owner", 4, f"{H}name", 3)
    assert dict(name.ranges) == {f"{XSD}string": 2, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString": 1}
    # Four links, of which one leads to a thing of two classes: one of the two without a class is not seen.
    assert dict(owner.ranges) == {f"{H}Firm": 1, f"{H}Customer": 1, f"{H}Person": 1, "": 1}
    assert found.predicates[f"{H}text"] == 1
    assert found.labels[f"{H}Ship"] == ("Schiff", "ship", "It floats.")


def test_without_ranges_only_values_are_told_apart(engine: Sandbox) -> None:
    owner = engine.profile(GraphText(GRAPH, "turtle"), ranges=False).classes[0].properties[0]
    assert owner.ranges == (("", 4),)


def test_an_engine_that_can_only_be_queried_gives_the_same(engine: Sandbox) -> None:
    graph = GraphText(GRAPH, "turtle")
    only: KgEngine = engine
    by_queries, counted = profile_by_queries(only, graph), engine.profile(graph)
    assert by_queries.classes == counted.classes
    assert by_queries.predicates == counted.predicates
    assert {name: sorted(texts) for name, texts in by_queries.labels.items()} == {
        name: sorted(texts) for name, texts in counted.labels.items()
    }
    assert profile_by_queries(only, graph, ranges=False).classes == engine.profile(graph, ranges=False).classes


def test_what_is_no_graph_or_too_large_is_told(engine: Sandbox) -> None:
    assert "Turtle" in (engine.profile(GraphText("no graph", "turtle")).error or "")
    with Sandbox(Limits(graph_characters=10)) as small:
        assert "more than the limit" in (small.profile(GraphText(GRAPH, "turtle")).error or "")
    assert engine.profile(GraphText("", "turtle")) == GraphProfile()


NODES = st.sampled_from([f"h:n{i}" for i in range(6)])
TRIPLES = st.lists(
    st.one_of(
        st.tuples(NODES, st.just("a"), st.sampled_from(["h:A", "h:B"])),
        st.tuples(NODES, st.sampled_from(["h:p", "h:q"]), st.one_of(NODES, st.sampled_from(["1", '"x"', "2.5"]))),
    ),
    max_size=25,
    unique=True,
)


@given(TRIPLES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counts_equal_those_of_plain_python(engine: Sandbox, triples: list[tuple[str, str, str]]) -> None:
    text = f"@prefix h: <{H}> .\n" + "".join(f"{s} {p} {o} .\n" for s, p, o in triples)
    types = {(s, o) for s, p, o in triples if p == "a"}
    expected = Counter((c, p) for s, p, _ in triples for node, c in types if node == s and p != "a")
    found = engine.profile(GraphText(text, "turtle"))
    assert {
        (use.iri.replace(H, "h:"), one.iri.replace(H, "h:")): one.count
        for use in found.classes
        for one in use.properties
    } == dict(expected)
    links = Counter(
        (c, p, t) for s, p, o in triples for n, c in types if n == s for m, t in types if m == o and p != "a"
    )
    ranges = {
        (use.iri.replace(H, "h:"), one.iri.replace(H, "h:"), name.replace(H, "h:")): count
        for use in found.classes
        for one in use.properties
        for name, count in one.ranges
        if name.startswith(H)
    }
    assert ranges == dict(links)
    assert found.predicates.keys() == {p.replace("h:", H) if p != "a" else TYPE for _, p, _ in triples}


TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
