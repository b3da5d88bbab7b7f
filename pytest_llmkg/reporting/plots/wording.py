"""Names and numbers in plots."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import NONE, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["listed", "plain_number", "shorten", "two_decimals", "width_of"]

_SLIM = frozenset("iljtfr.,:;|!'()[]{}/\\- I1")
_BROAD = frozenset("mwMW@%—…")


def width_of(text: str, size: float) -> float:
    """About how many pixels wide ``text`` is in a sans-serif font."""
    return size * sum(_share(char) for char in text)


def _share(char: str) -> float:
    if char in _SLIM:
        return 0.34
    if char in _BROAD or unicodedata.east_asian_width(char) in ("W", "F"):
        return 0.95 if char not in _BROAD else 0.85
    return 0.66 if char.isupper() else 0.56


def shorten(text: str, width: float, size: float) -> str:
    """``text`` in at most ``width`` pixels; what is cut is cut from the middle, since names differ at their ends."""
    text = visible(" ".join(text[:2000].split())) or "(no name)"
    if width_of(text, size) <= width:
        return text
    head, tail = "", ""
    room = width - size * 0.85
    for number in range(len(text)):
        from_start = number % 5 < 3
        char = text[len(head)] if from_start else text[-1 - len(tail)]
        room -= size * _share(char)
        if room < 0:
            break
        head, tail = (head + char, tail) if from_start else (head, char + tail)
    return f"{head}…{tail}"


def two_decimals(value: float | None) -> str:
    """``0.83``, and a dash for None."""
    return NONE if value is None else f"{value:.2f}".replace("-0.00", "0.00")


def plain_number(value: float) -> str:
    """Three digits that count, without an exponent where it is readable: ``0.00012``, ``1,200``."""
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e9:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{float(f'{value:.3g}'):.10f}"
    return text.rstrip("0").rstrip(".")


def listed(items: Sequence[str], most: int = 12, where: str = "the table") -> str:
    """``items`` as sentences, at most ``most`` of them."""
    text = " ".join(f"{item}." for item in items[:most])
    return text if len(items) <= most else f"{text} {len(items) - most} more: see {where}."
