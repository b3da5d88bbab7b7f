"""Graphs in the normal form of LLM-KG-Bench's construction tasks (2023), as sets of lines and as text."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

__all__ = ["NtTriple", "likeness", "normal_rows", "normal_text", "nt_triples"]

# Its length enters the published ratios, which force 18 characters.
_UNIFIED = "_:unifiedBlankNode"
_BLANK_NODE = re.compile(r"_:\w+")
_TRIPLE = re.compile(r"(<[^>]*>|_:\S+) (<[^>]*>) (.+) \.")

# difflib needs time in proportion to the product of both lengths; beyond this the ratio could not exceed 2/21.
_LONGEST_MULTIPLE = 20
_ALWAYS_COMPARED = 20_000
_MOST_BLANK_NODES = 500


class NtTriple(NamedTuple):
    """The three terms of an N-Triples line, each as written there (``<iri>``, ``_:b0``, ``"1.0"^^<...>``)."""

    subject: str
    predicate: str
    object: str


def nt_triples(lines: Iterable[str]) -> Iterator[NtTriple]:
    """The terms of ``lines``; what is no N-Triples line is left out."""
    for line in lines:
        if match := _TRIPLE.fullmatch(line):
            yield NtTriple(*match.groups())


def normal_rows(lines: Iterable[str], *, empty_row: bool = True) -> frozenset[str]:
    """The lines with all blank nodes alike, so that lines which differ only in them become one.

    Args:
        lines: N-Triples lines.
        empty_row: whether a graph that is not empty gets one more row, the text behind its last line break, as
            published.
    """
    rows = frozenset(_BLANK_NODE.sub(_UNIFIED, line) for line in lines)
    return rows | {""} if rows and empty_row else rows


def normal_text(rows: AbstractSet[str]) -> str:
    """The sorted rows as one text; with the published empty row it begins with a line break."""
    return "\n".join(sorted(rows))


def likeness(first: str, second: str) -> float:
    """Ratcliff-Obershelp ratio from 0 to 1 by ``difflib`` with its "autojunk" rule; the order of the texts matters.

    When one text is longer than 20,000 characters and 20 times the other, the ratio is taken for 0.
    """
    shorter, longer = sorted((len(first), len(second)))
    if longer > max(_ALWAYS_COMPARED, _LONGEST_MULTIPLE * shorter):
        return 0.0
    return difflib.SequenceMatcher(None, first, second).ratio()
