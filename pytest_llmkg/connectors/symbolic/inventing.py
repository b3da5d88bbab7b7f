"""A graph of invented things of one class that are linked to each other, as many as the prompt asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN
from pytest_llmkg.connectors.symbolic.words import number_of, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine

__all__ = ["answer_sample", "asks_for_sample"]

_MOST = 2_000
_OWN = "https://example.org/"
_NAME = re.compile(r"(?<![\w/:.-])([A-Za-z][\w-]*):([A-Za-z_][\w-]*)")
_NUMBER = r"(\d{1,6}|[a-z]+)"
_SIZE = re.compile(rf"\b{_NUMBER} (?:different |distinct |invented )?([a-z]+)", re.IGNORECASE)
_FEWEST = re.compile(rf"\b(?:at least|minimum of|no fewer than|between) {_NUMBER}\b", re.IGNORECASE)
_MANY = re.compile(
    rf"\b(?:at most|maximum of|no more than|up to|between (?:\d+|[a-z]+) and) {_NUMBER}\b", re.IGNORECASE
)
_ASKED = re.compile(r"\b(?:invent|create|write|generate|make)\b", re.IGNORECASE)


def asks_for_sample(prose: str) -> bool:
    """Whether ``prose`` asks for a Turtle graph with a number of things of a class that it names."""
    return bool(_ASKED.search(prose)) and "turtle" in prose.lower() and _size(prose, _kind(prose)) is not None


def answer_sample(request: Request, _engine: KgEngine) -> str | None:
    """A fenced Turtle document; None when the prompt names no class, or asks for more than can be written.

    The things stand in a ring. Each is linked to the next ones: the least asked number of them, and every third thing
    to one more, where that is allowed.
    """
    prose = request.prose
    kind = _kind(prose)
    size = _size(prose, kind)
    if kind is None or size is None:
        return None
    link = next((m for m in _NAME.finditer(prose) if m[2][:1].islower() and m[1] in WELL_KNOWN), None)
    rest = max(0, size - 1)
    least = min(rest, _bound(_FEWEST, prose, 1) if link else 0)
    most = min(rest, _bound(_MANY, prose, rest) if link else 0)
    prefixes = {"": _OWN, **{m[1]: WELL_KNOWN[m[1]] for m in (kind, link) if m}}
    lines = [f"@prefix {prefix}: <{namespace}> ." for prefix, namespace in sorted(prefixes.items())]
    lines.append("")
    for i in range(size):
        known = min(max(most, least), least + (1 if i % 3 == 0 else 0))
        lines += _thing(kind, link, i, [(i + step) % size for step in range(1, known + 1)])
    return "```turtle\n" + "\n".join(lines) + "\n```"


def _thing(kind: re.Match[str], link: re.Match[str] | None, number: int, others: list[int]) -> Iterator[str]:
    local = kind[2][:1].lower() + kind[2][1:]
    links = ", ".join(f":{local}{other + 1}" for other in others)
    tail = f" ; {link[0]} {links}" if link and links else ""
    yield f":{local}{number + 1} a {kind[0]}{tail} ."


def _kind(prose: str) -> re.Match[str] | None:
    return next((m for m in _NAME.finditer(prose) if m[2][:1].isupper() and m[1] in WELL_KNOWN), None)


def _size(prose: str, kind: re.Match[str] | None) -> int | None:
    """The number that stands before the name of the class, in the plural or not."""
    if kind is None:
        return None
    for found in _SIZE.finditer(prose):
        size = number_of(found[1])
        if size is not None and stems_of(found[2]) == stems_of(kind[2]):
            return size if 0 < size <= _MOST else None
    return None


def _bound(pattern: re.Pattern[str], prose: str, otherwise: int) -> int:
    found = pattern.search(prose)
    number = number_of(found[1]) if found else None
    return otherwise if number is None else number
