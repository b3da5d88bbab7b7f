"""Whether a text is a SPARQL query, what it names, whether it reaches outside. Runs inside the worker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import QueryVerdict
from pytest_llmkg.kg.engine_choice import plain_query
from pytest_llmkg.kg.query_trees import QueryTrees, tree_parts, with_deep_stack
from pytest_llmkg.kg.sparql_text import body_tokens, expand_escapes, tokens
from pytest_llmkg.kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_query", "message_of", "refusal"]

_FORMS = {
    "SelectQuery": "SELECT",
    "AskQuery": "ASK",
    "ConstructQuery": "CONSTRUCT",
    "DescribeQuery": "DESCRIBE",
}
_OUTSIDE = re.compile(r"service|from", re.IGNORECASE)
_REACHING = {"ServiceGraphPattern": "SERVICE", "DatasetClause": "FROM"}
_UPDATES = frozenset({"load", "insert", "delete", "clear", "drop", "create", "add", "copy", "move", "with", "modify"})


def message_of(error: BaseException) -> str:
    """The text of ``error``, never empty: its type's name stands in for a missing text."""
    return str(error) or type(error).__name__


def check_query(query: str, trees: QueryTrees | None = None) -> QueryVerdict:
    """Parses ``query`` with rdflib by grammar alone; the message is the text of rdflib's exception.

    ``trees`` keeps the parse for running the query later. A query that every parser surely accepts is not given to
    rdflib at all (`pytest_llmkg.kg.engine_choice`).

    The names are read from the query's body in text order: the prologue is left out, ``a`` counts as
    ``rdf:type``, and IRIs in filters, VALUES, function names and datatypes count (LLM-KG-Bench 3,
    ``sparqlIris``).
    """
    try:
        plain = plain_query(query)
        if plain is not None:
            return QueryVerdict(None, "SELECT", plain.names)
        tree = with_deep_stack(lambda: (trees or QueryTrees()).parse(query))
        iris = {str(iri) for iri in _iris(tree)}
        names = tuple(dict.fromkeys(_names(expand_escapes(query), iris)))
        return QueryVerdict(None, _FORMS.get(tree[1].name), names)
    except MemoryError:  # not the text's fault for sure: earlier texts may have filled the process
        raise
    except Exception as error:  # noqa: BLE001  (recorded: whatever a text makes the parser raise is its verdict)
        return QueryVerdict(message_of(error))


def _names(query: str, iris: set[str]) -> Iterator[str]:
    for token in body_tokens(query, iris):
        if token.kind in {"iri", "pname"}:
            yield token.text
        elif token.kind == "word" and token.text == "a" and RDF_TYPE in iris:
            yield "rdf:type"


def _iris(tree: object) -> Iterator[str]:
    from rdflib import URIRef

    return (str(part) for part in tree_parts(tree) if isinstance(part, URIRef))


def refusal(query: str) -> str | None:
    """Why ``query`` must not be run, None if it may: it would reach outside the graph that it was given.

    A parser and a token scan must both find it clean. They read ``<`` differently in hostile texts, so a
    query that holds one of the words and that the parser does not accept is refused, too.
    """
    text = expand_escapes(query)
    first = next((t.text for t in body_tokens(text) if t.kind == "word"), "")
    if first.lower() in _UPDATES:
        return f"the update {first.upper()} is not allowed; only SELECT, ASK, CONSTRUCT and DESCRIBE are"
    if not _OUTSIDE.search(text) and not _OUTSIDE.search(query):
        return None
    # An engine may read "trueSERVICE" as two words, and no other SPARQL word contains one of these.
    words = " ".join(t.text.upper() for t in tokens(text) if t.kind == "word")
    reached = _reached(query)
    for word in ("SERVICE", "FROM"):
        if word in words or (reached and word in reached):
            return f"{word} is not allowed; a query runs on the given graph alone"
    if reached is None:
        return "a query that does not parse and holds the word SERVICE or FROM is not allowed"
    return None


def _reached(query: str) -> set[str] | None:
    """The words of the parse tree that reach outside; None if the parser does not accept ``query``."""
    from rdflib.plugins.sparql.parser import parseQuery
    from rdflib.plugins.sparql.parserutils import CompValue

    try:
        tree = parseQuery(query)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (recorded: the caller refuses a text that does not parse)
        return None
    return {_REACHING[p.name] for p in tree_parts(tree) if isinstance(p, CompValue) and p.name in _REACHING}
