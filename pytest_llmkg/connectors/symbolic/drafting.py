"""SPARQL queries for a graph that is not shown: from examples, if the prompt has some, and from a list of its classes.

An example that is similar enough goes first, then what the classes and properties allow, then the other examples. In a
dialogue that lets queries be tried, each is tried before it is given as the answer, and the first that finds something
is taken; where nothing is shown at all, things are looked for that are called as the question says.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.adapting import adapted_queries
from pytest_llmkg.connectors.symbolic.facts import load_facts
from pytest_llmkg.connectors.symbolic.outlines import Outline, outline_of
from pytest_llmkg.connectors.symbolic.prefixes import prefixes_of
from pytest_llmkg.connectors.symbolic.querying import planned_queries
from pytest_llmkg.connectors.symbolic.sketching import sketch_outline
from pytest_llmkg.connectors.symbolic.words import stems_of
from pytest_llmkg.extraction import fenced_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine

__all__ = ["answer_draft", "quoted_names"]

_SIMILAR = 2 / 3
_MOST_PLANS = 4
_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can)\b", re.IGNORECASE)
_SELECTED = re.compile(r"\ASELECT [^\n{]*?\bWHERE\b")
_FAILED = re.compile(r"\b(?:empty|finds nothing|not run|cannot|no valid|not fit)\b", re.IGNORECASE)
_NONE_LEFT = re.compile(r"\bleft\D{0,20}\b0\b", re.IGNORECASE)
# Function words that the other two languages do not have.
_CUES = {
    "de": frozenset(
        {"der", "die", "das", "und", "wie", "wer", "welche", "welches", "hat", "ist", "gibt", "mit", "von"}
    ),
    "es": frozenset({"el", "los", "las", "qué", "cuál", "cuántos", "cuántas", "quién", "tiene", "hay", "del", "por"}),
}


def answer_draft(request: Request, engine: KgEngine) -> str | None:
    """A fenced query that was not given before; the last one again when there is no other. None without any.

    Where queries can be tried, the block is one to try until a result came or no try is left.
    """
    given = [blocks[-1].content for answer in request.given if (blocks := fenced_blocks(answer))]
    if request.graph is not None:
        outline = outline_of(load_facts(request.graph, engine), prefixes_of(request.graph, request.prose))
        request = replace(request, outline=outline)
    candidates = list(dict.fromkeys(_candidates(request)))
    following = next((query for query in candidates if query not in given), None)
    hint = request.hint or ""
    if not request.can_try:
        chosen = following or (given[-1] if given else None)
        return None if chosen is None else f"```sparql\n{chosen}\n```"
    told = (hint or request.prose).rstrip().splitlines()  # what is shown of a result stands between first and last
    if given and not _FAILED.search(told[0] if told else ""):
        return f"```sparql\n{given[-1]}\n```"
    if following is None or _NONE_LEFT.search(told[-1] if told else ""):
        return f"```sparql\n{candidates[0]}\n```" if candidates else None
    return f"```try\n{following}\n```"


def _candidates(request: Request) -> Iterator[str]:
    adapted = adapted_queries(request.question, request.examples, request.outline)
    yield from (one.query for one in adapted if one.score >= _SIMILAR)
    yield from _planned(request)
    yield from (one.query for one in adapted if one.score < _SIMILAR)
    if request.can_try and not request.examples and request.outline is None:
        named = re.findall(r'"([^"\\]+)"', quoted_names(request.question, Outline({}, {}, {})))
        yield from (f'SELECT DISTINCT ?x WHERE {{ ?x ?p ?name . FILTER(STR(?name) = "{name}") }}' for name in named)
        yield "SELECT DISTINCT ?class WHERE { ?x a ?class }"


def _planned(request: Request) -> tuple[str, ...]:
    if request.outline is None:
        return ()
    question = quoted_names(request.question, request.outline)
    known = sketch_outline(request.outline, question, _language_of(request.question))
    plans = planned_queries(replace(request, question=question), known)[:_MOST_PLANS]
    if _YES_OR_NO.match(question):
        return tuple(_SELECTED.sub("ASK", plan) for plan in plans)
    return plans


def quoted_names(question: str, outline: Outline) -> str:
    """``question`` with quotation marks around what is written like a name, inside a sentence.

    That is a row of words with capitals, to which numbers may belong, unless it names a class. Single words count only
    where no longer names are, since some languages write all nouns so.
    """
    if '"' in question:
        return question
    classes = {stems_of(re.split(r"[/#:]", iri)[-1]) for iri in outline.classes}
    runs: list[tuple[int, int, int]] = []
    for number, match in enumerate(_WORD.finditer(question)):
        joined = bool(runs) and question[runs[-1][1] : match.start()] == " "
        if number and match.group()[0].isupper():
            runs[-1:] = [(runs[-1][0], match.end(), runs[-1][2] + 1)] if joined else [*runs[-1:], (*match.span(), 1)]
        elif match.group().isdecimal() and joined:
            runs[-1] = (runs[-1][0], match.end(), runs[-1][2] + 1)
    named = [run for run in runs if stems_of(question[run[0] : run[1]]) not in classes]
    longest = max((size for *_, size in named), default=0)
    for start, end, size in reversed(named):
        if size > 1 or longest == 1:
            question = f'{question[:start]}"{question[start:end]}"{question[end:]}'
    return question


def _language_of(question: str) -> str:
    words = {word.casefold() for word in _WORD.findall(question)}
    hits = {code: len(words & cues) for code, cues in _CUES.items()}
    best = max(hits, key=lambda code: hits[code])
    return best if hits[best] else "en"
