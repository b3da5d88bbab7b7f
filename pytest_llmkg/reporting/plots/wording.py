"""Names and numbers in plots."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import NONE, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["gathered", "listed", "plain_number", "short_names", "shorten", "two_decimals", "width_of", "wrapped"]

_CUT = "\N{HORIZONTAL ELLIPSIS}"
# A provider or connector and what comes after it; other texts with slashes are no paths.
_PATH = re.compile(r"[\w.:-]+(?:(?:/|--)[\w.:-]+?)*(?:/|--)([\w.:][\w.: -]{2,})")
# A note on one model: its name, and what is said of it.
_OF_A_MODEL = re.compile(
    r"(.+?) ((?:is not in the picture|has no (?:interval|mean|value|dialogue|such)|tells no time)\b.*)", re.DOTALL
)
_PART = re.compile(r"[A-Z]*[^A-Z\W_]*[\W_]*|.")
_SLIM = frozenset("iljtfr.,:;|!'()[]{}/\\- I")
_BROAD = frozenset("mwMWOQG@%\N{EM DASH}\N{HORIZONTAL ELLIPSIS}")


def width_of(text: str, size: float) -> float:
    """About how many pixels wide ``text`` is in a broad sans-serif font (DejaVu Sans); most others need less."""
    return size * sum(_share(char) for char in text)


def _share(char: str) -> float:
    if char in _SLIM:
        return 0.37
    if char in _BROAD or unicodedata.east_asian_width(char) in ("W", "F"):
        return 0.9
    return 0.69 if char.isupper() else 0.62


def shorten(text: str, width: float, size: float, *, head: int = 3, tail: int = 2) -> str:
    """``text`` in at most ``width`` pixels; what is cut is cut from the middle, since names differ at their ends.

    Args:
        text: any.
        width: room in pixels.
        size: of the letters.
        head: letters kept at the start for each ``tail`` letters kept at the end.
        tail: see ``head``.
    """
    text = visible(" ".join(text[:2000].split())) or "(no name)"
    if width_of(text, size) <= width:
        return text
    start, end = "", ""
    room = width - size * 0.9
    for number in range(len(text)):
        from_start = number % (head + tail) < head
        char = text[len(start)] if from_start else text[-1 - len(end)]
        room -= size * _share(char)
        if room < 0:
            break
        start, end = (start + char, end) if from_start else (start, char + end)
    return f"{start}{_CUT}{end}"


def short_names(names: Sequence[str], width: float, size: float) -> list[str]:
    """Names in at most ``width`` pixels that differ where that is possible.

    Too long ones lose what stands before their last ``/`` or ``--`` (provider or connector) before their middle.
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        whole = visible(" ".join(name[:2000].split())) or "(no name)"
        path = _PATH.fullmatch(whole)
        last = path[1] if path else whole
        choices = [whole] if width_of(whole, size) <= width else []
        choices += [_CUT + last] if width_of(_CUT + last, size) <= width else []
        choices += [shorten(last, width, size, head=a, tail=b) for a, b in ((3, 2), (4, 1), (1, 1), (2, 3), (1, 4))]
        free = [choice for choice in choices if choice not in found.values()]
        found[name] = (free or choices)[0]
    return [found[name] for name in names]


def wrapped(text: str, width: float, size: float, most: int = 3) -> list[str]:
    """``text`` in lines of at most ``width`` pixels, broken before capitals and after punctuation."""
    lines = [""]
    for part in _PART.findall(visible(" ".join(text[:2000].split()))):
        if part and lines[-1] and width_of(lines[-1] + part, size) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > most:
        lines = [*lines[: most - 1], "".join(lines[most - 1 :])]
    return [shorten(line, width, size) for line in lines]


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


def gathered(notes: Sequence[str], most: int = 3) -> list[str]:
    """``notes``, those that say the same of more than ``most`` models as one, in the order of the first of each."""
    found: dict[str, list[tuple[str, str]]] = {}
    for note in notes:
        match = _OF_A_MODEL.fullmatch(note)
        name, said = (match[1], match[2]) if match else ("", note)
        found.setdefault(said if match else f"\0{note}", []).append((name, note))
    shown: list[str] = []
    for same in found.values():
        if len(same) <= most:
            shown += [note for _, note in same]
            continue
        named = ", ".join(name for name, _ in same[1 : most + 1])
        others = f"{len(same) - 1} others" + (f", such as {named}" if len(same) > most + 1 else f": {named}")
        shown.append(f"{same[0][1]} The same holds for {others}.")
    return shown
