"""Graphs behind SPARQL endpoints, and questions on several stores at once.

A task asks a graph engine (`EndpointEngine`, `FederatedEngine`) as it does for embedded graphs; `endpoint_graph` stands
for the graph. Only what a query itself does wrong becomes a result with an error; everything else that keeps an
endpoint from answering is an `pytest_llmkg.errors.EndpointError`, never an empty result.
"""

from __future__ import annotations

from pytest_llmkg.endpoints.client import SparqlEndpoint
from pytest_llmkg.endpoints.engine import (
    ENDPOINT_FORMAT,
    EndpointEngine,
    Endpoints,
    FederatedEngine,
    endpoint_graph,
    store_graph,
    with_endpoints,
)
from pytest_llmkg.endpoints.faults import FAULTS
from pytest_llmkg.endpoints.settings import (
    DEFAULT_ENDPOINT_LIMITS,
    Endpoint,
    EndpointLimits,
    endpoint_from_table,
)

__all__ = [
    "DEFAULT_ENDPOINT_LIMITS",
    "ENDPOINT_FORMAT",
    "FAULTS",
    "Endpoint",
    "EndpointEngine",
    "EndpointLimits",
    "Endpoints",
    "FederatedEngine",
    "SparqlEndpoint",
    "endpoint_from_table",
    "endpoint_graph",
    "store_graph",
    "with_endpoints",
]
