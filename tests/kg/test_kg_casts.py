"""Casts that SPARQL 1.1 leaves out and endpoints know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg.query_syntax import query_error

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox

XSD = "http://www.w3.org/2001/XMLSchema#"
EMPTY = GraphText("", "turtle")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('xsd:int("5")', "5"),
        ('xsd:int(" +07 ")', "7"),
        ("xsd:int(5.9)", "5"),
        ("xsd:int(-5.9)", "-5"),
        ("xsd:int(2e3)", "2000"),
        ("xsd:int(true)", "1"),
        ('xsd:int("5") + 1', "6"),
        ('xsd:long("9223372036854775807")', "9223372036854775807"),
        ('xsd:int("2147483648")', None),
        ('xsd:byte("128")', None),
        ('xsd:nonNegativeInteger("-1")', None),
        ('xsd:positiveInteger("0")', None),
        ('xsd:int("5.9")', None),
        ('xsd:int("five")', None),
        ('xsd:int("5"@en)', None),
        ("xsd:int(<a:b>)", None),
        ('xsd:int(xsd:double("INF"))', None),
        ("xsd:int(5, 6)", None),
        ('xsd:NMTOKEN("2020")', None),
    ],
)
def test_casts(sandbox: Sandbox, expression: str, value: str | None) -> None:
    result = sandbox.run_query(EMPTY, f"SELECT (({expression}) AS ?x) ('end' AS ?y) {{ }}", {"xsd": XSD})
    assert result.error is None
    assert (result.rows[0][0].value if result.rows[0][0] else None) == value


def test_query_error() -> None:
    assert query_error("SELECT (xsd:int(?x) AS ?y) (x:f(?x) AS ?z) { ?x ?p ?o }", {"xsd": XSD, "x": "a:b"}) is None
    assert query_error("SELECT ?x { ?x xsd:y 1 }", {}) is not None
    assert query_error("SELECT ?x { SERVICE <https://kg.example/sparql> { ?x ?p ?o } }", {}) is None
    assert query_error("INSERT DATA { <a:a> <a:b> <a:c> }", {}) is not None
