"""Long names in few columns, shortened alike everywhere."""

from __future__ import annotations

import re

__all__ = ["short_name"]

_LEAST_START = 4
_WORD = re.compile(r"(?<=[/:,;+ _-])(?=[^/:,;+ _-])")


def short_name(text: str, room: int) -> str:
    """``text`` in at most ``room`` columns: its beginning, two dots and, since names differ there, its end.

    The end begins with a whole word where that leaves some columns for the beginning, so that of two settings of
    one model the setting can be read.
    """
    if len(text) <= room:
        return text
    words = [len(text) - found.start() for found in _WORD.finditer(text)]
    end = max((size for size in words if size <= room - 2 - _LEAST_START), default=max((room - 2) // 2, 0))
    start = max(room - 2 - end, 0)
    return f"{text[:start]}..{text[len(text) - end :]}"[: max(room, 0)]
