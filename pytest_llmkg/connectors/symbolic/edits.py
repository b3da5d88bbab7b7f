"""Small edits of a text, and how plausible the edited text's layout is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Edit", "apply_edit", "distinct", "layout_breaks", "nesting"]

_STRUCTURE = re.compile(r'"(?:\\.|[^"\\\n])*"|<[^<>\s]*>|#[^\n]*|[\[\]{}()]|[.](?=\s|$)|\n', re.MULTILINE)
_JSON_STRUCTURE = re.compile(r'"(?:\\.|[^"\\\n])*"|[\[\]{}]|\n')
_OPEN, _CLOSE = "[{(", "]})"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces ``[start, end)`` by ``text``. ``cost`` is the higher the less likely a writer's slip is undone by it."""

    start: int
    end: int
    text: str
    cost: float


def apply_edit(text: str, edit: Edit) -> str:
    """``text`` after ``edit``."""
    return text[: edit.start] + edit.text + text[edit.end :]


def distinct(text: str, edits: Iterable[Edit]) -> Iterator[tuple[str, Edit]]:
    """The different texts that ``edits`` make of ``text``, each with the first edit that makes it."""
    seen = {text}
    for edit in edits:
        edited = apply_edit(text, edit)
        if edited not in seen:
            seen.add(edited)
            yield edited, edit


def nesting(text: str) -> int:
    """How deep brackets stand in each other at most, wherever they are; parsers recurse so deep."""
    depth = deepest = 0
    for match in re.finditer(r"[\[\]{}()]", text):
        depth = max(0, depth + (1 if match.group() in _OPEN else -1))
        deepest = max(deepest, depth)
    return deepest


def layout_breaks(text: str, *, json_text: bool) -> int:
    """How many lines are indented against the structure of brackets and statements.

    A line inside a bracket is deeper than the line that opened it, and a closing bracket that begins a line stands as
    deep as that line. In Turtle, a statement begins at the margin and goes on deeper.
    """
    breaks, indent, in_statement = 0, _indent_at(text, 0), False
    open_lines: list[tuple[int, int]] = []
    pattern = _JSON_STRUCTURE if json_text else _STRUCTURE
    breaks += 0 if json_text else int(bool(indent))
    at_line_start = True
    position = 0
    for match in pattern.finditer(text):
        mark = match.group()
        between = text[position : match.start()].strip()
        position = match.end()
        if between or mark[0] in '"<':
            in_statement, at_line_start = True, False
        if mark == "\n":
            indent, at_line_start = _indent_at(text, match.end()), True
            breaks += _line_breaks(text, match.end(), indent, open_lines, in_statement or json_text)
        elif mark in _OPEN:
            in_statement, at_line_start = True, False
            open_lines.append((indent, match.start()))
        elif mark in _CLOSE:
            opened, opened_at = open_lines.pop() if open_lines else (-1, match.start())
            breaks += int(opened < 0 or (at_line_start and opened != indent))
            line = text.rfind("\n", 0, match.start()) + 1
            breaks += int(json_text and not at_line_start and opened_at < line)
            at_line_start = False
        elif mark == "." and not open_lines:
            in_statement = False
    return breaks + len(open_lines)


def _indent_at(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] in " \t":
        end += 1
    return end - start


def _line_breaks(text: str, start: int, indent: int, open_lines: list[tuple[int, int]], inside: bool) -> int:  # noqa: FBT001
    first = text[start + indent : start + indent + 1]
    if first in {"", "\n", "\r", "#"} or first in _CLOSE:
        return 0
    if open_lines:
        return int(indent <= open_lines[-1][0])
    return int(inside != (indent > 0))
