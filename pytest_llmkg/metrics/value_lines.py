"""Agreement of answered values with a result, one value a line: the corrected counterpart of `answer_lines`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.numbers_by_value import number_key
from pytest_llmkg.metrics.sequences import match_multisets, match_sequences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.metrics.sets import SetMatch

__all__ = ["EMPTY", "match_values", "value_lines"]

EMPTY = "EMPTY"
"""How an empty result is written down."""

_MARKS = re.compile(r"^(?:[-*+•]|\d+[.)])\s+")
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)
_FENCES = ("```", "~~~")
# A prefix may be a number: a serialiser of the published benchmark named the empty prefix "0" in JSON-LD.
_NAME = re.compile(r"(\w[\w.-]*)?:[^\s/].*")


def match_values(text: str, reference: Sequence[str], prefixes: Mapping[str, str], *, ordered: bool) -> SetMatch:
    """Agreement of the lines of ``text`` with ``reference``; doubles count, and so does the order if ``ordered``.

    Fences, blank lines and list marks are no content. IRIs are compared in full, however they are written, numbers
    by value, other values by their text without quotation marks. A number counts only as the whole answer, never as
    a number of lines. An empty result is answered by the word EMPTY, or by no value.
    """
    lines = _lines(text)
    # A value may itself begin like a list mark ("12. Street").
    values = [line if line in reference else _MARKS.sub("", line) for line in lines]
    given = [_key(value, prefixes) for value in values if values != [EMPTY]]
    wanted = [_key(value, prefixes) for value in reference]
    return (match_sequences if ordered else match_multisets)(given, wanted)


def value_lines(text: str) -> list[str]:
    """The values that ``text`` lists: its lines without list marks; fences and blank lines are left out."""
    return [_MARKS.sub("", line) for line in _lines(text)]


def _lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(_FENCES)]


def _key(value: str, prefixes: Mapping[str, str]) -> tuple[str, str]:
    bare = value.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == "`":
        bare = bare.strip("`").strip()
    if bare.startswith("<") and bare.endswith(">"):
        return "iri", bare[1:-1]
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if _NUMBER.fullmatch(bare):
        return "number", number_key(bare)
    # The same name with a further colon in front is the empty prefix added to a name that had its prefix already.
    for name in (bare.removeprefix(":"), bare):
        prefix, _, local = name.partition(":")
        if _NAME.fullmatch(name) and prefix in prefixes:
            return "iri", prefixes[prefix] + local
    if bare.startswith(tuple(ns for ns in prefixes.values() if ns)):
        return "iri", bare
    return "text", bare
