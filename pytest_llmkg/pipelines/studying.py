"""Graphs behind endpoints for pipelines, beside embedded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.endpoints import ENDPOINT_FORMAT, EndpointEngine, Endpoints
from pytest_llmkg.kg.profile import profile_by_queries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.contracts import GraphText
    from pytest_llmkg.kg import GraphProfile, QueryPatterns, Sandbox

__all__ = ["StudyingEngine"]


class StudyingEngine(EndpointEngine):
    """A graph engine that tells what graphs and queries are made of, wherever the graphs are (`StudyEngine`)."""

    def __init__(self, sandbox: Sandbox, endpoints: Endpoints | None = None) -> None:
        super().__init__(sandbox, endpoints or Endpoints())
        self._sandbox = sandbox

    def profile(self, graph: GraphText, *, ranges: bool = True) -> GraphProfile:
        """The classes and properties of ``graph``; an endpoint is asked to count its own."""
        if graph.format != ENDPOINT_FORMAT:
            return self._sandbox.profile(graph, ranges=ranges)
        return profile_by_queries(self, graph, ranges=ranges)

    def read_patterns(self, query: str, prefixes: Mapping[str, str]) -> QueryPatterns:
        """The triple patterns of ``query``."""
        return self._sandbox.read_patterns(query, prefixes)
