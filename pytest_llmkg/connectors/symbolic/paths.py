"""Paths of predicates between nodes of a graph, and how well a question's words fit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.lexicon import TYPE
from pytest_llmkg.connectors.symbolic.prefixes import shorten
from pytest_llmkg.connectors.symbolic.words import FILLERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.facts import Triple
    from pytest_llmkg.connectors.symbolic.lexicon import Lexicon
    from pytest_llmkg.contracts import Term

__all__ = ["Path", "Step", "Web", "build_web", "path_score", "paths_from", "show_path"]

_MOST_PATHS = 400


@dataclass(frozen=True, slots=True)
class Step:
    """One edge: its predicate, and whether it is walked from object to subject."""

    predicate: str
    inverse: bool = False


Path = tuple[Step, ...]
Web = dict[Step, dict["Term", tuple["Term", ...]]]
"""For each step, where it leads from each node."""


def build_web(facts: Sequence[Triple]) -> Web:
    """The steps of ``facts`` without rdf:type, in both directions."""
    web: dict[Step, dict[Term, list[Term]]] = {}
    for s, p, o in facts:
        if p.value != TYPE:
            web.setdefault(Step(p.value), {}).setdefault(s, []).append(o)
            web.setdefault(Step(p.value, inverse=True), {}).setdefault(o, []).append(s)
    return {step: {n: tuple(e) for n, e in edges.items()} for step, edges in web.items()}


def paths_from(
    web: Web, start: Iterable[Term], longest: int, goal: Callable[[Term], bool]
) -> dict[Path, frozenset[Term]]:
    """The paths of up to ``longest`` steps from ``start`` to nodes for which ``goal`` holds, with those nodes.

    A path does not turn back on the predicate that it came by, and does not go on from a literal.
    """
    reached: dict[Path, frozenset[Term]] = {}
    level: dict[Path, frozenset[Term]] = {(): frozenset(start)}
    for _ in range(longest):
        following: dict[Path, frozenset[Term]] = {}
        for path, nodes in level.items():
            for step, edges in web.items():
                if path and step.predicate == path[-1].predicate:
                    continue
                ends = frozenset(e for n in nodes if not path or n.kind != "literal" for e in edges.get(n, ()))
                if ends and len(following) < _MOST_PATHS:
                    following[(*path, step)] = ends
        for path, ends in following.items():
            hits = frozenset(e for e in ends if goal(e))
            if hits:
                reached[path] = hits
        level = following
    return reached


def path_score(path: Path, asked: Mapping[str, int], lexicon: Lexicon) -> float:
    """How well the words ``asked`` (stem to place) fit the predicates of ``path``: more is better, above 0 is a fit.

    A step with no word in the question costs a little, so that short paths win; the share of a predicate's words that
    are asked counts.
    """
    score = 0.0
    for step in path:
        names = [[w for w in n if w not in FILLERS] for n in lexicon.predicates.get(step.predicate, ())]
        shares = [sum(w in asked for w in name) / len(name) for name in names if name]
        words = lexicon.predicate_words(step.predicate)
        hit = any(w in asked for w in words)
        score += (0.6 + 0.4 * max(shares, default=0.0)) if hit else -0.25
    return score - 0.05 * len(path)


def show_path(path: Path, prefixes: Mapping[str, str]) -> str:
    """``path`` as a SPARQL 1.1 property path."""
    return "/".join(("^" if s.inverse else "") + shorten(s.predicate, prefixes) for s in path)
