"""RDF serialization formats: the one place that maps their names.

The canonical name is the one that LLM-KG-Bench 3 writes into its field ``graphFormat``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from pyoxigraph import RdfFormat

__all__ = ["DATASET_FORMAT", "FORMATS", "SerializationFormat", "format_named"]


@dataclass(frozen=True, slots=True)
class SerializationFormat:
    """A way to write an RDF graph as text.

    Attributes:
        name: canonical name, as published: ``turtle``, ``json-ld``, ``xml``, ``nt``.
        title: the name that people read.
        slug: the name inside labels and test ids.
        fence: language tag of a Markdown code block.
        media_type: IANA media type.
        extension: file name extension without dot.
        rdflib_name: what ``rdflib.Graph.parse(format=...)`` takes.
        oxigraph_name: the attribute of ``pyoxigraph.RdfFormat``.
        aliases: further names that `format_named` takes, lower case.
    """

    name: str
    title: str
    slug: str
    fence: str
    media_type: str
    extension: str
    rdflib_name: str
    oxigraph_name: str
    aliases: tuple[str, ...] = ()

    def oxigraph_format(self) -> RdfFormat:
        """The engine's own format object; imports pyoxigraph."""
        from pyoxigraph import RdfFormat

        found: RdfFormat = getattr(RdfFormat, self.oxigraph_name)
        return found


FORMATS: tuple[SerializationFormat, ...] = (
    SerializationFormat("turtle", "Turtle", "turtle", "turtle", "text/turtle", "ttl", "turtle", "TURTLE", ("ttl",)),
    SerializationFormat(
        "json-ld",
        "JSON-LD",
        "jsonld",
        "json",
        "application/ld+json",
        "jsonld",
        "json-ld",
        "JSON_LD",
        ("json", "json_ld"),
    ),
    SerializationFormat(
        "xml",
        "RDF/XML",
        "xml",
        "xml",
        "application/rdf+xml",
        "rdf",
        "xml",
        "RDF_XML",
        ("rdfxml", "rdf-xml", "rdf_xml"),
    ),
    SerializationFormat(
        "nt",
        "N-Triples",
        "nt",
        "ntriples",
        "application/n-triples",
        "nt",
        "nt",
        "N_TRIPLES",
        ("ntriple", "n_triples"),
    ),
)


DATASET_FORMAT = SerializationFormat(
    "nquads", "N-Quads", "nquads", "nquads", "application/n-quads", "nq", "nquads", "N_QUADS"
)
"""Of an RDF dataset, a graph with named graphs beside it: for queries on several stores, never asked of a model."""


def format_named(name: str) -> SerializationFormat:
    """The format called ``name``: its canonical name or any other usual one, in any case; that of datasets, too.

    Raises:
        UnknownNameError: no format has that name; the text proposes the nearest one.
    """
    wanted = name.strip().lower()
    for known in (*FORMATS, DATASET_FORMAT):
        if wanted in _names(known):
            return known
    raise unknown_name("serialization format", name, (n for f in FORMATS for n in _names(f)))


def _names(known: SerializationFormat) -> tuple[str, ...]:
    names = (
        known.name,
        known.slug,
        known.title.lower(),
        known.fence,
        known.media_type,
        known.extension,
        *known.aliases,
    )
    return tuple(dict.fromkeys(names))
