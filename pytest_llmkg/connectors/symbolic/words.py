"""Words of English questions: stems, a few synonyms, numbers and dates, and what calls for which form of query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FILLERS", "Comparison", "comparisons_in", "is_phrase", "number_of", "split_name", "stem", "stems_of"]

_IRREGULAR: Mapping[str, str] = {
    "people": "person",
    "who": "person",
    "whom": "person",
    "whose": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "began": "begin",
    "begun": "begin",
    "born": "birth",
    "died": "death",
    "wrote": "write",
    "written": "write",
    "knew": "know",
    "known": "know",
    "led": "lead",
    "held": "hold",
    "since": "begin",
    "start": "begin",
    "found": "creat",
    "establish": "creat",
    "city": "localit",
    "town": "localit",
    "place": "localit",
    "location": "localit",
    "belong": "member",
}
FILLERS = frozenset(
    {
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "is",
        "are",
        "was",
        "were",
        "be",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "and",
        "or",
        "for",
        "with",
        "by",
        "on",
        "at",
        "from",
        "that",
        "which",
        "what",
        "it",
        "its",
        "this",
        "there",
        "all",
        "any",
        "every",
        "each",
        "give",
        "list",
        "show",
        "find",
        "tell",
        "me",
    }
)
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LESS, _MORE = "<", ">"
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"(?:not (?:before|earlier than)|at least|no (?:less|fewer) than|minimum of)", ">="),
    (r"(?:not (?:after|later than)|at most|no more than|up to|maximum of)", "<="),
    (r"(?:before|earlier than|prior to|less than|fewer than|lower than|smaller than|below|under|older than)", _LESS),
    (r"(?:after|later than|more than|greater than|higher than|larger than|above|over|exceeding|newer than)", _MORE),
)
_VALUE = (
    r"(?P<iso>\d{4}-\d{2}-\d{2})|(?P<day>\d{1,2})(?:st|nd|rd|th)? (?P<month>[A-Za-z]+) (?P<year>\d{4})"
    r"|(?P<month2>[A-Za-z]+) (?P<day2>\d{1,2}),? (?P<year2>\d{4})|(?P<number>\d+(?:\.\d+)?)|(?P<word>[a-z]+)"
)
_COMPARISON = re.compile("|".join(f"(?P<s{i}>{words})" for i, (words, _) in enumerate(_SIGNS)), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``sign`` and the value that a question compares with; an ISO date if ``is_date``.

    ``start`` and ``end`` tell where in the question it stands.
    """

    sign: str
    value: str
    is_date: bool
    start: int
    end: int


def split_name(name: str) -> list[str]:
    """The lower-case words of a local name or label: camel case, hyphens, underscores and spaces divide."""
    divided = re.sub(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W_]+", divided.lower())


def stem(word: str) -> str:
    """A rough stem: plural, tense and a few endings cut off; synonyms share one."""
    word = _IRREGULAR.get(word, word)
    for ending, rest, shortest in (("ships", "", 7), ("ship", "", 7), ("ies", "y", 5), ("ing", "", 6), ("ed", "", 5)):
        if word.endswith(ending) and len(word) >= shortest:
            word = word.removesuffix(ending) + rest
            break
    else:
        if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
            word = word[:-1]
    if word.endswith(("e", "y")) and len(word) > 4:
        word = word[:-1]
    return _IRREGULAR.get(word, word)


def stems_of(name: str) -> tuple[str, ...]:
    """The stems of the words of ``name``."""
    return tuple(stem(word) for word in split_name(name))


def number_of(word: str) -> int | None:
    """The number that digits or a small number's English word stand for."""
    if word.isascii() and word.isdigit() and len(word) < 10:
        return int(word)
    return _NUMBERS.index(word.lower()) if word.lower() in _NUMBERS else None


def is_phrase(text: str, *phrases: str) -> bool:
    """Whether one of ``phrases`` (regular expressions) stands in ``text`` as whole words, in any case."""
    return any(re.search(rf"\b(?:{phrase})\b", text, re.IGNORECASE) for phrase in phrases)


def comparisons_in(question: str) -> tuple[Comparison, ...]:
    """The first comparison with a number or a date in ``question``; both readings of what may be a year."""
    for found in _COMPARISON.finditer(question):
        sign = next(s for i, (_, s) in enumerate(_SIGNS) if found[f"s{i}"])
        value = re.compile(rf"\s+(?:the )?(?:year )?(?:{_VALUE})").match(question, found.end())
        readings = _values(value, sign) if value else []
        if value is not None and readings:
            return tuple(Comparison(sign, *read, found.start(), value.end()) for read in readings)
    return ()


def _values(match: re.Match[str], sign: str) -> list[tuple[str, bool]]:
    if match["iso"]:
        return [(match["iso"], True)]
    day, month, year = (match[name] or match[f"{name}2"] for name in ("day", "month", "year"))
    if year:
        known = month.lower() in _MONTHS
        return [(f"{year}-{_MONTHS.index(month.lower()) + 1:02d}-{int(day):02d}", True)] if known else []
    number = str(match["number"] or "")
    if re.fullmatch(r"1[5-9]\d\d|20\d\d", number):
        # Perhaps a year: what is after it is after its last day.
        return [(f"{number}-12-31" if sign in {">", "<="} else f"{number}-01-01", True), (number, False)]
    if number:
        return [(number, False)]
    word = str(match["word"])
    return [(str(_NUMBERS.index(word)), False)] if word in _NUMBERS else []
