"""Repair of a document's syntax by guided re-parsing.

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
from pytest_llmkg.connectors.symbolic.turtle_edits import turtle_edits
from pytest_llmkg.contracts import GraphText, KgEngine
from pytest_llmkg.extraction import fenced_blocks

if TYPE_CHECKING:
    from pytest_llmkg.connectors.symbolic.reading import Request

__all__ = ["answer_repair"]

# Counted in characters and calls, not in seconds, so that the answer is the same on a slow machine.
_CHARACTERS = 4_000_000
_VERDICTS = 20
_DEEPEST = 4
_NESTED = 50
_WIDTH = 6
_LONGEST = 100_000
_LINE = re.compile(r"\bline (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text on the way to a repair, with the price of its edits and its first fault."""

    text: str
    cost: float
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class _Language:
    """How to find faults in a serialization format and what may mend them."""

    fault: Callable[[str], Fault | None]
    edits: Callable[[str, Fault], Iterator[Edit]]
    json_text: bool


def _nt_edits(text: str, fault: Fault) -> Iterator[Edit]:
    yield from line_edits(text, fault)
    yield from turtle_edits(text, fault)


_LANGUAGES = {
    "turtle": _Language(first_fault, turtle_edits, json_text=False),
    "nt": _Language(lambda text: first_fault(text, lines_only=True), _nt_edits, json_text=False),
    "json-ld": _Language(first_json_fault, json_edits, json_text=True),
}


def answer_repair(request: Request, engine: KgEngine) -> str | None:
    """The repaired document, in a fenced block if it was shown in one; None without a document.

    Where no repair is found, the furthest attempt. A hint after an earlier answer brings the next likeliest repair,
    whatever the hint says.
    """
    graph = request.graph
    language = _LANGUAGES.get(graph.format) if graph else None
    if graph is None or language is None or len(graph.text) > _LONGEST or nesting(graph.text) > _NESTED:
        return None
    given = {block.content for answer in request.given for block in fenced_blocks(answer)[:1]}
    given |= {answer.strip() for answer in request.given}
    fault = language.fault(graph.text) or _reported(graph, engine)
    best = graph.text
    if fault is not None:
        verdicts = 0
        for draft in _search(_Draft(graph.text, 0, fault), language):
            text = draft.text.strip()
            if draft.fault is not None:
                best = text if best == graph.text and text not in given else best
                continue
            if text in given or verdicts >= _VERDICTS:
                continue
            verdicts += 1
            if engine.check_rdf(GraphText(text, graph.format)).error is None:
                best = text
                break
    return f"```{_TAGS[graph.format]}\n{best}\n```" if request.fenced else best


_TAGS = {"turtle": "turtle", "nt": "ntriples", "json-ld": "json"}


def _reported(graph: GraphText, engine: KgEngine) -> Fault | None:
    """The place that the graph library's message names, for a fault that the grammar does not know."""
    error = engine.check_rdf(graph).error
    if error is None:
        return None
    named = _LINE.search(error)
    starts = [0, *(m.end() for m in re.finditer(r"\n", graph.text))]
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
    breaks = layout_breaks(draft.text, json_text=language.json_text)
    return draft.cost + 2 * breaks + (0 if language.json_text else mixed_roles(draft.text))
