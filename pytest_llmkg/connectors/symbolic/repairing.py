"""Repair of a document's or a query's syntax by guided re-parsing.

From the first fault, small edits around it are tried; those that move the first fault furthest are kept and searched
on, until texts without a fault are found. Those are put in order of plausibility (small edits, sound layout), and the
first one that the graph library accepts and that was not given before is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit, distinct, layout_breaks, nesting
from pytest_llmkg.connectors.symbolic.grammar import Fault, first_fault, mixed_roles
from pytest_llmkg.connectors.symbolic.json_edits import first_json_fault, json_edits
from pytest_llmkg.connectors.symbolic.line_edits import line_edits
from pytest_llmkg.connectors.symbolic.sparql_edits import odd_variables, query_key, sparql_edits
from pytest_llmkg.connectors.symbolic.sparql_grammar import first_query_fault
from pytest_llmkg.connectors.symbolic.turtle_edits import turtle_edits
from pytest_llmkg.contracts import GraphText, KgEngine
from pytest_llmkg.extraction import fenced_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.connectors.symbolic.request import Request

__all__ = ["answer_repair"]

# Counted in characters and calls, not in seconds, so that the answer is the same on a slow machine.
_CHARACTERS = 4_000_000
_VERDICTS = 20
_DEEPEST = 4
_NESTED = 50
_WIDTH = 6
_LONGEST = 100_000
_LINE = re.compile(r"\bline[ :](\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text on the way to a repair, with the price of its edits and its first fault."""

    text: str
    cost: float
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class _Language:
    """How to find faults in a language, what may mend them, and how odd a text without fault still is.

    Texts with the same ``key`` say the same.
    """

    tag: str
    fault: Callable[[str], Fault | None]
    edits: Callable[[str, Fault], Iterator[Edit]]
    oddity: Callable[[str], float]
    key: Callable[[str], object] = str.strip


def _nt_edits(text: str, fault: Fault) -> Iterator[Edit]:
    yield from line_edits(text, fault)
    yield from turtle_edits(text, fault)


def _turtle_oddity(text: str) -> float:
    return 2 * layout_breaks(text, json_text=False) + mixed_roles(text)


def _query_oddity(text: str) -> float:
    return layout_breaks(text, json_text=True) + odd_variables(text)


_LANGUAGES = {
    "turtle": _Language("turtle", first_fault, turtle_edits, _turtle_oddity),
    "nt": _Language("ntriples", lambda text: first_fault(text, lines_only=True), _nt_edits, _turtle_oddity),
    "json-ld": _Language("json", first_json_fault, json_edits, lambda text: 2 * layout_breaks(text, json_text=True)),
    "sparql": _Language("sparql", first_query_fault, sparql_edits, _query_oddity, query_key),
}


def answer_repair(request: Request, engine: KgEngine) -> str | None:
    """The repaired document or query, in a fenced block if it was shown in one; None without a document.

    Where no repair is found, the furthest attempt. A hint after an earlier answer brings the next likeliest repair,
    whatever the hint says.
    """
    shown = request.graph or (GraphText(request.query, "sparql") if request.query else None)
    language = _LANGUAGES.get(shown.format) if shown else None
    if shown is None or language is None or len(shown.text) > _LONGEST or nesting(shown.text) > _NESTED:
        return None
    best = _best_repair(shown, language, request.given, engine)
    return f"```{language.tag}\n{best}\n```" if request.fenced else best


def _best_repair(shown: GraphText, language: _Language, answers: Sequence[str], engine: KgEngine) -> str:
    """The likeliest text without a fault that was not given, else the furthest attempt."""
    given = {language.key(block.content) for answer in answers for block in fenced_blocks(answer)[:1]}
    given |= {language.key(answer) for answer in answers}
    fault = language.fault(shown.text) or _reported(shown, engine)
    best, verdicts = shown.text, 0
    if fault is None:
        return best
    for draft in _search(_Draft(shown.text, 0, fault), language):
        text = draft.text.strip()
        if language.key(text) in given:
            continue
        if draft.fault is not None:
            best = text if best == shown.text else best
        elif verdicts < _VERDICTS:
            verdicts += 1
            if _error(GraphText(text, shown.format), engine) is None:
                return text
    return best


def _error(document: GraphText, engine: KgEngine) -> str | None:
    """What the graph library says against ``document``, None if nothing."""
    if document.format == "sparql":
        return engine.check_query(document.text).error
    return engine.check_rdf(document).error


def _reported(document: GraphText, engine: KgEngine) -> Fault | None:
    """The place that the graph library's message names, for a fault that the grammar does not know."""
    error = _error(document, engine)
    if error is None:
        return None
    named = _LINE.search(error)
    starts = [0, *(m.end() for m in re.finditer(r"\n", document.text))]
    return Fault(starts[min(int(named[1]), len(starts)) - 1] if named and len(named[1]) < 8 else 0)


def _search(root: _Draft, language: _Language) -> Iterator[_Draft]:
    """Drafts without fault, the likeliest first within each depth, and at the end the furthest with one."""
    beam, budget, furthest = [root], _CHARACTERS, root
    for _ in range(_DEEPEST):
        clean: dict[str, _Draft] = {}
        broken: dict[str, _Draft] = {}
        for draft in beam:
            for following in _steps(draft, language):
                budget -= len(following.text)
                if budget < 0:
                    break
                if following.fault is not None and _left(following, root) <= _left(draft, root):
                    continue
                kept = clean if following.fault is None else broken
                if following.text not in kept or kept[following.text].cost > following.cost:
                    kept[following.text] = following
        yield from sorted(clean.values(), key=lambda d: _rank(d, language))
        furthest_ones = sorted(broken.values(), key=lambda d: (-_left(d, root), d.cost))[: 6 * _WIDTH]
        beam = sorted(furthest_ones, key=lambda d: (-_left(d, root), _rank(d, language)))[:_WIDTH]
        if not beam or budget < 0:
            break
        furthest = beam[0]
    yield furthest


def _steps(draft: _Draft, language: _Language) -> Iterator[_Draft]:
    fault = draft.fault or Fault(0)
    for text, edit in distinct(draft.text, language.edits(draft.text, fault)):
        yield _Draft(text, draft.cost + edit.cost, language.fault(text))


def _left(draft: _Draft, root: _Draft) -> int:
    """How far the first fault is from the text's end, turned so that more is better."""
    return len(root.text) - (len(draft.text) - (draft.fault.at if draft.fault else len(draft.text)))


def _rank(draft: _Draft, language: _Language) -> float:
    """The price of a draft; equal ones stay in the order in which they were made."""
    return draft.cost + language.oddity(draft.text)
