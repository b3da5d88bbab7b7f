from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.connector import answer_messages
from pytest_llmkg.connectors.symbolic.edits import layout_breaks
from pytest_llmkg.connectors.symbolic.grammar import first_fault, tokens_of
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import fenced_blocks
from tests.connectors.symbolic.prompts import HUTS, ask_repair, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

LINES = """\
<http://l.example/a> <http://l.example/p> <http://l.example/b> .
<http://l.example/a> <http://l.example/name> "Anna \\"A\\" Bell"@en .
_:n1 <http://l.example/age> "41"^^<http://www.w3.org/2001/XMLSchema#integer> ."""
TREE = json.dumps(
    {
        "@context": {"x": "http://j.example/", "@vocab": "http://j.example/v#"},
        "@graph": [
            {"@id": "x:a", "name": {"@value": "Aal", "@language": "de"}, "knows": [{"@id": "x:b"}, {"@id": "x:c"}]},
            {"@id": "x:b", "name": "Bo", "size": 3, "active": True},
        ],
    },
    indent=2,
)


def repaired(broken: str, tag: str, engine: KgEngine, *before: str) -> str:
    blocks = fenced_blocks(answer_messages(user(ask_repair(broken, tag), *before), engine))
    assert len(blocks) == 1
    return blocks[0].content


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("x:inValley x:sorra .", "x:inValley x:sorra"),
        ('"Marmot Hut" ;', '"Marmot Hut"'),
        ('"Marmot Hut" ;', '"Marmot Hut ;'),
        ('"Marmot Hut" ;', 'Marmot Hut" ;'),
        ("@prefix foaf:", "@prefix foa:"),
        ("@prefix foaf: <http://xmlns.com/foaf/0.1/>", "@prefix foaf: <http://xmlns.com/foaf/0.1/"),
        ("@prefix foaf:", "@prefx foaf:"),
        ("@prefix foaf:", "@prefix foaf"),
        ("x:task x:cook ] .\n\nx:tom", "x:task x:cook .\n\nx:tom"),
        ('"1988-06-15"^^xsd:date', '"1988-06-15"^xsd:date'),
        ("x:lutta a x:Valley ;", "x:lutta a x:Valley ,"),
        ("x:altitude 1650 ;", "x:altitude 1650 ; ,"),
    ],
)
def test_turtle_is_restored_to_the_character(engine: KgEngine, right: str, wrong: str) -> None:
    assert HUTS.count(right) == 1
    assert repaired(HUTS.replace(right, wrong), "turtle", engine) == HUTS.strip()


def test_a_well_known_prefix_is_declared_when_that_is_missing(engine: KgEngine) -> None:
    fixed = repaired(HUTS.replace("@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n", ""), "turtle", engine)
    assert sorted(fixed.splitlines()) == sorted(HUTS.strip().splitlines())


def test_two_faults_are_mended_one_after_the_other(engine: KgEngine) -> None:
    broken = HUTS.replace('"Marmot Hut" ;', '"Marmot Hut"').replace("x:inValley x:sorra .", "x:inValley x:sorra")
    assert repaired(broken, "turtle", engine) == HUTS.strip()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("l.example/b> .", "l.example/b>"),
        ("l.example/b> .", "l.example/b ."),
        ('Bell"@en', "Bell@en"),
        ('\\"A\\"', '"A"'),
        ('"41"^^<http://www.w3.org/2001/XMLSchema#integer>', "41"),
        ("<http://www.w3.org/2001/XMLSchema#integer>", "xsd:integer"),
        ("<http://www.w3.org/2001/XMLSchema#integer>", "http://www.w3.org/2001/XMLSchema#integer"),
        (" .\n<http://l.example/a> <http://l.example/name>", " ; <http://l.example/name>"),
    ],
)
def test_n_triples_are_restored_to_the_character(engine: KgEngine, right: str, wrong: str) -> None:
    assert LINES.count(right) == 1
    assert repaired(LINES.replace(right, wrong), "ntriples", engine) == LINES


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"x": "http://j.example/",', '"x": "http://j.example/"'),
        ('"size": 3,', '"size" 3,'),
        ('"size": 3,', 'size": 3,'),
        ('"size": 3,', "'size': 3,"),
        ('"active": true', '"active": True'),
        ('"active": true', '"active": true,'),
        ('"Aal",', '"Aal,'),
        ('        "@language": "de"\n      },', '        "@language": "de"\n      ,'),
        ("\n  ]\n}", "\n  ]\n"),
        ('"name": "Bo",', '"name": "Bo";'),
    ],
)
def test_json_ld_is_restored_to_the_character(engine: KgEngine, right: str, wrong: str) -> None:
    assert TREE.count(right) == 1
    assert repaired(TREE.replace(right, wrong), "json", engine) == TREE


@pytest.mark.parametrize(
    ("broken", "tag"),
    [
        ('<http://l.example/a> <http://l.example/p> "x"@en^^<http://l.example/t> .', "turtle"),
        ('{"http://l.example/p": {"@value": "x", "@language": "en", "@type": "http://l.example/t"}}', "json"),
    ],
)
def test_language_and_type_together_lose_the_type(engine: KgEngine, broken: str, tag: str) -> None:
    fixed = repaired(broken, tag, engine)
    assert "en" in fixed
    assert "l.example/t" not in fixed


def test_a_document_without_fences_is_answered_without_fences(engine: KgEngine) -> None:
    broken = HUTS.strip().replace('"Marmot Hut" ;', '"Marmot Hut"')
    prompt = f"Correct every error of this text.\n\n{broken}\n\nReply with the text alone."
    assert answer_messages(user(prompt), engine) == HUTS.strip()


def test_a_hint_brings_another_repair_that_parses(engine: KgEngine) -> None:
    broken = HUTS.replace('"Marmot Hut" ;', '"Marmot Hut"')
    first = repaired(broken, "turtle", engine)
    second = repaired(broken, "turtle", engine, f"```\n{first}\n```", "The facts are wrong.")
    third = repaired(broken, "turtle", engine, f"```\n{first}\n```", "No.", f"```\n{second}\n```", "No.")
    assert len({first, second, third}) == 3
    assert [engine.check_rdf(GraphText(t, "turtle")).error for t in (first, second, third)] == [None] * 3


def test_what_parses_already_comes_back_unchanged(engine: KgEngine) -> None:
    assert repaired(HUTS, "turtle", engine) == HUTS.strip()


@pytest.mark.parametrize("tag", ["turtle", "ntriples", "json"])
def test_hopeless_texts_come_back_in_a_block(engine: KgEngine, tag: str) -> None:
    assert repaired("All of this is prose; " * 20, tag, engine)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("<a> <b> <c>", 11),
        ("<a> <b> , <c> .", 8),
        ("<a> <b> [ <c> <d> .", 18),
        ("x:a <b> <c> .", 0),
        ("@prefix x: <y> .\nx:a a x:C ; .\n<a> x:p (1 2.5 true 'q'@en \"z\"^^x:t) .", None),
        ("PREFIX x: <y>\n[] x:p _:b ; x:q '''a\n'b''' .", None),
        ("[ <a> <b> ] .", None),
        ("<a> _:b <c> .", 4),
        ('<a> <b> "x\ny" .', 8),
    ],
)
def test_the_first_fault_of_turtle(text: str, at: int | None) -> None:
    fault = first_fault(text)
    assert (fault.at if fault else None) == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (LINES, None),
        ("<urn:a> <urn:b> 'c' .", 16),
        ("<urn:a> <urn:b> <urn:c> ; <urn:d> <urn:e> .", 24),
        ("<urn:a> <urn:b>\n<urn:c> .", 15),
        ("<urn:a> <urn:b> <urn:c> . <urn:a> <urn:b> <urn:d> .", 26),
        ("<urn:a> a <urn:c> .", 8),
    ],
)
def test_the_first_fault_of_n_triples(text: str, at: int | None) -> None:
    fault = first_fault(text, lines_only=True)
    assert (fault.at if fault else None) == at


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>\"'a:.;,[]()@^_\\ \n#1p", max_size=60))
def test_tokens_cover_the_text_and_the_grammar_never_fails(text: str) -> None:
    tokens = tokens_of(text)
    assert all(text[t.start : t.end] == t.text for t in tokens)
    assert all(a.end <= b.start for a, b in pairwise(tokens))
    fault = first_fault(text)
    assert fault is None or 0 <= fault.at <= len(text)


def test_layout_tells_where_a_bracket_belongs() -> None:
    sound = 'x:a x:p [\n    x:q "1"\n] ;\n    x:r x:b .\nx:b x:p 1 .\n'
    assert layout_breaks(sound, json_text=False) == 0
    assert layout_breaks(sound.replace("] ;\n    x:r x:b", ";\n    x:r x:b ]"), json_text=False) > 0
    assert layout_breaks(TREE, json_text=True) == 0
    assert layout_breaks(TREE.replace("    },\n", "    ,\n", 1), json_text=True) > 0
