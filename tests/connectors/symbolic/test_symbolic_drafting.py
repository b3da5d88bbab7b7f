"""Queries for graphs that are not shown: from schemas and examples in prompts, and in dialogues with tries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.adapting import adapted_queries
from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.connectors.symbolic.drafting import quoted_names
from pytest_llmkg.connectors.symbolic.outlines import Outline, find_examples, outline_of, read_outline
from pytest_llmkg.connectors.symbolic.reading import read_request
from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.records import Message
from tests.connectors.symbolic.prompts import HUTS, fence, user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

X = "http://huts.example/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = (
    f"x: <{X}>\nxsd: <{XSD}>\nrdfs: <http://www.w3.org/2000/01/rdf-schema#>\nfoaf: <http://xmlns.com/foaf/0.1/>\n"
)
LINES = """\
x:MountainHut: rdfs:label (xsd:string); x:altitude (xsd:integer); x:inValley (x:Valley); x:phone (xsd:string)
x:Valley: rdfs:label (xsd:string)
foaf:Person: foaf:name (xsd:string); x:teacher (foaf:Person)
"""
SHAPES = """\
# mountain hut / Berghütte
x:MountainHut {
  a [ x:MountainHut ] ;
  rdfs:label rdf:langString ;
  x:altitude xsd:integer OR xsd:decimal ;
  x:inValley [ x:Valley x:Region ]
}
"""
NESTED = """\
- x:MountainHut
  - x:altitude (xsd:integer or xsd:decimal)
  - <http://huts.example/inValley> (x:Valley)
"""
EXAMPLES = (
    ("What is the altitude of Ibex Hut?", 'SELECT ?a WHERE { ?h rdfs:label "Ibex Hut" ; x:altitude ?a . }'),
    ("Which huts lie above 1650 metres?", "SELECT ?h WHERE { ?h x:altitude ?a . FILTER(?a > 1650) }"),
    ("Who was taught by Tom Vale?", 'SELECT ?p WHERE { ?p x:teacher ?t . ?t foaf:name "Tom Vale" . }'),
)


def ask(question: str, schema: str = LINES) -> str:
    return f"Please answer in SPARQL.\n\nQuestion: {question}\n\nThe classes:\n{fence('', schema)}\n\n{PREFIXES}"


def iri(name: str) -> Term:
    return Term("iri", name)


def lesson() -> Message:
    shown = "\n\n".join(f"Example: {question}\n{fence('sparql', query)}" for question, query in EXAMPLES)
    # A fence inside a sentence must not hide the examples.
    return Message("system", f"Reply with a block opened by ```sparql and closed by ```.\n- Be brief.\n\n{shown}")


def found_by(answer: str, engine: KgEngine) -> set[str]:
    """The values that the query of ``answer`` finds among the huts."""
    query = re.fullmatch(r"```(?:sparql|try)\n(.*)\n```", answer, re.DOTALL)
    assert query is not None, answer
    names = dict(line.split(": <") for line in PREFIXES.replace(">", "").splitlines())
    result = engine.run_query(GraphText(HUTS, "turtle"), query[1], names)
    assert result.error is None
    return {str(result.boolean)} if result.boolean is not None else {t.value for row in result.rows for t in row if t}


def test_three_notations_of_a_schema() -> None:
    lines, shapes, nested = (read_outline(f"{PREFIXES}\n{fence('', text)}") for text in (LINES, SHAPES, NESTED))
    assert lines is not None
    assert shapes is not None
    assert nested is not None
    assert list(lines.classes) == [f"{X}MountainHut", f"{X}Valley", "http://xmlns.com/foaf/0.1/Person"]
    assert lines.classes[f"{X}MountainHut"][f"{X}inValley"] == (f"{X}Valley",)
    assert shapes.labels == {f"{X}MountainHut": "mountain hut"}
    assert shapes.classes[f"{X}MountainHut"][f"{X}inValley"] == (f"{X}Valley", f"{X}Region")
    assert nested.classes[f"{X}MountainHut"] == {
        f"{X}altitude": (f"{XSD}integer", f"{XSD}decimal"),
        f"{X}inValley": (f"{X}Valley",),
    }
    assert read_outline("Note: this is prose; so is this.\nx:a: well (no)") is None


def test_a_schema_in_rdf_is_one_only_without_things() -> None:
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    facts = [
        (iri("a:height"), iri(f"{rdfs}domain"), iri("a:Hut")),
        (iri("a:height"), iri(f"{rdfs}range"), iri(f"{XSD}integer")),
    ]
    assert outline_of(facts, {}) == Outline({"a:Hut": {"a:height": (f"{XSD}integer",)}}, {}, {})
    type_name = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert outline_of([*facts, (iri("a:h1"), iri(type_name), iri("a:Hut"))], {}) is None
    assert outline_of([], {}) is None


def test_examples_are_found_beside_stray_fences() -> None:
    assert find_examples(lesson().text) == EXAMPLES
    request = read_request((lesson(), *user(ask("Which huts?"))))
    assert (request.job, request.examples, request.question) == ("draft", EXAMPLES, "Which huts?")
    inside = user(f"{lesson().text.partition('brief.')[2]}\n\n{ask('Which huts are there?')}")
    assert read_request(inside).question == "Which huts are there?"


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many mountain huts are there?", {"3"}),
        ("Which mountain huts have no phone?", {f"{X}marmot", f"{X}gentian"}),
        ("What is the altitude of the Marmot Hut?", {"2310"}),
        ("Which mountain hut has the highest altitude?", {f"{X}ibex"}),
        ("Which mountain huts have an altitude above 2000?", {f"{X}marmot", f"{X}ibex"}),
        ("Who is the teacher of Eli Stone?", {f"{X}tom"}),
    ],
)
def test_queries_from_the_schema_alone(engine: KgEngine, question: str, values: set[str]) -> None:
    assert found_by(answer_messages(user(ask(question)), engine), engine) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("What is the altitude of Gentian Hut?", {"1650"}),  # another name
        ("What is the phone of Ibex Hut?", {"555-01"}),  # another property
        ("Which huts lie above 2400 metres?", {f"{X}ibex"}),  # another number
        ("Who was taught by Pia Roth?", {f"{X}tom"}),
    ],
)
def test_queries_from_examples(engine: KgEngine, question: str, values: set[str]) -> None:
    assert found_by(answer_messages((lesson(), *user(ask(question))), engine), engine) == values


def test_an_example_that_asks_something_else_does_not_go_before_the_schema(engine: KgEngine) -> None:
    answer = answer_messages((lesson(), *user(ask("How many valleys are there?"))), engine)
    assert found_by(answer, engine) == {"2"}


def test_what_cannot_be_exchanged_makes_an_example_less_similar() -> None:
    outline = read_outline(f"{PREFIXES}\n{LINES}")
    same, other, unnamed = (
        adapted_queries(question, EXAMPLES[:1], outline)[0].score
        for question in (
            "What is the altitude of Ibex Hut?",
            "What is the altitude of Marmot Hut?",
            "What is the altitude of it?",
        )
    )
    assert same == other == 1.0
    assert unnamed < 0.6
    # A valley has no altitude, so the class is not exchanged.
    example = ("Which mountain huts have an altitude?", "SELECT ?h { ?h a x:MountainHut ; x:altitude ?a }")
    (kept,) = adapted_queries("Which valleys have an altitude?", [example], outline)
    assert kept.query == example[1]


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("Who taught Pia Roth and Tom?", 'Who taught "Pia Roth" and Tom?'),
        ("Which lift is like Alba 300?", 'Which lift is like "Alba 300"?'),
        ("Is Ibex open?", 'Is "Ibex" open?'),
        ("Wie hoch liegt die Hütte Marmot Hut?", 'Wie hoch liegt die "Hütte Marmot Hut"?'),
        ('Who taught "pia"?', 'Who taught "pia"?'),
        ("Which MountainHut is new?", "Which MountainHut is new?"),
    ],
)
def test_names_in_questions(question: str, quoted: str) -> None:
    assert quoted_names(question, Outline({f"{X}MountainHut": {}}, {}, {})) == quoted


def test_a_query_that_found_nothing_is_followed_by_another_one(engine: KgEngine) -> None:
    first = answer_messages(user(ask("What is the altitude of the Lutta Valley?")), engine)
    second = answer_messages(user(ask("What is the altitude of the Lutta Valley?"), first, "It is empty."), engine)
    assert first != second
    # With nothing else to say it stays with what it said.
    only = answer_messages(user(ask("How many persons are there?")), engine)
    assert answer_messages(user(ask("How many persons are there?"), only, "It is empty."), engine) == only


TRY = "Write one query in a block opened by ```try to look, by ```sparql to answer.\n\nQueries left to try: {left}."


def test_queries_are_tried_before_they_are_answers(engine: KgEngine) -> None:
    prompt = f"{ask('What is the altitude of the Marmot Hut?')}\n{TRY.format(left=2)}"
    first = answer_messages(user(prompt), engine)
    assert first.startswith("```try\n")
    rows = (
        "The result has 1 rows:\n```\n?value\nnot run, empty, Queries left to try: 0.\n```\n\nQueries left to try: 1."
    )
    final = answer_messages(user(prompt, first, rows), engine)
    assert final == first.replace("```try", "```sparql")
    empty = "The query runs, but its result is empty.\n\nQueries left to try: {left}."
    assert answer_messages(user(prompt, first, empty.format(left=1)), engine).startswith("```try\n")
    last = answer_messages(user(prompt, first, empty.format(left="0. Please send it")), engine)
    assert last.startswith("```sparql\n")
    assert answer_messages(user(f"{ask('How many huts?')}\n{TRY.format(left=0)}"), engine).startswith("```sparql\n")


def test_without_any_schema_something_is_tried_by_its_name(engine: KgEngine) -> None:
    prompt = f"Please use SPARQL.\n\nQuestion: Where is Marmot Hut?\n\n{TRY.format(left=3)}"
    answer = answer_messages(user(prompt), engine)
    assert answer.startswith("```try\n")
    assert found_by(answer, engine) == {f"{X}marmot"}
    assert answer_messages(user("Please use SPARQL.\n\nQuestion: Where is Marmot Hut?"), engine) == CANNOT


@given(
    st.text(st.sampled_from("ab C1\"'`{}()<>?:;.-\n\\x"), max_size=60),
    st.text(st.sampled_from("ab C1\"'\n\\x?"), max_size=40),
    st.lists(st.tuples(st.text(max_size=20), st.text(st.sampled_from("ab:\"'{}<>?1 \\\n"), max_size=40)), max_size=3),
)
def test_any_text_is_read_and_adapted(schema: str, question: str, examples: list[tuple[str, str]]) -> None:
    outline = read_outline(f"{PREFIXES}\n{LINES}\n{schema}")
    assert outline is not None
    adapted = adapted_queries(question, examples, outline)
    assert len(adapted) == len(examples)
    assert all(0 <= one.score <= 1 for one in adapted)
    assert quoted_names(question, outline).replace('"', "") == question.replace('"', "")
