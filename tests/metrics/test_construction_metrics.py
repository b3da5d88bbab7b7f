"""Lists, dimensions and units of an extracted graph, counted by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.construction import FactProperties, fact_matches
from pytest_llmkg.metrics.sets import SetMatch

PROPERTIES = FactProperties("urn:cuts", "urn:reads", ("urn:width", "urn:height"), "urn:value", "urn:unit")
REFERENCE = [
    "<urn:m> <urn:cuts> <urn:cork> .",
    "<urn:m> <urn:cuts> <urn:felt> .",
    "<urn:m> <urn:reads> <urn:svg> .",
    "<urn:m> <urn:width> _:w .",
    '_:w <urn:value> "90.0"^^<urn:double> .',
    "_:w <urn:unit> <urn:cm> .",
    "<urn:m> <urn:height> _:h .",
    '_:h <urn:value> "60.0"^^<urn:double> .',
    "_:h <urn:unit> <urn:cm> .",
]
PERFECT, NOTHING = SetMatch(1.0, 1.0, 1.0), SetMatch(1.0, 0.0, 0.0)


def matches(answer: list[str], empty_precision: float = 1.0) -> dict[str, SetMatch]:
    return dict(fact_matches(answer, REFERENCE, PROPERTIES, empty_precision=empty_precision))


def test_the_reference_gets_1() -> None:
    assert matches(REFERENCE) == dict.fromkeys(("printMat", "supportMat", "DimValues", "DimUnit"), PERFECT)


def test_an_empty_graph_has_the_precision_of_the_rules() -> None:
    assert set(matches([]).values()) == {NOTHING}
    assert set(matches([], empty_precision=0.0).values()) == {SetMatch(0.0, 0.0, 0.0)}


def test_lists_count_by_object_whatever_the_subject() -> None:
    found = matches(["<urn:x> <urn:cuts> <urn:cork> .", "<urn:m> <urn:cuts> <urn:brick> .", *REFERENCE[2:]])
    assert found["printMat"] == SetMatch(0.5, 0.5, 0.5)
    assert found["supportMat"] == PERFECT


def test_numbers_are_compared_with_their_datatype_and_dimension() -> None:
    # Width as another type, height right: 1 of 2 each way. Units do not care.
    found = matches([line.replace('"90.0"^^<urn:double>', '"90.0"^^<urn:decimal>') for line in REFERENCE])
    assert found["DimValues"] == SetMatch(0.5, 0.5, 0.5)
    assert found["DimUnit"] == PERFECT
    # Width and height swapped: right numbers of the wrong dimensions.
    swap = {"urn:width": "urn:height", "urn:height": "urn:width"}
    swapped = [" ".join(f"<{swap[t[1:-1]]}>" if t[1:-1] in swap else t for t in r.split(" ")) for r in REFERENCE]
    assert matches(swapped)["DimValues"] == SetMatch(0.0, 0.0, 0.0)


def test_a_number_of_no_dimension_does_not_count_but_its_unit_does() -> None:
    more = ["<urn:m> <urn:depth> _:d .", '_:d <urn:value> "5.0"^^<urn:double> .', "_:d <urn:unit> <urn:cm> ."]
    found = matches(REFERENCE + more)
    assert found["DimValues"] == PERFECT
    assert found["DimUnit"] == SetMatch(2 / 3, 1.0, 0.8)


@given(st.lists(st.sampled_from([*REFERENCE, "<urn:m> <urn:cuts> _:w .", "_:w <urn:width> _:w ."]), unique=True))
def test_any_graph_stays_in_range(answer: list[str]) -> None:
    for match in matches(answer).values():
        assert 0 <= match.precision <= 1
        assert 0 <= match.recall <= 1
        assert 0 <= match.f1 <= 1


@pytest.mark.parametrize("line", ["", "no triple", '<urn:m> <urn:cuts> "<urn:cork>" .'])
def test_what_is_no_such_triple_adds_nothing(line: str) -> None:
    assert matches([line])["printMat"].recall == 0
