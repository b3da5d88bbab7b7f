"""Whether a text is RDF, by the rules of LLM-KG-Bench 3. Runs inside the worker."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_llmkg.contracts import RdfVerdict
from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.query_check import message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdflib.term import Node

__all__ = [
    "LANGUAGE_AND_TYPE",
    "check_rdf",
    "ntriples_lines",
    "parse_in_order",
    "remote_contexts",
    "tags_and_types_turtle",
]

Triple: TypeAlias = "tuple[Node, Node, Node]"

LANGUAGE_AND_TYPE = "{} literals with both language and type are not allowed."

_TURTLE_TOKEN = re.compile(
    r"""
    \#[^\r\n]*
  | <[^>]*>
  | \\.
  | (?:\"\"\"(?:\\.|[^\\])*?\"{3,5} | '''(?:\\.|[^\\])*?'{3,5} | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*')
    (?P<both>@[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\^\^)?
    """,
    re.VERBOSE | re.DOTALL,
)
_RELATIVE = re.compile(r"<(?:file:|(?![A-Za-z][A-Za-z0-9+.\-]*:))")


def check_rdf(text: str, rdflib_name: str) -> RdfVerdict:
    """Parses ``text`` with plain rdflib; any exception counts and its text is the verdict's message.

    ``triples`` are rdflib's N-Triples lines, sorted, with blank nodes renamed to ``_:b0``, ``_:b1`` ... in
    the order of first use, and without the empty string that splitting at line ends leaves (the published
    content scores count that string as one more element of both sets). Relative IRIs show up below
    ``BASE_IRI`` in them.
    """
    try:
        tree = json.loads(text) if rdflib_name == "json-ld" else None
        remote = next(remote_contexts(tree), None)
        if remote is not None:
            return RdfVerdict(f"remote JSON-LD contexts are not allowed: {remote}")
        triples = parse_in_order(text, rdflib_name, None)
        if rdflib_name == "turtle" and tags_and_types_turtle(text):
            return RdfVerdict(LANGUAGE_AND_TYPE.format("Turtle"))
        if rdflib_name == "json-ld" and _tags_and_types_json(tree):
            return RdfVerdict(LANGUAGE_AND_TYPE.format("JSON-LD"))
        return RdfVerdict(None, tuple(sorted(_absolute_lines(triples, text, rdflib_name))))
    except MemoryError:  # not the text's fault for sure: earlier texts may have filled the process
        raise
    except Exception as error:  # noqa: BLE001  (recorded: whatever a text makes the parser raise is its verdict)
        return RdfVerdict(message_of(error))


def parse_in_order(text: str, rdflib_name: str, base: str | None) -> list[Triple]:
    """The triples in the order in which the parser found them, without repetitions.

    rdflib's own order follows the labels that it invents for blank nodes, which differ from run to run.
    """
    from rdflib import Graph
    from rdflib.store import TripleAddedEvent

    graph = Graph()
    found: dict[Triple, None] = {}
    events: Any = graph.store.dispatcher  # rdflib has no types for it
    events.subscribe(TripleAddedEvent, lambda event: found.setdefault(event.triple))
    graph.parse(data=text, format=rdflib_name, publicID=base)
    return [triple for triple in found if triple in graph]


def _absolute_lines(triples: list[Triple], text: str, rdflib_name: str) -> list[str]:
    lines = ntriples_lines(triples)
    if not any(_RELATIVE.search(line) for line in lines):
        return lines
    try:
        return ntriples_lines(parse_in_order(text, rdflib_name, BASE_IRI))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (the verdict is made; the worker's directory is "/" on every machine)
        return lines


def ntriples_lines(triples: list[Triple]) -> list[str]:
    """What rdflib writes as N-Triples; unlike it, also with IRIs that N-Triples does not permit."""
    from rdflib import BNode, Literal
    from rdflib.plugins.serializers.nt import _quoteLiteral

    labels: dict[Node, str] = {}

    def written(term: Node) -> str:
        if isinstance(term, BNode):
            return labels.setdefault(term, f"_:b{len(labels)}")
        return _quoteLiteral(term) if isinstance(term, Literal) else f"<{term}>"

    return [f"{written(s)} {written(p)} {written(o)} ." for s, p, o in triples]


def tags_and_types_turtle(text: str) -> bool:
    """Whether a literal of Turtle has a language tag and a datatype, of which rdflib drops one in silence."""
    return any(match["both"] for match in _TURTLE_TOKEN.finditer(text))


def _tags_and_types_json(tree: object) -> bool:
    return any(
        "@value" in part and part.get("@language") is not None and part.get("@type") is not None
        for part in _objects(tree)
    )


def remote_contexts(tree: object) -> Iterator[str]:
    """The contexts that a JSON-LD document does not hold itself: each string context and ``@import``."""
    for part in _objects(tree):
        todo = [part.get("@context")]
        while todo:
            context = todo.pop(0)
            if isinstance(context, str):
                yield context
            elif isinstance(context, list):
                todo.extend(context)
        if "@import" in part:
            yield str(part["@import"])


def _objects(tree: object) -> Iterator[dict[str, object]]:
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield part
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)
