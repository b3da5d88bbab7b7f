"""What a text that nobody vouches for may cost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BASE_IRI", "DEFAULT_LIMITS", "RESCORING_LIMITS", "Limits"]

BASE_IRI = "https://base.invalid/"
"""What relative IRIs are resolved against, so that no result depends on a working directory.

A name below ``.invalid`` never exists (RFC 6761).
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call of the sandbox.

    Attributes:
        query_seconds: wall-clock seconds for running a query.
        parse_seconds: wall-clock seconds for parsing a text or loading a graph.
        start_seconds: wall-clock seconds that a worker process may need to get ready.
        rows: solutions (or constructed triples) that a query may return.
        characters: length of an RDF text or a query to check.
        graph_characters: length of a graph to query.
        result_characters: total length of what one call gives back.
        memory_bytes: address space that the worker may take on top of what it holds when it is ready.
        cached_graphs: loaded graphs that the worker keeps.
        cached_characters: total text length of the loaded graphs that the worker keeps.
    """

    query_seconds: float = 10.0
    parse_seconds: float = 20.0
    start_seconds: float = 60.0
    rows: int = 10_000
    characters: int = 1_000_000
    graph_characters: int = 50_000_000
    result_characters: int = 20_000_000
    memory_bytes: int = 2 * 1024**3
    cached_graphs: int = 32
    cached_characters: int = 40_000_000


DEFAULT_LIMITS = Limits()

RESCORING_LIMITS = Limits(
    query_seconds=120.0, parse_seconds=60.0, rows=500_000, result_characters=200_000_000, memory_bytes=4 * 1024**3
)
"""For runs that were published: their queries had 120 seconds and no limit of rows (LLM-KG-Bench 3)."""
