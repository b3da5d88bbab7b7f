"""Candidate repairs of a SPARQL query around its first fault, the nearest and likeliest first."""

from __future__ import annotations

import difflib
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.sparql_clauses import clause_edits
from pytest_llmkg.connectors.symbolic.sparql_slips import slip_edits
from pytest_llmkg.connectors.symbolic.sparql_tokens import FUNCTIONS, KEYWORDS, sparql_tokens
from pytest_llmkg.connectors.symbolic.turtle_edits import iri_edits, literal_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.connectors.symbolic.grammar import Fault, Token

__all__ = ["odd_variables", "query_key", "sparql_edits"]

_BACK, _AHEAD = 9, 2
_LONGEST_LINE = 2000
_INSERTED = (
    (".", 1.0),
    (";", 1.2),
    (",", 1.6),
    ("}", 1.1),
    ("{", 1.1),
    (")", 1.1),
    ("(", 1.1),
    ("]", 1.3),
    ("[", 1.6),
    ("AS", 0.9),
    ("BY", 0.6),
    ("SELECT", 1.2),
    ("WHERE", 1.5),
    ("FILTER", 1.3),
    ("UNION", 1.4),
    ("EXISTS", 1.0),
    ("=", 1.5),
    ("&&", 1.6),
    ("a", 2.2),
    ("*", 1.8),
    ("/", 1.8),
)
_SWAPS: dict[str, tuple[str, ...]] = {
    ".": (";", ","),
    ";": (".", ","),
    ",": (";", "."),
    "]": (")", "}"),
    ")": ("]", "}"),
    "}": (")", "]"),
    "(": ("{", "["),
    "{": ("(", "["),
    "[": ("(", "{"),
    "=": ("AS",),
    "|": ("||",),
    "/": ("|",),
}
_WORDS = {
    "and": "&&",
    "or": "||",
    "is": "=",
    "equals": "=",
    "true": "true",
    "false": "false",
    "a": "a",
    "order": "ORDER BY",
}
_PAIRS = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<=", "===": "="}
_VOCABULARY = sorted(KEYWORDS | FUNCTIONS)


def query_key(text: str) -> tuple[str, ...]:
    """The tokens of ``text``: queries with the same ones differ in white space only."""
    return tuple(token.text for token in sparql_tokens(text))


def odd_variables(text: str) -> float:
    """A price for the variables that a sound query shows and nothing in it binds."""
    tokens = list(sparql_tokens(text))
    opened = next((i for i, t in enumerate(tokens) if t.text == "{"), len(tokens))
    bound = {t.text[1:] for t in tokens[opened:] if t.kind == "variable"}
    bound |= {t.text[1:] for b, t in pairwise(tokens) if b.kind == "AS"}
    return 1.5 * len({t.text[1:] for t in tokens[:opened] if t.kind == "variable"} - bound)


def sparql_edits(text: str, fault: Fault) -> Iterator[Edit]:
    """Edits that may mend the fault at ``fault``, most of them wrong: the caller tries them."""
    tokens = list(sparql_tokens(text))
    index = next((i for i, t in enumerate(tokens) if t.end > fault.at), len(tokens))
    yield from clause_edits(text, tokens, index)
    yield from slip_edits(text, tokens, index)
    yield from _line_edits(text, fault.at)
    near = range(max(0, index - _BACK), min(len(tokens), index + _AHEAD) + 1)
    for j in sorted(near, key=lambda i: (abs(i - index), i)):
        distance = abs(j - index) * 0.1
        yield from _insertions(text, tokens, j, distance)
        if j < len(tokens):
            yield from _replacements(text, tokens, j, distance)
            yield from _deletions(tokens, j, distance)


def _line_edits(text: str, at: int) -> Iterator[Edit]:
    """Edits of strings and IRIs in the line with the fault and the one before it."""
    line_start = text.rfind("\n", 0, at) + 1
    for start in dict.fromkeys((line_start, text.rfind("\n", 0, max(0, line_start - 1)) + 1)):
        end = text.find("\n", start)
        line = text[start : len(text) if end < 0 else end]
        if len(line) <= _LONGEST_LINE:
            yield from literal_edits(text, start, line)
            yield from iri_edits(text, start, line)
            lead = re.match(r"\s*(?://|--|%|/\*)", line)
            if lead:
                yield Edit(start, start + lead.end(), "#", 1)


def _insertions(text: str, tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    before = tokens[j - 1].end if j else 0
    start = tokens[j].start if j < len(tokens) else len(text)
    gap = text[before:start]
    for mark, cost in _INSERTED:
        yield Edit(before, before, f" {mark}" + ("" if gap else " "), cost + extra)
    if "\n" in gap:
        # A brace of its own line, as deep as the line that follows or less.
        deep = gap[gap.rindex("\n") + 1 :]
        for depth in dict.fromkeys((deep, deep[:-2], deep[:-4])):
            yield Edit(before, before, f"\n{depth}}}", 1.05 + extra)
    for quote in ('"', "'", "<", ">", '"""'):
        for place in dict.fromkeys((start, before)):
            yield Edit(place, place, quote, 1.5 + extra)


def _replacements(text: str, tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    token = tokens[j]
    for other in _SWAPS.get(token.text, ()):
        yield Edit(token.start, token.end, other, 1.1 + extra)
    following = tokens[j + 1] if j + 1 < len(tokens) else None
    pair = token.text + following.text if following and following.start == token.end else ""
    if pair in _PAIRS and following:
        yield Edit(token.start, following.end, _PAIRS[pair], 0.6 + extra)
    if token.text in {"&", "^", "|"}:
        yield Edit(token.start, token.end, token.text * 2, 0.8 + extra)
    if following and token.text in {"?", "$"} and following.kind in {"word", *KEYWORDS, *FUNCTIONS}:
        yield Edit(token.start, following.end, f"?{following.text}", 0.6 + extra)
    if token.kind == "word" or token.kind in KEYWORDS | FUNCTIONS:
        yield from _word_edits(text, token, extra)
    if token.kind == "variable":
        yield Edit(token.start, token.start + 1, "", 2.0 + extra)
        yield Edit(token.start, token.start + 1, ":", 2.2 + extra)
    if token.kind == "name" and f"?{token.text.strip(':')}" in text:
        yield Edit(token.start, token.end, "?" + token.text.strip(":"), 0.9 + extra)


def _word_edits(text: str, token: Token, extra: float) -> Iterator[Edit]:
    """A word is a misspelt keyword, a variable or a name without its mark, or text without its quotes."""
    word = token.text
    known = bool(re.search(rf"[?$]{re.escape(word)}\b", text))
    reserved = token.kind != "word"
    yield Edit(token.start, token.start, "?", (0.4 if known else 1.0) + (1.5 if reserved else 0) + extra)
    if re.search(rf":{re.escape(word)}\b", text):
        yield Edit(token.start, token.start, ":", 0.9 + extra)
    yield Edit(token.start, token.start, ":", 1.7 + extra)
    yield Edit(token.start, token.end, f'"{word}"', 1.9 + extra)
    if word.lower() in _WORDS and _WORDS[word.lower()] != word:
        yield Edit(token.start, token.end, _WORDS[word.lower()], 0.7 + extra)
    for near in difflib.get_close_matches(word.upper(), _VOCABULARY, 3, 0.7):
        if near != word.upper():
            ratio = difflib.SequenceMatcher(None, word.upper(), near).ratio()
            shown = near if word.isupper() else near.lower()
            yield Edit(token.start, token.end, shown, 0.4 + 2 * (1 - ratio) + extra)
    joined = next((k for k in _VOCABULARY if len(k) > 1 and word.upper().startswith(k) and len(word) > len(k)), None)
    if joined:
        yield Edit(token.start + len(joined), token.start + len(joined), " ", 1.2 + extra)


def _deletions(tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    """Drops one to three tokens in a row; marks cheaply, words and keywords at a price that grows."""
    for count in range(1, 4):
        run = tokens[j : j + count]
        if len(run) < count:
            return
        marks = all(len(t.text) < 3 and not t.text[0].isalnum() for t in run)
        cost = 0.6 + 0.4 * count if marks else 2.2 + 0.7 * count
        yield Edit(tokens[j - 1].end if j else run[0].start, run[-1].end, "", cost + extra)
