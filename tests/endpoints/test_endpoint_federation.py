"""SERVICE over embedded stores: the rules of the standard, and nothing but the stores on the list."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.endpoints import FederatedEngine, endpoint_graph
from pytest_llmkg.endpoints.clauses import scan
from pytest_llmkg.endpoints.local import dataset_of, rewritten
from pytest_llmkg.endpoints.preparing import Prepared, prepare
from pytest_llmkg.errors import UserError
from tests.endpoints.graphs import BOOKS, LOANS, PEOPLE, PREFIXES

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox

SERVICES = {
    "https://loans.example/sparql": GraphText(LOANS, "turtle"),
    "people": GraphText(PEOPLE, "turtle"),
}
NAMES = {
    **PREFIXES,
    "l": "https://loans.example/",
    "p": "https://people.example/",
    "sv": "https://loans.example/sp",
    "": "https://base.invalid/",
}
ALLOWED = "allowed are <https://base.invalid/people>, <https://loans.example/sparql>"


def run(sandbox: Sandbox, query: str) -> QueryResult:
    return FederatedEngine(sandbox, SERVICES).run_query(GraphText(BOOKS, "turtle"), query, NAMES)


def values(result: QueryResult) -> Counter[tuple[str | None, ...]]:
    assert result.error is None, result.error
    return Counter(tuple(None if term is None else term.value for term in row) for row in result.rows)


# Query, and its rows, found by reading the graphs.
FOUND: list[tuple[str, list[tuple[str | None, ...]]]] = [
    (
        "SELECT ?d { ?x b:year 2005 SERVICE <https://loans.example/sparql> { ?l l:of ?x ; l:days ?d } }",
        [("30",), ("7",)],
    ),
    ("SELECT ?d { ?x b:year 2005 SERVICE sv:arql { ?l l:of ?x ; l:days ?d } }", [("30",), ("7",)]),
    (
        "PREFIX w: <https://loans.example/spar> SELECT ?d { ?x b:year 1999 service w:ql { ?l l:of ?x ; l:days ?d } }",
        [("14",)],
    ),
    ("SELECT ?n { SERVICE <people> { l:max p:name ?n } }", [("Max",)]),
    ("SELECT ?n { SERVICE :people { l:max p:name ?n } }", [("Max",)]),
    (
        "SELECT ?n { ?x b:year 2005 SERVICE sv:arql { ?l l:of ?x ; l:to ?k } SERVICE <people> { ?k p:name ?n } }",
        [("Kim",), ("Lee",)],
    ),
    (
        "SELECT ?n { ?x b:year 2005 SERVICE sv:arql { ?l l:of ?x ; l:to ?k SERVICE <people> { ?k p:name ?n } } }",
        [("Kim",), ("Lee",)],
    ),
    # Inside a service its own graph is asked, not the one around it, and the other way round.
    ("SELECT ?t { SERVICE sv:arql { b:n1 b:title ?t } }", []),
    ("SELECT ?d { ?l l:days ?d }", []),
    ("SELECT ?c { { SELECT (COUNT(*) AS ?c) { ?s ?p ?o } } SERVICE <people> { l:kim p:city ?y } }", [("54",)]),
    # A filter sees its own group alone; a sub-query, a path, EXISTS and an aggregate run in the service.
    ('SELECT ?n { BIND("Lund" AS ?y) SERVICE <people> { ?k p:name ?n ; p:city ?c FILTER(?c = ?y) } }', []),
    ('SELECT ?n { BIND("York" AS ?y) SERVICE <people> { ?k p:name ?n ; p:city ?y } }', [("Lee",)]),
    (
        "SELECT ?y ?c { SERVICE <people> { SELECT ?y (COUNT(*) AS ?c) { ?k p:city ?y } GROUP BY ?y } }",
        [("Lund", "2"), ("York", "1")],
    ),
    ("SELECT ?n { SERVICE <people> { ?k p:name ?n FILTER NOT EXISTS { ?k p:city 'Lund' } } }", [("Lee",)]),
    ("SELECT ?y { SERVICE sv:arql { l:x1 l:to/l:name ?y } }", []),
    ("SELECT ?n { SERVICE sv:arql { l:x4 l:to/l:name ?n } }", [("a guest",)]),
    ("SELECT ?x { ?x a b:Atlas OPTIONAL { SERVICE <people> { ?x p:name ?n } } }", [("https://books.example/a1",)]),
    (
        "SELECT ?x { ?x b:pages ?n MINUS { SERVICE sv:arql { ?l l:of ?x } } FILTER(?n < 100) }",
        [("https://books.example/n4",)],
    ),
    ("SELECT ?n { { SERVICE <people> { l:lee p:name ?n } } UNION { b:lund b:name ?n } }", [("Lee",), ("Lund",)]),
    # SILENT: a service that fails counts as one solution without bindings.
    (
        "SELECT ?x { ?x a b:Atlas SERVICE SILENT <https://nowhere.example/> { ?x b:y ?z } }",
        [("https://books.example/a1",)],
    ),
    (
        """SELECT ?n { SERVICE SILENT <https://a.example/> { ?k b:y ?z SERVICE sv:arql { ?k l:of ?z } }
        SERVICE SILENT <people> { l:lee p:name ?n } }""",
        [("Lee",)],
    ),
    # A variable runs over the stores that it may be.
    ("SELECT ?n { VALUES ?e { <https://base.invalid/people> } SERVICE ?e { l:lee p:name ?n } }", [("Lee",)]),
    # The stores have no named graphs of their own.
    ("SELECT ?n { SERVICE <people> { GRAPH ?g { l:lee p:name ?n } } }", []),
    ("SELECT ?n { GRAPH <https://base.invalid/people> { l:lee p:name ?n } SERVICE <people> { ?k p:name ?m } }", []),
    ("SELECT ?g { GRAPH ?g { ?s ?p ?o } SERVICE <people> { ?k p:name ?m } }", []),
    # The words in strings, comments, names and variables are none.
    ('SELECT ?service { BIND("SERVICE <x> { }" AS ?service) } # SERVICE <y> {', [("SERVICE <x> { }",)]),
    ("SELECT ?x { ?x a b:Atlas . MINUS { ?x b:service b:SERVICE } }", [("https://books.example/a1",)]),
    ("SELECT ?n { # SERVICE <none>\n SERVICE # why\n <people># so\n{ l:lee p:name ?n } }", [("Lee",)]),
]


@pytest.mark.parametrize(("query", "expected"), FOUND, ids=[str(number) for number in range(len(FOUND))])
@pytest.mark.parametrize("engine", ["pyoxigraph", "rdflib"])
def test_rows(sandbox: Sandbox, engine: str, query: str, expected: list[tuple[str | None, ...]]) -> None:
    box = sandbox if engine == "pyoxigraph" else sandbox.using("rdflib")
    assert values(run(box, query)) == Counter(expected)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT * { SERVICE <https://a.example/> { ?s ?p ?o } }",
            f"SERVICE <https://a.example/> is not allowed; {ALLOWED}",
        ),
        ("SELECT * { SERVICE b:sparql { ?s ?p ?o } }", f"SERVICE b:sparql is not allowed; {ALLOWED}"),
        ("SELECT * { SERVICE none:x { ?s ?p ?o } }", f"SERVICE none:x is not allowed; {ALLOWED}"),
        ("SELECT * { SERVICE <people> { SERVICE <x> { ?s ?p ?o } } }", f"SERVICE <x> is not allowed; {ALLOWED}"),
        ("BASE <https://a.example/> SELECT * { SERVICE <people> { } }", f"SERVICE <people> is not allowed; {ALLOWED}"),
        ("SELECT * FROM <https://a.example/> { SERVICE <people> { ?s ?p ?o } }", "FROM is not allowed"),
        ("INSERT DATA { <a:a> <a:b> 1 } # SERVICE", "the update INSERT is not allowed"),
        (r"SELECT * { \u0053ERVICE <people> { ?s ?p ?o } }", "hides the word SERVICE"),
        ("SELECT * { FILTER(1=trueSERVICE <people> { } }", "separate SERVICE and FROM"),
        ("SELECT * { SERVICE SILENT <https://a.example/> ?s ?p ?o }", "is not allowed"),
        ("SELECT * { SERVICE SILENT <https://a.example/> { ?s ?p ?o }", ""),
        ("SELECT * { SERVICE", ""),
        ("SELECT * { SERVICE <people> }", ""),
    ],
)
def test_refusals_name_what_is_allowed(sandbox: Sandbox, query: str, told: str) -> None:
    result = run(sandbox, query)
    assert result.error
    assert told in result.error
    assert result.rows == ()


def test_without_services_a_query_runs_as_ever(sandbox: Sandbox) -> None:
    query = "SELECT ?n { b:lund b:name ?n }"
    assert values(run(sandbox, query)) == Counter([("Lund",)])
    alone = FederatedEngine(sandbox, {}).run_query(GraphText(BOOKS, "turtle"), "SELECT * { SERVICE <x:y> { } }", {})
    assert alone.error == "SERVICE is not allowed; a query runs on the given graph alone"


def test_blank_nodes_of_two_stores_are_never_the_same(sandbox: Sandbox) -> None:
    first, second = (GraphText(f'_:b0 <a:p> "{name}" .', "turtle") for name in ("one", "two"))
    engine = FederatedEngine(sandbox, {"a:other": second})
    query = "SELECT ?x ?y { ?b <a:p> ?x SERVICE <a:other> { ?b <a:p> ?y } }"
    assert engine.run_query(first, query, {}).rows == ()
    query = "SELECT ?x ?y { ?b <a:p> ?x SERVICE <a:other> { ?c <a:p> ?y } }"
    assert engine.run_query(first, query, {}).rows == ((Term("literal", "one"), Term("literal", "two")),)


def test_mixture_and_broken_stores_are_errors_of_the_case(sandbox: Sandbox) -> None:
    graph, far = GraphText(BOOKS, "turtle"), endpoint_graph("http://127.0.0.1:1/sparql")
    for asked, services in ((graph, {"a:x": far}), (far, {"a:x": graph}), (graph, {"a:x": far, "a:y": graph})):
        with pytest.raises(UserError, match="all its graphs embedded or all of them behind endpoints"):
            FederatedEngine(sandbox, services).run_query(asked, "SELECT * { SERVICE <a:x> { ?s ?p ?o } }", {})
    with pytest.raises(UserError, match=r"the service a:x: the graph is no Turtle"):
        dataset_of(graph, (("a:x", GraphText("<a", "turtle")),))
    with pytest.raises(UserError, match="named by an IRI or a word"):
        FederatedEngine(sandbox, {"a b": graph})


def test_graph_that_another_one_stands_for(sandbox: Sandbox) -> None:
    engine = FederatedEngine(
        sandbox, SERVICES, found=lambda g: GraphText(BOOKS, "turtle") if g.text == "kg:books" else g
    )
    query = "SELECT ?d { ?x b:year 1999 SERVICE sv:arql { ?l l:of ?x ; l:days ?d } }"
    assert values(engine.run_query(GraphText("kg:books", "turtle"), query, NAMES)) == Counter([("14",)])


def test_what_is_sent_names_services_in_full() -> None:
    query = "PREFIX s: <https://evil.example/> PREFIX s: <https://a.example/> SELECT * { SERVICE s:q { ?s ?p ?o } }"
    ready = prepare(query, {}, ("https://a.example/q",), ())
    assert isinstance(ready, Prepared)
    assert ready.text.endswith("SELECT * { SERVICE <https://a.example/q> { ?s ?p ?o } }")
    assert isinstance(prepare(query, {}, ("https://evil.example/q",), ()), str)


def test_prefixes_and_base_are_declared_where_they_are_missing() -> None:
    prefixes = {"a": "https://a.example/", "b": "https://b.example/", "c": "https://c.example/"}
    ready = prepare("PREFIX a: <x:> SELECT * { a:s b:p <o>, 'c:d' } # c:", prefixes, (), ())
    assert isinstance(ready, Prepared)
    assert ready.text.split("\n")[:2] == ["BASE <https://base.invalid/>", "PREFIX b: <https://b.example/>"]
    assert ready.text.split("\n")[2].startswith("PREFIX a: <x:> SELECT")
    whole = "BASE <x:y> SELECT * { <o> ?p ?o }"
    assert prepare(whole, prefixes, (), ()) == Prepared(whole, "SELECT")


HIDDEN = [
    # An escaped line break ends a comment for engines that replace escapes first.
    r"SELECT * { SERVICE#\u000a<https://evil.example/> { ?s ?p ?o } }",
    r"SELECT * { SERVICE SILENT # \u000A b:x { ?s ?p ?o } }",
    r"ASK FROM#\u000d<https://evil.example/> { ?s ?p ?o }",
    r"SELECT * { ?s ?p 'a\u0027 . SERVICE <https://evil.example/> { ?s ?p ?o } # ' }",
    # Some parsers need no space behind a keyword.
    "SELECT * { service: { ?s ?p ?o } }",
    "SELECT * { ?s ?p true SERVICEb:x { ?s ?p ?o } }",
    "SELECT * { trueSERVICE:x { ?s ?p ?o } }",
    "SELECT * { SERVICESILENT:x { ?s ?p ?o } }",
    "SELECT * FROMb:x { ?s ?p ?o }",
    "SELECT * FROM:x WHERE { ?s ?p ?o }",
    "PREFIX SERVICEb: <https://b.example/> SELECT * { SERVICEb:x { ?s ?p ?o } }",
    "PREFIX FROM: <https://b.example/> SELECT * FROM:x WHERE { ?s ?p ?o }",
    # Some servers bear a line break in a short string.
    'SELECT * { ?s ?p "a\n" . SERVICE <https://evil.example/> { ?s ?p ?o } # "b" }',
    "SELECT * { SERVICE",
    "SELECT * { } FROM",
]


@pytest.mark.parametrize("query", HIDDEN)
def test_what_only_some_engines_read_as_a_service_is_refused(sandbox: Sandbox, query: str) -> None:
    told = prepare(query, NAMES, ("https://a.example/q",), ("https://a.example/g",))
    assert isinstance(told, str)
    assert "allowed" in told
    assert FederatedEngine(sandbox, SERVICES).run_query(GraphText(BOOKS, "turtle"), query, NAMES).error


@pytest.mark.parametrize(
    "query",
    [
        r"SELECT * { ?s ?p 'SERVICE \u0041 FROM', <https://a.example/\u0041> # SERVICE <x:y> { }" + "\n}",
        "PREFIX service: <https://b.example/> SELECT * { service:a service:b ?o . GRAPH service:g { ?s ?p ?o } }",
        "PREFIX from: <https://b.example/> SELECT (from:f(?o) AS ?x) { ?s from:b ?o FILTER(?o<?s) }",
        'SELECT * { ?s ?p \'it\\\'s from\', """a\n\'b""" }',
    ],
)
def test_what_only_looks_like_a_service_is_sent(query: str) -> None:
    ready = prepare(query, NAMES, (), ())
    assert isinstance(ready, Prepared)
    assert ready.text.endswith(query)


@given(st.text(alphabet="SERVICE service silent GRAPH FROM {}<>?:.#'\"\\a u0053x(\n", max_size=60))
def test_any_text_can_be_scanned_and_none_reaches_out(text: str) -> None:
    for query in (text, f"SELECT * {{ {text} }}"):
        found = scan(query, NAMES)
        assert all(query[c.target_start : c.target_end] == c.text for c in found.clauses)
        ready = prepare(query, NAMES, (), ())
        if isinstance(ready, Prepared):
            again = scan(ready.text, NAMES)
            assert not [c for c in again.clauses if c.word in {"SERVICE", "FROM"}]
        changed = rewritten(query, NAMES, {})
        assert not isinstance(changed, str) or not [c for c in scan(changed, NAMES).clauses if c.word == "SERVICE"]


PATTERN = st.sampled_from(["?s ?p ?o .", "?s a b:Book", "FILTER(?a <?b || ?c > 3)", '"x"@en', "{ ?s b:p 'it''s' }"])
SERVICE = st.sampled_from(
    ["SERVICE <x>", "service silent <y:z>", "SERVICE ?e", "SERVICE SILENT sv:q", "SERVICE\n#{\n<a>"]
)


@given(st.recursive(PATTERN, lambda inner: st.builds(lambda s, i, j: f"{s} {{ {i} }} {j}", SERVICE, inner, inner)))
def test_every_service_of_a_well_formed_query_is_found(body: str) -> None:
    query = f"SELECT * {{ {body} }}"
    found = [clause for clause in scan(query, NAMES).clauses if clause.word == "SERVICE"]
    assert len(found) == body.lower().count("service")
    assert all(clause.block_end is not None and query[clause.block_end - 1] == "}" for clause in found)
