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
_TOKEN = re.compile(
    rf"""
    (?P<comment>\#[^\r\n]*)
  | (?P<string>\"\"\"(?:\\.|[^\\])*?\"\"\" | '''(?:\\.|[^\\])*?'''
      | "(?:\\.|[^"\\\r\n])*" | '(?:\\.|[^'\\\r\n])*')
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
    place = 0
    while place < len(query):
        match = _IRI.match(query, place)
        if match and (iris is None or match[0][1:-1] in iris):
            yield place, Token("iri", match[0])
        else:
            match = _TOKEN.match(query, place)
            if match is None:  # cannot happen: the last alternative takes any character
                return
            if match.lastgroup not in {"space", "comment"}:
                yield place, Token(str(match.lastgroup), match[0])
        place = match.end()


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
