"""Examples to learn from: pools from files, in SHACL too, and what tells two queries to be the same."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import examples_file
from pytest_llmkg.cases.question_sets import load_question_set
from pytest_llmkg.contracts import Example, Term
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import serialise
from pytest_llmkg.kg.sparql_text import body_tokens, tokens
from pytest_llmkg.kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_llmkg.kg.sparql_text import Token

__all__ = [
    "examples_as_shacl",
    "load_examples",
    "normal_query",
    "normal_question",
    "shipped_examples",
    "with_prefixes",
]

_SH = "http://www.w3.org/ns/shacl#"
_COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
_TARGET = "https://schema.org/target"
_PREFIXES = {"sh": _SH, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "schema": "https://schema.org/"}
_DESCRIBE = "https://purl.expasy.org/sparql-examples/ontology#describe"
_FORMS = {"SELECT": f"{_SH}select", "ASK": f"{_SH}ask", "CONSTRUCT": f"{_SH}construct", "DESCRIBE": _DESCRIBE}


def load_examples(paths: Iterable[Path]) -> tuple[Example, ...]:
    """The questions of all ``paths`` (`pytest_llmkg.cases.question_sets`) in all their languages, with their queries.

    Prefixes that a set declares for all its queries are declared in each.

    Raises:
        CaseFileError: a file cannot be read.
    """
    found: dict[str, Example] = {}
    for path in paths:
        questions = load_question_set(path, check_queries=False)
        for question in questions.questions:
            query = with_prefixes(question.query, {**questions.prefixes, **question.prefixes})
            for language, text in question.texts.items():
                name = questions.qname(question, language)
                found[name] = Example(name, text, query, language)
    return tuple(found.values())


def shipped_examples(graph: str) -> tuple[Example, ...]:
    """The examples that come with a generated graph, none for any other; the same tuple each time.

    Args:
        graph: a case's field ``graph``, e.g. ``generated:company@4242``.

    Raises:
        CaseFileError: the shipped file is damaged.
    """
    path = examples_file(graph)
    return () if path is None else _loaded(path)


@functools.cache
def _loaded(path: Path) -> tuple[Example, ...]:
    return load_examples([path])


def with_prefixes(query: str, prefixes: Mapping[str, str]) -> str:
    """``query`` with declarations of those ``prefixes`` that it uses and does not declare itself."""
    row = list(tokens(query))
    declared = set(_declared(row))
    used = {token.text.partition(":")[0] for token in row if token.kind == "pname"}
    lines = [f"PREFIX {name}: <{iri}>\n" for name, iri in prefixes.items() if name in used - declared]
    return "".join(lines) + query


def normal_question(text: str) -> str:
    """``text`` without case, punctuation and extra space, for telling whether two questions are the same."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def normal_query(query: str, prefixes: Mapping[str, str] | None = None) -> str:
    """``query`` in a form that is equal for queries which differ only in prefixes, names of variables, the case of key
    words, comments and space. ``prefixes`` are known beside its own.
    """  # noqa: D205  (one definition)
    row = list(tokens(query))
    known = {**(prefixes or {}), **_declared(row)}
    names: dict[str, str] = {}
    return " ".join(_normal(token, known, names) for token in body_tokens(query))


def _normal(token: Token, prefixes: Mapping[str, str], names: dict[str, str]) -> str:
    if token.kind == "variable":
        return names.setdefault(token.text[1:], f"?{len(names)}")
    if token.kind == "pname":
        prefix, _, local = token.text.partition(":")
        return f"<{prefixes[prefix]}{local}>" if prefix in prefixes else token.text
    if token.kind == "word":
        return f"<{RDF_TYPE}>" if token.text == "a" else token.text.upper()
    return token.text


def _declared(row: Sequence[Token]) -> dict[str, str]:
    return {
        row[i + 1].text[:-1]: row[i + 2].text[1:-1]
        for i in range(len(row) - 2)
        if row[i].text.upper() == "PREFIX" and row[i + 1].kind == "pname" and row[i + 2].kind == "iri"
    }


def examples_as_shacl(examples: Sequence[Example], base: str, endpoint: str | None = None) -> str:
    """``examples`` as Turtle in the layout of sib-swiss/sparql-examples, which SPARQL-LLM loads.

    Args:
        examples: what to write.
        base: what the ids are put behind to make IRIs.
        endpoint: where the queries can be run (``schema:target``), None for nowhere.

    Raises:
        UserError: a query of no known form.
    """
    return serialise(
        (triple for example in examples for triple in _described(example, base, endpoint)), "turtle", _PREFIXES
    )


def _described(example: Example, base: str, endpoint: str | None) -> Iterator[tuple[Term, Term, Term]]:
    form = next((t.text.upper() for t in body_tokens(example.query) if t.kind == "word"), "")
    if form not in _FORMS:
        raise UserError(f"example {example.id!r}: the query is none of {', '.join(_FORMS)}")
    node = Term("iri", base + re.sub(r"[^\w.-]", "_", example.id))
    yield node, Term("iri", RDF_TYPE), Term("iri", f"{_SH}SPARQLExecutable")
    yield node, Term("iri", RDF_TYPE), Term("iri", f"{_SH}SPARQL{form.title()}Executable")
    yield node, Term("iri", _COMMENT), Term("literal", example.question, language=example.language)
    yield node, Term("iri", _FORMS[form]), Term("literal", example.query)
    if endpoint is not None:
        yield node, Term("iri", _TARGET), Term("iri", endpoint)
