"""Results as endpoints send them, read into `QueryResult`."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, QueryResult, RdfVerdict, Term
from pytest_llmkg.endpoints.canonical import canonical
from pytest_llmkg.endpoints.faults import excerpt, fault, looks_like_html
from pytest_llmkg.kg.rows import Rows
from pytest_llmkg.kg.terms import XSD_STRING
from pytest_llmkg.plain import clean_text

if TYPE_CHECKING:
    from pytest_llmkg.endpoints.transport import Response
    from pytest_llmkg.kg.limits import Limits

__all__ = ["GRAPH_ACCEPT", "RESULT_ACCEPT", "RdfReader", "read_graph", "read_json"]

RESULT_ACCEPT = "application/sparql-results+json, application/json;q=0.5"
GRAPH_ACCEPT = "application/n-triples, text/turtle;q=0.9"

RdfReader = Callable[[GraphText], RdfVerdict]

_GRAPH_FORMATS = {
    "application/n-triples": "nt",
    "text/ntriples": "nt",
    "text/plain": "nt",
    "text/turtle": "turtle",
    "application/x-turtle": "turtle",
    "application/turtle": "turtle",
    "text/rdf+n3": "turtle",
    "application/rdf+xml": "xml",
    "application/xml": "xml",
    "application/sparql-results+xml": "xml",  # rdflib-endpoint says so of what DESCRIBE gives
    "application/ld+json": "json-ld",
}
_TERM = r'<([^<>"\s]*)>|_:(\S+)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^<>"\s]*)>|@([A-Za-z0-9-]+))?'
_TRIPLE = re.compile(rf"\s*(?:{_TERM})\s+(?:{_TERM})\s+(?:{_TERM})\s*\.\s*")
_ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_VIRTUOSO_ASK = "__ASK_RETVAL"  # the variable in its answer to an ASK that reads no triple: one row for true
_MOST_PARTS = 2_000_000  # a cell has four; in memory they take some 500 MB at most
_PARTS_OF_ROW = 50
_PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([{\[,])', re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def read_json(response: Response, form: str, limits: Limits) -> QueryResult:
    """The result in a response of SPARQL 1.1 Query Results JSON, by the rules of the embedded engine.

    Solutions in which every variable is unbound are dropped, blank nodes are named ``b0``, ``b1`` ... in order, a
    plain string has no datatype, language tags are in lower case and numbers in the engine's form.

    Args:
        response: what the endpoint sent; its media type is not looked at as long as the body is a result.
        form: ``ASK``, or ``SELECT``, whose result must have rows.
        limits: of rows and characters; above them the result is an error, as it is for embedded graphs.

    Raises:
        EndpointError: html, too-large, truncated or garbled.
    """
    data = _json(response, max(_MOST_PARTS, _PARTS_OF_ROW * limits.rows))
    head, boolean, results = data.get("head"), data.get("boolean"), data.get("results")
    if form == "ASK" and isinstance(boolean, bool):
        return QueryResult(None, boolean=boolean)
    names = _names(head.get("vars") if isinstance(head, Mapping) else None)
    bindings = results.get("bindings") if isinstance(results, Mapping) else None
    if form == "ASK" and names == (_VIRTUOSO_ASK,) and isinstance(bindings, list):
        return QueryResult(None, boolean=bool(bindings))
    if form == "ASK" or names is None or not isinstance(bindings, list):
        wanted = "true or false" if form == "ASK" else "variables and solutions"
        raise fault("garbled", f"answered with JSON without {wanted}: {excerpt(response.body)}")
    if len(names) * min(len(bindings), limits.rows + 1) > limits.result_characters:  # unbound cells cost time, too
        return QueryResult(f"the query's result has more than {limits.result_characters} cells, which is the limit")
    rows = Rows(tuple(map(clean_text, names)), limits)
    for solution in bindings:
        if not isinstance(solution, Mapping):
            raise fault("garbled", f"answered with a solution that is no object: {solution!r:.100}")
        if any(isinstance(cell, Mapping) and cell.get("type") == "triple" for cell in solution.values()):
            return QueryResult("a triple is no term of RDF 1.1; use IRIs, blank nodes and literals only")
        if not rows.add(tuple(_term(solution[name]) if name in solution else None for name in names)):
            break
    return rows.result()


def read_graph(response: Response, read_rdf: RdfReader, limits: Limits) -> QueryResult:
    """The triples in a response of CONSTRUCT or DESCRIBE as rows of subject, predicate and object.

    Args:
        response: N-Triples, Turtle or any other format that ``read_rdf`` can read.
        read_rdf: parses a graph, inside limits (`pytest_llmkg.contracts.KgEngine.check_rdf`).
        limits: of rows and characters.

    Raises:
        EndpointError: html, or no RDF at all.
    """
    if looks_like_html(response.media_type, response.body):
        raise fault("html", f"answered with a web page: {excerpt(response.body)}")
    form = _GRAPH_FORMATS.get(response.media_type)
    if form is None:
        raise fault("garbled", f"answered with {response.media_type or 'no media type'}; RDF was asked for")
    verdict = read_rdf(GraphText(response.body.decode("utf-8", "replace"), form))
    if verdict.error is not None:
        raise fault("garbled", f"answered with {response.media_type} that cannot be read: {verdict.error:.200}")
    rows = Rows(("subject", "predicate", "object"), limits)
    for line in verdict.triples:
        found = _TRIPLE.fullmatch(line)
        if found is None:
            raise fault("garbled", f"answered with a triple that cannot be read: {line!r:.200}")
        parts = found.groups()
        if not rows.add(tuple(_written(*parts[at : at + 5]) for at in (0, 5, 10))):
            break
    return rows.result()


def _json(response: Response, most: int) -> Mapping[str, object]:
    body = response.body
    if looks_like_html(response.media_type, body):
        raise fault("html", f"answered with a web page instead of JSON: {excerpt(body)}")
    if _has_more_parts(body, most):
        raise fault("too-large", f"answered with JSON of more than {most} parts, which is the limit")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        if _breaks_off(body, error):
            message = f"answered with JSON that breaks off after {len(body)} bytes"
            raise fault("truncated", message, retryable=True) from error
        told = response.media_type or "a body without media type"
        raise fault("garbled", f"answered with {told} that is no JSON: {excerpt(body)}") from error
    if not isinstance(data, dict):
        raise fault("garbled", f"answered with JSON that is no result: {excerpt(body)}")
    return data


def _has_more_parts(body: bytes, most: int) -> bool:
    """Whether JSON has more than ``most`` objects, lists and members, each of which takes far more memory than bytes.

    Looked at before it is parsed: some 60 MB of empty lists take 1.5 GB. What stands in strings is no part.
    """
    if sum(body.count(mark) for mark in (b"{", b"[", b",")) <= most:
        return False
    parts = (1 for found in _PART.finditer(body) if found[1] is not None)
    return sum(itertools.islice(parts, most + 1)) > most


def _breaks_off(body: bytes, error: Exception) -> bool:
    """Whether ``body`` is the beginning of an object, by where the parser stopped."""
    text = body.strip(b"\xef\xbb\xbf \t\r\n")
    if not text or not text.startswith(b"{"):
        return not text
    if isinstance(error, json.JSONDecodeError):
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        return at_end or not text.endswith(b"}")
    return not text.endswith(b"}")


def _names(found: object) -> tuple[str, ...] | None:
    """The variables, None if these are none."""
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        return None
    return tuple(dict.fromkeys(found))  # some servers repeat a variable that a query selects twice


def _term(cell: object) -> Term:
    if not isinstance(cell, Mapping) or not isinstance(cell.get("value"), str):
        raise fault("garbled", f"answered with a term that has no value: {cell!r:.100}")
    kind, value, language = cell.get("type"), clean_text(cell["value"]), cell.get("xml:lang")
    if kind == "uri":
        return Term("iri", value)
    if kind == "bnode":
        return Term("bnode", value)
    if kind not in ("literal", "typed-literal"):  # the latter is what drafts of the format and Virtuoso say
        raise fault("garbled", f"answered with a term of the unknown type {kind!r:.40}")
    if isinstance(language, str) and language:
        return Term("literal", value, language=language.lower())
    datatype = cell.get("datatype")
    return _literal(value, datatype if isinstance(datatype, str) else None)


def _literal(text: str, datatype: str | None) -> Term:
    return Term("literal", canonical(text, datatype), None if datatype == XSD_STRING else datatype)


def _written(iri: str | None, label: str | None, text: str | None, datatype: str | None, language: str | None) -> Term:
    """The term of an N-Triples line."""
    if iri is not None:
        return Term("iri", _unescaped(iri))
    if text is None:
        return Term("bnode", label or "")
    if language is not None:
        return Term("literal", _unescaped(text), language=language.lower())
    return _literal(_unescaped(text), datatype)


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _SHORT.get(code, code)

    return _ESCAPED.sub(plain, text) if "\\" in text else text
