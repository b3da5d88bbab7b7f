"""The client against real servers on loopback; what they answer is compared with the embedded engines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.endpoints import Endpoint, EndpointEngine, Endpoints, FederatedEngine, endpoint_graph
from pytest_llmkg.errors import EndpointError
from pytest_llmkg.kg.terms import XSD
from tests.endpoints import servers
from tests.endpoints.graphs import BOOKS, LOANS, PEOPLE, PREFIXES, QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.kg import Sandbox

SERVERS = {"oxigraph": servers.oxigraph, "rdflib-endpoint": servers.rdflib_endpoint, "virtuoso": servers.virtuoso}

Asked = tuple[str, EndpointEngine, GraphText]
Three = tuple[Endpoint, Endpoint, Endpoint]

# Valid queries that a server cannot do, and what it says; that is an error, not a score.
CANNOT = {("virtuoso", "SELECT ?x ?y { ?x b:sequelOf+ ?y }"): "HTTP 500: .*transitive start not given"}


@pytest.fixture(scope="module", params=SERVERS)
def books(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox
) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp(request.param) / "server"
    with SERVERS[request.param](BOOKS, folder, sandbox.check_rdf) as endpoint:
        endpoints = Endpoints({endpoint.url: endpoint})
        yield request.param, EndpointEngine(sandbox, endpoints), endpoint_graph(endpoint.url)
        endpoints.close()


def rows(result: QueryResult, query: str = "") -> bool | list[object] | Counter[object]:
    """Rows with their columns by name, as often as they occur; in order where the query tells one."""
    assert result.error is None, result.error
    if result.boolean is not None:
        return result.boolean
    order = sorted(range(len(result.variables)), key=lambda at: result.variables[at])
    found: list[object] = [tuple((result.variables[at], row[at]) for at in order) for row in result.rows]
    return found if "ORDER BY" in query else Counter(found)


@pytest.mark.parametrize("query", QUERIES)
def test_embedded_engines_give_the_same_rows(sandbox: Sandbox, query: str) -> None:
    graph = GraphText(BOOKS, "turtle")
    first = rows(sandbox.run_query(graph, query, PREFIXES), query)
    assert first in (True, False) or first
    second = sandbox.using("rdflib").run_query(graph, query, PREFIXES)
    assert by_value(second, query) == by_value(sandbox.run_query(graph, query, PREFIXES), query)


def lowered(term: Term | None) -> Term | None:
    return replace(term, language=term.language.lower()) if term is not None and term.language else term


def by_value(result: QueryResult, query: str) -> bool | list[object] | Counter[object]:
    """`rows`, numbers as numbers and languages in lower case: rdflib keeps what a graph has."""
    if result.boolean is not None:
        return result.boolean
    numbers = {XSD + name for name in ("integer", "decimal", "double")}
    order = sorted(range(len(result.variables)), key=lambda at: result.variables[at])
    found: list[object] = []
    for row in result.rows:
        cells = [row[at] for at in order]
        found.append(tuple(float(c.value) if c is not None and c.datatype in numbers else lowered(c) for c in cells))
    return found if "ORDER BY" in query else Counter(found)


@pytest.mark.parametrize("query", QUERIES)
def test_endpoint_gives_the_rows_of_the_embedded_engine(books: Asked, sandbox: Sandbox, query: str) -> None:
    name, engine, graph = books
    if (name, query) in CANNOT:
        with pytest.raises(EndpointError, match=CANNOT[name, query]):
            engine.run_query(graph, query, PREFIXES)
        return
    own = sandbox.run_query(GraphText(BOOKS, "turtle"), query, PREFIXES)
    theirs = engine.run_query(graph, query, PREFIXES)
    assert theirs.error is None
    assert by_value(theirs, query) == by_value(own, query)


def test_rows_are_the_same_term_by_term(books: Asked, sandbox: Sandbox) -> None:
    _, engine, graph = books
    query = "SELECT ?x ?p ?o { ?x ?p ?o FILTER(!ISBLANK(?o) && !ISBLANK(?x)) }"
    assert rows(engine.run_query(graph, query, PREFIXES)) == rows(
        sandbox.run_query(GraphText(BOOKS, "turtle"), query, {})
    )


@pytest.mark.parametrize(
    "query",
    [
        "CONSTRUCT { ?a b:wrote ?x ; b:called ?t } WHERE { ?x b:by ?a ; b:title ?t }",
        "CONSTRUCT { ?x b:review [ b:stars ?s ] } WHERE { ?x b:review ?r . ?r b:stars ?s }",
        "CONSTRUCT WHERE { ?x b:name ?n }",
        "DESCRIBE b:n3",
    ],
)
def test_graphs_come_as_triples(books: Asked, sandbox: Sandbox, query: str) -> None:
    _, engine, graph = books
    result = engine.run_query(graph, query, PREFIXES)
    own = sandbox.run_query(GraphText(BOOKS, "turtle"), query, PREFIXES)
    assert result.variables == ("subject", "predicate", "object")
    theirs, ours = by_value(result, query), by_value(own, query)
    assert isinstance(theirs, Counter)
    assert isinstance(ours, Counter)
    # What describes a thing is the server's choice, and Virtuoso tells a constructed triple once a solution.
    assert theirs.keys() >= ours.keys() if query.startswith("DESCRIBE") else theirs.keys() == ours.keys()


@pytest.mark.parametrize(
    "query",
    ["SELECT * {", "SELEKT ?x { ?x ?p ?o }", "SELECT ?x { ?x nope:p ?o }", "SELECT ?x WHERE { ?x b:by ?a ) }", ""],
)
def test_malformed_query_is_its_own_fault(books: Asked, query: str) -> None:
    _, engine, graph = books
    result = engine.run_query(graph, query, PREFIXES)
    assert result.error
    assert result.error.startswith(("HTTP 400: ", "only SELECT, ASK"))
    assert not result.timed_out


@pytest.mark.parametrize(
    "query",
    [
        "INSERT DATA { b:n9 a b:Novel }",
        "DELETE WHERE { ?s ?p ?o }",
        "CLEAR ALL",
        "define sql:log-enable 3 SELECT * { ?s ?p ?o }",
        "SELECT * FROM <https://evil.example/g> { ?s ?p ?o }",
        "SELECT * { SERVICE <https://evil.example/sparql> { ?s ?p ?o } }",
        "PREFIX e: <https://evil.example/> SELECT * { SERVICE e:sparql { ?s ?p ?o } }",
        "SELECT * { VALUES ?e { <https://evil.example/> } SERVICE ?e { ?s ?p ?o } }",
        "SELECT * { VALUES ?e { <https://evil.example/> } SERVICE SILENT ?e { ?s ?p ?o } }",
        "SELECT * { FILTER(true)SERVICE<https://evil.example/sparql>{ ?s ?p ?o } }",
        "SELECT * { FILTER(1=trueSERVICE <https://evil.example/sparql> { ?s ?p ?o } }",
        r"SELECT * { \u0053ERVICE <https://evil.example/sparql> { ?s ?p ?o } }",
        r"SELECT * { SERV\U00000049CE <https://evil.example/sparql> { ?s ?p ?o } }",
    ],
)
def test_nothing_is_changed_and_nothing_else_is_reached(books: Asked, query: str) -> None:
    _, engine, graph = books
    result = engine.run_query(graph, query, PREFIXES)
    assert result.error
    assert "allowed" in result.error
    assert not result.error.startswith("HTTP")
    count = engine.run_query(graph, f"SELECT (COUNT(*) AS ?n) {{ ?s ?p ?o }} # {query!r:.40}", {})
    assert [row[0].value for row in count.rows if row[0]] == [str(BOOKS_TRIPLES)]


BOOKS_TRIPLES = 54


def test_service_that_may_fail_is_not_called(books: Asked) -> None:
    _, engine, graph = books
    query = "SELECT ?x { ?x a b:Atlas SERVICE SILENT <https://evil.example/sparql> { ?x b:y ?z } }"
    assert len(engine.run_query(graph, query, PREFIXES).rows) == 1


# A query that parses and fails at this server while it runs, and whether that is the query's own fault.
FAILING = {
    "oxigraph": ("SELECT ?x { ?x a b:Atlas FILTER(b:f(?x)) }", True),
    "rdflib-endpoint": ("SELECT ?y (SUM(?x) AS ?n) { ?x b:by ?y }", True),
    "virtuoso": ("SELECT (1/0 AS ?x) { }", False),
}


def test_query_that_fails_while_it_runs(books: Asked) -> None:
    name, engine, graph = books
    query, own = FAILING[name]
    if own:
        assert engine.run_query(graph, query, PREFIXES).error
    else:
        told = r"^the endpoint http://[\w.:/]+: HTTP 500: Virtuoso 22012 Error(?!.*tries)"
        with pytest.raises(EndpointError, match=told):
            engine.run_query(graph, query, PREFIXES)


def test_only_its_own_graph_may_be_named(books: Asked) -> None:
    name, engine, graph = books
    result = engine.run_query(graph, "SELECT ?x FROM <urn:example:fixture> { ?x a b:Atlas }", PREFIXES)
    if name == "virtuoso":  # whose endpoint is set to that graph
        assert [row[0].value for row in result.rows if row[0]] == ["https://books.example/a1"]
    else:
        assert result.error == "FROM is not allowed; a query runs on the given graph alone"


LOANS_AT, PEOPLE_AT = "https://loans.example/sparql", "https://people.example/sparql"
FEDERATED = (
    "SELECT ?t ?d { ?x b:title ?t SERVICE <https://loans.example/sparql> { ?l l:of ?x ; l:days ?d } }",
    "SELECT ?t ?d { ?x b:title ?t SERVICE s:sparql { ?l l:of ?x ; l:days ?d } }",
    """SELECT ?t ?n { ?x b:title ?t SERVICE s:sparql { ?l l:of ?x ; l:to ?k }
        SERVICE <https://people.example/sparql> { ?k p:name ?n } }""",
    """SELECT ?t ?n { ?x b:title ?t SERVICE s:sparql { ?l l:of ?x ; l:to ?k
        SERVICE <https://people.example/sparql> { ?k p:name ?n } } }""",
    """SELECT ?n ?c { ?x b:title ?t SERVICE s:sparql { SELECT ?x (COUNT(?l) AS ?c) { ?l l:of ?x } GROUP BY ?x }
        ?x b:by/b:name ?n }""",
    "SELECT ?x { ?x a ?c OPTIONAL { SERVICE s:sparql { ?l l:of ?x } } FILTER(!BOUND(?l)) ?x b:pages ?p }",
)
FEDERATED_PREFIXES = {
    **PREFIXES,
    "l": "https://loans.example/",
    "p": "https://people.example/",
    "s": "https://loans.example/",
}


@pytest.fixture(scope="module")
def three_servers(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Three]:
    folder = tmp_path_factory.mktemp("three")
    with (
        servers.oxigraph(BOOKS, folder / "books", sandbox.check_rdf) as first,
        servers.oxigraph(LOANS, folder / "loans", sandbox.check_rdf) as second,
        servers.oxigraph(PEOPLE, folder / "people", sandbox.check_rdf) as third,
    ):
        yield first, second, third


@pytest.mark.parametrize("query", FEDERATED)
def test_servers_and_local_stores_federate_alike(three_servers: Three, sandbox: Sandbox, query: str) -> None:
    first, second, third = three_servers
    named = {LOANS_AT: GraphText(LOANS, "turtle"), PEOPLE_AT: GraphText(PEOPLE, "turtle")}
    local = FederatedEngine(sandbox, named).run_query(GraphText(BOOKS, "turtle"), query, FEDERATED_PREFIXES)
    addresses = {LOANS_AT: endpoint_graph(second.url), PEOPLE_AT: endpoint_graph(third.url)}
    endpoints = Endpoints()
    engine = FederatedEngine(EndpointEngine(sandbox, endpoints), addresses)
    remote = engine.run_query(endpoint_graph(first.url), query, FEDERATED_PREFIXES)
    endpoints.close()
    assert rows(local)
    assert rows(remote) == rows(local)


def test_server_is_not_asked_to_call_what_is_not_listed(three_servers: Three, sandbox: Sandbox) -> None:
    first, second, third = three_servers
    engine = FederatedEngine(EndpointEngine(sandbox, Endpoints()), {LOANS_AT: endpoint_graph(second.url)})
    result = engine.run_query(endpoint_graph(first.url), f"SELECT * {{ SERVICE <{third.url}> {{ ?s ?p ?o }} }}", {})
    assert result.error == f"SERVICE <{third.url}> is not allowed; allowed are <{second.url}>"
