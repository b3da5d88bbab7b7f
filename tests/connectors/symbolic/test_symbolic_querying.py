from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.connectors.symbolic.lexicon import read_table
from pytest_llmkg.connectors.symbolic.planning import show_term
from pytest_llmkg.connectors.symbolic.words import Comparison, comparisons_in, split_name, stem
from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.extraction import find_query
from tests.connectors.symbolic.prompts import HUTS, ask_query, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

NUMBERS = """\
@prefix n: <http://num.example/> .
n:1 a n:90 ; n:20 n:2 ; n:21 7 .
n:2 a n:90 ; n:21 9 .
n:3 a n:90 ; n:20 n:2 ; n:21 4 .
"""
TABLE = "```csv\nid,label\nn:1,north gate\nn:2,south gate\nn:3,west gate\nn:20,leads to\nn:21,width\nn:90,gate\n```"


def values(question: str, engine: KgEngine, graph: str = HUTS, more: str = "") -> list[str]:
    query = find_query(answer_messages(user(ask_query(question, graph, more)), engine))
    assert query is not None
    prefixes = {"x": "http://huts.example/", "foaf": "http://xmlns.com/foaf/0.1/", "n": "http://num.example/"}
    prefixes |= {"rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": "http://www.w3.org/2001/XMLSchema#"}
    result = engine.run_query(GraphText(graph, "turtle"), query, prefixes)
    assert result.error is None
    return sorted(t.value.rpartition("/")[2] for row in result.rows for t in row if t is not None)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which mountain huts are there?", ["gentian", "ibex", "marmot"]),
        ("What is the altitude of the Ibex Hut?", ["2795"]),
        ("When was the Gentian Hut opened?", ["2004-05-20"]),
        ("Which huts are in the Lutta Valley?", ["ibex", "marmot"]),
        ("How many huts are in the Lutta Valley?", ["2"]),
        ("In which valley is the Gentian Hut?", ["sorra"]),
        ("Which hut has the highest altitude?", ["ibex"]),
        ("Which hut has the lowest altitude?", ["gentian"]),
        ("Which huts have an altitude above 2000?", ["ibex", "marmot"]),
        ("Which huts were opened before 1 January 1990?", ["ibex", "marmot"]),
        ("Which huts have no phone?", ["gentian", "marmot"]),
        ("Which people have a job with the task cook?", ["eli", "pia"]),
        ("Who has the Ibex Hut as workplace?", ["eli", "tom"]),
        ("What are the names of the people with the task cook?", ["Eli Stone", "Pia Roth"]),
        ("Who is the teacher of Tom Vale?", ["pia"]),
    ],
)
def test_simple_questions_on_another_graph(engine: KgEngine, question: str, expected: list[str]) -> None:
    assert values(question, engine) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the width of the west gate?", ["4"]),
        ("Which gates lead to the south gate?", ["1", "3"]),
        ("Which gate has the largest width?", ["2"]),
        ("What is the width of all gates in total?", ["20"]),
    ],
)
def test_numeric_names_are_read_through_the_table(engine: KgEngine, question: str, expected: list[str]) -> None:
    assert values(question, engine, NUMBERS, TABLE) == expected


SCHEMA = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
x:Shelter a owl:Class ; rdfs:label "refuge" .
x:MountainHut a owl:Class ; rdfs:subClassOf x:Shelter ; rdfs:label "hut in the mountains" .
x:altitude a owl:DatatypeProperty ; rdfs:label "elevation" ; rdfs:domain x:MountainHut .
x:cave a x:Shelter ; rdfs:label "Bat Cave" ; x:altitude 900 .
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which refuges are there?", ["cave", "gentian", "ibex", "marmot"]),
        ("What is the elevation of the Bat Cave?", ["900"]),
        ("Which refuge has the lowest elevation?", ["cave"]),
        ("Which huts are there?", ["gentian", "ibex", "marmot"]),
    ],
)
def test_a_schema_in_the_graph_gives_names_and_subclasses(engine: KgEngine, question: str, expected: list[str]) -> None:
    assert values(question, engine, HUTS + SCHEMA) == expected


@pytest.mark.parametrize("question", ["Why?", "Where do swallows spend the winter?", "?"])
def test_it_says_so_when_it_understands_nothing(engine: KgEngine, question: str) -> None:
    assert answer_messages(user(ask_query(question)), engine) == CANNOT


def test_a_hint_brings_another_query(engine: KgEngine) -> None:
    prompt = ask_query("In which valley is the Gentian Hut?")
    first = answer_messages(user(prompt), engine)
    second = answer_messages(user(prompt, first, "Your query finds nothing."), engine)
    assert find_query(second) not in {None, find_query(first)}


@pytest.mark.parametrize(
    ("text", "comparison"),
    [
        ("more than 12 rooms", Comparison(">", "12", False, 0, 12)),
        ("at least two rooms", Comparison(">=", "2", False, 0, 12)),
        ("before 3 May 1999", Comparison("<", "1999-05-03", True, 0, 17)),
        ("before May 3, 1999", Comparison("<", "1999-05-03", True, 0, 18)),
        ("after 2015", Comparison(">", "2015-12-31", True, 0, 10)),
        ("before 2015", Comparison("<", "2015-01-01", True, 0, 11)),
        ("not later than 2001-02-03", Comparison("<=", "2001-02-03", True, 0, 25)),
        ("more than 2000 steps", Comparison(">", "2000", False, 0, 14)),
        ("more than the others", None),
        ("over the hills", None),
    ],
)
def test_comparisons(text: str, comparison: Comparison | None) -> None:
    found = comparisons_in(text)
    assert comparison in found if comparison else not found


@pytest.mark.parametrize(
    ("one", "other"),
    [("valleys", "valley"), ("people", "person"), ("cities", "city"), ("opened", "opening"), ("began", "begin")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_names_are_split_into_words() -> None:
    assert split_name("hasURLOfHomePage_2b") == ["has", "url", "of", "home", "page", "2b"]
    assert split_name("Größe-des Raums") == ["größe", "des", "raums"]


def test_tables_with_odd_rows() -> None:
    table = 'id,label\nn:1,"a, b"\n<urn:x>\nz:9,unknown prefix\nhttp://q.example/1,q\n'
    assert read_table(table, {"n": "http://num.example/"}) == {
        "http://num.example/1": "a, b",
        "http://q.example/1": "q",
    }


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=20))
def test_any_literal_is_written_so_that_the_engine_reads_it_back(engine: KgEngine, text: str) -> None:
    shown = show_term(Term("literal", text), {})
    result = engine.run_query(GraphText("", "turtle"), f"SELECT ({shown} AS ?x) WHERE {{}}", {})
    assert result.error is None
    assert result.rows == ((Term("literal", text),),)
