"""Prefix maps: read from a graph's text or a prompt's prose, and used to write IRIs short."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_llmkg.contracts import GraphText

__all__ = ["WELL_KNOWN", "expand", "named_iris", "prefixes_of", "shorten"]

# Vocabularies that every tool knows by these prefixes (see prefix.cc); used where a text declares none.
WELL_KNOWN: Mapping[str, str] = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "org": "http://www.w3.org/ns/org#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "time": "http://www.w3.org/2006/time#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "void": "http://rdfs.org/ns/void#",
    "bibo": "http://purl.org/ontology/bibo/",
}
_TURTLE = re.compile(r"^[ \t]*@?prefix[ \t]+([\w.-]*)[ \t]*:[ \t]*<([^<>\s]*)>", re.IGNORECASE | re.MULTILINE)
_XML = re.compile(r"""\bxmlns(?::([\w.-]+))?\s*=\s*["']([^"'<>\s]*)["']""")
_SHOWN = re.compile(r"<([^<>\s]*?)(\w+)>\s+(?:write|as|becomes|is written)\s+([\w.-]*):\2\b")
_NAME = re.compile(r"<([^<>\s]+)>|(?<![\w/:.-])([A-Za-z][\w-]*)?:([A-Za-z_][\w-]*)")
_SAFE_LOCAL = re.compile(r"(?:[A-Za-z0-9_](?:[\w-]*[\w])?)?")


def prefixes_of(graph: GraphText, prose: str = "") -> dict[str, str]:
    """The prefixes that ``graph`` declares, with those that ``prose`` explains (``for <NSx> write p:x``)."""
    found = dict(_declared(graph))
    for match in _SHOWN.finditer(prose):
        if match[1]:
            found.setdefault(match[3], match[1])
    return found


def _declared(graph: GraphText) -> Iterator[tuple[str, str]]:
    if graph.format == "turtle":
        yield from ((m[1], m[2]) for m in _TURTLE.finditer(graph.text))
    elif graph.format == "xml":
        yield from ((m[1] or "", m[2]) for m in _XML.finditer(graph.text))
    elif graph.format == "json-ld":
        yield from _context(graph.text)


def _context(text: str) -> Iterator[tuple[str, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    context = data.get("@context") if isinstance(data, dict) else None
    for part in context if isinstance(context, list) else [context]:
        if not isinstance(part, dict):
            continue
        # JSON-LD has no empty prefix; terms of @vocab and @base are what other notations write with it.
        for key in ("@vocab", "@base"):
            if isinstance(part.get(key), str):
                yield "", part[key]
        for name, value in part.items():
            iri = value.get("@id") if isinstance(value, dict) and value.get("@prefix") else value
            if isinstance(iri, str) and iri.endswith(("/", "#", ":")) and not name.startswith("@"):
                yield name, iri


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """``prefix:local`` with the longest namespace that fits and leaves a plain local name, else ``<iri>``."""
    fitting = [
        (len(namespace), prefix)
        for prefix, namespace in prefixes.items()
        if namespace and iri.startswith(namespace) and _SAFE_LOCAL.fullmatch(iri[len(namespace) :])
    ]
    if not fitting:
        return f"<{iri}>"
    length, prefix = max(fitting)
    return f"{prefix}:{iri[length:]}"


def expand(prefix: str, local: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI of ``prefix:local``, None for an unknown prefix."""
    namespace = prefixes.get(prefix, WELL_KNOWN.get(prefix))
    return None if namespace is None else namespace + local


def named_iris(prose: str, prefixes: Mapping[str, str]) -> tuple[str, ...]:
    """The IRIs that a text names, ``<IRI>`` or ``prefix:name``, in order and without repetition."""
    found = []
    for match in _NAME.finditer(prose):
        iri = match[1] or expand(match[2] or "", match[3], prefixes)
        if iri:
            found.append(iri)
    return tuple(dict.fromkeys(found))
