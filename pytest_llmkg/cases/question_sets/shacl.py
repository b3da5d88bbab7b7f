"""Example queries as SHACL executables (``sh:SPARQLExecutable``), as sib-swiss/sparql-examples keeps them."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets.model import Entry, QuestionSet, checked_set
from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.errors import CaseFileError, UserError
from pytest_llmkg.kg import parse_triples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["read_shacl"]

_SH = "http://www.w3.org/ns/shacl#"
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
# spex:describe is the extension of the Swiss Institute of Bioinformatics.
_QUERIES = (
    f"{_SH}select",
    f"{_SH}ask",
    f"{_SH}construct",
    "https://purl.expasy.org/sparql-examples/ontology#describe",
)
_KEYWORDS = ("https://schema.org/keywords", "http://schema.org/keywords")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")

Described = dict[Term, dict[str, list[Term]]]


def read_shacl(path: Path, texts: Sequence[tuple[Path, str]]) -> QuestionSet:
    """The executables of one or more Turtle files; their ids are the last parts of their IRIs.

    ``rdfs:comment`` is the question, without HTML; a comment without a language is English. Prefixes declared by
    ``sh:declare`` or ``sh:prefix`` anywhere are known to all queries.

    Args:
        path: the file or folder that names the set.
        texts: its files with their texts.

    Raises:
        CaseFileError: a file is no Turtle, or a question that `checked_set` complains of.
    """
    prefixes: dict[str, str] = {}
    entries = []
    for file, text in texts:
        described = _described(file, text)
        prefixes.update(_prefixes(described.values()))
        entries += [_entry(node, found, text) for node, found in described.items() if _is_executable(found)]
    return checked_set(path, entries, path.stem, prefixes=prefixes)


def _described(file: Path, text: str) -> Described:
    try:
        triples = parse_triples(GraphText(text, "turtle"))
    except UserError as error:
        raise CaseFileError(f"{file}: {error}") from error
    found: Described = {}
    for subject, predicate, value in triples:
        found.setdefault(subject, {}).setdefault(predicate.value, []).append(value)
    return found


def _is_executable(found: Mapping[str, Sequence[Term]]) -> bool:
    kinds = {term.value for term in found.get(_RDF_TYPE, ())}
    return any(kind.startswith(_SH) and kind.endswith("Executable") for kind in kinds)


def _prefixes(nodes: Iterable[Mapping[str, Sequence[Term]]]) -> dict[str, str]:
    return {
        node[f"{_SH}prefix"][0].value: node[f"{_SH}namespace"][0].value
        for node in nodes
        if f"{_SH}prefix" in node and f"{_SH}namespace" in node
    }


def _entry(node: Term, found: Mapping[str, Sequence[Term]], text: str) -> Entry:
    # A blank node is another one each time that the file is read, so its name is no id.
    name = re.split(r"[/#]", node.value.rstrip("/#"))[-1] if node.kind == "iri" else None
    comments = {term.language or "en": _without_tags(term.value) for term in reversed(_literals(found, _COMMENT))}
    query = next((term.value for kind in _QUERIES for term in _literals(found, kind)), None)
    features = [term.value for kind in _KEYWORDS for term in _literals(found, kind)]
    if name is None:
        return Entry(None, comments, query, features)
    place = re.search(rf"(?m)^\S*{re.escape(name)}\S*\s", text)
    return Entry(name, comments, query, features, text.count("\n", 0, place.start()) + 1 if place else None)


def _literals(found: Mapping[str, Sequence[Term]], predicate: str) -> list[Term]:
    return [term for term in found.get(predicate, ()) if term.kind == "literal"]


def _without_tags(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())
