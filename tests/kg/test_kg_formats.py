from __future__ import annotations

import re

import pytest

from pytest_llmkg.errors import UnknownNameError
from pytest_llmkg.kg import FORMATS, SerializationFormat, format_named


def test_the_canonical_names_are_the_published_ones() -> None:
    assert [f.name for f in FORMATS] == ["turtle", "json-ld", "xml", "nt"]
    assert [f.title for f in FORMATS] == ["Turtle", "JSON-LD", "RDF/XML", "N-Triples"]
    assert [f.slug for f in FORMATS] == ["turtle", "jsonld", "xml", "nt"]
    assert [f.fence for f in FORMATS] == ["turtle", "json", "xml", "ntriples"]


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ttl", "turtle"),
        ("Turtle", "turtle"),
        ("text/turtle", "turtle"),
        ("jsonld", "json-ld"),
        ("JSON-LD", "json-ld"),
        ("json", "json-ld"),
        ("application/ld+json", "json-ld"),
        ("rdf/xml", "xml"),
        ("rdfxml", "xml"),
        (" rdf ", "xml"),
        ("ntriples", "nt"),
        ("n-triples", "nt"),
        ("nt", "nt"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert format_named(alias).name == name


def test_no_alias_belongs_to_two_formats() -> None:
    words = [w for f in FORMATS for w in {f.name, f.slug, f.fence, f.extension, f.media_type, *f.aliases}]
    assert len(words) == len(set(words))


def test_an_unknown_name_is_an_error_that_proposes_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=re.escape("'turtel', did you mean 'turtle'?")):
        format_named("turtel")


@pytest.mark.parametrize("found", FORMATS, ids=lambda f: f.slug)
def test_the_engines_know_the_format(found: SerializationFormat) -> None:
    import rdflib
    from pyoxigraph import RdfFormat

    assert RdfFormat.from_media_type(found.media_type) == found.oxigraph_format()
    assert RdfFormat.from_extension(found.extension) == found.oxigraph_format()
    assert rdflib.plugin.get(found.rdflib_name, rdflib.parser.Parser)
