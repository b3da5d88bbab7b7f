"""What a graph is made of: its classes, their properties by frequency, what these lead to. Computed inside the worker.

The idea of a schema that is counted from the data is SPARQL-LLM's (its benchmark's schema generator); here all is
counted in three queries, without a limit, by an engine in the same process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyoxigraph import Store

    from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult

__all__ = ["ClassUse", "GraphProfile", "PropertyUse", "profile_by_queries", "profile_from_frame", "profile_store"]

# In one query with OPTIONAL, a triple would count once for each class of its object; it takes about as long.
_VALUES = """\
SELECT ?c ?p ?r (COUNT(*) AS ?n) { ?s a ?c ; ?p ?o FILTER(ISIRI(?c)) BIND(DATATYPE(?o) AS ?r) } GROUP BY ?c ?p ?r"""
_LINKS = """\
SELECT ?c ?p ?r (COUNT(*) AS ?n) { ?s a ?c ; ?p ?o . ?o a ?r FILTER(ISIRI(?c) && ISIRI(?r)) } GROUP BY ?c ?p ?r"""
# The same, for the engine of this process, which so takes a third less time; endpoints may be slow at inner queries.
_LINKS_HERE = """\
SELECT ?c ?p ?r (COUNT(*) AS ?n) { { SELECT ?s ?p ?r { ?s ?p ?o . ?o a ?r } } ?s a ?c FILTER(ISIRI(?c) && ISIRI(?r)) }
GROUP BY ?c ?p ?r"""
_PREDICATES = "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"
_LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#comment",
)
_LONGEST_LABEL = 300


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """How instances of a class use a property.

    Attributes:
        iri: of the property.
        count: triples with it; 0 when only its presence is known.
        ranges: classes and datatypes that its values have, with counts, the most frequent first; the empty name
            stands for IRIs and blank nodes without a class.
    """

    iri: str
    count: int = 0
    ranges: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ClassUse:
    """A class with its instances and their properties.

    Attributes:
        iri: of the class.
        count: its instances; more where these have further classes.
        properties: without rdf:type, the most frequent first.
    """

    iri: str
    count: int = 0
    properties: tuple[PropertyUse, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphProfile:
    """The classes of a graph, the most frequent first.

    Attributes:
        classes: with their properties.
        predicates: every property with the number of its triples, also those of subjects without a class.
        labels: names and descriptions of classes and properties by IRI, in all languages.
        error: why nothing is known, None if something is.
        is_complete: whether a class or property that is not here is surely not in the graph.
    """

    classes: tuple[ClassUse, ...] = ()
    predicates: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    error: str | None = None
    is_complete: bool = True


def profile_store(store: Store, *, ranges: bool = True) -> dict[str, Any]:
    """The profile of the default graph of ``store`` as a frame of plain lists; see `profile_from_frame`.

    Args:
        store: the graph.
        ranges: whether to count what properties lead to, which takes most of the time.
    """
    values = [[c.value, p.value, _name(r), int(n.value)] for c, p, r, n in _rows(store, _VALUES)]
    links = [[c.value, p.value, _name(r), int(n.value)] for c, p, r, n in _rows(store, _LINKS_HERE)] if ranges else []
    predicates = [[p.value, int(n.value)] for p, n in _rows(store, _PREDICATES)]
    names = dict.fromkeys([*(row[0] for row in values), *(name for name, _ in predicates)])
    labels = [[str(name), texts] for name in names if (texts := list(_labels(store, str(name))))]
    return {"values": values, "links": links, "predicates": predicates, "labels": labels}


def _rows(store: Store, query: str) -> Iterable[Any]:
    from pyoxigraph import QuerySolutions

    answer = store.query(query)
    if not isinstance(answer, QuerySolutions):
        raise EngineError(f"the engine answered with a {type(answer).__name__}, which is no table")
    return answer


def _name(term: Any) -> str:
    return "" if term is None else str(term.value)


def _labels(store: Store, iri: str) -> Iterator[str]:
    from pyoxigraph import Literal, NamedNode

    for predicate in _LABELS:
        for quad in store.quads_for_pattern(NamedNode(iri), NamedNode(predicate), None, None):
            if isinstance(quad.object, Literal):
                yield quad.object.value[:_LONGEST_LABEL]


def profile_from_frame(frame: Mapping[str, Any]) -> GraphProfile:
    """The profile that `profile_store` described; equal counts stand in the order of their names."""
    leads: dict[tuple[str, str], dict[str, int]] = {}
    totals: dict[str, dict[str, int]] = {}
    for class_, predicate, range_, count in frame["values"]:
        leads.setdefault((class_, predicate), {})[range_] = count
        row = totals.setdefault(class_, {})
        row[predicate] = row.get(predicate, 0) + count
    for class_, predicate, range_, count in frame["links"]:
        found = leads[class_, predicate]
        found[range_] = count
        found[""] -= count  # what has two classes is taken off twice, so this may end below zero
    classes = [
        ClassUse(
            class_,
            row.get(RDF_TYPE, 0),
            tuple(
                PropertyUse(name, count, _sorted(leads[class_, name]))
                for name, count in _sorted(row)
                if name != RDF_TYPE
            ),
        )
        for class_, row in totals.items()
    ]
    classes.sort(key=lambda use: (-use.count, use.iri))
    labels = {name: tuple(texts) for name, texts in frame["labels"]}
    return GraphProfile(tuple(classes), dict(map(tuple, frame["predicates"])), labels)


def _sorted(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(((name, n) for name, n in counts.items() if n > 0), key=lambda item: (-item[1], item[0])))


def profile_by_queries(engine: KgEngine, graph: GraphText, *, ranges: bool = True) -> GraphProfile:
    """The profile of ``graph`` by the same queries, sent to an engine that can only be queried (an endpoint).

    Raises:
        EndpointError: the endpoint gave no result.
    """
    results = {
        "values": engine.run_query(graph, _VALUES, {}),
        "predicates": engine.run_query(graph, _PREDICATES, {}),
        **({"links": engine.run_query(graph, _LINKS, {})} if ranges else {}),
    }
    errors = [result.error for result in results.values() if result.error is not None]
    if errors:
        return GraphProfile(error=errors[0])
    frame: dict[str, Any] = {"links": [], **{name: _plain_rows(result) for name, result in results.items()}}
    names = [row[0] for row in (*frame["values"], *frame["predicates"])]
    known = {f"<{name}>" for name in names if ">" not in name}
    wanted = " ".join(sorted(known)), " ".join(f"<{name}>" for name in _LABELS)
    asked = engine.run_query(
        graph, f"SELECT ?s ?o {{ VALUES ?s {{ {wanted[0]} }} VALUES ?p {{ {wanted[1]} }} ?s ?p ?o }}", {}
    )
    labels: dict[str, list[str]] = {}
    for name, text in _plain_rows(asked):  # a graph without labels is searched by names alone
        labels.setdefault(name, []).append(text[:_LONGEST_LABEL])
    return profile_from_frame({**frame, "labels": list(labels.items())})


def _plain_rows(result: QueryResult) -> list[list[Any]]:
    """Rows as the frame has them: names as texts, the count at the end as a number."""
    rows = [["" if term is None else term.value for term in row] for row in result.rows]
    return [[*row[:-1], int(row[-1])] if result.variables[-1:] == ("n",) else row for row in rows]
