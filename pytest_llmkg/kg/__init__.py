"""Graphs and queries: formats, trusted graphs, and the sandbox for texts that nobody vouches for.

The only package that uses rdflib and pyoxigraph. Importing it imports neither; they are loaded by the
function that needs them, and rdflib only ever in the sandbox's own process.
"""

from __future__ import annotations

from pytest_llmkg.kg.formats import FORMATS, SerializationFormat, format_named
from pytest_llmkg.kg.graphs import TripleOfTerms, isomorphic, parse_triples, serialise
from pytest_llmkg.kg.limits import BASE_IRI, DEFAULT_LIMITS, RESCORING_LIMITS, Limits
from pytest_llmkg.kg.pool import SandboxPool
from pytest_llmkg.kg.profile import ClassUse, GraphProfile, PropertyUse
from pytest_llmkg.kg.query_patterns import Pattern, QueryPatterns
from pytest_llmkg.kg.sandbox import Sandbox
from pytest_llmkg.kg.versions import engine_versions

__all__ = [
    "BASE_IRI",
    "DEFAULT_LIMITS",
    "FORMATS",
    "RESCORING_LIMITS",
    "ClassUse",
    "GraphProfile",
    "Limits",
    "Pattern",
    "PropertyUse",
    "QueryPatterns",
    "Sandbox",
    "SandboxPool",
    "SerializationFormat",
    "TripleOfTerms",
    "engine_versions",
    "format_named",
    "isomorphic",
    "parse_triples",
    "serialise",
]
