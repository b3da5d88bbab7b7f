"""The shortest connection between two named nodes."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.facts import Triple, load_facts
from pytest_llmkg.connectors.symbolic.prefixes import named_iris, prefixes_of, shorten
from pytest_llmkg.contracts import KgEngine, Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_llmkg.connectors.symbolic.request import Request

__all__ = ["answer_walk", "shortest_walk"]

_LEFT_OUT = re.compile(r"[^.!?\n]*?(\S+)\s+(?:does not|do not|don't|doesn't|must not)\s+count", re.IGNORECASE)
_DIRECTED = re.compile(r"\b(?:directed|in the direction|following the direction)\b", re.IGNORECASE)
_SHORT = re.compile(r"\bprefixed names?\b|\bwrite [\w.-]*:\w", re.IGNORECASE)


def answer_walk(request: Request, engine: KgEngine) -> str | None:
    """The IRIs on a shortest connection of the first two nodes that the prose names, one a line, ends included.

    Edges count in both directions unless the prose says otherwise; blank nodes are walked through but not listed.
    None when fewer than two nodes of the graph are named or nothing connects them.
    """
    if request.graph is None:
        return None
    prefixes = prefixes_of(request.graph, request.prose)
    left_out = {iri for name in _LEFT_OUT.findall(request.prose) for iri in named_iris(name, prefixes)}
    facts = [t for t in load_facts(request.graph, engine) if t[1].value not in left_out]
    nodes = {t.value for s, _, o in facts for t in (s, o) if t.kind == "iri"}
    ends = [iri for iri in named_iris(request.prose, prefixes) if iri in nodes][:2]
    if len(ends) < 2:
        return None
    start, goal = (Term("iri", iri) for iri in ends)
    steps = shortest_walk(facts, start, goal, directed=bool(_DIRECTED.search(request.prose)))
    if not steps:
        return None
    short = bool(_SHORT.search(request.prose))
    shown = [shorten(t.value, prefixes) if short else t.value for t in steps if t.kind == "iri"]
    return "\n".join(shown)


def shortest_walk(facts: Iterable[Triple], start: Term, goal: Term, *, directed: bool) -> tuple[Term, ...]:
    """The nodes on a shortest walk from ``start`` to ``goal``, the first one in the order of ``facts``; empty if none.

    Literals connect nothing: two nodes that share a year are not thereby related.
    """
    beside: dict[Term, list[Term]] = {}
    for s, _, o in facts:
        if o.kind == "literal":
            continue
        beside.setdefault(s, []).append(o)
        if not directed:
            beside.setdefault(o, []).append(s)
    before: dict[Term, Term | None] = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == goal:
            return _back(goal, before)
        for following in beside.get(node, ()):
            if following not in before:
                before[following] = node
                queue.append(following)
    return ()


def _back(goal: Term, before: Mapping[Term, Term | None]) -> tuple[Term, ...]:
    steps: list[Term] = []
    node: Term | None = goal
    while node is not None:
        steps.append(node)
        node = before[node]
    return tuple(reversed(steps))
