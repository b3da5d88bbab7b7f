"""Candidate repairs of a Turtle or N-Triples text around its first fault, the nearest and likeliest first."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.edits import Edit
from pytest_llmkg.connectors.symbolic.grammar import Fault, Token, tokens_of
from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["iri_edits", "literal_edits", "turtle_edits"]

_BACK, _AHEAD = 9, 2
_LONGEST_LINE = 2000
_DECLARATION = re.compile(
    r"^([ \t]*)(@prefix|prefix)([ \t]+)([\w.-]*)([ \t]*)(:?)([ \t]*)<([^<>\s]*)>", re.IGNORECASE | re.MULTILINE
)
_STATEMENT_MARKS = (".", ";", ",")
_SWAPS = {".": ";,", ";": ".,", ",": ";.", "]": ")}", ")": "]", "(": "[", "[": "("}


def turtle_edits(text: str, fault: Fault) -> Iterator[Edit]:
    """Edits that may mend the fault at ``fault``, most of them wrong: the caller tries them."""
    tokens = tokens_of(text)
    index = next((i for i, t in enumerate(tokens) if t.end > fault.at), len(tokens))
    if fault.prefix is not None:
        yield from _prefix_edits(text, fault, fault.prefix)
    yield from _line_edits(text, fault.at)
    near = sorted(range(max(0, index - _BACK), min(len(tokens), index + _AHEAD) + 1), key=lambda j: (abs(j - index), j))
    for j in near:
        distance = abs(j - index) * 0.1
        yield from _insertions(text, tokens, j, distance)
        if j < len(tokens):
            yield from _replacements(text, tokens, j, distance)
            yield from _deletions(tokens, j, distance)


def _insertions(text: str, tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    before = tokens[j - 1].end if j else 0
    start = tokens[j].start if j < len(tokens) else len(text)
    space = " " if text.count(" ;") + text.count(" .") >= text.count('";') + text.count('".') + 1 else ""
    for mark in _STATEMENT_MARKS:
        yield Edit(before, before, space + mark, 1 + extra)
    yield Edit(before, before, " ]", 1.2 + extra)
    yield Edit(start, start, "[ ", 1.2 + extra)
    gap = text[before:start]
    if "\n" in gap:
        deeper = gap[gap.rindex("\n") :]
        yield Edit(before, before, deeper[: max(1, len(deeper) - _unit(text))] + "]", 1.1 + extra)
        yield Edit(before, before, deeper + "]", 1.15 + extra)
        yield Edit(start, start, "] ", 1.05 + extra)
    for quote in ('"', "<", ">", "'", '"""', ":", "^", "@", "_:", "("):
        for place in dict.fromkeys((start, before)):
            yield Edit(place, place, quote, 1.5 + extra)
    yield Edit(before, before, " )", 1.5 + extra)


def _unit(text: str) -> int:
    indents = [len(m[1]) for m in re.finditer(r"^([ \t]+)\S", text, re.MULTILINE)]
    return min(indents, default=4)


def _replacements(text: str, tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    token = tokens[j]
    for other in _SWAPS.get(token.text, ""):
        yield Edit(token.start, token.end, other, 1.2 + extra)
    if token.text == "^":
        yield Edit(token.start, token.end, "^^", 0.8 + extra)
    if token.text in {"True", "TRUE", "False", "FALSE", "A"}:
        yield Edit(token.start, token.end, token.text.lower(), 0.8 + extra)
    for word in ("@prefix", "@base"):
        if difflib.SequenceMatcher(None, token.text.lower(), word).ratio() > 0.6:
            yield Edit(token.start, token.end, word, 1 + extra)
    if token.kind == "word" and j and text[token.end : token.end + 1].isspace() and j + 1 < len(tokens):
        yield Edit(token.end, tokens[j + 1].start, ":", 2 + extra)
        yield Edit(token.end, tokens[j + 1].start, "_", 2.5 + extra)
        yield Edit(token.end, tokens[j + 1].start, "", 2.5 + extra)
    if token.kind == "name" and f"_{token.text}" in text:
        yield Edit(token.start, token.start, "_", 0.6 + extra)
    if token.text.startswith("_"):
        label = re.match(r"_\s*:?\s*[^\s;,.\]]*", text[token.start :])
        if label:
            yield Edit(
                token.start, token.start + label.end(), "_:" + re.sub(r"\W", "", label[0].lstrip("_: ")), 0.9 + extra
            )


def _deletions(tokens: list[Token], j: int, extra: float) -> Iterator[Edit]:
    """Drops one to four tokens in a row; structure marks cheaply, words at a price that grows with their length."""
    for count in range(1, 5):
        run = tokens[j : j + count]
        if len(run) < count:
            return
        marks = all(t.kind not in {"iri", "name", "string", "word", "number", "blank"} for t in run)
        cost = 0.7 + 0.3 * count if marks else 3 + 0.05 * (run[-1].end - run[0].start) + 0.3 * count
        if j:
            yield Edit(tokens[j - 1].end, run[-1].end, "", cost + extra)
        following = tokens[j + count].start if j + count < len(tokens) else run[-1].end
        yield Edit(run[0].start, following, "", cost + 0.01 + extra)


def _line_edits(text: str, at: int) -> Iterator[Edit]:
    """Edits of the line with the fault (and the one before it) that no single token shows."""
    line_start = text.rfind("\n", 0, at) + 1
    starts = dict.fromkeys((line_start, text.rfind("\n", 0, max(0, line_start - 1)) + 1))
    for start in starts:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if len(line) > _LONGEST_LINE:
            continue
        yield from literal_edits(text, start, line)
        yield from iri_edits(text, start, line)
        if re.match(r"\s*(?://|--|%|;|/\*|!)", line):
            lead = re.match(r"\s*(?://|--|%|;+|/\*|!)", line)
            yield Edit(start, start + (lead.end() if lead else 0), "#", 1)
        yield Edit(start, start, "# ", 4)
        yield Edit(start, min(len(text), end + 1), "", 4 + 0.05 * len(line))


def literal_edits(text: str, start: int, line: str) -> Iterator[Edit]:
    """Edits of quotes and escapes in ``line``, which begins at ``start`` of ``text``."""
    for match in re.finditer(r"""\\(?![tbnrf"'\\uU])|\\[uU](?![0-9A-Fa-f]{4})""", line):
        place = start + match.start()
        yield Edit(place, place, "\\", 0.5)
        yield Edit(place, place + 1, "", 0.9)
    # A closing quote is missed before a tag, a datatype, a mark or the line's end.
    for match in re.finditer(r"""(?=@[a-z]{2}|\^\^|[ \t]*[;,.\])]+[ \t]*$|[ \t]*$)""", line):
        for quote in ('"', "'", '"""'):
            yield Edit(start + match.start(), start + match.start(), quote, 1.3)
    quotes = [m.start() for m in re.finditer(r'(?<!\\)"', line)]
    if len(quotes) > 2:
        inner = line[quotes[0] + 1 : quotes[-1]]
        escaped = re.sub(r'(?<!\\)"', lambda _: '\\"', inner)
        yield Edit(start + quotes[0] + 1, start + quotes[-1], escaped, 0.8)
        yield Edit(start + quotes[0] + 1, start + quotes[-1], inner.replace('"', "'"), 1.6)
    if len(quotes) % 2:
        yield from _long_string_edits(text, start, quotes)


def _long_string_edits(text: str, start: int, quotes: list[int]) -> Iterator[Edit]:
    """A string that runs over lines: long quotes around it, or its line ends escaped."""
    long_one = text.find('"""', start)
    if 0 <= long_one <= start + quotes[-1]:
        for match in re.finditer(r'(?<!")"{1,2}(?!")(?=\s*[.;,\]@^])', text[long_one + 3 :]):
            yield Edit(long_one + 3 + match.start(), long_one + 3 + match.end(), '"""', 0.8)
    opening = start + quotes[-1]
    closing = text.find('"', opening + 1)
    if closing < 0 or closing - opening > 2000:
        return
    inner = text[opening + 1 : closing]
    yield Edit(opening, closing + 1, f'"""{inner}"""', 0.9)
    yield Edit(opening, closing + 1, '"' + inner.replace("\n", "\\n") + '"', 1.0)
    yield Edit(opening, closing + 1, '"' + re.sub(r"\s*\n\s*", " ", inner) + '"', 1.4)


def iri_edits(text: str, start: int, line: str) -> Iterator[Edit]:
    """Edits of IRIs and of literals' tags in ``line``, which begins at ``start`` of ``text``."""
    for match in re.finditer(r"(?<![<\w\"])(\w+://[^\s<>\"]*?)(?=[;,.\]]*(?:\s|$))", line):
        yield Edit(start + match.start(), start + match.end(), f"<{match[1]}>", 0.9)
    for match in re.finditer(r"<([^<>\"\n]*[ \t][^<>\"\n]*)>", line):
        for filler in ("-", "_", "%20", ""):
            # What other IRIs of the text have inside is likelier.
            usual = filler and re.search(rf"<[^<>\s]*\w{re.escape(filler)}\w[^<>\s]*>", text)
            edited = re.sub(r"[ \t]", filler, match[1])
            yield Edit(start + match.start(1), start + match.end(1), edited, 0.8 if usual else 1)
    for match in re.finditer(r"([\"'])(@[A-Za-z-]+)(\^\^(?:<[^<>\s]*>|[\w.-]*:[\w.-]*\w))", line):
        # A literal has a language or a type; with a language, its type is implied.
        yield Edit(start + match.start(3), start + match.end(3), "", 0.5)
        yield Edit(start + match.start(2), start + match.end(2), "", 0.7)
    for match in re.finditer(r"<([^<>\s\"]+)(?=\s|$)", line):
        end = start + match.end()
        yield Edit(end, end, ">", 0.9)
        trailing = re.search(r"[;,.]+$", match[1])
        if trailing:
            place = end - len(trailing[0])
            yield Edit(place, place, ">", 1)


def _prefix_edits(text: str, fault: Fault, prefix: str) -> Iterator[Edit]:
    """Declares the prefix, mends the name of a declaration that nothing uses, or mends the name's own prefix."""
    declared = list(_DECLARATION.finditer(text))
    names = [d[4] for d in declared]
    for match in declared:
        used = len(re.findall(rf"(?<![\w.-]){re.escape(match[4])}:(?=[\w])", text))
        if not used and (_near(prefix, match[4]) or match[8] == WELL_KNOWN.get(prefix)):
            yield Edit(match.start(4), match.end(4), prefix, 0.3)
    for name in names:
        if _near(prefix, name):
            yield Edit(fault.at, fault.at + len(prefix), name, 0.8)
    if prefix in WELL_KNOWN:
        style, tail = ("@prefix", " .") if not declared or declared[0][2].startswith("@") else (declared[0][2], "")
        line = f"{style} {prefix}: <{WELL_KNOWN[prefix]}>{tail}\n"
        # In the place that a sorted list of declarations leaves for it.
        after = [d for d in declared if d[4] > prefix]
        last = text.find("\n", declared[-1].end()) + 1 if declared else 0
        in_order = names == sorted(names) and after
        place = after[0].start() if in_order else last
        yield Edit(place, place, line, 0.6)


def _near(one: str, other: str) -> bool:
    return bool(other) and difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio() >= 0.6
