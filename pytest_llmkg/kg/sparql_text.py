"""SPARQL as a row of tokens: what a query's text says without parsing it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Token", "body_tokens", "expand_escapes", "placed_tokens", "tokens"]

_ESCAPE = r"\\[_~.\-!$&'()*+,;=/?\#@%]|%[0-9A-Fa-f]{2}"
_IRI = re.compile(r"<[^<>\"{}|^`\\\x00-\x20]*>")
# What begins like a string or a prefix may be none; then nothing up to where that was seen can be one, either. Without
# remembering that, a text of a few thousand quotes or hyphens would take minutes.
_STRINGS = {
    quote: re.compile(rf"{quote}(?:[^{quote[0]}\\{end}]++|\\.|{again})*+", re.DOTALL)
    for quote, end, again in (
        ('"""', "", '"(?!"")'),
        ("'''", "", "'(?!'')"),
        ('"', r"\r\n", r"(?!)"),
        ("'", r"\r\n", r"(?!)"),
    )
}
_TOKEN = re.compile(
    rf"""
    (?P<comment>\#[^\r\n]*)
  | (?P<variable>[?$]\w+)
  | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<bnode>_:\w(?:[\w.\-·]*[\w\-·])?)
  | (?P<pname>(?:[^\W\d_](?:[\w.\-·]*[\w\-·])?)?:
      (?:(?:[\w:]|{_ESCAPE})(?:(?:[\w.:\-·]|{_ESCAPE})*(?:[\w:\-·]|{_ESCAPE}))?)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<space>\s+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PREFIX_PART = re.compile(r"[\w.\-·]*+")
_WORD = re.compile(r"[^\W\d_]\w*")
_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


_PROLOGUE = {"base": 1, "prefix": 2}  # tokens that follow the word


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a query: ``kind`` is iri, string, variable, language, bnode, pname, word or other."""

    kind: str
    text: str


def expand_escapes(query: str) -> str:
    r"""``query`` with code point escapes (``\u0041``) replaced; impossible ones stay (SPARQL 1.1, 19.2)."""

    def expand(match: re.Match[str]) -> str:
        number = int(match[1] or match[2], 16)
        return chr(number) if number <= 0x10FFFF else match[0]

    return _CODE_POINT.sub(expand, query)


def tokens(query: str, iris: Collection[str] | None = None) -> Iterator[Token]:
    """The tokens of ``query`` without white space and comments.

    Args:
        query: any text.
        iris: contents of the angle brackets that are IRIs, when a parser has told; any other ``<`` means
            "less than".
    """
    return (token for _, token in placed_tokens(query, iris))


def placed_tokens(query: str, iris: Collection[str] | None = None) -> Iterator[tuple[int, Token]]:
    """`tokens`, each with the index of its first character in ``query``."""
    place, reader = 0, _Reader(query)
    while place < len(query):
        match = _IRI.match(query, place)
        if match and (iris is None or match[0][1:-1] in iris):
            kind, end = "iri", match.end()
        else:
            kind, end = reader.read(place)
        if kind not in {"space", "comment"}:
            yield place, Token(kind, query[place:end])
        place = end


class _Reader:
    """Reads a text from left to right, and knows up to where there are no strings and no prefixes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stringless = dict.fromkeys(_STRINGS, 0)
        self._prefixless = 0

    def read(self, place: int) -> tuple[str, int]:
        """Kind and end of what begins at ``place``, which is no IRI."""
        end = self._string_end(place) if self._text[place] in "\"'" else None
        if end is not None:
            return "string", end
        word = _WORD.match(self._text, place) if place < self._prefixless else None
        match = word or _TOKEN.match(self._text, place)
        if match is None:  # cannot happen: the last alternative takes any character
            return "other", place + 1
        kind = "word" if word else str(match.lastgroup)
        if kind == "word" and word is None and match[0][0] != "_":  # a letter where no prefix begins
            part = _PREFIX_PART.match(self._text, place)
            self._prefixless = part.end() if part else place
        return kind, match.end()

    def _string_end(self, place: int) -> int | None:
        for quote, content in _STRINGS.items():
            if self._text.startswith(quote, place) and place >= self._stringless[quote]:
                match = content.match(self._text, place)
                end = match.end() if match else place
                if self._text.startswith(quote, end):
                    return end + len(quote)
                self._stringless[quote] = end
        return None


def body_tokens(query: str, iris: Collection[str] | None = None) -> Iterator[Token]:
    """The tokens behind the prologue (its ``PREFIX`` and ``BASE`` lines)."""
    row = tokens(query, iris)
    for token in row:
        word = token.text.lower() if token.kind == "word" else ""
        if word not in _PROLOGUE:
            yield token
            break
        for _ in range(_PROLOGUE[word]):
            next(row, None)
    yield from row
