"""What the model is told: the rules, the examples, the shapes, the question, and what was wrong with a try."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.extraction import shortened
from pytest_llmkg.records import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.contracts import Example, QueryResult
    from pytest_llmkg.records import Question

__all__ = [
    "Outline",
    "complaint_text",
    "first_messages",
    "interpretation_text",
    "on_one_line",
    "outline_messages",
    "read_outline",
]

_RULES = """\
You turn questions into SPARQL 1.1 queries on the knowledge graph "{kg}".

- Reply with exactly one query, in a fenced code block opened by ```sparql and closed by ```.
- Take classes and properties from the schema below and write them exactly as they stand there; do not guess others.
- Declare every prefix that you use, or write IRIs out in angle brackets.
- Select what is asked for and nothing else: usually one variable, with DISTINCT. It holds the IRI of a thing unless its
  name is wanted, and a number where something is counted. Use ASK when the answer is yes or no.
"""
_EXAMPLES = "These questions on the same graph are answered by these queries:\n\n{examples}"
_EXAMPLE = "Example: {question}\n{fence}sparql\n{query}\n{fence}"
_ASK = """\
Write a SPARQL query for this question.

Question: {question}
{schema}{prefixes}"""
_SCHEMA = """
Classes of the graph that may matter, each with its properties and what these lead to, frequent ones first:
{schema}
"""
_PREFIXES = "\nPrefixes of the graph:\n{prefixes}\n"
_OUTLINE = """\
A question is going to be answered from the knowledge graph "{kg}". Prepare the search for it; do not answer it.
Write one line "part: ..." for each smaller question that it consists of, each understandable by itself (none if it is
simple already), and one line "class: ..." for each kind of thing that it speaks of, in English. Write nothing else.

Question: {question}"""
_COMPLAINTS = {
    "missing": "There is no fenced code block with a SPARQL query in your reply. Please reply with one.",
    "syntax": "Your query is no valid SPARQL:\n{details}\nPlease write it anew.",
    "schema": "Your query does not fit the schema of the graph:\n{details}\nPlease correct it by the schema above.",
    "execution": "Your query cannot be run to its end:\n{details}\nPlease write another one.",
    "empty": "Your query runs, but finds nothing. A name may be spelled differently in the graph, a value may have "
    "another datatype or language, or the patterns may be too strict. Please loosen it or build it from simpler parts. "
    "If it is right that there is nothing, send the same query again.",
}
_INTERPRET = """\
The result of your query ({count} rows):
{rows}

Please answer the question in one or two sentences from this result alone, in the language of the question."""
_LONGEST_DETAIL = 4_000
_MOST_DETAILS = 20
_TICKS = re.compile("`{3,}")
_PART = re.compile(r"^[\s>*-]*(part|class)\W*:\W*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_MOST_PARTS = 8


def first_messages(question: Question, examples: Sequence[Example], schema: str) -> tuple[Message, ...]:
    """The dialogue's beginning: rules and examples as the system's words, schema and question as the user's."""
    shown = "\n\n".join(map(_example, examples))
    rules = _RULES.format(kg=question.kg)
    prefixes = "\n".join(f"{name}: <{iri}>" for name, iri in question.prefixes.items())
    ask = _ASK.format(
        question=on_one_line(question.text),
        schema=_SCHEMA.format(schema=schema) if schema else "",
        prefixes=_PREFIXES.format(prefixes=prefixes) if prefixes else "",
    )
    system = f"{rules}\n{_EXAMPLES.format(examples=shown)}" if shown else rules
    return (Message("system", system), Message("user", ask))


def _example(example: Example) -> str:
    """An example with fences that are longer than any in its query."""
    inner = max((len(ticks) for ticks in _TICKS.findall(example.query)), default=2)
    return _EXAMPLE.format(question=on_one_line(example.question), query=example.query.strip(), fence="`" * (inner + 1))


def on_one_line(text: str) -> str:
    """``text``, which may be anybody's, without line breaks and fences, so that it ends no block of the prompt."""
    return _TICKS.sub("'''", " ".join(text.split()))


def complaint_text(kind: str, details: Sequence[str] = ()) -> str:
    """What the model is told of a try that failed: ``missing``, ``syntax``, ``schema``, ``execution`` or ``empty``."""
    shown = [f"- {on_one_line(shortened(detail, _LONGEST_DETAIL))}" for detail in details[:_MOST_DETAILS]]
    left = [f"(and {len(details) - _MOST_DETAILS} more)"] if len(details) > _MOST_DETAILS else []
    return _COMPLAINTS[kind].format(details="\n".join([*shown, *left]))


def interpretation_text(result: QueryResult, most: int) -> str:
    """Asks for the answer in words, with at most so many rows of ``result``."""
    if result.boolean is not None:
        return _INTERPRET.format(count=1, rows=str(result.boolean).lower())
    rows = [
        " | ".join("" if term is None else on_one_line(shortened(term.value, 200)) for term in row)
        for row in result.rows[:most]
    ]
    left = [f"(and {len(result.rows) - most} more)"] if len(result.rows) > most else []
    return _INTERPRET.format(count=len(result.rows), rows="\n".join([" | ".join(result.variables), *rows, *left]))


@dataclass(frozen=True, slots=True)
class Outline:
    """What a question consists of: smaller questions, and names of classes to look up."""

    parts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def outline_messages(question: Question) -> tuple[Message, ...]:
    """Asks for the `Outline` of a question."""
    return (Message("user", _OUTLINE.format(kg=question.kg, question=on_one_line(question.text))),)


def read_outline(text: str) -> Outline:
    """The outline in an answer; lines that are none are passed over."""
    found: dict[str, dict[str, None]] = {"part": {}, "class": {}}
    for kind, value in _PART.findall(text):
        found[kind.lower()][value.strip().rstrip("*").strip()] = None
    return Outline(tuple(found["part"])[:_MOST_PARTS], tuple(found["class"])[:_MOST_PARTS])
