"""Runs queries on graphs with pyoxigraph. Runs inside the worker."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from pytest_llmkg.contracts import GraphText, QueryResult, Term
from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.limits import BASE_IRI, Limits
from pytest_llmkg.kg.lockdown import no_new_files
from pytest_llmkg.kg.query_check import message_of, refusal
from pytest_llmkg.kg.terms import from_oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyoxigraph import Store

__all__ = ["GraphCache", "execute", "run_query"]

_UNKNOWN_FUNCTION = re.compile(r"custom function <([^>]*)> is not supported")


class GraphCache:
    """Loaded graphs by content hash; the ones that were not used for longest go first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._stores: OrderedDict[str, tuple[Store, int]] = OrderedDict()

    def get(self, key: str) -> Store | None:
        """The graph with this hash, None if it is not loaded."""
        if key not in self._stores:
            return None
        self._stores.move_to_end(key)
        return self._stores[key][0]

    def load(self, key: str, graph: GraphText) -> str | None:
        """Loads ``graph``; the parser's message if it does not parse."""
        from pyoxigraph import Store

        self._make_room(len(graph.text))
        store = Store()
        try:
            with no_new_files():
                store.load(graph.text, format_named(graph.format).oxigraph_format(), base_iri=BASE_IRI)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (recorded: it becomes the result of the call)
            return message_of(error)
        self._stores[key] = (store, len(graph.text))
        return None

    def _make_room(self, size: int) -> None:
        while self._stores and (
            len(self._stores) >= self._limits.cached_graphs
            or size + sum(held for _, held in self._stores.values()) > self._limits.cached_characters
        ):
            self._stores.popitem(last=False)


def run_query(store: Store, query: str, prefixes: Mapping[str, str], limits: Limits) -> QueryResult:
    """Runs ``query`` unless it reaches outside the graph; see `execute`."""
    refused = refusal(query)
    return QueryResult(refused) if refused else execute(store, query, prefixes, limits)


def execute(store: Store, query: str, prefixes: Mapping[str, str], limits: Limits) -> QueryResult:
    """Runs ``query`` and reads its result to the end.

    ``prefixes`` are declared before the query, whose own declarations win; relative IRIs are resolved
    against ``BASE_IRI``. A function that the engine does not know is an expression error for its solution
    (SPARQL 1.1, section 17.3), not a refusal of the query. The solutions in which every projected variable
    is unbound are dropped, as rdflib's result iterator does. CONSTRUCT and DESCRIBE give the variables
    subject, predicate and object. Numbers come back in the engine's canonical lexical form (``01`` as
    ``1``), blank nodes with the labels ``b0``, ``b1`` ... in the order of the result.
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
            name = _UNKNOWN_FUNCTION.search(str(error))
            if name is None or not _declare(name[1], unknown):
                return QueryResult(message_of(error))


def _declare(name: str, functions: dict[Any, Any]) -> bool:
    """Adds a function that always fails; False if that was done before and did not help."""
    from pyoxigraph import NamedNode

    if NamedNode(name) in functions:
        return False
    functions[NamedNode(name)] = _fails
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
    rows: list[tuple[Term | None, ...]] = []
    labels: dict[str, Term] = {}
    size = 0
    for row in _bound(found):
        size += sum(len(term.value) for term in row if term)
        rows.append(tuple(_relabelled(term, labels) for term in row))
        if len(rows) > limits.rows:
            return QueryResult(f"the query has more than {limits.rows} results, which is the limit")
        if size > limits.result_characters:
            return QueryResult(
                f"the query's result is longer than {limits.result_characters} characters, which is the limit"
            )
    return QueryResult(None, names, tuple(rows))


def _bound(found: Iterable[tuple[object, ...]]) -> Iterator[tuple[Term | None, ...]]:
    for row in found:
        if any(term is not None for term in row):
            yield tuple(None if term is None else from_oxigraph(term) for term in row)


def _relabelled(term: Term | None, labels: dict[str, Term]) -> Term | None:
    """The engine invents another label for an unlabelled blank node in every process."""
    if term is None or term.kind != "bnode":
        return term
    return labels.setdefault(term.value, Term("bnode", f"b{len(labels)}"))
