"""Data sheets as text: fields, lists behind a heading or a colon, and sizes with units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.words import FILLERS, split_name, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Size", "list_values", "sheet_fields", "sizes_of"]

_FIELD = re.compile(
    r"(?:^|\n|\s{3,}|[|;]\s*)[ \t*-]*([A-Za-z][\w ()/-]{0,40}?)[ \t]*[:=|][ \t]+([^\n|]+?)(?=\s{3,}\S|\n|$)"
)
_ITEM = re.compile(r"^\s*(?:[-*+\u2022\u00b7]|\d{1,2}[.)])\s+(\S.*)$")
_UNITS: Mapping[str, str] = {
    "mm": "MilliM",
    "cm": "CentiM",
    "dm": "DeciM",
    "m": "M",
    "km": "KiloM",
    "in": "IN",
    '"': "IN",
    "ft": "FT",
}
_UNITS_LONG: Mapping[str, str] = {
    "millimetre": "MilliM",
    "millimeter": "MilliM",
    "centimetre": "CentiM",
    "centimeter": "CentiM",
    "metre": "M",
    "meter": "M",
    "inch": "IN",
    "inche": "IN",
    "feet": "FT",
    "foot": "FT",
}
_NUMBER = r"(\d+(?:[.,]\d+)?)"
_UNIT = r"(mm|cm|dm|km|m|in(?:ch(?:es)?)?|ft|feet|foot|(?:milli|centi)?met(?:re|er)s?|\")(?![\w/2\u00b2\u00b3])"
_TRIPLE = re.compile(
    rf"{_NUMBER}\s*(?:{_UNIT})?\s*[x\u00d7*]\s*{_NUMBER}\s*(?:{_UNIT})?\s*[x\u00d7*]\s*{_NUMBER}\s*{_UNIT}",
    re.IGNORECASE,
)
_SINGLE = re.compile(rf"{_NUMBER}\s*{_UNIT}", re.IGNORECASE)
_ADJECTIVES: Mapping[str, str] = {
    "wide": "width",
    "deep": "depth",
    "high": "height",
    "tall": "height",
    "long": "length",
}
_TOLD = re.compile(rf"{_NUMBER}\s*{_UNIT}\s+({'|'.join(_ADJECTIVES)})\b", re.IGNORECASE)
_ORDER = re.compile(r"\(?\b([WDHL])\w*\s*[x\u00d7*/,]\s*([WDHL])\w*\s*[x\u00d7*/,]\s*([WDHL])\w*\b\)?", re.IGNORECASE)
_INNER = re.compile(
    r"\b(?:inner|inside|interior|internal|chamber|package|packed|shipping|transport|folded|open(?:ed)?)\b",
    re.IGNORECASE,
)
_OUTER = re.compile(
    r"\b(?:outer|outside|external|overall|total|housing|frame|body|case|footprint|dimensions?)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Size:
    """A size by its property's name, as a decimal number with the local name of a QUDT unit."""

    name: str
    number: str
    unit: str


def sheet_fields(sheet: str) -> dict[str, str]:
    """What stands behind each ``Key:`` of ``sheet``, by the key in lower case; the first one of equals."""
    found: dict[str, str] = {}
    for match in _FIELD.finditer(sheet):
        found.setdefault(match[1].strip().lower(), match[2].strip())
    return found


def list_values(sheet: str, about: Sequence[str]) -> tuple[str, ...]:
    """The items of the lists in ``sheet`` whose heading shares the most words with ``about`` (stems), once each."""
    lists = list(_lists(sheet))
    scores = [len(set(about) & {w for w in stems_of(heading) if w not in FILLERS}) for heading, _ in lists]
    best = max(scores, default=0)
    if not best:
        return ()
    items = (item for (_, listed), score in zip(lists, scores, strict=True) if score == best for item in listed)
    return tuple(dict.fromkeys(items))


def _lists(sheet: str) -> Iterator[tuple[str, list[str]]]:
    """Headings with their items: behind a colon on one line, or on lines of their own with a mark."""
    heading, listed = "", list[str]()
    for line in [*sheet.splitlines(), ""]:
        item = _ITEM.match(line)
        key, colon, rest = line.partition(":")
        if item and ":" not in line:
            listed.append(_clean(item[1]))
            continue
        if listed:
            yield heading, listed
            listed = []
        if colon and rest.strip():
            yield key, _divided(rest)
        if line.strip():
            heading = key if colon else line


def _divided(text: str) -> list[str]:
    plain = re.sub(r"\([^()]*\)", "", text)
    parts = re.split(r"[,;]|\s+(?:and|or|&)\s+", plain)
    return [part for part in map(_clean, parts) if part]


def _clean(item: str) -> str:
    return re.sub(r"\([^()]*\)", "", item).strip().rstrip(".;,").strip()


def sizes_of(sheet: str, names: Sequence[str]) -> tuple[Size, ...]:
    """The sizes called ``names`` (width, depth, height ...): three numbers in one line, or a line each.

    Of several triples the likeliest is that of the whole: one that is called so, and none of an inside or a package.
    """
    triples = [(match, _line_of(sheet, match.start())) for match in _TRIPLE.finditer(sheet)]
    if triples:
        match, line = max(triples, key=lambda t: bool(_OUTER.search(t[1])) - 2 * bool(_INNER.search(t[1])))
        numbers = (match[1], match[3], match[5])
        return tuple(_ordered(line, numbers, match[6], names))
    return tuple(_single_sizes(sheet, names))


def _ordered(line: str, numbers: Sequence[str], unit: str, names: Sequence[str]) -> Iterator[Size]:
    """Each number by the letter that stands for it; width, depth and height where no letters do."""
    order = _ORDER.search(line)
    letters = [g.lower() for g in order.groups()] if order else ["w", "d", "h"]
    if "d" not in letters:
        letters = ["d" if letter == "l" else letter for letter in letters]
    for letter, number in zip(letters, numbers, strict=True):
        for name in names:
            if name.lower().startswith(letter):
                yield _size(name, number, unit)


def _single_sizes(sheet: str, names: Sequence[str]) -> Iterator[Size]:
    for name in names:
        for line in sheet.splitlines():
            key, _, value = re.sub(r"\s{2,}|\s*\|\s*", ":", line.strip(" \t-*|"), count=1).partition(":")
            found = _SINGLE.search(value)
            if found and name.lower() in split_name(key) and not _INNER.search(line):
                yield _size(name, found[1], found[2])
                break
        else:
            told = next((m for m in _TOLD.finditer(sheet) if _ADJECTIVES[m[3].lower()] == name.lower()), None)
            if told:
                yield _size(name, told[1], told[2])


def _size(name: str, number: str, unit: str) -> Size:
    word = unit.lower().removesuffix("s")
    return Size(name, number.replace(",", "."), _UNITS.get(unit.lower()) or _UNITS_LONG[word])


def _line_of(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : len(text) if end < 0 else end]
