"""A graph engine around another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_llmkg.contracts import GraphText, KgEngine, QueryVerdict, RdfVerdict, TolerantRdf

__all__ = ["WrappedEngine"]


class WrappedEngine:
    """Leaves texts to ``inner``; what queries run on is the business of those that inherit."""

    def __init__(self, inner: KgEngine) -> None:
        self._inner = inner

    @property
    def engine(self) -> str:
        """The name of what runs queries on embedded graphs."""
        return str(getattr(self._inner, "engine", "pyoxigraph"))

    def check_rdf(self, graph: GraphText) -> RdfVerdict:
        """See `KgEngine`."""
        return self._inner.check_rdf(graph)

    def parse_tolerantly(self, graph: GraphText) -> TolerantRdf:
        """See `KgEngine`."""
        return self._inner.parse_tolerantly(graph)

    def check_query(self, query: str) -> QueryVerdict:
        """See `KgEngine`."""
        return self._inner.check_query(query)
