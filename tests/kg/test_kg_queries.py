from __future__ import annotations

from collections import Counter

import pytest
import rdflib

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.errors import UnknownNameError
from pytest_llmkg.kg import BASE_IRI, Limits, Sandbox

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"": "http://harbour.example/", "b": "http://harbour.example/boat/", "xsd": XSD}
HARBOUR = GraphText(
    """
    @prefix : <http://harbour.example/> .
    @prefix b: <http://harbour.example/boat/> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    b:heron a :Sloop ; :name "Heron"@en, "Reiher"@de ; :length 11.5 ; :berth 4 ; :owner :ida .
    b:gull a :Ketch ; :name "Gull"@en ; :length 14.2 ; :berth 2 ; :owner :jon ; :built "1999-05-01"^^xsd:date .
    b:tern a :Sloop ; :name "Tern"@en ; :length 8.0 ; :owner :ida ; :note "leaks" .
    b:barge a :Barge ; :length 30.5 ; :berth 9 .
    :Sloop :kindOf :Sail . :Ketch :kindOf :Sail . :Sail :kindOf :Vessel . :Barge :kindOf :Vessel .
    :ida :friend :jon . :jon :friend :max . :max :friend :ida .
    """,
    "turtle",
)

QUERIES = [
    "SELECT ?b { ?b a :Sloop }",
    "SELECT ?b ?n { ?b a :Sloop OPTIONAL { ?b :berth ?n } }",
    "SELECT ?name { ?b :name ?name FILTER(LANG(?name) = 'en') }",
    "SELECT (COUNT(?b) AS ?n) { ?b :owner :ida }",
    "SELECT ?o (COUNT(?b) AS ?n) { ?b :owner ?o } GROUP BY ?o HAVING (COUNT(?b) > 1)",
    "SELECT (SUM(?n) AS ?all) (MIN(?n) AS ?least) { ?b :berth ?n }",
    "SELECT DISTINCT ?x { :ida :friend+ ?x }",
    "SELECT ?b { ?b a/:kindOf* :Vessel MINUS { ?b :berth ?n } }",
    "SELECT ?b { ?b :length ?l FILTER(?l > 10) FILTER NOT EXISTS { ?b :built ?d } }",
    "SELECT ?b ?l { ?b :length ?l } ORDER BY DESC(?l) LIMIT 2",
    "SELECT ?x { { ?x :owner :jon } UNION { ?x :berth 9 } }",
    "SELECT ?b ?k { VALUES (?b ?k) { (b:heron 1) (b:gull UNDEF) } ?b a ?c }",
    "SELECT ?u { ?b :note ?n BIND(UCASE(?n) AS ?u) }",
    "SELECT ?b { ?b :built ?d FILTER(YEAR(?d) < 2000) }",
    "SELECT ?b { ?b :name ?n FILTER REGEX(?n, '^he', 'i') }",
    "SELECT ?n { ?b :berth ?n FILTER(?n IN (2, 4)) }",
    "SELECT ?x { ?b :note ?n BIND(:noFunction(?n) AS ?y) BIND(COALESCE(?y, 'none') AS ?x) }",
    "SELECT ?nowhere { ?b a :Sloop }",
    "SELECT ?a ?n { { SELECT ?a (MAX(?l) AS ?n) { ?b :owner ?a ; :length ?l } GROUP BY ?a } }",
]


def by_rdflib(query: str) -> Counter[tuple[Term | None, ...]]:
    graph = rdflib.Graph().parse(data=HARBOUR.text, format="turtle")
    answer = graph.query(query, initNs=PREFIXES)
    return Counter(tuple(_term(binding.get(v)) for v in answer.vars or ()) for binding in answer.bindings if binding)


def _term(cell: object) -> Term | None:
    if cell is None:
        return None
    if isinstance(cell, rdflib.URIRef):
        return Term("iri", str(cell))
    assert isinstance(cell, rdflib.Literal)
    datatype = None if cell.datatype is None else str(cell.datatype)
    return Term("literal", str(cell), None if datatype == f"{XSD}string" else datatype, cell.language)


def plain(cell: Term | None) -> Term | None:
    """rdflib writes the decimal 8 as ``8.0``; the values are what is compared."""
    if cell is not None and cell.datatype == f"{XSD}decimal":
        return Term("literal", str(float(cell.value)), cell.datatype)
    return cell


@pytest.mark.parametrize("query", QUERIES)
def test_both_engines_give_the_same_solutions(sandbox: Sandbox, query: str) -> None:
    result = sandbox.run_query(HARBOUR, query, PREFIXES)
    assert result.error is None
    got = Counter(tuple(map(plain, row)) for row in result.rows)
    assert got == Counter(tuple(map(plain, row)) for row in by_rdflib(query).elements())


def test_rows_are_complete_and_in_order(sandbox: Sandbox) -> None:
    result = sandbox.run_query(HARBOUR, "SELECT ?b ?n { ?b a :Sloop OPTIONAL { ?b :berth ?n } } ORDER BY ?b", PREFIXES)
    heron, tern = (Term("iri", f"http://harbour.example/boat/{n}") for n in ("heron", "tern"))
    assert result == QueryResult(None, ("b", "n"), ((heron, Term("literal", "4", f"{XSD}integer")), (tern, None)))


def test_a_row_without_any_bound_variable_is_dropped(sandbox: Sandbox) -> None:
    result = sandbox.run_query(HARBOUR, "SELECT ?n { ?b a :Sloop OPTIONAL { ?b :berth ?n } }", PREFIXES)
    assert [row[0].value for row in result.rows if row[0]] == ["4"]
    assert len(result.rows) == 1


def test_ask_construct_and_describe(sandbox: Sandbox) -> None:
    assert sandbox.run_query(HARBOUR, "ASK { :ida :friend :jon }", PREFIXES).boolean is True
    assert sandbox.run_query(HARBOUR, "ASK { :jon :friend :ida }", PREFIXES) == QueryResult(None, boolean=False)
    built = sandbox.run_query(HARBOUR, "CONSTRUCT { ?o :has ?b } WHERE { ?b :owner ?o ; :berth 2 }", PREFIXES)
    assert built.variables == ("subject", "predicate", "object")
    assert [[t and t.value.rpartition("/")[2] for t in row] for row in built.rows] == [["jon", "has", "gull"]]
    assert len(sandbox.run_query(HARBOUR, "DESCRIBE b:barge", PREFIXES).rows) == 3


def test_the_querys_own_prefixes_win_and_unknown_ones_are_errors(sandbox: Sandbox) -> None:
    query = "PREFIX b: <http://harbour.example/> SELECT ?x { b:ida b:friend ?x }"
    (row,) = sandbox.run_query(HARBOUR, query, PREFIXES).rows
    assert row == (Term("iri", "http://harbour.example/jon"),)
    assert sandbox.run_query(HARBOUR, "SELECT ?x { nobody:is ?x ?y }", PREFIXES).error is not None


def test_relative_iris_blank_nodes_and_numbers(sandbox: Sandbox) -> None:
    graph = GraphText('<a> <b> [ <c> "007"^^<http://www.w3.org/2001/XMLSchema#integer> ] .', "turtle")
    result = sandbox.run_query(graph, "SELECT ?s ?o ?n { ?s <b> ?o . ?o <c> ?n }", {})
    assert result.rows == ((Term("iri", f"{BASE_IRI}a"), Term("bnode", "b0"), Term("literal", "7", f"{XSD}integer")),)


@pytest.mark.parametrize("name", ["json-ld", "xml", "nt"])
def test_graphs_in_the_other_formats(sandbox: Sandbox, name: str) -> None:
    text = rdflib.Graph().parse(data=HARBOUR.text, format="turtle").serialize(format=name)
    result = sandbox.run_query(GraphText(text, name), "SELECT ?b { ?b :owner :ida } ORDER BY ?b", PREFIXES)
    assert [row[0].value[-5:] for row in result.rows if row[0]] == ["heron", "/tern"]


def test_a_broken_graph_is_an_error_of_the_result(sandbox: Sandbox) -> None:
    result = sandbox.run_query(GraphText("<a:a> <a:b>", "turtle"), "SELECT * { ?s ?p ?o }", {})
    assert result.error is not None
    assert result.error.startswith("the graph is no Turtle: ")
    assert not result.timed_out
    with pytest.raises(UnknownNameError):
        sandbox.run_query(GraphText("", "yaml"), "SELECT * { ?s ?p ?o }", {})


def test_limits_of_size_are_named() -> None:
    with Sandbox(Limits(rows=3, characters=90, graph_characters=200, result_characters=50)) as box:
        graph = GraphText("".join(f"<a:{i}> <a:b> 'xxxxxxxxxxxxxxxxxxxx' .\n" for i in range(4)), "turtle")
        assert box.run_query(graph, "SELECT ?s { ?s ?p ?o }", {}).error == (
            "the query has more than 3 results, which is the limit"
        )
        assert len(box.run_query(graph, "SELECT ?s { ?s ?p ?o } LIMIT 3", {}).rows) == 3
        assert box.run_query(graph, "SELECT ?o { ?s ?p ?o } LIMIT 3", {}).error == (
            "the query's result is longer than 50 characters, which is the limit"
        )
        assert box.check_query("#" * 91).error == "the query has 91 characters, more than the limit of 90"
        assert box.check_rdf(GraphText("#" * 91, "nt")).error == (
            "the text has 91 characters, more than the limit of 90"
        )
        assert box.run_query(graph, "#" * 91, {}).error == "the query has 91 characters, more than the limit of 90"
        long = GraphText("#" * 201, "turtle")
        assert box.run_query(long, "ASK {}", {}).error == "the graph has 201 characters, more than the limit of 200"
        assert box.check_rdf(GraphText("<a:a> <a:b> 1,2,3,4,5 .", "turtle")).error == (
            "the triples are longer than 50 characters, which is the limit"
        )


def test_the_least_recently_used_graphs_are_forgotten_and_loaded_again() -> None:
    graphs = [GraphText(f"<a:a> <a:b> {i} .", "turtle") for i in range(5)]
    with Sandbox(Limits(cached_graphs=2)) as box:
        for turn in range(2):
            for number, graph in enumerate(graphs):
                (row,) = box.run_query(graph, f"SELECT ?o {{ ?s ?p ?o }} # {turn}", {}).rows
                assert row == (Term("literal", str(number), f"{XSD}integer"),)


def test_a_triple_term_is_an_error_that_says_so(sandbox: Sandbox) -> None:
    result = sandbox.run_query(HARBOUR, "SELECT (<<( :a :b :c )>> AS ?t) {}", PREFIXES)
    assert result.error is not None
    assert "no term of RDF 1.1" in result.error
