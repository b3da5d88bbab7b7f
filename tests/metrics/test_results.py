"""Results of queries as one flat set, and the names that queries use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.results import answer_set, match_names, match_result, shorten, shown_answer_set
from pytest_llmkg.metrics.sets import SetMatch

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"": "https://kg.example/inst/", "kg": "https://kg.example/", "foaf": "http://xmlns.com/foaf/0.1/"}


def iri(name: str) -> Term:
    return Term("iri", PREFIXES[""] + name)


def literal(text: str, datatype: str | None = None) -> Term:
    return Term("literal", text, None if datatype is None else XSD + datatype)


def values(*rows: tuple[Term | None, ...]) -> frozenset[object]:
    return frozenset(answer_set(QueryResult(None, ("a", "b"), rows), PREFIXES))


def test_columns_rows_and_doubles_do_not_count() -> None:
    rows = [(iri("anna"), literal("4", "integer")), (iri("emil"), literal("4", "integer"))]
    assert values(*rows) == values(*(row[::-1] for row in reversed(rows))) == {":anna", ":emil", "4"}


def test_unbound_cells_are_dropped() -> None:
    assert values((iri("anna"), None), (None, None)) == {":anna"}


def test_neither_language_nor_datatype_show() -> None:
    assert values((Term("literal", "Haus", language="de"), literal("2020-01-01", "date"))) == {"Haus", "2020-01-01"}


def test_blank_nodes_are_labelled() -> None:
    assert values((Term("bnode", "b0"), None)) == {"_:b0"}


@pytest.mark.parametrize(
    ("lexical", "datatype", "shown"),
    [
        ("007", "integer", "7"),
        ("+7", "int", "7"),
        ("-07", "integer", "-7"),
        ("6.418333e+01", "double", "64.18333"),
        ("73.50", "double", "73.5"),
        ("1E0", "float", "1.0"),
        ("1.50", "decimal", "1.50"),
        ("1", "boolean", "true"),
        ("true", "boolean", "true"),
        ("0", None, "0"),
        ("false", None, "false"),
        (" ", None, " "),
        # No number of that type, so nothing to normalise.
        ("seven", "integer", "seven"),
        ("7.0", "integer", "7.0"),
        ("x", "double", "x"),
        ("yes", "boolean", "yes"),
    ],
)
def test_literals_stand_for_their_normalised_form(lexical: str, datatype: str | None, shown: str) -> None:
    assert values((literal(lexical, datatype), None)) == {shown}


@pytest.mark.parametrize(
    ("lexical", "datatype", "shown"),
    [
        ("0", "integer", "0"),
        ("-0", "integer", "0"),
        ("000", "nonNegativeInteger", "0"),
        ("0.0", "double", "0.0"),
        ("0.0", "decimal", "0.0"),
        ("false", "boolean", "false"),
        ("0", "boolean", "false"),
        ("", None, ""),
        ("", "string", ""),
    ],
)
def test_falsy_literals_equal_no_reference_as_published(lexical: str, datatype: str | None, shown: str) -> None:
    found = answer_set(QueryResult(None, ("x",), ((literal(lexical, datatype),),)), PREFIXES)
    assert shown_answer_set(found) == [shown]
    # One value, not equal to its own text: it is not empty, but it is never right.
    assert match_result(found, [shown]) == SetMatch(0.0, 0.0, 0.0)


def test_a_hostile_number_is_not_computed() -> None:
    assert values((literal("9" * 100_000, "integer"), None)) == {"9" * 100_000}


def test_an_empty_result_is_precise_as_published() -> None:
    assert match_result(frozenset(), ["4"]) == SetMatch(1.0, 0.0, 0.0)


def test_an_extra_column_costs_precision() -> None:
    # 1 of 2 given, 1 of 1 right: F1 = 2 * 0.5 / 1.5
    match = match_result(frozenset({":anna", "17"}), [":anna"])
    assert (match.precision, match.recall) == (0.5, 1.0)
    assert match.f1 == pytest.approx(2 / 3)


def test_at_most_15_values_are_shown() -> None:
    many = [f"{n:02d}" for n in range(17)]
    assert shown_answer_set(frozenset(many[:15])) == many[:15]
    assert shown_answer_set(frozenset(many[:16])) == [*many[:15], "..."]
    assert shown_answer_set(frozenset({"b", "a", "B"})) == ["B", "a", "b"]  # by code point


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("https://kg.example/inst/anna", ":anna"),  # the longest namespace that fits
        ("https://kg.example/x", "kg:x"),
        ("http://xmlns.com/foaf/0.1/name", "foaf:name"),
        ("https://kg.example/inst/3630", ":3630"),
        ("https://kg.example/inst/", ":"),
        ("urn:other", "<urn:other>"),
        ("", "<>"),
    ],
)
def test_shorten(full: str, short: str) -> None:
    assert shorten(full, PREFIXES) == short


def test_an_empty_namespace_shortens_nothing() -> None:
    assert shorten("urn:x", {"": ""}) == "<urn:x>"


def test_names_by_hand() -> None:
    answer = ["foaf:name", ":anna", "rdf:type"]
    reference = ["foaf:name", ":emil"]
    names, suffixes = match_names(answer, reference, PREFIXES)
    # 1 of 3 given, 1 of 2 right: F1 = 2 * (1/6) / (5/6) = 0.4
    assert (names.precision, names.recall) == (1 / 3, 1 / 2)
    assert names.f1 == pytest.approx(0.4)
    assert suffixes == names


def test_full_names_are_shortened_and_suffixes_forget_the_prefix() -> None:
    names, suffixes = match_names(["<http://xmlns.com/foaf/0.1/name>", "x:age"], ["foaf:name", "y:age"], PREFIXES)
    assert names == SetMatch(0.5, 0.5, 0.5)
    assert suffixes == SetMatch(1.0, 1.0, 1.0)


def test_the_suffix_begins_behind_the_last_colon() -> None:
    # "<urn:a:b>" has the suffix "b>", the name ":b" the suffix "b".
    assert match_names(["<urn:a:b>"], ["<urn:c:b>"], {})[1].f1 == 1.0
    assert match_names(["<urn:a:b>"], [":b"], {})[1].f1 == 0.0


def test_a_query_without_names_is_precise() -> None:
    assert match_names([], ["foaf:name"], {}) == (SetMatch(1.0, 0.0, 0.0), SetMatch(1.0, 0.0, 0.0))


terms = st.builds(
    Term,
    st.sampled_from(["iri", "bnode", "literal"]),
    st.text(max_size=12) | st.sampled_from(["0", "-0", "1e999", "nan", "inf", "٣", "1_0", " 1 ", "--1", "."]),
    st.none() | st.sampled_from([XSD + t for t in ("integer", "double", "decimal", "boolean", "float", "int", "date")]),
)


@given(st.lists(st.tuples(st.none() | terms, st.none() | terms), max_size=4), st.lists(st.text(max_size=5), max_size=3))
def test_any_result_can_be_scored_and_shown(rows: list[tuple[Term | None, ...]], reference: list[str]) -> None:
    found = answer_set(QueryResult(None, ("a", "b"), tuple(rows)), PREFIXES)
    match = match_result(found, reference)
    assert all(0 <= value <= 1 for value in (match.precision, match.recall, match.f1))
    assert len(shown_answer_set(found)) <= 16
    assert bool(found) == any(term is not None for row in rows for term in row)
