"""The patterns of a query: paths as hops, scopes, services, values; and what no text must do."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_llmkg.kg import QueryPatterns, Sandbox
from pytest_llmkg.kg.query_check import check_query
from pytest_llmkg.kg.query_patterns import patterns_from_frame, read_patterns
from pytest_llmkg.kg.query_trees import TOO_DEEP, QueryTrees

PREFIXES = {"e": "http://e/"}


@pytest.fixture(scope="module")
def engine() -> Sandbox:
    return Sandbox()


def hops(found: QueryPatterns) -> list[tuple[str, str, str, bool]]:
    return [(p.subject, "|".join(p.predicates), p.object, p.loose) for p in found.patterns]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("e:p", [("?s", "<http://e/p>", "?o", False)]),
        ("^e:p", [("?o", "<http://e/p>", "?s", False)]),
        ("e:p/^e:q", [("?s", "<http://e/p>", "?.1", False), ("?o", "<http://e/q>", "?.1", False)]),
        ("e:p|e:q", [("?s", "<http://e/p>|<http://e/q>", "?o", False)]),
        ("e:p|^e:q", [("?s", "<http://e/p>", "?o", True), ("?o", "<http://e/q>", "?s", True)]),
        ("e:p*", [("?s", "<http://e/p>", "?o", True)]),
        ("e:p?", [("?s", "<http://e/p>", "?o", True)]),
        ("e:p+", [("?s", "<http://e/p>", "?o", False)]),
        ("!e:p", []),
        ("!(e:p|^e:q)/e:r", [("?.1", "<http://e/r>", "?o", False)]),
        ("?p", [("?s", "?p", "?o", False)]),
    ],
)
def test_paths_become_hops(engine: Sandbox, path: str, expected: list[tuple[str, str, str, bool]]) -> None:
    assert hops(engine.read_patterns(f"SELECT * {{ ?s {path} ?o }}", PREFIXES)) == expected


def test_groups_that_may_fail_alone_have_scopes_of_their_own(engine: Sandbox) -> None:
    query = """SELECT * { ?s e:a 1 { ?s e:b 1 } OPTIONAL { ?s e:c 1 FILTER EXISTS { ?s e:d 1 } }
      { ?s e:e 1 } UNION { ?s e:f 1 } MINUS { ?s e:g 1 } }"""
    scopes = {p.predicates[0][10:-1]: p.scope for p in engine.read_patterns(query, PREFIXES).patterns}
    assert scopes["a"] == scopes["b"] == ()
    assert scopes["d"][:1] == scopes["c"]
    assert len({scopes[name] for name in "cdefg"}) == 5


def test_a_service_is_named_at_its_patterns(engine: Sandbox) -> None:
    query = "SELECT * { ?s e:a 1 SERVICE e:here { ?s e:b 1 } SERVICE SILENT ?there { ?s e:c 1 } }"
    assert [p.service for p in engine.read_patterns(query, PREFIXES).patterns] == [None, "<http://e/here>", "?there"]


def test_hidden_variables_of_a_subquery_are_others(engine: Sandbox) -> None:
    query = "SELECT * { ?s e:a ?h { SELECT ?s (COUNT(?h) AS ?n) { ?s e:b ?h } GROUP BY ?s } ?h e:c ?n }"
    first, inner, last = engine.read_patterns(query, PREFIXES).patterns
    assert first.subject == inner.subject == "?s"
    assert first.object == last.subject == "?h" != inner.object


def test_values_and_bound_names_are_found(engine: Sandbox) -> None:
    query = "SELECT * { VALUES (?a ?b) { (e:x 1) (UNDEF e:y) } BIND(e:z AS ?c) ?a ?b ?c } VALUES ?d { e:w }"
    assert engine.read_patterns(query, PREFIXES).values == {
        "?a": ("<http://e/x>",),
        "?b": ("<http://e/y>",),
        "?c": ("<http://e/z>",),
        "?d": ("<http://e/w>",),
    }


def test_prefixes_that_nobody_declared_are_named_all_at_once(engine: Sandbox) -> None:
    found = engine.read_patterns("PREFIX f: <http://f/> SELECT * { e:a f:b x:c . ?s rdfs:label y:z }", PREFIXES)
    assert found.error is None
    assert found.undeclared == ("e", "x", "rdfs", "y")
    assert found.unknown_prefixes == ("x", "rdfs", "y")
    assert found.patterns == ()


def test_a_declaration_of_the_query_wins(engine: Sandbox) -> None:
    found = engine.read_patterns("PREFIX e: <http://mine/> SELECT * { ?s e:p ?o }", PREFIXES)
    assert found.undeclared == ()
    assert found.patterns[0].predicates == ("<http://mine/p>",)


def test_a_namespace_may_have_several_prefixes_and_names_may_be_relative(engine: Sandbox) -> None:
    prefixes = {"a": "http://e/", "": "http://e/", "b": "http://e/"}
    query = "BASE <http://base/x/> PREFIX c: <y#> SELECT * { a:s :p b:o ; c:q <z> ; a: c: }"
    first, second, third = engine.read_patterns(query, prefixes).patterns
    assert (first.subject, first.predicates[0], first.object) == ("<http://e/s>", "<http://e/p>", "<http://e/o>")
    assert (second.predicates[0], second.object) == ("<http://base/x/y#q>", "<http://base/x/z>")
    assert (third.predicates[0], third.object) == ("<http://e/>", "<http://base/x/y#>")


@pytest.mark.parametrize("query", ["", "SELECT", "INSERT DATA { <a:a> <a:b> 1 }", "SELECT * { ?s ?p }", "{" * 5000])
def test_what_is_no_query_has_an_error(engine: Sandbox, query: str) -> None:
    found = engine.read_patterns(query, PREFIXES)
    assert found.error
    assert found.patterns == ()


@given(st.text(alphabet="SELECTask{}?spo.;,:<>/^*+|!()\"' \n\\", max_size=60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_an_error_or_patterns(engine: Sandbox, text: str) -> None:
    found = engine.read_patterns(text, PREFIXES)
    assert found.error is None or not found.patterns


def test_reading_does_not_change_how_the_query_is_checked_later(engine: Sandbox) -> None:
    query = "SELECT * { ?s e:p/e:q ?o }"
    before = engine.check_query(query)
    engine.read_patterns(query, PREFIXES)
    assert engine.check_query(query) == before
    assert engine.read_patterns(query, {**PREFIXES, "f": "http://f/"}).patterns


@pytest.mark.parametrize("count", [150, 1000])
def test_long_queries_are_read_whole(engine: Sandbox, count: int) -> None:
    body = " . ".join(f"?s{number} e:p{number} ?o{number}" for number in range(count))
    found = engine.read_patterns(f"SELECT * {{ {body} FILTER(?s1 != ?s2) }}", PREFIXES)
    assert (found.error, len(found.patterns)) == (None, count)
    assert found.patterns[-1].predicates == (f"<{PREFIXES['e']}p{count - 1}>",)


def test_deep_brackets_are_no_error(engine: Sandbox) -> None:
    query = f"SELECT * {{ ?s e:p ?o FILTER({'(' * 300}1{')' * 300} = 1) }}"
    assert engine.check_query(query).error is None
    assert len(engine.read_patterns(query, PREFIXES).patterns) == 1
    assert engine.check_query(query.replace(" = 1", " = ")).error


def test_what_is_too_deep_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.kg.query_trees._DEEP_CALLS", 1500)
    query = f"SELECT * {{ ?s <e:p> ?o FILTER({'(' * 300}1{')' * 300} = 1) }}"
    assert patterns_from_frame(read_patterns(query, {}, QueryTrees())) == QueryPatterns(None)
    assert check_query(query).error == TOO_DEEP
