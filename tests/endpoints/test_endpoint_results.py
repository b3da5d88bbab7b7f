"""Results as servers write them, and numbers in the embedded engine's form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, QueryResult, RdfVerdict, Term
from pytest_llmkg.endpoints.canonical import canonical
from pytest_llmkg.endpoints.results import read_graph, read_json
from pytest_llmkg.endpoints.transport import Response
from pytest_llmkg.errors import EndpointError
from pytest_llmkg.kg import DEFAULT_LIMITS, Limits
from pytest_llmkg.kg.terms import XSD

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox

INTEGER = f"{XSD}integer"


def sent(data: object, media_type: str = "application/sparql-results+json; charset=utf-8") -> Response:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return Response(200, {"content-type": media_type}, body)


def select(*solutions: object, names: tuple[str, ...] = ("x", "y")) -> Response:
    return sent({"head": {"vars": names}, "results": {"bindings": solutions}})


def test_terms_of_all_kinds() -> None:
    cells = [
        ({"type": "uri", "value": "https://a.example/é"}, Term("iri", "https://a.example/é")),
        ({"type": "bnode", "value": "nodeID://b1"}, Term("bnode", "b0")),
        ({"type": "literal", "value": ""}, Term("literal", "")),
        ({"type": "literal", "value": "a", "xml:lang": "en-GB"}, Term("literal", "a", language="en-gb")),
        ({"type": "literal", "value": "a", "datatype": f"{XSD}string"}, Term("literal", "a")),
        ({"type": "literal", "value": "07", "datatype": INTEGER}, Term("literal", "7", INTEGER)),
        (
            {"type": "typed-literal", "value": "1", "datatype": f"{XSD}boolean"},
            Term("literal", "true", f"{XSD}boolean"),
        ),
        ({"type": "literal", "value": "x", "datatype": "a:b"}, Term("literal", "x", "a:b")),
    ]
    result = read_json(select(*({"y": cell} for cell, _ in cells)), "SELECT", DEFAULT_LIMITS)
    assert result == QueryResult(None, ("x", "y"), tuple((None, term) for _, term in cells))


def test_blank_nodes_get_names_in_order_and_empty_solutions_are_dropped() -> None:
    node = [{"type": "bnode", "value": name} for name in ("z", "a", "z")]
    result = read_json(select({"x": node[0], "y": node[1]}, {}, {"x": node[2]}), "SELECT", DEFAULT_LIMITS)
    b0, b1 = Term("bnode", "b0"), Term("bnode", "b1")
    assert result.rows == ((b0, b1), (b0, None))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"head": {}, "boolean": True}, True),
        ({"head": {"link": []}, "boolean": False}, False),
        ({"head": {"vars": ["__ASK_RETVAL"]}, "results": {"bindings": [{"__ASK_RETVAL": {"value": "1"}}]}}, True),
        ({"head": {"vars": ["__ASK_RETVAL"]}, "results": {"bindings": []}}, False),
    ],
)
def test_ask(data: object, expected: bool) -> None:
    assert read_json(sent(data), "ASK", DEFAULT_LIMITS) == QueryResult(None, boolean=expected)


def test_half_characters_are_replaced_since_no_file_can_hold_them() -> None:
    result = read_json(
        select({"\ud800": {"type": "literal", "value": "a\udfff"}}, names=("\ud800",)), "SELECT", DEFAULT_LIMITS
    )
    assert (result.variables, result.rows) == (("\ufffd",), ((Term("literal", "a\ufffd"),),))


def test_variable_that_is_named_twice_is_one_column() -> None:
    result = read_json(select({"x": {"type": "uri", "value": "a:b"}}, names=("x", "x")), "SELECT", DEFAULT_LIMITS)
    assert (result.variables, result.rows) == (("x",), ((Term("iri", "a:b"),),))


def test_limits_are_those_of_embedded_graphs() -> None:
    row = {"x": {"type": "literal", "value": "abc"}}
    assert len(read_json(select(row, row), "SELECT", Limits(rows=2)).rows) == 2
    told = read_json(select(row, row, row), "SELECT", Limits(rows=2)).error
    assert told == "the query has more than 2 results, which is the limit"
    assert read_json(select(row, row), "SELECT", Limits(result_characters=5)).error


def test_a_result_of_many_empty_cells_is_too_long_as_well() -> None:
    names = tuple(f"v{number}" for number in range(100_000))
    result = read_json(select(*[{}] * 1000, names=names), "SELECT", DEFAULT_LIMITS)
    assert result.error == "the query's result has more than 20000000 cells, which is the limit"
    row = {"v1": {"type": "literal", "value": "abc"}}
    assert read_json(select(row, row, row, names=names[:9]), "SELECT", Limits(result_characters=27)).error is None
    assert read_json(select(row, row, row, names=names[:9]), "SELECT", Limits(result_characters=26)).error


def test_triple_terms_are_no_terms_here() -> None:
    triple = {"type": "triple", "value": {"subject": {}, "predicate": {}, "object": {}}}
    result = read_json(select({"x": triple}), "SELECT", DEFAULT_LIMITS)
    assert result.error == "a triple is no term of RDF 1.1; use IRIs, blank nodes and literals only"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "truncated"),
        (b'{"head": {"vars": ["x"', "truncated"),
        (b"\xef\xbb\xbf<!doctype HTML>", "html"),
        (b"\xff\xfe\x00", "garbled"),
        (b"[" * 100_000, "garbled"),
        (b"[]", "garbled"),
        (b"null", "garbled"),
        ({"boolean": True}, "garbled"),
        ({"head": {"vars": "x"}, "results": {"bindings": []}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": {}}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [[]]}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": "text"}]}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri"}}]}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "list", "value": ""}}]}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": [], "value": ""}}]}}, "garbled"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": 5}}]}}, "garbled"),
        ({"head": {}, "boolean": "true"}, "garbled"),
    ],
)
def test_what_is_no_result(data: object, kind: str) -> None:
    with pytest.raises(EndpointError) as caught:
        read_json(sent(data), "SELECT", DEFAULT_LIMITS)
    assert caught.value.kind == kind
    assert str(caught.value).isprintable()


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,headvrsultbingxyp ', max_size=60).map(str.encode))
def test_any_body_is_a_result_or_a_fault(body: bytes) -> None:
    for form in ("SELECT", "ASK"):
        try:
            result = read_json(sent(body), form, DEFAULT_LIMITS)
        except EndpointError as error:
            kind = error.kind
        else:
            kind = "boolean" if result.boolean is not None else "rows"
        assert kind in {"html", "truncated", "garbled", "boolean" if form == "ASK" else "rows"}


def test_every_prefix_of_a_result_is_truncated() -> None:
    whole = select({"x": {"type": "literal", "value": "a } b"}}).body
    for size in range(len(whole)):
        with pytest.raises(EndpointError) as caught:
            read_json(sent(whole[:size]), "SELECT", DEFAULT_LIMITS)
        assert caught.value.kind == "truncated"


@given(st.text(max_size=20), st.sampled_from([None, "a:b"]))
def test_literals_of_graphs_come_back(text: str, datatype: str | None) -> None:
    text = text.encode("utf-8", "replace").decode()
    written = json.dumps(text)[1:-1].replace("\\/", "/")
    if any(ord(c) > 0xFFFF for c in text):
        written = text.encode("unicode_escape").decode().replace('"', '\\"').replace("\\x", "\\u00")
    tail = f"^^<{datatype}>" if datatype else ""
    verdict = RdfVerdict(None, (f'_:c <a:p> "{written}"{tail} .',))
    result = read_graph(sent(b"", "text/turtle"), lambda _: verdict, DEFAULT_LIMITS)
    assert result.rows == ((Term("bnode", "b0"), Term("iri", "a:p"), Term("literal", text, datatype)),)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/turtle", b'@prefix a: <a:> . a:s a:p "x"@EN, 07 .'),
        ("application/n-triples;charset=utf-8", b'<a:s> <a:p> "x"@EN .\n<a:s> <a:p> "7"^^<%sinteger> .' % XSD.encode()),
    ],
)
def test_graphs(sandbox: Sandbox, media_type: str, body: bytes) -> None:
    result = read_graph(sent(body, media_type), sandbox.check_rdf, DEFAULT_LIMITS)
    s, p = Term("iri", "a:s"), Term("iri", "a:p")
    assert result.variables == ("subject", "predicate", "object")
    assert set(result.rows) == {(s, p, Term("literal", "x", language="en")), (s, p, Term("literal", "7", INTEGER))}


@pytest.mark.parametrize(
    ("media_type", "body", "kind"),
    [("text/html", b"<p>", "html"), ("text/csv", b"", "garbled"), ("text/turtle", b"<a:s> <a:p>", "garbled")],
)
def test_what_is_no_graph(sandbox: Sandbox, media_type: str, body: bytes, kind: str) -> None:
    with pytest.raises(EndpointError) as caught:
        read_graph(sent(body, media_type), sandbox.check_rdf, DEFAULT_LIMITS)
    assert caught.value.kind == kind


NUMBERS = [
    ("integer", "007"), ("integer", "+5"), ("int", "-03"), ("integer", "x"), ("decimal", "1.50"), ("decimal", "2.0"),
    ("decimal", "-0.0"), ("decimal", "+.5"), ("decimal", "100"), ("double", "1e0"), ("double", "100000000"),
    ("double", "1.5e10"), ("double", "1e-7"), ("double", "123456.789"), ("double", "NaN"), ("double", "INF"),
    ("double", "-0"), ("double", "1.0E2"), ("float", "0.1"), ("float", "4.0"), ("boolean", "1"), ("boolean", "0"),
    ("boolean", "true"), ("string", "01"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), NUMBERS)
def test_numbers_have_the_form_of_the_embedded_engine(sandbox: Sandbox, name: str, text: str) -> None:
    graph = GraphText(f'<a:s> <a:p> "{text}"^^<{XSD}{name}> .', "turtle")
    own = sandbox.run_query(graph, "SELECT ?o { ?s ?p ?o }", {})
    assert [row[0] and row[0].value for row in own.rows] == [canonical(text, f"{XSD}{name}")]


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 2_000_000 + b"[]]",
        b"[" * 2_100_000,
        b"[" + b"1," * 2_100_000 + b"1]",
        b'{"head":{"vars":["x"]},"results":{"bindings":[' + b'{"x":{}},' * 700_000 + b"{}]}}",
    ],
)
def test_json_of_endless_parts_is_too_large_before_it_is_parsed(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.loads", lambda _: pytest.fail("parsed"))
    with pytest.raises(EndpointError, match="more than 2000000 parts") as told:
        read_json(sent(body), "SELECT", DEFAULT_LIMITS)
    assert told.value.kind == "too-large"


@pytest.mark.parametrize("text", ["[{,", '\\"],[', "\\\\,"])
def test_what_stands_in_strings_is_no_part(text: str) -> None:
    body = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "@"}}]}})
    result = read_json(sent(body.replace("@", text * 1_100_000).encode()), "SELECT", Limits(result_characters=10**8))
    assert result.error is None
    assert result.rows[0][0] == Term("iri", json.loads(f'"{text}"') * 1_100_000)


def test_whoever_allows_more_rows_gets_them() -> None:
    body = b'{"head":{"vars":["x"]},"results":{"bindings":[' + b'{"x":{"type":"uri","value":"a"}},' * 500_000 + b"{}]}}"
    with pytest.raises(EndpointError, match="more than 2000000 parts"):
        read_json(sent(body), "SELECT", Limits(rows=40_000))
    found = read_json(sent(body), "SELECT", Limits(rows=50_000)).error  # parsed now, and told as any such result
    assert found == "the query has more than 50000 results, which is the limit"
