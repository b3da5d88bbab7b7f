"""Graph engines for graphs behind endpoints, and for questions on several stores at once."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult, RdfVerdict
from pytest_llmkg.endpoints.client import SparqlEndpoint
from pytest_llmkg.endpoints.local import dataset_of, graph_name, rewritten
from pytest_llmkg.endpoints.preparing import with_addresses
from pytest_llmkg.endpoints.settings import Endpoint
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.memo import Memo
from pytest_llmkg.kg.wrapped import WrappedEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pytest_llmkg.contracts import Task

__all__ = [
    "ENDPOINT_FORMAT",
    "EndpointEngine",
    "Endpoints",
    "FederatedEngine",
    "endpoint_graph",
    "store_graph",
    "with_endpoints",
]

ENDPOINT_FORMAT = "endpoint"
"""The format of a `GraphText` that is no text but an address."""

_REMEMBERED = 20_000_000  # characters


def endpoint_graph(url: str, services: Collection[str] = ()) -> GraphText:
    """What stands for the graph behind ``url`` where a graph engine expects a graph.

    Args:
        url: address of a SPARQL endpoint.
        services: addresses of the endpoints that it may be asked to call by SERVICE.
    """
    return GraphText("\n".join((url, *services)), ENDPOINT_FORMAT)


def store_graph(text: str, form: str) -> GraphText:
    """The graph of a case: ``text`` in the format ``form``, or behind the endpoint whose address it is."""
    is_address = re.fullmatch(r"https?://[!-~]+", text.strip(), re.IGNORECASE) is not None
    return endpoint_graph(text.strip()) if is_address else GraphText(text, form)


class Endpoints:
    """The endpoints that a process asks, with their connections and what they answered. Thread safe.

    Args:
        settings: of endpoints by address; any other has the default ones.
    """

    def __init__(self, settings: Mapping[str, Endpoint] | None = None) -> None:
        self._settings = dict(settings or {})
        self._clients: dict[str, SparqlEndpoint] = {}
        self._lock = threading.Lock()
        self._results: Memo[QueryResult] = Memo(_REMEMBERED)

    def query(
        self, graph: GraphText, query: str, prefixes: Mapping[str, str], read_rdf: Callable[[GraphText], RdfVerdict]
    ) -> QueryResult:
        """What ``query`` gives at the endpoint of ``graph``; asked once, as a reference is needed for every answer.

        Raises:
            UserError: no address, or an environment variable with a secret is not set.
            EndpointError: the endpoint gave no result that could be scored; not remembered.
        """
        url, *services = graph.text.split("\n")

        def asked() -> tuple[QueryResult, int | None]:
            result = self._client(url, read_rdf).query(query, prefixes, services)
            cells = sum(100 + len(term.value) for row in result.rows for term in row if term)
            return result, len(query) + 1000 + cells

        return self._results.once((graph.text, query, tuple(sorted(prefixes.items()))), asked)

    def served(self) -> dict[str, str]:
        """What the endpoints with settings serve, by address (`Endpoint.served`)."""
        return {url: settings.served for url, settings in self._settings.items()}

    def close(self) -> None:
        """Ends all connections; asking again opens new ones."""
        with self._lock:
            clients = list(self._clients.values())
        for client in clients:
            client.close()

    def _client(self, url: str, read_rdf: Callable[[GraphText], RdfVerdict]) -> SparqlEndpoint:
        with self._lock:
            if url not in self._clients:
                self._clients[url] = SparqlEndpoint(self._settings.get(url) or Endpoint(url), read_rdf)
            return self._clients[url]


class EndpointEngine(WrappedEngine):
    """A graph engine that asks endpoints for graphs of `endpoint_graph` and leaves everything else to ``inner``."""

    def __init__(self, inner: KgEngine, endpoints: Endpoints) -> None:
        super().__init__(inner)
        self._endpoints = endpoints

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph``, wherever it is; see `pytest_llmkg.endpoints.client.SparqlEndpoint.query`.

        Raises:
            UserError: no address, or an environment variable with a secret is not set.
            EndpointError: the endpoint gave no result that could be scored.
        """
        if graph.format != ENDPOINT_FORMAT:
            return self._inner.run_query(graph, query, prefixes)
        return self._endpoints.query(graph, query, prefixes, self._inner.check_rdf)


class FederatedEngine(WrappedEngine):
    """A graph engine whose queries may name ``services`` in SERVICE, and no others.

    If the graph asked about and all services are embedded, the query runs on all of them in one store, without any
    network. If all are endpoints, the first one is asked, which calls the others itself. A mixture is an error.

    Args:
        inner: runs the queries; for endpoints an `EndpointEngine`.
        services: the stores by the IRI that queries name them with; a name without scheme is relative to the base.
        found: gives the graph that another one stands for (a reference of a graph file), to be able to read it.
    """

    def __init__(
        self,
        inner: KgEngine,
        services: Mapping[str, GraphText],
        found: Callable[[GraphText], GraphText] = lambda graph: graph,
    ) -> None:
        super().__init__(inner)
        self._services = {graph_name(name): graph for name, graph in services.items()}
        self._found = found

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph`` with the services.

        Raises:
            UserError: some stores are embedded and some are endpoints, or a service's graph does not parse.
            EndpointError: the endpoint gave no result that could be scored.
        """
        remote = {name: g.text for name, g in self._services.items() if g.format == ENDPOINT_FORMAT}
        is_remote = graph.format == ENDPOINT_FORMAT
        if len(remote) != (len(self._services) if is_remote else 0):
            raise UserError(
                "a federated question needs all its graphs embedded or all of them behind endpoints; "
                f"behind endpoints are {', '.join(sorted(remote)) or 'none'}{' and the graph itself' * is_remote}"
            )
        if is_remote:
            ready = with_addresses(query, prefixes, remote)
            return self._inner.run_query(_allowing(graph, remote.values()), ready, prefixes)
        changed = rewritten(query, prefixes, self._services)
        if changed is None:
            return self._inner.run_query(graph, query, prefixes)
        if isinstance(changed, QueryResult):
            return changed
        services = tuple((name, self._found(service)) for name, service in self._services.items())
        return self._inner.run_query(dataset_of(self._found(graph), services), changed, prefixes)


def with_endpoints(task: Task, endpoints: Endpoints) -> Task:
    """``task`` with an engine that reaches ``endpoints``."""
    return replace(
        task,
        prompt=lambda case, kg: task.prompt(case, EndpointEngine(kg, endpoints)),
        evaluate=lambda case, answer, kg: task.evaluate(case, answer, EndpointEngine(kg, endpoints)),
    )


def _allowing(graph: GraphText, services: Collection[str]) -> GraphText:
    url, *others = graph.text.split("\n")
    return endpoint_graph(url, tuple(dict.fromkeys((*others, *services))))
