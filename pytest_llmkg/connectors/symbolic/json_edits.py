"""Candidate repairs of a JSON-LD text around its first fault, and where that is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.grammar import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["first_json_fault", "json_edits"]

_BACK, _AHEAD = 120, 40
_LONGEST_LINE = 2000
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w@+.-][\w@:/#+.-]*|[^\s]""", re.DOTALL
)
_WORDS = {"True": "true", "False": "false", "None": "null", "TRUE": "true", "FALSE": "false", "NULL": "null"}
_SWAPS = {
    ";": ",:",
    "=": ":",
    ":": ",",
    ",": ":",
    ")": "}]",
    "(": "{[",
    "]": "}",
    "}": "]",
    "{": "[",
    "[": "{",
    ".": ",",
}
_OBJECT = re.compile(r"\{[^{}]*\}")


def first_json_fault(text: str) -> Fault | None:
    """The first fault of a JSON text, None if there is none."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return Fault(error.pos)
    except (ValueError, RecursionError):
        return Fault(0)
    return None


def json_edits(text: str, fault: Fault) -> Iterator[Edit]:
    """Edits that may mend the fault at ``fault``, most of them wrong: the caller tries them."""
    low, high = max(0, text.rfind("\n", 0, max(0, fault.at - _BACK)) + 1), min(len(text), fault.at + _AHEAD)
    tokens = [(m.start() + low, m.end() + low) for m in _TOKEN.finditer(text[low:high])]
    nearest = sorted(tokens, key=lambda t: (min(abs(t[0] - fault.at), abs(t[1] - fault.at)), t))
    for rank, (start, end) in enumerate(nearest):
        extra = min(rank, 20) * 0.05
        yield from _token_edits(text[start:end], start, end, extra)
        yield from _spaced_edits(text, start, end, extra)
    ends = {end for _, end in tokens}
    for rank, place in enumerate(dict.fromkeys(p for token in nearest for p in (token[1], token[0]))):
        # What separates or closes stands right behind a token.
        extra = min(rank, 40) * 0.03 + (0 if place in ends else 0.25)
        for mark, cost in ((",", 1), (":", 1), ('"', 1.2), ("{", 1.5), ("[", 1.5), ("}", 1.5), ("]", 1.5), ("@", 3)):
            yield Edit(place, place, mark, cost + extra)
    yield from _string_edits(text, fault.at)
    yield from _bracket_edits(text)
    yield from _tagged_edits(text)


def _token_edits(token: str, start: int, end: int, extra: float) -> Iterator[Edit]:
    if token.startswith("'") and len(token) > 1:
        yield Edit(start, end, json.dumps(token.strip("'"), ensure_ascii=False), 0.5 + extra)
    if token in _WORDS:
        yield Edit(start, end, _WORDS[token], 0.4 + extra)
    if token.startswith(("//", "/*")):
        yield Edit(start, end, "", 0.4 + extra)
    if re.fullmatch(r"[\w@][\w@:/#.-]*", token):
        yield Edit(start, end, f'"{token}"', 0.9 + extra)
        yield Edit(start, end, f'"{token.removesuffix(":")}":', 0.9 + extra)
    if re.fullmatch(r"\+?0*\d+(?:\.\d*)?", token):
        yield Edit(start, end, token.lstrip("+").lstrip("0").rstrip(".") or "0", 0.7 + extra)
    for other in _SWAPS.get(token, ""):
        yield Edit(start, end, other, 1.2 + extra)
    structural = len(token) == 1 and not token.isalnum()
    yield Edit(start, end, "", (1.0 if structural else 3 + 0.05 * len(token)) + extra)


def _spaced_edits(text: str, start: int, end: int, extra: float) -> Iterator[Edit]:
    """Edits that also take the space before a token, and a decimal comma."""
    before = start - len(text[:start]) + len(text[:start].rstrip(" \t"))
    if text[start:end].startswith(("//", "/*")):
        yield Edit(before, end, "", 0.3 + extra)
    if text[start:end] == "=" and before < start:
        yield Edit(before, end, ":", 1.1 + extra)
    if text[start:end] == "," and text[start - 1 : start].isdigit() and text[end : end + 1].isdigit():
        yield Edit(start, end, ".", 0.5 + extra)


def _string_edits(text: str, at: int) -> Iterator[Edit]:
    """Bad escapes, raw line ends, inner and lost quotes of the line with the fault and the one before it."""
    start = text.rfind("\n", 0, at) + 1
    for begin in dict.fromkeys((start, text.rfind("\n", 0, max(0, start - 1)) + 1)):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        line = text[begin:end]
        if len(line) > _LONGEST_LINE:
            continue
        for match in re.finditer(r"""\\(?!["\\/bfnrtu])|\\u(?![0-9A-Fa-f]{4})""", line):
            yield Edit(begin + match.start(), begin + match.start(), "\\", 0.5)
            yield Edit(begin + match.start(), begin + match.start() + 1, "", 0.9)
        value = re.search(r':\s*"(.*)"(?=[\s,}\]]*$)', line)
        if value and re.search(r'(?<!\\)"', value[1]):
            escaped = re.sub(r'(?<!\\)"', lambda _: '\\"', value[1])
            yield Edit(begin + value.start(1), begin + value.end(1), escaped, 0.9)
        for match in re.finditer(r"(?=[ \t]*[,}\]]+[ \t]*$|[ \t]*$|\s*:\s|\s*}|\s*,)", line):
            yield Edit(begin + match.start(), begin + match.start(), '"', 1.3)
        if end < len(text) and line.count('"') % 2:
            rest = re.match(r"\n[ \t]*", text[end:])
            yield Edit(end, end + 1, "\\n", 1.2)
            yield Edit(end, end + (rest.end() if rest else 1), " ", 1.4)
        lead = re.match(r"\s*(?:#|//|;)", line)
        if lead:
            yield Edit(begin, min(len(text), end + 1), "", 0.8)


def _bracket_edits(text: str) -> Iterator[Edit]:
    """A bracket at the end of any line: the parser notices a lost one far behind the place where it belongs."""
    unit = min((len(i) for i in re.findall(r"^( +)\S", text, re.MULTILINE)), default=2)
    for match in re.finditer(r"^([^\n]*?)(,?)[ \t]*(?=\n( *)|\Z)", text, re.MULTILINE):
        if len(match[1]) > _LONGEST_LINE:
            continue
        if not match[1].strip():
            if match[2]:
                yield from (Edit(match.end(1), match.end(1), mark, 1.5) for mark in "}]")
            continue
        end, own = match.end(1), len(match[1]) - len(match[1].lstrip())
        depths = dict.fromkeys((len(match[3] or ""), max(0, own - unit), own))
        for mark in "}]":
            yield Edit(end, end, f" {mark}", 1.7)
            for depth in depths:
                yield Edit(end, end, "\n" + " " * depth + mark, 1.6)
                yield Edit(end, match.end(2), "\n" + " " * depth + mark + ",", 1.6 if match[2] else 1.7)
        stripped = match[1].strip()
        if stripped and all(c in "}]{[ " for c in stripped):
            yield Edit(max(0, match.start() - 1), match.end(), "", 1.8)


def _tagged_edits(text: str) -> Iterator[Edit]:
    """A value object with both language and type, which JSON-LD forbids: one of the two goes."""
    for match in _OBJECT.finditer(text):
        if not all(f'"{key}"' in match[0] for key in ("@value", "@language", "@type")):
            continue
        for rank, key in enumerate(("@type", "@language")):
            for member in re.finditer(rf'\s*"{key}"\s*:\s*"[^"]*"\s*,|,\s*"{key}"\s*:\s*"[^"]*"', match[0]):
                start = match.start()
                yield Edit(start + member.start(), start + member.end(), "", 0.5 + 0.1 * rank)
