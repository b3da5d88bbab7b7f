"""Repairs of a SPARQL query that move or wrap more than one token: clauses out of order, missing parentheses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.sparql_tokens import AGGREGATES, MODIFIERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_llmkg.connectors.symbolic.grammar import Token

__all__ = ["clause_edits"]

_WRAPPED = frozenset({"FILTER", "HAVING", "BIND", "ASC", "DESC"})
_OPEN, _CLOSE = "({[", ")}]"


def clause_edits(text: str, tokens: Sequence[Token], index: int) -> Iterator[Edit]:
    """Edits of the clauses around the token with the fault, the one at ``index``."""
    yield from _ordered_clauses(text, tokens)
    for j in range(max(0, index - 4), min(len(tokens), index + 2)):
        if tokens[j].kind in _WRAPPED:
            yield from _wrapped(text, tokens, j)
        if tokens[j].kind in AGGREGATES:
            yield from _named_aggregate(text, tokens, j)


def _ordered_clauses(text: str, tokens: Sequence[Token]) -> Iterator[Edit]:
    """The clauses behind the pattern, wherever they stand outside inner braces, put in order at the end.

    A clause may also stand inside the outer braces, or before the pattern.
    """
    depth = 0
    outside: list[int] = []
    inside: list[int] = []
    for i, token in enumerate(tokens):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if token.kind in MODIFIERS and not (token.kind == "VALUES" and depth):
            (inside if depth else outside).append(i)
    for starts, cost in ((outside, 0.5), (inside, 0.7), (sorted(outside + inside), 0.9)):
        moved = _moved(text, tokens, starts)
        if moved is not None:
            yield Edit(0, len(text), moved, cost)


def _moved(text: str, tokens: Sequence[Token], starts: Sequence[int]) -> str | None:
    if not starts:
        return None
    parts: list[tuple[int, str]] = []
    rest, last = "", 0
    for number, i in enumerate(starts):
        limit = starts[number + 1] if number + 1 < len(starts) else len(tokens)
        end = _clause_end(tokens, i, limit)
        parts.append((MODIFIERS.index(tokens[i].kind), text[tokens[i].start : tokens[end - 1].end]))
        rest += text[last : tokens[i].start]
        last = tokens[end - 1].end
    rest += text[last:]
    tail = "\n".join(part for _, part in sorted(parts, key=lambda p: p[0]))
    return f"{rest.rstrip()}\n{tail}"


def _clause_end(tokens: Sequence[Token], start: int, limit: int) -> int:
    """Where the clause at ``start`` ends: before a bracket that closes what it did not open, or the pattern."""
    depth = 0
    for i in range(start + 1, limit):
        text = tokens[i].text
        if depth == 0 and (text in _CLOSE or tokens[i].kind == "WHERE" or text == "{"):
            return i
        depth += (text in _OPEN) - (text in _CLOSE)
    return limit


def _wrapped(text: str, tokens: Sequence[Token], j: int) -> Iterator[Edit]:
    """Parentheses around what follows a keyword, to each place where it may end."""
    following = j + 1
    if following >= len(tokens):
        return
    start, line_end = tokens[following].start, _line_end(text, tokens[following].start)
    for i in range(following, min(len(tokens), following + 30)):
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        ends = after is None or after.text in {".", "}"} or after.kind in MODIFIERS or after.start >= line_end
        if ends:
            inner = text[start : tokens[i].end]
            yield Edit(start, tokens[i].end, f"({inner})", 0.7 + 0.02 * (i - j))
        if after is None or after.text == "}" or after.kind in MODIFIERS:
            return


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _named_aggregate(text: str, tokens: Sequence[Token], j: int) -> Iterator[Edit]:
    """``(COUNT(?x) AS ?n)`` from an aggregate that lacks parts of it, or its parentheses."""
    end = _closing(tokens, j + 1)
    if end is None:
        return
    call = text[tokens[j].start : tokens[end].end]
    first, last = tokens[j].start, tokens[end].end
    rest = tokens[end + 1 : end + 3]
    names = [t.text for t in rest if t.kind == "variable"][:1]
    enclosed = j > 0 and tokens[j - 1].text == "("
    named = bool(rest) and (rest[0].kind == "AS" or rest[0].kind == "variable")
    if named and names:
        stop = rest[0] if rest[0].kind == "variable" else rest[1]
        closed = _text_at(tokens, tokens.index(stop) + 1) == ")"
        opening, closing = ("" if enclosed else "("), ("" if closed else ")")
        yield Edit(first, stop.end, f"{opening}{call} AS {names[0]}{closing}", 0.6)
    used = {t.text for t in tokens if t.kind == "variable"}
    fresh = _wanted_name(tokens, j) or next(n for n in ("?n", "?value", "?aggregate_value", "?n_") if n not in used)
    opening, closing = ("", "") if enclosed else ("(", ")")
    yield Edit(first, last, f"{opening}{call} AS {fresh}{closing}", 0.8)


def _wanted_name(tokens: Sequence[Token], j: int) -> str | None:
    """A variable that only the clauses behind the aggregate use: it must be the aggregate's."""
    later = next((i for i, t in enumerate(tokens) if i > j and t.kind in {"ORDER", "HAVING"}), len(tokens))
    earlier = {t.text for t in tokens[:later] if t.kind == "variable"}
    return next((t.text for t in tokens[later:] if t.kind == "variable" and t.text not in earlier), None)


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    if _text_at(tokens, opening) != "(":
        return None
    depth = 0
    for i in range(opening, len(tokens)):
        depth += (tokens[i].text == "(") - (tokens[i].text == ")")
        if depth == 0:
            return i
    return None


def _text_at(tokens: Sequence[Token], i: int) -> str:
    return tokens[i].text if i < len(tokens) else ""
