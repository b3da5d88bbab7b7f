"""Query results compared as rows of typed terms."""

from __future__ import annotations

import pytest

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics import sequences
from pytest_llmkg.metrics.result_rows import match_rows, term_key

XSD = "http://www.w3.org/2001/XMLSchema#"


def number(lexical: str, kind: str = "integer") -> Term:
    return Term("literal", lexical, XSD + kind)


def result(*rows: tuple[Term, ...]) -> QueryResult:
    return QueryResult(None, tuple(f"v{i}" for i in range(len(rows[0]))), rows)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (number("2"), number("2.0", "decimal")),
        (number("2"), number("2.0E0", "double")),
        (number("0"), number("-0.0", "double")),
        (number("0.3", "decimal"), number("3.0000000000000004E-1", "double")),
        (Term("literal", "Hut", None, "de"), Term("literal", "Hut", None, "DE")),
    ],
)
def test_the_same_value(a: Term, b: Term) -> None:
    assert term_key(a) == term_key(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (number("9783161484100"), number("9783161484101")),
        (number("1000"), number("1_000")),  # no number in XML Schema, though Python reads one
        (number("2"), Term("literal", "2", XSD + "string")),
        (Term("literal", "Hut", None, "de"), Term("literal", "Hut", None, "en")),
    ],
)
def test_different_values(a: Term, b: Term) -> None:
    assert term_key(a) != term_key(b)


def test_many_ordered_rows_with_many_columns_are_compared_in_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    count = sequences._common

    def counted(a: list[object], b: list[object]) -> int:
        compared.append(len(a))
        return count(a, b)

    monkeypatch.setattr(sequences, "_common", counted)
    wanted = result(*((number(str(i)),) for i in range(200)))
    wide = result(*(tuple(number(str(i + 1000 * j)) for j in range(4)) for i in range(15_000)))
    match = match_rows(wide, wanted, ordered=True)
    assert match.precision == pytest.approx(200 / 15_000)
    assert match.recall == 1
    assert compared == [15_000]


def test_further_columns_are_left_out_unless_they_are_a_list_of_guesses() -> None:
    wanted = result((number("7"),))
    assert match_rows(result(tuple(number(str(i)) for i in (9, 8, 7, 6))), wanted, ordered=False).f1 == 1
    assert match_rows(result(tuple(number(str(i)) for i in (9, 8, 7, 6, 5))), wanted, ordered=False).f1 == 0
