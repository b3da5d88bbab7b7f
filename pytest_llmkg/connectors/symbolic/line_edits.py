"""Candidate repairs that only N-Triples needs: what Turtle may abbreviate is written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.grammar import Fault, Token, tokens_of
from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["line_edits"]

_XSD = WELL_KNOWN["xsd"]


def line_edits(text: str, fault: Fault) -> Iterator[Edit]:
    """Edits of the line with ``fault`` that write an abbreviation of Turtle as N-Triples does."""
    start = text.rfind("\n", 0, fault.at) + 1
    end = text.find("\n", fault.at)
    line = text[start : len(text) if end < 0 else end]
    tokens = tokens_of(line)
    for index, token in enumerate(tokens):
        for written, cost in _written_out(token, tokens[:index]):
            yield Edit(start + token.start, start + token.end, written, cost)
        if token.text == ";" and tokens[0].kind in {"iri", "blank"}:
            yield _split(text, start, tokens, index, tokens[:1])
        if token.text == "," and len(tokens) > 1:
            yield _split(text, start, tokens, index, tokens[:2])
    if len(tokens) > 2 and tokens[0].kind == "string":
        yield from _swapped(start, line, tokens)


def _written_out(token: Token, before: list[Token]) -> Iterator[tuple[str, float]]:
    prefix, colon, local = token.text.partition(":")
    if token.kind == "name" and colon and prefix in WELL_KNOWN:
        yield f"<{WELL_KNOWN[prefix]}{local}>", 0.5
    if token.text == "a" and before:
        yield f"<{WELL_KNOWN['rdf']}type>", 0.5
    if token.kind == "number":
        kind = "double" if "e" in token.text.lower() else "decimal" if "." in token.text else "integer"
        yield f'"{token.text}"^^<{_XSD}{kind}>', 0.5
        yield f'"{token.text}"', 1.5
    if token.text in {"true", "false"}:
        yield f'"{token.text}"^^<{_XSD}boolean>', 0.5
    if token.kind == "string" and token.text.startswith("'"):
        inner = token.text.strip("'").replace('"', '\\"')
        yield f'"{inner}"', 0.5
    if token.kind == "string" and token.text.startswith('"""'):
        inner = token.text[3:-3].replace('"', '\\"').replace("\n", "\\n")
        yield f'"{inner}"', 0.5


def _split(text: str, start: int, tokens: list[Token], index: int, kept: list[Token]) -> Edit:
    """Ends the triple at a list mark and begins the next one with the ``kept`` terms."""
    following = start + tokens[index].end
    following += len(text[following:]) - len(text[following:].lstrip())
    again = " ".join(t.text for t in kept)
    left = tokens[index - 1].end if index else tokens[index].start
    return Edit(start + left, following, f" .\n{again} ", 0.6)


def _swapped(start: int, line: str, tokens: list[Token]) -> Iterator[Edit]:
    """A literal cannot be a subject; perhaps subject and object stand the wrong way round."""
    dot = tokens[-1] if tokens[-1].text == "." else None
    terms = tokens[:-1] if dot else tokens
    last = terms[-1]
    predicate = next((i for i, t in enumerate(terms) if t.kind == "iri" and i), None)
    if predicate is None or terms[predicate] is last:
        return
    literal = line[terms[0].start : terms[predicate - 1].end]
    yield Edit(
        start + terms[0].start,
        start + last.end,
        f"{line[terms[predicate + 1].start : last.end]} {terms[predicate].text} {literal}",
        1.0,
    )
