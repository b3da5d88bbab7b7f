"""Repairs of a SPARQL query for slips from other notations: literals, paths, assignments, groups without braces."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.sparql_tokens import MODIFIERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_llmkg.connectors.symbolic.grammar import Token

__all__ = ["slip_edits"]

_CURLY = {0x201C: '"', 0x201D: '"', 0x201E: '"', 0x00AB: '"', 0x00BB: '"', 0x2018: "'", 0x2019: "'"}
_DATE = re.compile(r"(?<![\"'\w-])(\d{4}-\d\d-\d\d(T[\d:.]+Z?)?)(?![\"'\w-])(\^\^)?")
_PATH_MARK = re.compile(r"(?<=[\w)]) ?(?:->|=>|>|\\|»|::|\.(?=\w)) ?(?=[\w^(<]*:)")
_SIGN_AHEAD = re.compile(r"(?<![\w:)])([+*?]) ?([\w.-]*:[\w-]*\w|<[^<>\s]*>)")
_ASSIGNED = re.compile(r"\bBIND ?\(? ?([?$]\w+) ?:?= ?", re.IGNORECASE)
_FAR = 40
_MOST = 6
_BRACES = {"{": 1, "}": -1}


def slip_edits(text: str, tokens: Sequence[Token], index: int) -> Iterator[Edit]:
    """Edits for such slips in the whole text; ``index`` tells the token with the fault."""
    curly = text.translate(_CURLY)
    if curly != text:
        yield Edit(0, len(text), curly, 0.3)
    for match in _DATE.finditer(text):
        datatype = "" if match[3] else "^^xsd:dateTime" if match[2] else "^^xsd:date"
        yield Edit(match.start(1), match.end(1), f'"{match[1]}"{datatype}', 0.4)
    for match in _PATH_MARK.finditer(text):
        yield Edit(match.start(), match.end(), "/", 0.6)
    for match in _SIGN_AHEAD.finditer(text):
        yield Edit(match.start(), match.end(), match[2] + match[1], 0.5)
    yield from _brace_at_line_end(text)
    for match in islice(_ASSIGNED.finditer(text), _MOST):
        yield from _assignment(text, match)
    for j in range(max(0, index - _FAR), min(len(tokens), index + 3)):
        if tokens[j].kind == "UNION":
            yield from _union(text, tokens, j)
        if tokens[j].kind == "SELECT" and j:
            yield from _subquery(text, tokens, j)


def _brace_at_line_end(text: str) -> Iterator[Edit]:
    """Closes a group on the line on which it was opened, if something follows the brace there."""
    if text.count("{") <= text.count("}"):
        return
    for match in re.finditer(r"\{[ \t]*[^\s{}][^{}\n]*$", text, re.MULTILINE):
        yield Edit(match.end(), match.end(), " }", 1.0)


def _assignment(text: str, match: re.Match[str]) -> Iterator[Edit]:
    """``BIND(expression AS ?variable)`` from ``BIND(?variable = expression)``, by the parentheses of the latter."""
    depth = 1
    for place in range(match.end(), len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            expression = text[match.end() : place]
            yield Edit(match.start(), place + 1, f"BIND({expression} AS {match[1]})", 0.5)
            return


def _union(text: str, tokens: Sequence[Token], j: int) -> Iterator[Edit]:
    """Braces around both sides of a UNION, or around the one that lacks them."""
    opening, closing = _enclosing(tokens, j, -1), _enclosing(tokens, j, 1)
    if opening is None or closing is None or not opening + 1 < j < closing - 1:
        return
    left_done, right_done = tokens[j - 1].text == "}", tokens[j + 1].text == "{"
    lefts = [j] if left_done else [opening + 1, *(i + 1 for i in range(opening + 1, j - 1) if tokens[i].text == ".")]
    rights = [j] if right_done else [closing - 1, *(i for i in range(j + 1, closing - 1) if tokens[i].text == ".")]
    lefts, rights = [lefts[0], *lefts[1:][-_MOST:]], [rights[0], *rights[1 : _MOST + 1]]
    for i in lefts:
        for k in rights:
            left = "" if left_done else f"{{ {text[tokens[i].start : tokens[j - 1].end]} }} "
            right = "" if right_done else f" {{ {text[tokens[j + 1].start : tokens[k].end]} }}"
            start = tokens[j].start if left_done else tokens[i].start
            end = tokens[j].end if right_done else tokens[k].end
            extra = 0.05 * (lefts.index(i) + rights.index(k))
            yield Edit(start, end, f"{left}{tokens[j].text}{right}", 0.7 + extra)


def _subquery(text: str, tokens: Sequence[Token], j: int) -> Iterator[Edit]:
    """Braces around an inner SELECT with its pattern and its clauses."""
    depth, end = 0, None
    for i in range(j, len(tokens)):
        change = _BRACES.get(tokens[i].text, 0)
        depth += change
        if depth < 0:
            break
        if depth == 0 and (change or (end is not None and tokens[i].kind != "word")):
            following = tokens[i + 1] if i + 1 < len(tokens) else None
            end = i
            if change and (following is None or following.kind not in MODIFIERS):
                break
    if end is not None:
        for place, cost in ((end, 0.6), (_pattern_end(tokens, j), 0.9)):
            inner = text[tokens[j].start : tokens[place].end]
            yield Edit(tokens[j].start, tokens[place].end, f"{{ {inner} }}", cost)


def _pattern_end(tokens: Sequence[Token], j: int) -> int:
    """The brace that closes the first pattern behind ``j``, else the last token."""
    depth = 0
    for i in range(j, len(tokens)):
        depth += _BRACES.get(tokens[i].text, 0)
        if tokens[i].text == "}" and depth == 0:
            return i
    return len(tokens) - 1


def _enclosing(tokens: Sequence[Token], j: int, direction: int) -> int | None:
    """The brace to the left (-1) or right (1) that encloses the token at ``j``."""
    depth = 0
    i = j + direction
    while 0 <= i < len(tokens):
        depth += direction * _BRACES.get(tokens[i].text, 0)
        if depth < 0:
            return i
        i += direction
    return None
