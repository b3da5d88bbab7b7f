"""The dialogue's messages as one frozen request: what kind of job, on which graph, with which question and hint.

Prompts are understood by their structure alone (fenced blocks with their tags, a ``Question:`` line, key words of
the prose outside the blocks), so that any prompt of the same shape is read, whatever it is about.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.extracting import asks_for_extraction
from pytest_llmkg.connectors.symbolic.inventing import asks_for_sample
from pytest_llmkg.connectors.symbolic.outlines import find_examples, read_outline, without_examples
from pytest_llmkg.connectors.symbolic.request import Job, Request
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import FencedBlock, fenced_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.records import Message

__all__ = ["read_request"]

_TAGS = {
    "turtle": "turtle",
    "ttl": "turtle",
    "json-ld": "json-ld",
    "jsonld": "json-ld",
    "json": "json-ld",
    "nt": "nt",
    "ntriples": "nt",
    "n-triples": "nt",
    "xml": "xml",
    "rdf": "xml",
    "rdfxml": "xml",
    "rdf+xml": "xml",
    "rdf/xml": "xml",
    "sparql": "sparql",
    "rq": "sparql",
    "csv": "csv",
}
_GRAPHS = frozenset({"turtle", "json-ld", "nt", "xml"})
_QUESTION = re.compile(r"^[ \t>*]*Question[ \t*]*:[ \t*]*(\S[^\n]*)", re.MULTILINE)
_SPARQL = re.compile(r"\s*(?:(?:prefix|base)\b[^\n]*\n\s*)*(?:select|ask|construct|describe)\b", re.IGNORECASE)
_TURTLE = re.compile(r"^\s*(?:@prefix|@base|prefix)\b", re.IGNORECASE | re.MULTILINE)
_NT_LINE = re.compile(r"(?:<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+\S.*\.")
_TABLE_HEAD = re.compile(r"[\w ]+,[\w ]+(?:,[\w ]+)*")
# A Turtle document between two paragraphs of prose, without fences.
_BARE = re.compile(r"(?:^|\n\n)((?:@prefix|prefix)\b.*\S)\s*\n\n[^\n]+\s*$", re.IGNORECASE | re.DOTALL)
_WALK = re.compile(r"\bshortest (?:path|connection|route|chain|way)\b", re.IGNORECASE)
_REPAIR = re.compile(
    r"\b(?:repair|fix|correct (?:the|every|all|any)|syntax errors?|not parse|not valid|invalid|malformed)\b",
    re.IGNORECASE,
)
_QUERY = re.compile(r"\bSPARQL\b", re.IGNORECASE)
_COUNT = re.compile(r"\b(?:most|(?:largest|highest|greatest|biggest) (?:number|count|amount))\b", re.IGNORECASE)


def read_request(messages: Sequence[Message]) -> Request:
    """The request that ``messages`` make; never raises for anything that a text can hold."""
    users = [m.text for m in messages if m.role == "user"]
    given = tuple(m.text for m in messages if m.role == "assistant")
    systems = [m.text for m in messages if m.role == "system"]
    requests = [_read_prompt(text, find_examples("\n\n".join(systems))) for text in users]
    index = next((i for i, r in enumerate(requests) if r.job != "unknown"), None)
    if index is None:
        return Request("unknown", given=given)
    first = requests[index]
    hint = users[-1] if index < len(users) - 1 else None
    return replace(first, hint=hint, given=given)


def _read_prompt(text: str, shown: tuple[tuple[str, str], ...] = ()) -> Request:
    examples = (*shown, *find_examples(text))
    text = without_examples(text)
    blocks = fenced_blocks(text)
    prose = _prose(text, blocks)
    kinds = [(_kind(block), block) for block in blocks]
    graph = next((GraphText(b.content, kind) for kind, b in kinds if kind in _GRAPHS), None)
    query = next((b.content for kind, b in kinds if kind == "sparql"), None)
    table = next((b.content for kind, b in kinds if kind == "csv"), None)
    bare = _BARE.search(prose) if not blocks else None
    if bare is not None:
        graph, prose = GraphText(bare[1], "turtle"), prose[: bare.start(1)] + prose[bare.end(1) :]
    asked = _QUESTION.search(prose)
    question = asked[1].strip() if asked else ""
    job = _job(prose, query, question) if graph else _job_without_graph(prose, query, table, question)
    request = Request(job, graph, query, table, question, prose, fenced=bare is None)
    outline = read_outline(text) if graph is None and table is None else None
    can_try = "```try" in text
    if question and query is None and _QUERY.search(prose) and (examples or outline or can_try):
        return replace(request, job="draft", examples=examples, outline=outline, can_try=can_try)
    return request


def _prose(text: str, blocks: Sequence[FencedBlock]) -> str:
    rest = text.replace("\r\n", "\n")
    parts = []
    for block in blocks:
        before, _, rest = rest.partition(block.text)
        parts.append(before)
    return "\n".join([*parts, rest])


def _job(prose: str, query: str | None, question: str) -> Job:
    if query is not None:
        return "evaluate"
    if question and _QUERY.search(prose):
        return "query"
    if _WALK.search(prose):
        return "walk"
    if _REPAIR.search(prose):
        return "repair"
    if question:
        return "answer"
    return "count" if _COUNT.search(prose) else "unknown"


def _job_without_graph(prose: str, query: str | None, table: str | None, question: str) -> Job:
    if query is not None and _REPAIR.search(prose):
        return "repair"
    if table is not None and question and _QUERY.search(prose):
        return "query"
    if query is None and asks_for_extraction(prose):
        return "extract"
    return "sample" if query is None and asks_for_sample(prose) else "unknown"


def _kind(block: FencedBlock) -> str:
    words = block.tag.lower().split()
    return _TAGS.get(words[0], "") if words else _guess(block.content)


def _guess(content: str) -> str:
    """The kind of an untagged block by its first signs."""
    start = content[:4000]
    if start.startswith(("{", "[")) and '"@' in start:
        return "json-ld"
    if start.startswith("<?xml") or "<rdf:RDF" in start:
        return "xml"
    if _SPARQL.match(start):
        return "sparql"
    if _TURTLE.search(start):
        return "turtle"
    lines = start.splitlines()
    if lines and _NT_LINE.fullmatch(lines[0].strip()):
        return "nt"
    return "csv" if len(lines) > 1 and _TABLE_HEAD.fullmatch(lines[0].strip()) else ""
