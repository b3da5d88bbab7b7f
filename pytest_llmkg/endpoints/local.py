"""SERVICE over stores in this process: each is a named graph of one dataset, and SERVICE becomes GRAPH."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.endpoints.clauses import Clause, scan
from pytest_llmkg.endpoints.preparing import unlisted, without_blocks
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.formats import DATASET_FORMAT
from pytest_llmkg.kg.graphs import parse_triples, serialise
from pytest_llmkg.kg.limits import BASE_IRI

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["dataset_of", "graph_name", "rewritten"]

_NO_GRAPH = "<urn:llmkg:no-graph>"


def graph_name(name: str) -> str:
    """The IRI of the store ``name``, which may be a word.

    Raises:
        UserError: not usable as an IRI.
    """
    if not name or any(c in '<>"{}|^`\\' or ord(c) <= 32 for c in name):
        raise UserError(f"a service is named by an IRI or a word, found {name!r:.100}")
    return urljoin(BASE_IRI, name)


def rewritten(query: str, prefixes: Mapping[str, str], services: Mapping[str, object]) -> str | QueryResult | None:
    """``query`` for a dataset with the stores ``services`` as named graphs.

    ``SERVICE X { P }`` asks for P in the default graph of the store X, as ``GRAPH X { P }`` asks for it in the named
    graph: filters, sub-queries, paths and nested services included. The stores have no named graphs of their own, so
    the query's own GRAPH clauses find nothing. A store that is not on the list is refused; with SILENT it counts as a
    service that failed, which is one solution without bindings (SPARQL 1.1 Federated Query, 2.3). A variable runs over
    all stores.

    Returns:
        the query; a result with the refusal; None if the query names no service and can run on its graph as it is.
    """
    if "service" not in query.lower() and "\\" not in query:
        return None
    found = scan(query, prefixes)
    if found.doubt is not None:
        return QueryResult(found.doubt)
    named = [clause for clause in found.clauses if clause.word == "SERVICE"]
    if not named:
        return None
    failing = [c for c in named if not c.is_variable and c.target not in services]
    for clause in failing:
        if not clause.silent or clause.target is None or clause.block_end is None:
            return QueryResult(unlisted("SERVICE", clause.text, services))
    if failing:
        return rewritten(without_blocks(query, failing), prefixes, services) or without_blocks(query, failing)
    return _replaced(query, found.clauses)


def _replaced(query: str, clauses: Sequence[Clause]) -> str:
    kept, place = [], 0
    for clause in clauses:
        if clause.word == "SERVICE":
            target = clause.text if clause.target is None else f"<{clause.target}>"  # rdflib leaves relative ones alone
            kept += [query[place : clause.start], "GRAPH ", target]
            place = clause.target_end
        elif clause.word == "GRAPH":
            kept += [query[place : clause.target_start], _NO_GRAPH]
            place = clause.target_end
    return "".join([*kept, query[place:]])


@functools.lru_cache(maxsize=4)
def dataset_of(graph: GraphText, services: tuple[tuple[str, GraphText], ...]) -> GraphText:
    """N-Quads with ``graph`` as the default graph and each service as a named graph; blank nodes stay apart.

    Raises:
        UserError: a graph does not parse.
    """
    parts = [_lines(graph, 0, "")]
    for number, (name, service) in enumerate(services, 1):
        try:
            parts.append(_lines(service, number, f"<{name}> "))
        except UserError as error:
            raise UserError(f"the service {name}: {error}") from error
    return GraphText("".join(parts), DATASET_FORMAT.name)


def _lines(graph: GraphText, number: int, name: str) -> str:
    triples = ((_apart(s, number), p, _apart(o, number)) for s, p, o in parse_triples(graph))
    text = serialise(triples, "nt")
    return "".join(f"{line[:-1]}{name}.\n" for line in text.split("\n") if line)


def _apart(term: Term, number: int) -> Term:
    return replace(term, value=f"s{number}x{term.value}") if term.kind == "bnode" else term
