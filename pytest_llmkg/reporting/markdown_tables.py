"""Markdown from parts that nobody trusts: each text is escaped, so that no name can become markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_llmkg.reporting import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["escaped", "link", "raw_table", "table"]

_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~$#@]|^:(?=:)|:(?=//)|(?<=www)\.", re.IGNORECASE)


def escaped(text: str) -> str:
    """``text`` on one line, without a meaning in Markdown or, at the start of a line, to GitHub Actions."""
    return _SPECIAL.sub(lambda match: _entity(match[0]), " ".join(formats.visible(text).split()))


def _entity(char: str) -> str:
    # A backslash would not keep a site from making links of names and addresses.
    return f"&#{ord(char)};" if char in "@:." else "\\" + char


def link(text: str, address: str) -> str:
    """A link; ``address`` is relative or of the web, and its special characters are encoded."""
    return f"[{escaped(text)}]({quote(address, safe='/:#?&=%~.-_')})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> list[str]:
    """A table of texts whose first ``left`` columns are words and whose others are numbers."""
    return raw_table(head, ([escaped(cell) for cell in row] for row in rows), left)


def raw_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> list[str]:
    """Like `table`, of cells that are Markdown already; the head is text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return [_line(escaped(cell) for cell in head), _line(rule), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
