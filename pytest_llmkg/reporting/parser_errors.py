"""Errors of a SPARQL or RDF parser as people can read them."""

from __future__ import annotations

import re

__all__ = ["readable_error"]

_EXPECTED = re.compile(r"(error at \d+:\d+: )expected one of (.+)", re.DOTALL)
# One alternative: a class of characters, a quoted text, or words; commas part them.
_ITEM = re.compile(r"""\s*(\[(?:'(?:\\.|[^'\\])*'|[^\]'])*\]|"(?:\\.|[^"\\])*"|[^,\[]+)""")
_NO_PREFIX = "Prefix not found"
_MOST = 4


def readable_error(text: str) -> str:
    """``text`` without the classes of characters that a grammar allows, and with few of the words that it expects.

    Texts of another shape stay as they are.
    """
    match = _EXPECTED.search(text)
    if match is None:
        return text
    items = [item.strip() for item in _ITEM.findall(match[2])]
    words = [item for item in dict.fromkeys(items) if item and not item.startswith("[")]
    if _NO_PREFIX in words:
        told = "a prefix that is not declared"
    elif not words:
        told = "something that is not expected here"
    else:
        more = ", \N{HORIZONTAL ELLIPSIS}" if len(words) > _MOST else ""
        told = f"expected {'one of ' if len(words) > 1 else ''}{', '.join(words[:_MOST])}{more}"
    return f"{text[: match.start()]}{match[1]}{told}"
