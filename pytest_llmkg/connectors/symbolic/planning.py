"""Query plans for a question: templates filled with the paths of the graph that fit the question's words best."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.lexicon import SUBCLASS, TYPE, schema_terms, superclasses
from pytest_llmkg.connectors.symbolic.paths import Goal, Step, build_web, path_score, paths_from, show_path, turned
from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.facts import Triple
    from pytest_llmkg.connectors.symbolic.lexicon import Lexicon, Mention
    from pytest_llmkg.connectors.symbolic.paths import Path, Web
    from pytest_llmkg.connectors.symbolic.questions import Question
    from pytest_llmkg.connectors.symbolic.words import Comparison
    from pytest_llmkg.contracts import Term

    _Ranked = tuple[Path, frozenset[Term], float]

__all__ = ["Plan", "Planner", "show_plan", "show_term"]

_TEMPORAL = frozenset({"before", "after", "since", "earlier", "later", "prior", "newer", "until"})
_TOP = 3
_UNUSED = 1.0
_XSD = WELL_KNOWN["xsd"]
_NUMERIC = frozenset(_XSD + n for n in ("integer", "decimal", "double", "float", "int", "long", "gYear"))
_DATES = frozenset(_XSD + n for n in ("date", "dateTime", "gYear"))


@dataclass(frozen=True, slots=True)
class Plan:
    """A SELECT query in parts, with how well it fits the question (more is better)."""

    head: str
    patterns: tuple[str, ...]
    tail: str = ""
    score: float = 0.0

    def with_pattern(self, pattern: str, gain: float) -> Plan:
        """This plan with one more line in its WHERE part."""
        return replace(self, patterns=(*self.patterns, pattern), score=self.score + gain)


def show_plan(plan: Plan) -> str:
    """The plan's SPARQL text."""
    body = "\n".join(f"  {line}" for line in plan.patterns)
    return f"SELECT {plan.head} WHERE {{\n{body}\n}}" + (f"\n{plan.tail}" if plan.tail else "")


def show_term(term: Term, prefixes: Mapping[str, str]) -> str:
    """A named node or literal in SPARQL."""
    if term.kind == "iri":
        return shorten(term.value, prefixes)
    text = term.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    if term.language:
        return f'"{text}"@{term.language}'
    return f'"{text}"' + (f"^^{shorten(term.datatype, prefixes)}" if term.datatype else "")


class Planner:
    """Makes the plans of one question on one graph."""

    def __init__(
        self, question: Question, facts: Sequence[Triple], lexicon: Lexicon, prefixes: Mapping[str, str]
    ) -> None:
        self._question = question
        self._lexicon = lexicon
        self._prefixes = prefixes
        schema = schema_terms(facts)
        self._web: Web = build_web([t for t in facts if t[0].value not in schema])
        self._known: dict[tuple[tuple[Term, ...], int, Goal], list[_Ranked]] = {}
        self._above = superclasses(facts)
        self._instances: dict[str, list[Term]] = {}
        for s, p, o in facts:
            if p.value == TYPE and s.value not in schema:
                for iri in (o.value, *self._above.get(o.value, ())):
                    self._instances.setdefault(iri, []).append(s)

    def plans(self) -> list[Plan]:
        """All plans, the best first; equal ones in the order of their text."""
        made = [*self._plans_of_values(), *(p for m in self._question.classes[:1] for p in self._plans_of_things(m))]
        return sorted(made, key=lambda plan: (-plan.score, show_plan(plan)))

    # -- a property of a named node -------------------------------------------------------------------------------

    def _plans_of_values(self) -> Iterator[Plan]:
        question = self._question
        cues = (question.order, question.comparisons or None, question.negation)
        summed = question.aggregate in {"SUM", "AVG"}
        unused = sum(cue is not None for cue in cues) + summed + len(question.nodes) - 1
        for mention in question.nodes:
            start = show_term(mention.term, self._prefixes)
            labelled = int(mention.term.kind == "literal")
            for path, ends, score in self._ranked([mention.term], 3, Goal()):
                if score <= 0:
                    continue
                many = question.aggregate == "COUNT" and not all(Goal(datatypes=_NUMERIC).holds(e) for e in ends)
                head = "(COUNT(DISTINCT ?value) AS ?n)" if many else "DISTINCT ?value"
                gain = score - _UNUSED * unused + (0.5 if self._asked_first(path[-1]) else -0.5)
                if {"iri", "iris"} & {*question.words} and all(end.kind == "literal" for end in ends):
                    gain -= _UNUSED
                gain -= self._direction(path[labelled:], mention)
                pattern = f"{start} {self._chain(path)} ?value ."
                if labelled:  # no triple begins with one
                    pattern = f"?value {self._chain(turned(path))} {start} ."
                yield Plan(head, (pattern,), score=gain)

    def _asked_first(self, step: Step) -> bool:
        """Whether the question names a relation before the first class: it asks for a value then, not for things."""
        first = min((m.start for m in self._question.classes), default=len(self._question.words))
        asked = self._question.asked
        return any(asked[w] < first for w in self._lexicon.predicate_words(step.predicate) if w in asked)

    # -- things of a class that meet conditions -------------------------------------------------------------------

    def _plans_of_things(self, target: Mention) -> Iterator[Plan]:
        things = self._instances.get(target.term.value, [])
        plans = [Plan("DISTINCT ?x", (self._is_a("x", target.term),))]
        for group in self._groups():
            plans = [p for plan in plans for p in self._with_nodes(plan, things, group)]
        for step in (self._with_negation, self._with_comparison, self._with_order, self._with_projection):
            plans = [p for plan in plans for p in step(plan, things, target)]
        yield from plans

    def _groups(self) -> list[tuple[Mention, ...]]:
        nodes = self._question.nodes
        return [nodes] if self._question.either and len(nodes) > 1 else [(n,) for n in nodes]

    def _with_nodes(self, plan: Plan, things: Sequence[Term], group: tuple[Mention, ...]) -> Iterator[Plan]:
        wanted = Goal(frozenset(m.term for m in group))
        for path, _, score in self._ranked(things, 3, wanted):
            gain = score + 0.5 + self._direction(path, group[0])
            chain = self._chain(path)
            if len(group) == 1:
                yield plan.with_pattern(f"?x {chain} {show_term(group[0].term, self._prefixes)} .", gain)
            else:
                values = " ".join(show_term(m.term, self._prefixes) for m in group)
                yield plan.with_pattern(f"VALUES ?y {{ {values} }} ?x {chain} ?y .", gain)
        yield replace(plan, score=plan.score - _UNUSED * len(group))

    def _direction(self, path: Path, node: Mention) -> float:
        """Whether the order of words speaks for the path's direction.

        ``N knows``, ``known by N`` and ``the teacher of N`` have N as subject, ``knows N`` as object.
        """
        words = self._lexicon.predicate_words(path[0].predicate) if len(path) == 1 else ()
        places = [self._question.asked[w] for w in words if w in self._question.asked]
        if not places:
            return 0.0
        before = self._question.words[max(0, node.start - 2) : node.start]
        between = self._question.words[min(places) : node.start]
        of_names = any("of" in name for name in self._lexicon.predicates[path[0].predicate])
        possessed = "of" in between and not of_names
        node_is_subject = min(places) > node.start or "by" in before or possessed
        return 0.3 if path[0].inverse == node_is_subject else -0.3

    def _with_negation(self, plan: Plan, things: Sequence[Term], _target: Mention) -> Iterator[Plan]:
        if self._question.negation is None:
            yield plan
            return
        for path, _, score in self._ranked(things, 2, Goal()):
            gain = score + self._negated_direction(path)
            yield plan.with_pattern(f"FILTER NOT EXISTS {{ ?x {show_path(path, self._prefixes)} ?none . }}", gain)
            if len(path) == 2 and all(self._is_asked(step) for step in path):
                first, second = (show_path((step,), self._prefixes) for step in path)
                pattern = f"?x {first} ?part . FILTER NOT EXISTS {{ ?part {second} ?none . }}"
                yield plan.with_pattern(pattern, score + 0.2)
        yield replace(plan, score=plan.score - _UNUSED)

    def _negated_direction(self, path: Path) -> float:
        """``knows nobody`` and ``has no age`` deny what comes from the thing, ``nobody knows`` what leads to it."""
        place = self._question.negation or 0
        word = self._question.words[place] if place < len(self._question.words) else ""
        places = [
            p
            for step in path
            for w, p in self._question.asked.items()
            if w in self._lexicon.predicate_words(step.predicate)
        ]
        leads_to_it = word in {"nobody", "nothing", "none"} and bool(places) and place < min(places)
        return 0.3 if path[0].inverse == leads_to_it else -0.3

    def _with_comparison(self, plan: Plan, things: Sequence[Term], _target: Mention) -> Iterator[Plan]:
        for asked in self._question.comparisons:
            yield from self._compared(plan, things, asked)
        yield replace(plan, score=plan.score - _UNUSED) if self._question.comparisons else plan

    def _compared(self, plan: Plan, things: Sequence[Term], asked: Comparison) -> Iterator[Plan]:
        kinds = _DATES if asked.is_date else _NUMERIC
        # "above 2000" is rather a number, "after 2000" a year.
        fits = 0.5 if asked.is_date == bool(_TEMPORAL & {*self._question.words}) else 0.45
        for path, ends, score in self._ranked(things, 2, Goal(datatypes=kinds)):
            datatype = min(e.datatype or "" for e in ends)
            value = f'"{asked.value}"^^{shorten(datatype, self._prefixes)}' if asked.is_date else asked.value
            chain = show_path(path, self._prefixes)
            yield plan.with_pattern(f"?x {chain} ?v . FILTER(?v {asked.sign} {value})", score + fits)
        if not asked.is_date:
            yield from self._with_number_of(plan, things, f"{asked.sign} {asked.value}")

    def _with_number_of(self, plan: Plan, things: Sequence[Term], test: str) -> Iterator[Plan]:
        """Things with so many others of a second class that the question names, or of a relation that it names."""
        for other in self._question.classes[1:2]:
            members = Goal(frozenset(self._instances.get(other.term.value, [])))
            for path, _, score in self._ranked(things, 2, members):
                pattern = f"?x {show_path(path, self._prefixes)} ?y . {self._is_a('y', other.term)}"
                tail = f"GROUP BY ?x\nHAVING (COUNT(DISTINCT ?y) {test})"
                yield replace(plan.with_pattern(pattern, score + 0.7), head="?x", tail=tail)
        for path, _, score in self._ranked(things, 2, Goal(kind="resource")):
            tail = f"GROUP BY ?x\nHAVING (COUNT(DISTINCT ?y) {test})"
            pattern = f"?x {show_path(path, self._prefixes)} ?y ."
            yield replace(plan.with_pattern(pattern, score + 0.3), head="?x", tail=tail)

    def _with_order(self, plan: Plan, things: Sequence[Term], _target: Mention) -> Iterator[Plan]:
        order = self._question.order
        if order is None:
            yield plan
            return
        for path, _, score in self._ranked(things, 2, Goal(datatypes=_NUMERIC | _DATES)):
            chain = show_path(path, self._prefixes)
            # DISTINCT ?x may not be ordered by ?v.
            ordered = plan.with_pattern(f"?x {chain} ?v .", score + 0.5)
            yield replace(ordered, head="?x", tail=f"ORDER BY {order}(?v)\nLIMIT 1")
        for path, _, score in self._ranked(things, 2, Goal(kind="resource")):
            counted = plan.with_pattern(f"?x {show_path(path, self._prefixes)} ?y .", score + 0.2)
            yield replace(counted, head="?x", tail=f"GROUP BY ?x\nORDER BY {order}(COUNT(DISTINCT ?y))\nLIMIT 1")
        yield replace(plan, score=plan.score - _UNUSED)

    def _with_projection(self, plan: Plan, things: Sequence[Term], target: Mention) -> Iterator[Plan]:
        """What is shown of the things: themselves, their number, or a property that is named before them."""
        aggregate = self._question.aggregate
        before = {w: place for w, place in self._question.asked.items() if place < target.start}
        if aggregate in {"SUM", "AVG"}:
            for path, _, score in self._ranked(things, 2, Goal(datatypes=_NUMERIC)):
                summed = plan.with_pattern(f"?x {show_path(path, self._prefixes)} ?v .", score)
                yield replace(summed, head=f"({aggregate}(?v) AS ?n)")
            return
        if aggregate == "COUNT":
            if not plan.tail:
                yield replace(plan, head="(COUNT(DISTINCT ?x) AS ?n)", score=plan.score + 0.3)
            return
        yield plan
        for path, _, _ in self._ranked(things, 1, Goal(kind="literal")):
            score = path_score(path, before, self._lexicon)
            if (
                score <= 0
                and path[0].predicate in self._lexicon.labels
                and {"name", "nam", "label", "title", "titl"} & before.keys()
            ):
                score = 0.4
            if score > 0 and not plan.head.startswith("("):
                shown = plan.with_pattern(f"?x {show_path(path, self._prefixes)} ?value .", score)
                yield replace(shown, head="DISTINCT ?value" if "DISTINCT" in plan.head else "?value")

    # -- paths ------------------------------------------------------------------------------------------------------

    def _ranked(self, start: Sequence[Term], longest: int, goal: Goal) -> list[_Ranked]:
        key = (tuple(start), longest, goal)
        if key not in self._known:
            found = [
                (path, ends, path_score(path, self._question.asked, self._lexicon))
                for path, ends in paths_from(self._web, start, longest, goal).items()
            ]
            found.sort(key=lambda f: (-f[2], len(f[0]), sum(s.inverse for s in f[0]), show_path(f[0], self._prefixes)))
            self._known[key] = found[:_TOP]
        return self._known[key]

    def _is_a(self, variable: str, kind: Term) -> str:
        """A pattern for things of a class, with those of its subclasses if the graph has some."""
        below = any(kind.value in above for above in self._above.values())
        path = f"a/{shorten(SUBCLASS, self._prefixes)}*" if below else "a"
        return f"?{variable} {path} {show_term(kind, self._prefixes)} ."

    def _is_asked(self, step: Step) -> bool:
        return any(w in self._question.asked for w in self._lexicon.predicate_words(step.predicate))

    def _chain(self, path: Path) -> str:
        """The path, repeatable where the question asks for chains and the relation forms some."""
        shown = show_path(path, self._prefixes)
        first = path[0]
        chains = any(first in self._web.get(e, {}) for steps in self._web.values() for e in steps.get(first, ()))
        return re.sub(r"$", "+", shown) if len(path) == 1 and self._question.transitive and chains else shown
