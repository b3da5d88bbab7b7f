"""Paths of predicates between nodes of a graph, and how well a question's words fit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.connectors.symbolic.lexicon import TYPE
from pytest_llmkg.connectors.symbolic.prefixes import shorten
from pytest_llmkg.connectors.symbolic.words import FILLERS
from pytest_llmkg.contracts import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.facts import Triple
    from pytest_llmkg.connectors.symbolic.lexicon import Lexicon

__all__ = ["Goal", "Path", "Step", "Web", "build_web", "path_score", "paths_from", "show_path", "turned"]

_MOST_PATHS = 150


@dataclass(frozen=True, slots=True)
class Step:
    """One edge: its predicate, and whether it is walked from object to subject."""

    predicate: str
    inverse: bool = False


Path = tuple[Step, ...]
Web = dict["Term", dict[Step, tuple["Term", ...]]]
"""For each node, where each step leads from it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Which nodes a path may end at: one of ``terms``, a literal of one of ``datatypes``, or of a ``kind``.

    A goal without any of the three is every node. Goals can be compared, so that a search need not be done twice.
    """

    terms: frozenset[Term] | None = None
    datatypes: frozenset[str] | None = None
    kind: Literal["literal", "resource"] | None = None

    def holds(self, term: Term) -> bool:
        """Whether ``term`` is such a node."""
        if self.terms is not None:
            return term in self.terms
        if self.datatypes is not None:
            return term.kind == "literal" and term.datatype in self.datatypes
        return self.kind is None or (term.kind == "literal") == (self.kind == "literal")


def build_web(facts: Sequence[Triple]) -> Web:
    """The steps of ``facts`` without rdf:type, in both directions."""
    web: dict[Term, dict[Step, list[Term]]] = {}
    for s, p, o in facts:
        if p.value != TYPE:
            web.setdefault(s, {}).setdefault(Step(p.value), []).append(o)
            web.setdefault(o, {}).setdefault(Step(p.value, inverse=True), []).append(s)
    return {node: {step: tuple(ends) for step, ends in steps.items()} for node, steps in web.items()}


def paths_from(web: Web, start: Iterable[Term], longest: int, goal: Goal) -> dict[Path, frozenset[Term]]:
    """The paths of up to ``longest`` steps from ``start`` to nodes that are a ``goal``, with those nodes.

    A path does not turn back on the predicate that it came by, and does not go on from a literal.
    """
    reached: dict[Path, frozenset[Term]] = {}
    level: dict[Path, set[Term]] = {(): set(start)}
    for length in range(longest):
        following: dict[Path, set[Term]] = {}
        for path, nodes in level.items():
            last = path[-1].predicate if path else None
            for node in nodes:
                if length and node.kind == "literal":
                    continue
                for step, ends in web.get(node, {}).items():
                    if step.predicate != last:
                        following.setdefault((*path, step), set()).update(ends)
        for path, ends_of_path in following.items():
            hits = frozenset(e for e in ends_of_path if goal.holds(e))
            if hits:
                reached[path] = hits
        # The widest paths first: those that most things have. Ties by name, since sets have no order.
        kept = sorted(following, key=lambda p: (-len(following[p]), [(s.predicate, s.inverse) for s in p]))
        level = {path: following[path] for path in kept[:_MOST_PATHS]}
    return reached


def path_score(path: Path, asked: Mapping[str, int], lexicon: Lexicon) -> float:
    """How well the words ``asked`` (stem to place) fit the predicates of ``path``: more is better, above 0 is a fit.

    A step with no word in the question costs a little, so that short paths win; the share of a predicate's words that
    are asked counts.
    """
    score = 0.0
    used: set[str] = set()
    for step in path:
        names = [[w for w in n if w not in FILLERS] for n in lexicon.predicates.get(step.predicate, ())]
        shares = [sum(w in asked for w in name) / len(name) for name in names if name]
        words = lexicon.predicate_words(step.predicate)
        # Words that an earlier step has used do not speak for one more.
        hit = any(w in asked and w not in used for w in words)
        used.update(words)
        score += (0.6 + 0.4 * max(shares, default=0.0)) if hit else -0.25
    return score - 0.05 * len(path)


def show_path(path: Path, prefixes: Mapping[str, str]) -> str:
    """``path`` as a SPARQL 1.1 property path."""
    return "/".join(("^" if s.inverse else "") + shorten(s.predicate, prefixes) for s in path)


def turned(path: Path) -> Path:
    """``path`` walked from its end to its start."""
    return tuple(Step(step.predicate, not step.inverse) for step in reversed(path))
