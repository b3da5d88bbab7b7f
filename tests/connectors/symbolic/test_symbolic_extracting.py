"""Facts from data sheets: names as the prompt fixes them, lists and sizes as the sheet writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.connectors.symbolic.sheets import Size, list_values, sheet_fields, sizes_of
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import fenced_blocks
from tests.connectors.symbolic.prompts import user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

ORDER = """\
State facts of a boat as Turtle. The boat and its maker are IRIs in the namespace http://boat.example/, the values \
of lists are IRIs in the namespace http://boat.example/v/.
- the type of the boat, which is <http://boat.example/t#Canoe>;
- its maker, by the property manufacturer of schema.org (namespace http://schema.org/), with an rdfs:label;
- every colour it is sold in, each by the property <http://boat.example/t#colour>;
- its width and height, by the properties width and height of schema.org. Each leads to a node of type \
qudt:QuantityValue (namespace http://qudt.org/schema/qudt/) with its number by qudt:numericValue as an xsd:double and \
its unit by qudt:hasUnit, an IRI of the units (namespace http://qudt.org/vocab/unit/).

The sheet
=========
"""
SHEET = """\
Name: River Otter 2
Maker: Ann's "Boats"
Weight: 21 kg

Colours
- moss green
- red (new)

Hull size (W x L x H): 85 x 410 x 36.5 cm
"""
PROMPT = ORDER + SHEET


def test_facts_have_the_names_of_the_prompt(engine: KgEngine) -> None:
    block = fenced_blocks(answer_messages(user(PROMPT), engine))[0].content
    verdict = engine.check_rdf(GraphText(block, "turtle"))
    assert verdict.error is None
    otter, maker, value = (
        "<http://boat.example/River_Otter_2>",
        "<http://boat.example/Ann_s_Boats_>",
        "http://boat.example/v/",
    )
    plain = {line for line in verdict.triples if "_:" not in line}
    assert plain == {
        f"{otter} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://boat.example/t#Canoe> .",
        f"{otter} <http://schema.org/manufacturer> {maker} .",
        f'{maker} <http://www.w3.org/2000/01/rdf-schema#label> "Ann\'s \\"Boats\\"" .',
        f"{otter} <http://boat.example/t#colour> <{value}moss_green> .",
        f"{otter} <http://boat.example/t#colour> <{value}red> .",
    }
    sizes = [line for line in verdict.triples if "numericValue" in line]
    assert len(sizes) == 2
    assert all(any(f'"{number}"^^' in line for line in sizes) for number in ("85.0", "36.5"))
    assert sum("<http://qudt.org/vocab/unit/CentiM>" in line for line in verdict.triples) == 2


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        ("Size: 10 x 20 x 30 mm", [("width", "10", "MilliM"), ("depth", "20", "MilliM"), ("height", "30", "MilliM")]),
        ("H x W x D: 1.5 m \u00d7 2 m \u00d7 3 m", [("height", "1.5", "M"), ("width", "2", "M"), ("depth", "3", "M")]),
        ("Inside: 1 x 1 x 1 cm\nOutside: 2 x 2 x 2 cm", [(n, "2", "CentiM") for n in ("width", "depth", "height")]),
        ("Width: 12 in\nHeight   3,5 ft\nDepth of the package: 9 in", [("width", "12", "IN"), ("height", "3.5", "FT")]),
        ("It is 40 cm wide and 1,5 m tall.", [("width", "40", "CentiM"), ("height", "1.5", "M")]),
        ("Width of 3 inches", []),
        ("Area: 10 x 20 m", []),
    ],
)
def test_sizes(sheet: str, expected: list[tuple[str, str, str]]) -> None:
    assert sizes_of(sheet, ("width", "depth", "height")) == tuple(Size(*size) for size in expected)


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        ("Colours: red, blue and red; green (matt)", ("red", "blue", "green")),
        ("Available colours\n  * red\n  * blue\nExtras\n  * rope", ("red", "blue")),
        ("Rope: red", ()),
        ("", ()),
    ],
)
def test_lists(sheet: str, expected: tuple[str, ...]) -> None:
    assert list_values(sheet, ("colour", "sold")) == expected


def test_fields_in_columns() -> None:
    assert sheet_fields("Name: Otter     Maker: Ann\n\n- Draft: 4 cm") == {
        "name": "Otter",
        "maker": "Ann",
        "draft": "4 cm",
    }


def test_it_says_so_without_a_name(engine: KgEngine) -> None:
    assert answer_messages(user(PROMPT.replace("Name:", "Called:")), engine) == CANNOT


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200))
def test_any_sheet_gets_an_answer(engine: KgEngine, sheet: str) -> None:
    assert answer_messages(user(f"{PROMPT}\n{sheet}"), engine)
    sizes_of(sheet, ("width",))
