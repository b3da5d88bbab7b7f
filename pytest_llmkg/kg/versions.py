"""Which engines made a result."""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["engine_versions"]


def engine_versions() -> dict[str, str]:
    """Versions of the graph libraries by distribution name, read from metadata without importing them."""
    return {name: version(name) for name in ("pyoxigraph", "rdflib")}
