"""rdflib beside pyoxigraph: ``exact`` gives what rdflib gives, whichever of the two worked it out."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, QueryResult
from pytest_llmkg.kg import Limits, Sandbox
from pytest_llmkg.kg.engine_choice import plain_query
from pytest_llmkg.kg.query_trees import QueryTrees
from pytest_llmkg.kg.rdflib_run import rdflib_graph
from pytest_llmkg.kg.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Iterator

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"": "https://kg.example/reef/", "xsd": XSD}
REEF = GraphText(
    """@prefix : <https://kg.example/reef/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:crab a :Animal ; :name "Crab" ; :eats :kelp, :snail ; :legs 10 ; :seen "2020-01-02"^^xsd:date .
:snail a :Animal ; :name "Snail" ; :eats :kelp ; :legs 0 ; :shell [ a :Shell ; :name "Cone" ] .
:kelp a :Plant ; :name "Kelp"@en, "Kelp" ; :depth "4.50"^^xsd:decimal .
""",
    "turtle",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Sandbox]]:
    with Sandbox() as box:
        yield {"pyoxigraph": box, "exact": box.using("exact"), "rdflib": box.using("rdflib")}


def run(box: Sandbox, query: str, graph: GraphText = REEF, **prefixes: str) -> QueryResult:
    return box.run_query(graph, query, {**PREFIXES, **prefixes})


def values(result: QueryResult) -> list[tuple[str | None, ...]]:
    return sorted((tuple(None if t is None else t.value for t in row) for row in result.rows), key=repr)


# A query on the reef and the rows that hand counting gives; all engines agree on these.
ALIKE = [
    ("SELECT ?x { ?x a :Animal }", [("https://kg.example/reef/crab",), ("https://kg.example/reef/snail",)]),
    ('SELECT ?x { ?x :name "Kelp" }', [("https://kg.example/reef/kelp",)]),
    ("SELECT (COUNT(?x) AS ?n) { ?x :eats :kelp }", [("2",)]),
    ("SELECT (COUNT(*) AS ?n) { ?x :eats :stone }", [("0",)]),
    ("SELECT DISTINCT ?x { ?x :eats ?y }", [("https://kg.example/reef/crab",), ("https://kg.example/reef/snail",)]),
    ("SELECT ?n { { :crab :name ?n } UNION { :snail :shell [ :name ?n ] } }", [("Cone",), ("Crab",)]),
    ("SELECT ?x { ?x :legs ?n FILTER(?n > 3) }", [("https://kg.example/reef/crab",)]),
    ("SELECT ?x { ?x :depth ?d }", [("https://kg.example/reef/kelp",)]),
    ("SELECT ?n { ?x a :Animal ; :name ?n } ORDER BY DESC(?n) LIMIT 1", [("Snail",)]),
    (
        "SELECT ?x ?z { ?x :eats ?y OPTIONAL { ?x :none ?z } FILTER(?y = :snail) }",
        [("https://kg.example/reef/crab", None)],
    ),
]


@pytest.mark.parametrize(("query", "rows"), ALIKE)
@pytest.mark.parametrize("engine", ["pyoxigraph", "exact", "rdflib"])
def test_engines_agree_on_the_standard(
    engine: str, query: str, rows: list[tuple[str | None, ...]], engines: dict[str, Sandbox]
) -> None:
    result = run(engines[engine], query)
    assert result.error is None
    assert values(result) == sorted(rows, key=repr)


# Queries that rdflib answers otherwise than the standard, and what it gives: rows, or a part of its message.
RDFLIB_ONLY = [
    ("SELECT ?x (COUNT(?y) AS ?n) { ?x :eats ?y FILTER(?x = :snail) }", [("https://kg.example/reef/snail", "1")]),
    ("SELECT ?y { ?x :eats ?y BIND(:kelp AS ?y) FILTER(?x = :snail) }", [("https://kg.example/reef/kelp",)]),
    ("SELECT ?n { ?x :legs ?n } ORDER BY DESC(nowhere:double(?n)) LIMIT 1", "Unknown namespace prefix"),
]


@pytest.mark.parametrize(("query", "expected"), RDFLIB_ONLY)
def test_exact_gives_rdflib_s_answer_where_the_standard_refuses(
    query: str, expected: list[tuple[str]] | str, engines: dict[str, Sandbox]
) -> None:
    assert run(engines["pyoxigraph"], query).error is not None
    for engine in ("exact", "rdflib"):
        result = run(engines[engine], query)
        if isinstance(expected, str):
            assert expected in (result.error or "")
        else:
            assert result.error is None
            assert [tuple(v for v in row if v) for row in values(result)] == expected


@pytest.mark.parametrize("query", ["SELECT ?d { :kelp :depth ?d }", "SELECT ?d { ?x :seen ?d }"])
def test_values_are_written_as_rdflib_writes_them(query: str, engines: dict[str, Sandbox]) -> None:
    exact = run(engines["exact"], query)
    assert exact == run(engines["rdflib"], query)
    assert values(exact) in ([("4.50",)], [("2020-01-02",)])  # pyoxigraph: 4.5


def test_a_namespace_with_a_second_name_loses_its_first(engines: dict[str, Sandbox]) -> None:
    query = "PREFIX r: <https://kg.example/reef/> SELECT ?x { ?x a :Animal ; r:eats :kelp }"
    assert len(run(engines["pyoxigraph"], query).rows) == 2
    for engine in ("exact", "rdflib"):
        assert "Unknown namespace prefix" in (run(engines[engine], query).error or "")


@pytest.mark.parametrize("written", ['"Kelp"^^<http://www.w3.org/2001/XMLSchema#string>', '"Kelp"'])
@pytest.mark.parametrize("query", ['SELECT ?x { ?x :name "Kelp" }', "SELECT ?x { ?x :name ?n }"])
def test_exact_tells_strings_apart_as_rdflib_does(written: str, query: str, engines: dict[str, Sandbox]) -> None:
    graph = GraphText(f"<https://kg.example/reef/kelp> <https://kg.example/reef/name> {written} .", "nt")
    assert values(run(engines["exact"], query, graph)) == values(run(engines["rdflib"], query, graph))
    typed = written.endswith(">") and "Kelp" in query
    assert len(run(engines["exact"], query, graph).rows) == (0 if typed else 1)


def test_prefixes_that_rdflib_knows_need_no_declaration(engines: dict[str, Sandbox]) -> None:
    result = engines["exact"].run_query(REEF, "SELECT ?x { ?x rdf:type <https://kg.example/reef/Plant> }", {})
    assert values(result) == [("https://kg.example/reef/kelp",)]


def test_other_forms_of_queries(engines: dict[str, Sandbox]) -> None:
    for box in engines.values():
        assert run(box, "ASK { :crab :eats :snail }").boolean is True
        assert run(box, "ASK { :snail :eats :crab }").boolean is False
        built = run(box, "CONSTRUCT { ?y :feeds ?x } { ?x :eats ?y }")
        assert built.variables == ("subject", "predicate", "object")
        assert len(built.rows) == 3


def test_nothing_outside_the_graph_is_reached_with_rdflib_either(engines: dict[str, Sandbox]) -> None:
    for query in ("SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }"):
        for engine in ("exact", "rdflib"):
            assert "not allowed" in (run(engines[engine], query).error or "")


def test_limits_hold_for_rdflib() -> None:
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . FILTER(?a != ?l) }"
    with Sandbox(Limits(query_seconds=1.0, rows=5), "rdflib") as box:
        assert run(box, slow).timed_out
        assert "more than 5 results" in (run(box, "SELECT ?s { ?s ?p ?o }").error or "")
        assert len(run(box, "SELECT ?x { ?x a :Animal }").rows) == 2


def test_a_broken_graph_is_told_by_every_engine(engines: dict[str, Sandbox]) -> None:
    for box in engines.values():
        assert run(box, "SELECT * { ?s ?p ?o }", GraphText("<a:a> <a:b>", "turtle")).error is not None


def test_sandboxes_that_share_a_process_stay_usable_after_the_first_is_gone() -> None:
    box = Sandbox()
    other = box.using("rdflib")
    run(other, "ASK { ?s ?p ?o }")
    pid = other.worker_pid
    del box
    assert run(other, "ASK { :crab ?p ?o }").boolean is True
    assert other.worker_pid == pid
    other.close()


PARTS = [
    "?x",
    "?y",
    ":crab",
    ":eats",
    "a",
    ":Animal",
    '"Kelp"',
    "'x'",
    "<https://kg.example/reef/kelp>",
    "{",
    "}",
    ".",
    ";",
]
PARTS += [",", "(", ")", "[", "]", "=", "*", "COUNT", "AS", "UNION", "FILTER", "WHERE", "SELECT", "DISTINCT"]
BODIES = st.lists(st.sampled_from(PARTS), max_size=12).map(" ".join)
TRIPLES = st.lists(
    st.tuples(
        *(st.sampled_from(group) for group in (["?x", ":crab", "[]"], ["a", ":eats", "?p"], ["?y", ":kelp", '"Kelp"']))
    ),
    max_size=3,
).map(lambda rows: " . ".join(" ".join(row) for row in rows))
QUERIES = st.one_of(
    BODIES.map(lambda body: f"SELECT {body}"),
    BODIES.map(lambda body: f"SELECT * {{ {body} }}"),
    TRIPLES.map(lambda body: f"SELECT DISTINCT * WHERE {{ {body} }}"),
    st.tuples(TRIPLES, TRIPLES).map(lambda two: f"SELECT (COUNT(?x) AS ?n) {{ {{ {two[0]} }} UNION {{ {two[1]} }} }}"),
    st.tuples(TRIPLES, BODIES).map(
        lambda two: f"PREFIX k: <https://kg.example/k#> SELECT ?x {{ {two[0]} . {two[1]} }}"
    ),
)


@settings(max_examples=400)
@given(QUERIES)
def test_what_is_plain_is_a_query_for_rdflib_with_the_same_names(query: str) -> None:
    from pytest_llmkg.kg import query_check

    plain = plain_query(query)
    if plain is not None:
        tree = QueryTrees().parse(query)  # does not raise
        assert tree[1].name == "SelectQuery"
        iris = {str(iri) for iri in query_check._iris(tree)}
        assert plain.names == tuple(dict.fromkeys(query_check._names(query, iris)))


def test_plain_queries_exist_for_the_property_above() -> None:
    assert [plain_query(query) is not None for query, _ in ALIKE] == [True] * 6 + [False, True, False, False]
    assert plain_query("SELECT ?x { ?x a :Animal } # a comment") is None
    assert plain_query("PREFIX p: <urn:p#> SELECT ?x { ?x a p:A }") is not None
    assert plain_query("select ?x where { ?x a :Animal }") is not None


def solutions(result: QueryResult) -> list[str]:
    """Without the order of columns, which ``SELECT *`` leaves open, and without labels of blank nodes."""
    named = (zip(result.variables, row, strict=True) for row in result.rows)
    return sorted(repr(sorted((v, t.kind, t.kind != "bnode" and t.value) for v, t in row if t)) for row in named)


@settings(max_examples=60, deadline=None)
@given(query=QUERIES)
def test_exact_is_rdflib(query: str, engines: dict[str, Sandbox]) -> None:
    exact, rdflib = (run(engines[name], query) for name in ("exact", "rdflib"))
    assert (exact.error is None) == (rdflib.error is None)
    assert solutions(exact) == solutions(rdflib)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { ?x a :Animal }",
        "# first\nSELECT ?x { ?x a :Animal # second\n}",
        "SELECT ?x { ?x a <https://kg.example/#Animal> FILTER(?x < 3 && ?x != 'a#b') }",
        "SELECT ?x { ?x a ",
        "SELECT ?x WHERE { ?x :p 'a\\'b' } GROUP BY ?x HAVING (COUNT(?x) > 1) ORDER BY ?x LIMIT 3 #",
        "",
    ],
)
def test_leaving_out_the_search_for_comments_changes_nothing(query: str) -> None:
    from rdflib.plugins.sparql.parser import parseQuery

    def outcome(parse: object) -> str:
        try:
            return re.sub("N[0-9a-f]{32}", "N", repr(parse(query)))  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001  (compared)
            return f"{type(error).__name__}: {error}"

    trees = QueryTrees()
    first = outcome(trees.parse)
    assert first == outcome(parseQuery)
    assert outcome(trees.take) == first
    assert outcome(trees.take) == first


TYPED = f'"b"^^<{XSD}string>'
LINES = [f"<u:s> <u:p> {o} ." for o in ('"a"', TYPED, '"1.50"^^<' + XSD + "decimal>", '"c"@en', "_:b", "<u:o>")]


@pytest.mark.parametrize("lines", [LINES, LINES[:1] + LINES[2:], LINES[1:], LINES[2:]])
def test_long_graphs_are_read_by_the_faster_parser_without_a_difference(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = GraphText("\n".join(lines), "nt")
    short = sorted(t[2].n3() for t in rdflib_graph(graph) if "_:" not in t[2].n3())
    monkeypatch.setattr("pytest_llmkg.kg.rdflib_run._LONG", 0)
    assert sorted(t[2].n3() for t in rdflib_graph(graph) if "_:" not in t[2].n3()) == short
    assert len(rdflib_graph(graph)) == len(lines)


def test_watchdog_fires_once_for_each_deadline_that_passes() -> None:
    fired = threading.Event()
    dog = Watchdog(fired.set)
    dog.arm(60)
    dog.disarm()
    dog.arm(0.01)  # earlier than the one that the thread waits for
    assert fired.wait(10)
    assert dog.fired
    fired.clear()
    dog.arm(60)
    dog.disarm()
    dog.arm(0.01)
    assert fired.wait(10)
    dog.close()


def test_watchdog_leaves_disarmed_deadlines_alone() -> None:
    fired = threading.Event()
    dog = Watchdog(fired.set)
    dog.arm(0.02)
    dog.disarm()
    time.sleep(0.1)
    assert not fired.is_set()
    dog.close()
