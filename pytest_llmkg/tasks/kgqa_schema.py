"""The classes and properties of a graph as a prompt shows them, and which names a graph knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.errors import EndpointError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_llmkg.contracts import GraphText, KgEngine, Term

__all__ = ["known_names", "local_name", "schema_text", "shortened_iri"]

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_USES = """\
SELECT ?class ?property ?range (COUNT(*) AS ?uses) {
  ?s a ?class ; ?property ?o
  OPTIONAL { ?o a ?type }
  BIND(COALESCE(?type, IF(LANG(?o) = "", DATATYPE(?o), CONCAT("@", LANG(?o)))) AS ?range)
} GROUP BY ?class ?property ?range"""
_NAMES = "SELECT DISTINCT ?name { { ?s ?name ?o } UNION { ?s a ?name } }"
_OF_SCHEMAS = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/ns/shacl#",
)
_CLASSES, _PROPERTIES, _RANGES = 60, 40, 3  # the most that a prompt shows, the most frequent first
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def schema_text(graph: GraphText, kg: KgEngine, prefixes: Mapping[str, str]) -> str:
    """A line for each class with its properties and what these lead to, the most frequent first.

    ``@en`` stands for texts in English;
    classes of the vocabularies for schemas are left out.

    Source of the idea: the class descriptions of SPARQL-LLM's entry in the TEXT2SPARQL challenge.

    Raises:
        RecordError: the graph cannot be queried within the limits.
    """
    result = kg.run_query(graph, _USES, {})
    if result.error is not None:
        raise RecordError(
            f'the schema of the graph cannot be told: {result.error}; a case with context = "none" does without'
        )
    uses: dict[str, dict[str, dict[str, int]]] = {}
    for class_, property_, range_, count in result.rows:
        if not (class_ and property_ and count and class_.kind == "iri") or property_.value == _RDF_TYPE:
            continue
        if not class_.value.startswith(_OF_SCHEMAS):
            ranges = uses.setdefault(class_.value, {}).setdefault(property_.value, {})
            name = range_.value if range_ and range_.kind != "bnode" else ""
            ranges[name] = ranges.get(name, 0) + int(count.value)
    lines = []
    for class_name in _frequent({name: _total(properties) for name, properties in uses.items()}, _CLASSES):
        properties = uses[class_name]
        shown = [
            f"{shortened_iri(name, prefixes)} {_ranges(properties[name], prefixes)}".rstrip()
            for name in _frequent({name: sum(ranges.values()) for name, ranges in properties.items()}, _PROPERTIES)
        ]
        lines.append(f"{shortened_iri(class_name, prefixes)}: {'; '.join(shown)}")
    return "\n".join(lines)


def _total(properties: Mapping[str, Mapping[str, int]]) -> int:
    return sum(sum(ranges.values()) for ranges in properties.values())


def _ranges(ranges: Mapping[str, int], prefixes: Mapping[str, str]) -> str:
    chosen = _frequent(ranges, _RANGES)
    shown = [name if name.startswith("@") else shortened_iri(name, prefixes) for name in chosen if name]
    return f"({' or '.join(shown)})" if shown else ""


def _frequent(counts: Mapping[str, int], most: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:most]


def known_names(graphs: Iterable[GraphText], kg: KgEngine) -> frozenset[str] | None:
    """The IRIs of all properties and classes that ``graphs`` use; None when that cannot be told within the limits."""
    try:
        results = [kg.run_query(graph, _NAMES, {}) for graph in graphs]
    except EndpointError:  # an observation beside the scores, which must not fail because of it
        return None
    if any(result.error is not None for result in results):
        return None
    return frozenset(_iris(row[0] for result in results for row in result.rows))


def _iris(terms: Iterable[Term | None]) -> Iterable[str]:
    return (term.value for term in terms if term is not None and term.kind == "iri")


def local_name(iri: str) -> str:
    """What follows the last slash or hash of ``iri``."""
    return re.split(r"[/#]", iri)[-1]


def shortened_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """``iri`` as a prefixed name where a query could hold it so, else in angle brackets."""
    for prefix, namespace in sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0])):
        if namespace and iri.startswith(namespace) and _LOCAL.fullmatch(iri[len(namespace) :]):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"
