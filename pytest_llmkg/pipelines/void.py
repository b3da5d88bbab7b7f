"""Schemas as VoID descriptions, in and out: what SPARQL-LLM and void-generator read and write.

Vocabulary: https://www.w3.org/TR/void/ with the extension for datatypes, http://ldf.fi/void-ext.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import ClassUse, GraphProfile, PropertyUse, parse_triples, serialise
from pytest_llmkg.kg.terms import RDF_TYPE, XSD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_llmkg.contracts import KgEngine

__all__ = ["profile_from_own_void", "profile_from_void", "void_text"]

_VOID = "http://rdfs.org/ns/void#"
_EXT = "http://ldf.fi/void-ext#"
_NAMES = (
    *("class", "entities", "property", "triples", "classPartition", "propertyPartition"),
    *("linkPredicate", "subjectsTarget", "objectsTarget"),
)
_EXTENDED = (f"{_EXT}datatypePartition", f"{_EXT}datatype")
_COUNT = re.compile(r"[0-9]{1,18}")
_PREFIXES = {"void": _VOID, "void-ext": _EXT, "xsd": XSD}
_RDF_DATATYPES = {f"http://www.w3.org/1999/02/22-rdf-syntax-ns#{name}" for name in ("langString", "HTML", "JSON")}
Node = dict[str, list[Term]]


def profile_from_void(text: str, form: str = "turtle") -> GraphProfile:
    """The classes and properties that a VoID description tells of; what it does not name may exist all the same.

    Class partitions with their property partitions, and linksets between class partitions, count.

    Raises:
        UserError: ``text`` is no RDF.
    """
    return _profile(parse_triples(GraphText(text, form)))


def profile_from_own_void(engine: KgEngine, graph: GraphText) -> GraphProfile:
    """The profile by the VoID description that ``graph`` (e.g. of an endpoint) holds of itself.

    Raises:
        UserError: it holds none.
    """
    names = " ".join(f"<{name}>" for name in (*(f"{_VOID}{name}" for name in _NAMES), *_EXTENDED))
    result = engine.run_query(graph, f"SELECT ?s ?p ?o {{ VALUES ?p {{ {names} }} ?s ?p ?o }}", {})
    if result.error is not None:
        return GraphProfile(error=result.error)
    found = _profile((s, p, o) for s, p, o in result.rows if s is not None and p is not None and o is not None)
    if not found.classes:
        raise UserError(
            "the graph holds no VoID description of its classes; leave the setting 'void' out to count them"
        )
    return found


def _profile(triples: Iterable[tuple[Term, Term, Term]]) -> GraphProfile:
    nodes: dict[Term, Node] = {}
    for subject, predicate, value in triples:
        nodes.setdefault(subject, {}).setdefault(predicate.value, []).append(value)
    uses: dict[str, dict[str, dict[str, int]]] = {}
    counts: dict[tuple[str, str], int] = {}
    entities: dict[str, int] = {}
    for class_, node in _class_partitions(nodes):
        entities[class_] = max(entities.get(class_, 0), _number(node, f"{_VOID}entities"))
        for name, part in _property_partitions(node, nodes):
            counts[class_, name] = max(counts.get((class_, name), 0), _number(part, f"{_VOID}triples"))
            uses.setdefault(class_, {}).setdefault(name, {}).update(_ranges(part, nodes))
        uses.setdefault(class_, {})
    for source, name, target, count in _links(nodes):
        uses.setdefault(source, {}).setdefault(name, {}).setdefault(target, count)
    classes = [
        ClassUse(class_, entities.get(class_, 0), _properties(class_, row, counts)) for class_, row in uses.items()
    ]
    classes.sort(key=lambda use: (-use.count, use.iri))
    predicates: dict[str, int] = {}
    for use in (use for class_use in classes for use in class_use.properties):
        predicates[use.iri] = predicates.get(use.iri, 0) + use.count
    return GraphProfile(tuple(classes), predicates, is_complete=False)


def _properties(
    class_: str, row: Mapping[str, Mapping[str, int]], counts: Mapping[tuple[str, str], int]
) -> tuple[PropertyUse, ...]:
    found = [
        PropertyUse(name, counts.get((class_, name), 0), tuple(sorted(ranges.items(), key=lambda r: (-r[1], r[0]))))
        for name, ranges in row.items()
        if name != RDF_TYPE
    ]
    return tuple(sorted(found, key=lambda use: (-use.count, use.iri)))


def _class_partitions(nodes: Mapping[Term, Node]) -> Iterator[tuple[str, Node]]:
    """Classes with their partitions that list properties."""
    for node in nodes.values():
        if f"{_VOID}propertyPartition" in node:
            yield from ((term.value, node) for term in _iris(node, f"{_VOID}class"))


def _property_partitions(node: Node, nodes: Mapping[Term, Node]) -> Iterator[tuple[str, Node]]:
    for term in node.get(f"{_VOID}propertyPartition", ()):
        part = nodes.get(term, {})
        yield from ((name.value, part) for name in _iris(part, f"{_VOID}property"))


def _ranges(part: Node, nodes: Mapping[Term, Node]) -> Iterator[tuple[str, int]]:
    kinds = ((f"{_VOID}classPartition", f"{_VOID}class"), (f"{_EXT}datatypePartition", f"{_EXT}datatype"))
    for partition, name in kinds:
        for term in part.get(partition, ()):
            inner = nodes.get(term, {})
            yield from ((value.value, _number(inner, f"{_VOID}triples")) for value in _iris(inner, name))


def _links(nodes: Mapping[Term, Node]) -> Iterator[tuple[str, str, str, int]]:
    """Linksets whose two ends are class partitions: class, property, class, number of triples."""
    for node in nodes.values():
        for name in _iris(node, f"{_VOID}linkPredicate"):
            for source in _classes_at(node.get(f"{_VOID}subjectsTarget", ()), nodes):
                for target in _classes_at(node.get(f"{_VOID}objectsTarget", ()), nodes):
                    yield source, name.value, target, _number(node, f"{_VOID}triples")


def _classes_at(ends: Sequence[Term], nodes: Mapping[Term, Node]) -> Iterator[str]:
    return (term.value for end in ends for term in _iris(nodes.get(end, {}), f"{_VOID}class"))


def _iris(node: Node, name: str) -> Iterator[Term]:
    return (term for term in node.get(name, ()) if term.kind == "iri")


def _number(node: Node, name: str) -> int:
    return max((int(term.value) for term in node.get(name, ()) if _COUNT.fullmatch(term.value)), default=0)


def void_text(profile: GraphProfile, dataset: str) -> str:
    """``profile`` as a VoID description in Turtle, which `profile_from_void` reads back.

    Args:
        profile: what to write.
        dataset: IRI of the graph; those of its partitions begin with it.
    """
    return serialise(_void_triples(profile, dataset), "turtle", _PREFIXES)


def _void_triples(profile: GraphProfile, dataset: str) -> Iterator[tuple[Term, Term, Term]]:
    root = Term("iri", dataset)
    yield root, Term("iri", RDF_TYPE), Term("iri", f"{_VOID}Dataset")
    for i, class_use in enumerate(profile.classes):
        part = Term("iri", f"{dataset}#class-{i}")
        yield root, _void("classPartition"), part
        yield part, _void("class"), Term("iri", class_use.iri)
        yield part, _void("entities"), _integer(class_use.count)
        for j, use in enumerate(class_use.properties):
            inner = Term("iri", f"{part.value}-property-{j}")
            yield part, _void("propertyPartition"), inner
            yield inner, _void("property"), Term("iri", use.iri)
            yield inner, _void("triples"), _integer(use.count)
            yield from _range_triples(inner, use)


def _range_triples(inner: Term, use: PropertyUse) -> Iterator[tuple[Term, Term, Term]]:
    for number, (name, count) in enumerate(use.ranges):
        if not name:
            continue
        end = Term("iri", f"{inner.value}-range-{number}")
        kind = (
            (f"{_EXT}datatypePartition", f"{_EXT}datatype")
            if is_datatype(name)
            else (f"{_VOID}classPartition", f"{_VOID}class")
        )
        yield inner, Term("iri", kind[0]), end
        yield end, Term("iri", kind[1]), Term("iri", name)
        yield end, _void("triples"), _integer(count)


def is_datatype(iri: str) -> bool:
    """Whether a range is a datatype: XML Schema's, RDF's own, or one whose name says that it is of literals."""
    return iri.startswith(XSD) or iri in _RDF_DATATYPES or iri.endswith("Literal")


def _void(name: str) -> Term:
    return Term("iri", _VOID + name)


def _integer(number: int) -> Term:
    return Term("literal", str(number), f"{XSD}integer")
