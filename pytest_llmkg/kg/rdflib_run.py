"""Runs queries on graphs with rdflib, as published runs did. Runs inside the worker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.kg.formats import DATASET_FORMAT, format_named
from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.query_check import message_of
from pytest_llmkg.kg.rows import Rows
from pytest_llmkg.kg.terms import XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdflib import Graph, URIRef
    from rdflib.term import Node

    from pytest_llmkg.kg.limits import Limits

__all__ = ["execute_rdflib", "rdflib_graph"]

# rdflib's own parsers need 100 microseconds a triple; above this length pyoxigraph reads the text for them.
_LONG = 500_000
# Where a text writes down that a literal is a string, which pyoxigraph does not tell from a plain one.
_TYPED_STRING = re.compile(
    r"""\bdatatype\s*=\s*["'](?:&xsd;|http://www\.w3\.org/2001/XMLSchema\#)string["']
    | \^\^\s*(?:<http://www\.w3\.org/2001/XMLSchema\#string>|\w*:string\b)""",
    re.VERBOSE,
)


def rdflib_graph(graph: GraphText) -> Graph:
    """``graph`` in rdflib.

    Raises:
        Exception: whatever the parser raises for a text that is no such graph.
    """
    from rdflib import Dataset, Graph
    from rdflib.namespace import XSD as RDFLIB_XSD

    known = format_named(graph.format)
    if known is DATASET_FORMAT:
        return Dataset().parse(data=graph.text, format=known.rdflib_name, publicID=BASE_IRI)
    if len(graph.text) > _LONG and known.name != "json-ld":
        quads = list(_quads(graph))
        strings = sum(getattr(getattr(q.object, "datatype", None), "value", "") == XSD_STRING for q in quads)
        typed = sum(1 for _ in _TYPED_STRING.finditer(graph.text))
        if typed in {0, strings}:  # else rdflib has to read which are which
            return _filled(quads, RDFLIB_XSD.string if typed else None)
    return Graph().parse(data=graph.text, format=known.rdflib_name, publicID=BASE_IRI)


def _quads(graph: GraphText) -> Iterable[Any]:
    from pyoxigraph import parse

    form = format_named(graph.format).oxigraph_format()
    return parse(graph.text, form, base_iri=BASE_IRI, without_named_graphs=True)


def _filled(quads: Iterable[Any], string: URIRef | None) -> Graph:
    """The triples of ``quads``; ``string`` is the datatype that strings get."""
    from rdflib import Graph

    loaded = Graph()
    seen: dict[Any, Node] = {}
    for quad in quads:
        for term in (quad.subject, quad.predicate, quad.object):
            if term not in seen:
                seen[term] = _to_rdflib(term, string)
        loaded.add((seen[quad.subject], seen[quad.predicate], seen[quad.object]))
    return loaded


def execute_rdflib(graph: Graph, tree: Any, prefixes: Mapping[str, str], limits: Limits) -> QueryResult:
    """Runs the query of ``tree`` and reads its result to the end; any exception becomes the result's error.

    ``prefixes`` are declared before the query, on top of the names that rdflib always knows. Solutions in which every
    projected variable is unbound are dropped, as rdflib's result iterator does. Literals have the lexical form that
    rdflib gives them.
    """
    from rdflib.plugins.sparql.algebra import translateQuery

    try:
        answer = graph.query(translateQuery(tree, None, prefixes))
        if answer.type == "ASK":
            return QueryResult(None, boolean=bool(answer.askAnswer))
        if answer.type == "SELECT":
            names = [str(name) for name in answer.vars or ()]
            return _rows(names, answer, limits)
        return _rows(["subject", "predicate", "object"], answer.graph or (), limits)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
        return QueryResult(message_of(error))


def _rows(names: list[str], found: Iterable[Any], limits: Limits) -> QueryResult:
    rows = Rows(tuple(names), limits)
    for row in found:
        if not rows.add(tuple(None if term is None else _from_rdflib(term) for term in row)):
            break
    return rows.result()


def _to_rdflib(term: Any, string: URIRef | None) -> Node:
    from pyoxigraph import BlankNode, NamedNode
    from rdflib import BNode, Literal, URIRef

    if isinstance(term, NamedNode):
        return URIRef(term.value)
    if isinstance(term, BlankNode):
        return BNode(term.value)
    if term.language is not None:
        return Literal(term.value, lang=term.language)
    datatype = term.datatype.value
    return Literal(term.value, datatype=string if datatype == XSD_STRING else URIRef(datatype))


def _from_rdflib(term: Any) -> Term:
    from rdflib import BNode, Literal

    if isinstance(term, Literal):
        datatype = None if term.datatype is None or str(term.datatype) == XSD_STRING else str(term.datatype)
        return Term("literal", str(term), datatype, term.language)
    return Term("bnode" if isinstance(term, BNode) else "iri", str(term))
