"""Checks a query against the schema before it is run, with complaints that a model can act on.

A complaint is made only of what surely finds nothing: an unknown class or property, or a property that no instance of
the possible classes has. The classes of a variable are those that it is declared to have (directly or by VALUES), else
all that the properties leading to it have as ranges; where one of these is unknown, nothing is said.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.kg import GraphProfile
from pytest_llmkg.kg.terms import RDF_TYPE
from pytest_llmkg.pipelines.shapes import shorten
from pytest_llmkg.pipelines.void import is_datatype
from pytest_llmkg.pipelines.words import local_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_llmkg.kg import Pattern, QueryPatterns

__all__ = ["SchemaCheck", "check_patterns"]

_TYPE = f"<{RDF_TYPE}>"
# They say what names mean, so a query may use them though no class is known to have them.
_EVERYWHERE = ("http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#")
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """A profile as the check needs it: properties by class, and their ranges.

    Attributes:
        profile: what is known of the graph.
        prefixes: for writing names short.
        named: the most names that a complaint proposes.
    """

    profile: GraphProfile
    prefixes: Mapping[str, str]
    named: int = 12
    properties: Mapping[str, Mapping[str, frozenset[str]]] = field(init=False)

    def __post_init__(self) -> None:
        found = {
            use.iri: {one.iri: frozenset(name for name, _ in one.ranges) or frozenset({""}) for one in use.properties}
            for use in self.profile.classes
        }
        object.__setattr__(self, "properties", found)

    def knows(self, predicate: str) -> bool:
        """Whether the graph surely or perhaps has ``predicate``."""
        if predicate == RDF_TYPE or predicate in self.profile.predicates:
            return True
        return not self.profile.is_complete and (predicate.startswith(_EVERYWHERE) or not self.properties)

    def supports(self, class_: str, predicate: str) -> bool:
        """Whether instances of ``class_`` may have ``predicate``."""
        if predicate == RDF_TYPE or predicate in self.properties[class_]:
            return True
        return not self.profile.is_complete and predicate.startswith(_EVERYWHERE)

    def show(self, iri: str) -> str:
        """``iri`` as it is written in complaints."""
        return shorten(iri, self.prefixes)

    def proposals(self, wrong: str, names: Iterable[str]) -> str:
        """The most fitting of ``names`` (the most frequent first), the nearest by name first."""
        known = list(names)
        near = difflib.get_close_matches(
            local_name(wrong).lower(), {local_name(name).lower(): None for name in known}, n=3, cutoff=0.6
        )
        known.sort(key=lambda name: near.index(n) if (n := local_name(name).lower()) in near else len(near))
        shown = ", ".join(self.show(name) for name in known[: self.named])
        return f"{shown}, ..." if len(known) > self.named else shown or "(none)"


def check_patterns(
    query: QueryPatterns, schema: SchemaCheck, services: Mapping[str, SchemaCheck] | None = None
) -> tuple[str, ...]:
    """Complaints on a query that parses, each once, in the order of its patterns.

    Args:
        query: its patterns.
        schema: of the graph that it is run on.
        services: schemas of other endpoints by IRI; what is asked of an endpoint without one is not checked.
    """
    complaints: dict[str, None] = {}
    places = dict.fromkeys(pattern.service for pattern in query.patterns)
    for place in places:
        known = schema if place is None else (services or {}).get(place[1:-1])
        if known is not None:
            patterns = [pattern for pattern in query.patterns if pattern.service == place]
            complaints |= dict.fromkeys(_Check(patterns, query.values, known, place).complaints())
    return tuple(complaints)


class _Check:
    """The check of the patterns at one endpoint."""

    def __init__(
        self,
        patterns: Sequence[Pattern],
        values: Mapping[str, Sequence[str]],
        schema: SchemaCheck,
        place: str | None,
    ) -> None:
        self._patterns = patterns
        self._values = values
        self._schema = schema
        self._where = "" if place is None else f" at the endpoint {place}"
        self._declared = [(p.subject, p.scope, self._classes_in(p)) for p in patterns if _TYPE in p.predicates]
        self._inferred: dict[tuple[str, tuple[int, ...]], frozenset[str]] = {}
        self._infer()

    def complaints(self) -> Iterator[str]:
        for pattern in self._patterns:
            if _TYPE in pattern.predicates:
                yield from self._unknown_classes(pattern)
            elif all(predicate.startswith("<") for predicate in pattern.predicates):
                found = list(self._predicates(pattern))
                yield from found or self._values_of(pattern)

    def _values_of(self, pattern: Pattern) -> Iterator[str]:
        """Complains when the object is said to have classes that the property never leads to."""
        wanted = self._declared_classes(pattern.object, pattern.scope)
        if pattern.loose or not wanted or not self._schema.profile.is_complete:
            return
        ranges = self._ranges(pattern)
        if "" not in ranges and not ranges & wanted:
            yield (
                f"{self._schema.show(pattern.predicates[0][1:-1])} of {pattern.subject}{self._where} leads to "
                f"{', '.join(self._schema.show(name) for name in sorted(ranges))}, never to {pattern.object} of "
                f"{_listed(self._schema, wanted)}"
            )

    def _classes_in(self, pattern: Pattern) -> frozenset[str] | None:
        """The classes that an rdf:type pattern gives its subject; None when they are open."""
        if pattern.object.startswith("<"):
            return frozenset({pattern.object[1:-1]})
        given = self._values.get(pattern.object)
        return frozenset(name[1:-1] for name in given) if given else None

    def _unknown_classes(self, pattern: Pattern) -> Iterator[str]:
        classes = self._classes_in(pattern) or frozenset()
        unknown = sorted(classes - self._schema.properties.keys())
        if unknown and len(unknown) == len(classes) and self._schema.properties:
            for name in unknown:
                proposals = self._schema.proposals(name, self._schema.properties)
                yield (
                    f"nothing{self._where} has the class {self._schema.show(name)} ({pattern.subject} is said to). "
                    f"Classes that exist: {proposals}"
                )

    def _predicates(self, pattern: Pattern) -> Iterator[str]:
        names = [predicate[1:-1] for predicate in pattern.predicates]
        known = [name for name in names if self._schema.knows(name)]
        if not known:
            yield from self._unknown_predicate(pattern, names[0])
            return
        classes = self._classes_of(pattern.subject, pattern.scope)
        if pattern.loose or not classes:
            return
        if all(is_datatype(name) for name in classes):
            shown = ", ".join(self._schema.show(name) for name in sorted(classes))
            yield f"{pattern.subject} is a plain value ({shown}) and has no property {self._schema.show(names[0])}"
            return
        possible = [name for name in classes if not is_datatype(name)]
        # Of a range that is unknown, or a class that is nowhere described, nothing can be said.
        if any(name not in self._schema.properties for name in possible):
            return
        if not any(self._schema.supports(class_, name) for class_ in possible for name in names):
            yield self._unsupported(pattern, names[0], frozenset(possible))

    def _unknown_predicate(self, pattern: Pattern, name: str) -> Iterator[str]:
        if pattern.loose and name.startswith(_EVERYWHERE):
            return
        classes = self._classes_of(pattern.subject, pattern.scope) or frozenset()
        own = [one for c in sorted(classes & self._schema.properties.keys()) for one in self._schema.properties[c]]
        counts = self._schema.profile.predicates
        others = sorted(counts, key=lambda other: (-counts[other], other))
        proposals = self._schema.proposals(name, dict.fromkeys([*own, *([] if own else others)]))
        kind = f"Properties of {_listed(self._schema, classes)}" if own else "Properties that exist"
        shown = self._schema.show(name)
        yield f"nothing{self._where} has the property {shown} (of {pattern.subject}). {kind}: {proposals}"

    def _unsupported(self, pattern: Pattern, name: str, classes: frozenset[str]) -> str:
        own = dict.fromkeys(one for c in sorted(classes) for one in self._schema.properties.get(c, ()))
        return (
            f"{pattern.subject}{self._where} is of {_listed(self._schema, classes)}, where nothing has the property "
            f"{self._schema.show(name)}. Properties there: {self._schema.proposals(name, own)}"
        )

    def _classes_of(self, term: str, scope: tuple[int, ...]) -> frozenset[str] | None:
        """The classes that ``term`` may have in ``scope``; None when they are open."""
        if any(name == term and _holds(place, scope) for name, place, _ in self._declared):
            return self._declared_classes(term, scope)
        inferred = [
            classes for (name, place), classes in self._inferred.items() if name == term and _holds(place, scope)
        ]
        return frozenset().union(*inferred) if inferred and all(inferred) else None

    def _declared_classes(self, term: str, scope: tuple[int, ...]) -> frozenset[str] | None:
        """The classes that ``term`` is said to have, None when they are open or all unknown."""
        declared = [classes for name, place, classes in self._declared if name == term and _holds(place, scope)]
        if not declared or any(classes is None for classes in declared):
            return None
        # An unknown class is complained of by itself; nothing follows from it.
        found = frozenset(name for classes in declared if classes for name in classes)
        return found if found & self._schema.properties.keys() else None

    def _infer(self) -> None:
        """Finds the classes of variables without a declared one, from the ranges of what leads to them."""
        for _ in range(_ROUNDS):
            found: dict[tuple[str, tuple[int, ...]], frozenset[str]] = {}
            for pattern in self._patterns:
                if pattern.loose or _TYPE in pattern.predicates or pattern.object[:1] not in {"?", "_"}:
                    continue
                key = (pattern.object, pattern.scope)
                found[key] = found.get(key, frozenset()) | self._ranges(pattern)
            if found == self._inferred:
                break
            self._inferred = found

    def _ranges(self, pattern: Pattern) -> frozenset[str]:
        """What the pattern leads to; the empty name when that is open."""
        classes = self._classes_of(pattern.subject, pattern.scope)
        if not classes or not all(name in self._schema.properties for name in classes):
            return frozenset({""})
        names = [predicate[1:-1] for predicate in pattern.predicates]
        found = [
            self._schema.properties[c][name] for c in classes for name in names if name in self._schema.properties[c]
        ]
        return frozenset().union(*found) if found else frozenset({""})


def _holds(place: tuple[int, ...], scope: tuple[int, ...]) -> bool:
    """Whether what is said at ``place`` holds in ``scope``: there, and in all groups inside it."""
    return scope[: len(place)] == place


def _listed(schema: SchemaCheck, classes: Iterable[str]) -> str:
    shown = [schema.show(name) for name in sorted(classes)]
    return f"class {' or '.join(shown)}"
