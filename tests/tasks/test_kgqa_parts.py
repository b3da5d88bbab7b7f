"""What the scoring of Text2SparqlKgqa is made of: ties of a LIMIT, shapes of queries, schema, named graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cases.graph_files import NamedGraphs, graph_file, parse_graph_option, parse_place_option
from pytest_llmkg.contracts import GraphText, QueryResult
from pytest_llmkg.errors import RecordError, UserError
from pytest_llmkg.tasks.kgqa_patterns import described_query, full_iri
from pytest_llmkg.tasks.kgqa_schema import known_names, schema_text, shortened_iri
from pytest_llmkg.tasks.kgqa_scoring import find_any_query, result_hash, result_lines
from pytest_llmkg.tasks.kgqa_ties import reference_groups

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox
    from pytest_llmkg.metrics.challenge_rows import TieGroup

PREFIXES = {"": "https://kg.example/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
SHORE = GraphText(
    """
    @prefix : <https://kg.example/> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :kelp a :Alga ; :metres 40 ; :zone 1 ; rdfs:label "kelp"@en, "Tang"@de .
    :wrack a :Alga ; :metres 2 ; :zone 2 .
    :dulse a :Alga ; :metres 2 ; :zone 2 .
    :laver a :Alga ; :metres 2 ; :zone 3 .
    :crab a :Animal ; :eats :kelp, :dulse .
    """,
    "turtle",
)


def groups(query: str, kg: Sandbox, *, ordered: bool = False) -> list[tuple[list[str], int]]:
    def run(text: str) -> QueryResult:
        return kg.run_query(SHORE, text, PREFIXES)

    def shown(group: TieGroup) -> list[str]:
        return sorted(" ".join(t.value.rpartition("/")[2] for t in row if t) for row in group.rows)

    return [(shown(g), g.wanted) for g in reference_groups(query, run(query), run, ordered=ordered)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { ?x :metres ?m } ORDER BY ?m LIMIT 1",
        "SELECT ?x { ?x :metres ?m } ORDER BY ASC(?m) LIMIT 1",
        "SELECT ?x WHERE { ?x :metres ?m } # LIMIT 7\nORDER BY (?m) LIMIT 1 OFFSET 0",
        "SELECT DISTINCT ?x { ?x :metres ?m ; :metres ?k } ORDER BY (?m + ?k) limit 1",
        "SELECT ?x { ?x :metres ?m } GROUP BY ?x ORDER BY SUM(?m) LIMIT 1",
        "SELECT ?x { ?x :metres ?m } GROUP BY ?x HAVING (COUNT(?m) > 0) ORDER BY COUNT(?x) DESC(-SUM(?m)) LIMIT 1",
    ],
)
def test_rows_that_a_limit_cuts_off_among_equals(query: str, kg: Sandbox) -> None:
    assert groups(query, kg) == [(["dulse", "laver", "wrack"], 1)]
    assert groups(query, kg, ordered=True) == [(["dulse", "laver", "wrack"], 1)]


def test_sure_rows_and_those_at_the_edges(kg: Sandbox) -> None:
    query = "SELECT ?x { ?x :metres ?m } ORDER BY DESC(?m) LIMIT 2"
    assert groups(query, kg) == [(["kelp"], 1), (["dulse", "laver", "wrack"], 1)]
    assert groups(f"{query} OFFSET 1", kg) == [(["dulse", "laver", "wrack"], 2)]
    assert groups("SELECT ?x ?z { ?x :zone ?z } ORDER BY DESC(?z) LIMIT 3", kg) == [
        (["dulse 2", "laver 3", "wrack 2"], 3)
    ]


def test_order_without_a_limit(kg: Sandbox) -> None:
    query = "SELECT ?x ?m { ?x :metres ?m } ORDER BY ?m"
    assert groups(query, kg, ordered=True) == [(["dulse 2", "laver 2", "wrack 2"], 3), (["kelp 40"], 1)]
    assert groups(query, kg) == [(["dulse 2", "kelp 40", "laver 2", "wrack 2"], 4)]


def test_a_limit_without_order_takes_any(kg: Sandbox) -> None:
    assert groups("SELECT ?x { ?x a :Alga } LIMIT 3", kg) == [(["dulse", "kelp", "laver", "wrack"], 3)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ASK { ?x a :Alga }", 0),
        ("SELECT * { ?x :metres ?m } ORDER BY (?m * 2) LIMIT 1", 1),  # cannot show what it is sorted by
        ("SELECT ?x { { SELECT ?x { ?x :metres ?m } ORDER BY ?m LIMIT 1 } }", 1),  # only the outermost LIMIT
        ("SELECT ?x { ?x :metres ?m } ORDER BY ?m LIMIT 1 VALUES ?m { 2 }", 1),
        ("SELECT ?nowhere { ?nowhere :metres 7 } LIMIT 1", 0),
    ],
)
def test_where_ties_cannot_be_told_the_result_stands(query: str, found: int, kg: Sandbox) -> None:
    assert [(len(rows), wanted) for rows, wanted in groups(query, kg)] == [(1, 1)] * found


def test_described_query() -> None:
    described = described_query(
        "PREFIX o: <https://o.example/> SELECT DISTINCT ?a (COUNT(?b) AS ?n) WHERE { ?a a :X ; :p/o:q ?b , ?c . "
        "OPTIONAL { ?b ^:r ?d } FILTER(?n > 3 && REGEX(?a, 'x . y')) } GROUP BY ?a ORDER BY ?a LIMIT 12 OFFSET 3",
        PREFIXES,
    )
    assert described.pop("shape")
    assert described == {
        "patterns": 4,
        "predicates": [
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
            "https://kg.example/p",
            "https://o.example/q",
            "https://kg.example/r",
        ],
        "projected": 2,
        "limit": 12,
        "offset": 3,
        "orderBy": True,
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT ?x { ?x :p ?y . ?y :q :c }", "SELECT ?u { ?v :r :c . ?u :s ?v }", True),
        ("SELECT ?x { ?x :p ?y . ?y :q :c }", "SELECT ?u { ?v :r :c . ?v :s ?u }", False),
        ("SELECT ?x { ?x :p :c }", "SELECT ?x { ?x :p :d }", False),
        ("SELECT ?x { ?x :p/:q :c }", "SELECT ?x { ?x :r/:s :c }", True),
        ("SELECT ?x { ?x :p+ :c }", "SELECT ?x { ?x :p :c }", False),
        ("ASK { ?x :p 5 ; :q 'a'@en . }", "ASK { ?y :q 'a'@en . ?y :p 5 }", True),
    ],
)
def test_shapes(one: str, other: str, same: bool) -> None:
    assert (described_query(one, PREFIXES)["shape"] == described_query(other, PREFIXES)["shape"]) is same


@pytest.mark.parametrize(
    "text", ["", "SELECT", "}{", "SELECT ?x {" * 50, "<" * 100, "ORDER LIMIT", "SELECT ?x { ?x :p"]
)
def test_any_text_can_be_described(text: str) -> None:
    assert described_query(text, PREFIXES)["patterns"] in {0, 1}


def test_names() -> None:
    assert full_iri(":kelp", PREFIXES) == "https://kg.example/kelp"
    assert full_iri("nope:kelp", PREFIXES) == "nope:kelp"
    assert full_iri("<a:b>", PREFIXES) == "a:b"
    assert shortened_iri("https://kg.example/kelp", PREFIXES) == ":kelp"
    assert shortened_iri("https://kg.example/a/b", PREFIXES) == "<https://kg.example/a/b>"


def test_schema_text(kg: Sandbox) -> None:
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    assert schema_text(SHORE, kg, PREFIXES).split("\n") == [
        f":Alga: :metres ({integer}); :zone ({integer}); rdfs:label (@de or @en)",
        ":Animal: :eats (:Alga)",
    ]
    assert (known_names([SHORE], kg) or set()) >= {"https://kg.example/Alga", "https://kg.example/eats"}
    with pytest.raises(RecordError, match="the schema of the graph cannot be told"):
        schema_text(GraphText("no Turtle", "turtle"), kg, {})


@pytest.mark.parametrize(
    ("answer", "query"),
    [
        ("```sparql\nASK { }\n```", "ASK { }"),
        (
            "First:\n```sparql\nSELECT ?a { }\n```\nor:\n```\nSELECT ?b { }\n```\n```text\nnone\n```",
            "SELECT ?b { }",
        ),
        ("```sparql\nSELECT ?a { }", "SELECT ?a { }"),
        ("\n PREFIX : <a:b>\nASK { }", "PREFIX : <a:b>\nASK { }"),
        ("select ?x { }", "select ?x { }"),
        ("I would ASK someone.", None),
        ("```json\n{}\n```", None),
        (" ", None),
    ],
)
def test_find_any_query(answer: str, query: str | None) -> None:
    assert find_any_query(answer) == query


def test_result_hash_takes_numbers_by_value(kg: Sandbox) -> None:
    one, other = (kg.run_query(SHORE, f"SELECT ?x ({n} AS ?n) {{ ?x a :Alga }} ORDER BY {by}", PREFIXES)
                  for n, by in (("2", "?x"), ("2.0", "DESC(?x)")))  # fmt: skip
    assert result_hash(one, ordered=False) == result_hash(other, ordered=False)
    assert result_hash(one, ordered=True) != result_hash(other, ordered=True)
    assert result_lines(one)[0].startswith("<https://kg.example/dulse> | ")
    assert result_lines(QueryResult(None, boolean=False)) == ["false"]


def test_named_graphs(kg: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "shore.ttl"
    path.write_text(SHORE.text, encoding="utf-8")
    named = graph_file("shore", path)
    engine = NamedGraphs(kg, {"shore": named})
    reference = GraphText(named.reference, "turtle")
    assert len(engine.run_query(reference, "SELECT ?x { ?x a :Alga }", PREFIXES).rows) == 4
    assert engine.run_query(SHORE, "ASK { ?x a :Animal }", PREFIXES).boolean is True
    assert engine.check_query("ASK { }").error is None
    assert engine.engine == "pyoxigraph"
    with pytest.raises(RecordError, match="'shore' is not at hand; name its file with --kg shore=FILE"):
        NamedGraphs(kg, {}).run_query(reference, "ASK { }", {})
    path.write_text("<a:a> <a:b> <a:c> .", encoding="utf-8")
    with pytest.raises(RecordError, match="another one than the case was made with"):
        NamedGraphs(kg, {"shore": graph_file("shore", path)}).run_query(reference, "ASK { }", {})


@pytest.mark.parametrize("text", ["ck25", "=a.ttl", "ck25=", "a b=c.ttl"])
def test_wrong_graph_options(text: str) -> None:
    with pytest.raises(UserError, match="--kg takes NAME=FILE"):
        parse_graph_option(text)


def test_a_graph_option_may_name_an_endpoint_where_a_graph_is_asked_about() -> None:
    assert parse_place_option("ck25=https://kg.example/sparql?a=b") == ("ck25", "https://kg.example/sparql?a=b")
    assert parse_place_option("ck25=folder/a.ttl") == ("ck25", Path("folder/a.ttl"))
    with pytest.raises(UserError, match="takes NAME=FILE here, found the address of an endpoint: http://localhost/q"):
        parse_graph_option("ck25=http://localhost/q")
    with pytest.raises(UserError, match="is no address"):
        parse_place_option("ck25=http://")


def test_wrong_graph_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a graph file ends in"):
        graph_file("a", tmp_path / "a.csv")
    with pytest.raises(UserError, match="cannot be read"):
        graph_file("a", tmp_path / "a.ttl")
    (tmp_path / "a.ttl").write_bytes(b"\xff")
    with pytest.raises(UserError, match="not a text in UTF-8"):
        graph_file("a", tmp_path / "a.ttl")
