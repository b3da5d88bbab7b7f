"""Numbers and text as reports show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_llmkg.records import Number

__all__ = [
    "NONE",
    "UNKNOWN",
    "brief",
    "cost",
    "count",
    "duration",
    "interval",
    "number",
    "p_value",
    "places",
    "plain_line",
    "plural",
    "score",
    "shielded",
    "shielded_json",
    "thousands",
    "visible",
]

NONE = "\N{EN DASH}"
"""Shown where there is no value."""

UNKNOWN = "unknown"
"""Shown where there is a value that nobody told."""

# Control characters but tab and newline, marks that reorder or hide text, lone surrogates, noncharacters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff]"
)

# What build systems obey in output: GitHub "::" at the start of a line, blanks before it or not, and "##[" anywhere,
# Azure "##vso[", TeamCity "##teamcity[".
_COMMAND = re.compile(r"(?:^|(?<=[\r\n]))([^\S\r\n]*):(?=:)|#(?=#[A-Za-z]*\[)")

_PLAIN = b"\t\n" + bytes(range(0x20, 0x7F))


def visible(text: str) -> str:
    """``text`` with each invisible or reordering character as its code, e.g. ``⟦U+202E⟧``."""
    if text.isascii() and not text.encode().translate(None, _PLAIN):  # most texts, and many times as fast
        return text
    return _INVISIBLE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def shielded(text: str) -> str:
    """``text`` in which no line is a command to a build system: a backslash breaks it up, which Markdown hides."""
    return _COMMAND.sub(lambda match: "#\\" if match[0] == "#" else f"{match[1]}\\:", text)


def shielded_json(text: str) -> str:
    """JSON ``text`` without ``##[`` and the like, which stand in strings only; it means the same as before."""
    return _COMMAND.sub(lambda match: "\\u0023" if match[0] == "#" else match[0], text)


def plain_line(text: str) -> str:
    """``text`` for a line of a terminal: escapes for all but printable ASCII, and no command to a build system."""
    return shielded("".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text))


def score(value: Number | None) -> str:
    """Three decimals; never ``-0.000``."""
    return NONE if value is None else f"{value:z.3f}"


def number(value: Number) -> str:
    """A single score: whole numbers as they are, others with up to four decimals."""
    if isinstance(value, int):
        return str(value)
    return f"{value:z.4f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.4g}"


def count(value: int | None) -> str:
    """Thousands apart: ``12,345``."""
    return NONE if value is None else f"{value:,}"


def thousands(value: int | None) -> str:
    """About three digits: ``987``, ``12.3k``, ``4.56M``."""
    if value is None:
        return NONE
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            part = value / size
            return f"{part:.{2 if part < 9.995 else 1 if part < 99.95 else 0}f}{letter}"
    return str(value)


def cost(value: float | None, *, known: bool = True) -> str:
    """US dollars; a sum that lacks unknown parts is a lower bound: ``≥ $1.20``, or says nothing when it is zero."""
    if value is None:
        return NONE
    if value == 0 and not known:
        return UNKNOWN
    digits = 2 if value == 0 or value >= 1 else 4 if value >= 0.001 else 6
    return f"{'' if known else '≥ '}${value:,.{digits}f}"


def duration(seconds: float) -> str:
    """``0.4 s``, ``3:07 min`` or ``2:05 h``."""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600:,}:{whole % 3600 // 60:02d} h"


def brief(seconds: float | None) -> str:
    """A single question's time: ``12 ms``, ``1.23 s``, from ten seconds on like `duration`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.0995:
        return f"{1000 * seconds:.{0 if seconds >= 0.00995 else 1}f} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else duration(seconds)


def plural(count: int, noun: str) -> str:
    """``1 run``, ``1,200 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def p_value(value: float | None) -> str:
    """Three decimals, ``<0.001`` below."""
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """``0.71 to 0.84``; a dash without limits."""
    return NONE if low is None or high is None else f"{low:z.3f} to {high:z.3f}"


def places(limits: tuple[int, int] | None) -> str:
    """Limits of a rank: ``1-3``, or ``2`` when both are the same; a dash for none."""
    if limits is None:
        return NONE
    low, high = limits
    return str(low) if low == high else f"{low}\N{EN DASH}{high}"
