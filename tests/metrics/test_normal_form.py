"""The normal form of graphs: rows without labels, the row behind the last line break, likeness of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.normal_form import (
    NtTriple,
    likeness,
    normal_rows,
    normal_text,
    nt_triples,
)

NAME, OTHER = '_:b0 <urn:name> "a b" .', '_:x1 <urn:name> "a b" .'
LINK = "<urn:s> <urn:p> _:b0 ."
UNIFIED = '_:unifiedBlankNode <urn:name> "a b" .'


def test_rows_that_differ_in_labels_only_are_one_and_a_filled_graph_has_an_empty_row() -> None:
    assert normal_rows([NAME, OTHER]) == {UNIFIED, ""}
    assert normal_rows([NAME, OTHER], empty_row=False) == {UNIFIED}
    assert normal_rows([]) == frozenset()


def test_the_text_is_sorted_and_begins_with_the_empty_row() -> None:
    assert normal_text(normal_rows([NAME, LINK])) == f"\n<urn:s> <urn:p> _:unifiedBlankNode .\n{UNIFIED}"
    assert normal_text(frozenset()) == ""


def test_terms_of_a_line_are_as_written() -> None:
    lines = [LINK, '<urn:s p> <urn:p> "x . y"@en .', "no triple", "", '_:b1 <urn:p> "1.0"^^<urn:d> .']
    assert list(nt_triples(lines)) == [
        NtTriple("<urn:s>", "<urn:p>", "_:b0"),
        NtTriple("<urn:s p>", "<urn:p>", '"x . y"@en'),
        NtTriple("_:b1", "<urn:p>", '"1.0"^^<urn:d>'),
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 2 * 3 / 8),  # ab and d are in both
        ("abcd", "", 0.0),
        ("", "", 1.0),
        (" ab ", "ab", 2 * 2 / 6),  # nothing is stripped
        ("tide", "diet", 2 * 1 / 8),  # first longest match is t; swapped it is another one
        ("diet", "tide", 2 * 2 / 8),
    ],
)
def test_likeness(first: str, second: str, expected: float) -> None:
    assert likeness(first, second) == expected


def test_texts_out_of_all_proportion_are_not_compared() -> None:
    assert likeness("a" * 20_001, "a" * 1000) == 0.0
    assert likeness("a" * 1000, "a" * 20_001) == 0.0
    assert likeness("ab" * 50, "ab" * 500) == pytest.approx(2 * 100 / 1100)


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_stays_in_range(first: str, second: str) -> None:
    assert 0 <= likeness(first, second) <= 1
    assert likeness(first, first) == 1


@given(st.lists(st.text(max_size=20)))
def test_any_lines_have_rows(texts: list[str]) -> None:
    rows = normal_rows(texts)
    assert len(rows) <= len(texts) + 1
    assert all(triple.predicate.startswith("<") for triple in nt_triples(texts))
