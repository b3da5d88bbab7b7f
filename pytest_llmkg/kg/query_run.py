"""Runs queries on loaded graphs: with pyoxigraph, with rdflib, or as rdflib would. Runs inside the worker."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_llmkg.contracts import GraphText, QueryResult
from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.casts import integer_cast
from pytest_llmkg.kg.engine_choice import plain_query
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.limits import BASE_IRI, Limits
from pytest_llmkg.kg.lockdown import no_new_files
from pytest_llmkg.kg.query_check import message_of, refusal
from pytest_llmkg.kg.rdflib_run import execute_rdflib, rdflib_graph
from pytest_llmkg.kg.rows import Rows
from pytest_llmkg.kg.terms import XSD, from_oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Store
    from rdflib import Graph

    from pytest_llmkg.kg.query_trees import QueryTrees

__all__ = ["GraphCache", "LoadedGraph", "Query", "declare_function", "execute", "run_query"]

_UNKNOWN_FUNCTION = re.compile(r"custom function <([^>]*)> is not supported")
_WRITTEN_ALIKE = {None, f"{XSD}integer", f"{XSD}boolean"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the prefixes that are declared before it and the engine that is to run it."""

    text: str
    prefixes: Mapping[str, str]
    engine: str = "pyoxigraph"


class LoadedGraph:
    """A graph in the engines that were asked for so far; each reads its text once."""

    def __init__(self, graph: GraphText) -> None:
        self.graph = graph
        self.types_strings = "string" in graph.text  # of some string the datatype may be written down
        self._store: Store | None = None
        self._rdflib: Graph | None = None

    def store(self) -> Store:
        """The graph in pyoxigraph.

        Raises:
            Exception: whatever the parser raises for a text that is no such graph.
        """
        from pyoxigraph import Store

        if self._store is None:
            store = Store()
            with no_new_files():
                store.load(self.graph.text, format_named(self.graph.format).oxigraph_format(), base_iri=BASE_IRI)
            self._store = store
        return self._store

    def rdflib(self) -> Graph:
        """The graph in rdflib.

        Raises:
            Exception: whatever the parser raises for a text that is no such graph.
        """
        if self._rdflib is None:
            self._rdflib = rdflib_graph(self.graph)
        return self._rdflib


class GraphCache:
    """Loaded graphs by content hash; the ones that were not used for longest go first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._graphs: OrderedDict[str, LoadedGraph] = OrderedDict()

    def get(self, key: str) -> LoadedGraph | None:
        """The graph with this hash, None if it is not loaded."""
        if key not in self._graphs:
            return None
        self._graphs.move_to_end(key)
        return self._graphs[key]

    def load(self, key: str, graph: GraphText, engine: str = "pyoxigraph") -> str | None:
        """Loads ``graph`` into ``engine``; the parser's message if it does not parse.

        For ``exact`` it is the first query that needs an engine which reads the text into it.
        """
        self._make_room(len(graph.text))
        loaded = LoadedGraph(graph)
        try:
            if engine == "rdflib":
                loaded.rdflib()
            elif engine == "pyoxigraph":
                loaded.store()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
            return message_of(error)
        self._graphs[key] = loaded
        return None

    def _make_room(self, size: int) -> None:
        while self._graphs and (
            len(self._graphs) >= self._limits.cached_graphs
            or size + sum(len(held.graph.text) for held in self._graphs.values()) > self._limits.cached_characters
        ):
            self._graphs.popitem(last=False)


def run_query(loaded: LoadedGraph, query: Query, trees: QueryTrees, limits: Limits) -> QueryResult:
    """Runs ``query`` unless it reaches outside the graph.

    ``engine`` is ``pyoxigraph`` (see `execute`), ``rdflib``, or ``exact``: the result that rdflib gives, by pyoxigraph
    where both surely agree (`pytest_llmkg.kg.engine_choice`).
    """
    refused = refusal(query.text)
    if refused:
        return QueryResult(refused)
    if query.engine == "pyoxigraph":
        return _with_pyoxigraph(loaded, query, limits)
    try:
        if query.engine == "exact" and _is_plain(loaded, query):
            result = _with_pyoxigraph(loaded, query, limits)
            if result.error is None and _is_written_alike(result):
                return result
        tree, graph = trees.take(query.text), loaded.rdflib()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
        return QueryResult(message_of(error))
    return execute_rdflib(graph, tree, query.prefixes, limits)


def _is_plain(loaded: LoadedGraph, query: Query) -> bool:
    """Whether both engines surely give the same solutions, whatever their order."""
    plain = plain_query(query.text)
    if plain is None or plain.renames(query.prefixes):
        return False
    return not (plain.has_strings and loaded.types_strings)


def _is_written_alike(result: QueryResult) -> bool:
    """Whether both engines write every literal of ``result`` alike; they shorten 1.50 and dates in their own ways."""
    return all(term is None or term.datatype in _WRITTEN_ALIKE for row in result.rows for term in row)


def _with_pyoxigraph(loaded: LoadedGraph, query: Query, limits: Limits) -> QueryResult:
    try:
        store = loaded.store()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
        return QueryResult(message_of(error))
    return execute(store, query.text, query.prefixes, limits)


def execute(store: Store, query: str, prefixes: Mapping[str, str], limits: Limits) -> QueryResult:
    """Runs ``query`` and reads its result to the end.

    ``prefixes`` are declared before the query, whose own declarations win; relative IRIs are resolved
    against ``BASE_IRI``. A function that the engine does not know is an expression error for its solution
    (SPARQL 1.1, section 17.3), not a refusal of the query; casts such as ``xsd:int`` are known. The solutions
    in which every projected variable is unbound are dropped, as rdflib's result iterator does. CONSTRUCT and
    DESCRIBE give the variables subject, predicate and object. Numbers come back in the engine's canonical lexical
    form (``01`` as ``1``), blank nodes with the labels ``b0``, ``b1`` ... in the order of the result.
    """
    unknown: dict[Any, Any] = {}
    while True:
        try:
            with no_new_files():
                answer = store.query(query, base_iri=BASE_IRI, prefixes=dict(prefixes), custom_functions=unknown)
                return _read(answer, limits)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
            if not declare_function(error, unknown):
                return QueryResult(message_of(error))


def declare_function(error: Exception, functions: dict[Any, Any]) -> bool:
    """Adds the function that ``error`` complains of, a cast or one that always fails; False if that cannot help."""
    from pyoxigraph import NamedNode

    name = _UNKNOWN_FUNCTION.search(str(error))
    if name is None or NamedNode(name[1]) in functions:
        return False
    functions[NamedNode(name[1])] = integer_cast(name[1]) or _fails
    return True


def _fails(*_arguments: object) -> None:
    """No value, which the engine takes for an expression error."""


def _read(answer: object, limits: Limits) -> QueryResult:
    from pyoxigraph import QueryBoolean, QuerySolutions, QueryTriples

    if isinstance(answer, QueryBoolean):
        return QueryResult(None, boolean=bool(answer))
    if isinstance(answer, QueryTriples):
        return _rows(("subject", "predicate", "object"), (tuple(t) for t in answer), limits)
    if isinstance(answer, QuerySolutions):
        names = tuple(v.value for v in answer.variables)
        return _rows(names, (tuple(s) for s in answer), limits)
    raise EngineError(f"the engine answered with a {type(answer).__name__}, which is no query result")


def _rows(names: tuple[str, ...], found: Iterable[tuple[object, ...]], limits: Limits) -> QueryResult:
    rows = Rows(names, limits)
    for row in found:
        if not rows.add(tuple(None if term is None else from_oxigraph(term) for term in row)):
            break
    return rows.result()
