"""Dollars of a column have the same decimals, and errors of parsers are cut to what a person can read."""

from __future__ import annotations

import pytest

from pytest_llmkg.reporting.money import decimals, money
from pytest_llmkg.reporting.parser_errors import readable_error


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([], 2),
        ([None, 0.0], 2),
        ([2.89, 1234.5], 2),
        ([2.89, 0.1989], 3),
        ([2.89, 0.1989, None, 0.000461], 6),
        ([2.89, 1e-12], 6),
    ],
)
def test_the_smallest_price_of_a_column_sets_its_decimals(values: list[float | None], digits: int) -> None:
    assert decimals(values) == digits


@pytest.mark.parametrize(
    ("value", "digits", "known", "text"),
    [
        (2.89, 6, True, "$2.890000"),
        (1234.5, 2, True, "$1,234.50"),
        (0.5, 2, False, "≥ $0.50"),
        (0.0, 2, True, "$0.00"),
        (0.0, 2, False, "unknown"),
        (None, 2, True, "unknown"),
        (1e-9, 6, True, "<$0.000001"),
    ],
)
def test_money(value: float | None, digits: int, known: bool, text: str) -> None:
    assert money(value, digits, known=known) == text


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("error at 1:23: expected one of BIND, [_]", "error at 1:23: expected BIND"),
        (
            "bad: error at 1:27: expected one of FILTER, Prefix not found, ['%'], ['-'|\n'\\u{B7}'], ['\\\\'], ['_']",
            "bad: error at 1:27: a prefix that is not declared",
        ),
        (
            'error at 1:7: expected one of "$", "(", "*", "?", PREFIX, [_]',
            'error at 1:7: expected one of "$", "(", "*", "?", …',
        ),
        ("error at 2:1: expected one of \",\", [',' | ']'], ['a']", 'error at 2:1: expected ","'),
        ("error at 2:1: expected one of ['a' ..= 'z']", "error at 2:1: something that is not expected here"),
        ("error at 2:1: expected end of file", "error at 2:1: expected end of file"),
        ("SELECT * WHERE { ?s ?p ?o }", "SELECT * WHERE { ?s ?p ?o }"),
    ],
)
def test_errors_of_parsers_are_readable(text: str, readable: str) -> None:
    assert readable_error(text) == readable
