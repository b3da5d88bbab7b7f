"""A SPARQL text as tokens with their places, whatever is wrong with it. Source: SPARQL 1.1, section 19.8."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.grammar import Token

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AGGREGATES", "FUNCTIONS", "KEYWORDS", "MODIFIERS", "sparql_tokens"]

MODIFIERS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")
"""The words that begin the clauses behind a query's pattern, in the order of the clauses."""
_KEYWORDS = (
    "SELECT ASK CONSTRUCT DESCRIBE DISTINCT REDUCED FROM NAMED WHERE FILTER OPTIONAL MINUS UNION GRAPH SERVICE BIND "
    "EXISTS NOT IN AS BY ASC DESC PREFIX BASE UNDEF SILENT SEPARATOR"
)
_FUNCTIONS = (
    "STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE "
    "ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ NOW "
    "UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK ISLITERAL "
    "ISNUMERIC REGEX SUBSTR REPLACE"
)
KEYWORDS = frozenset(_KEYWORDS.split()) | frozenset(MODIFIERS)
AGGREGATES = frozenset(["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"])
FUNCTIONS = frozenset(_FUNCTIONS.split()) | AGGREGATES
_WORDS = KEYWORDS | FUNCTIONS
_TOKENS = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<iri><[^\x00-\x20<>"{}|^`\\]*>)
  | (?P<long>(?P<quotes>\"{3}|'{3})(?:\\.|[^\\])*?(?P=quotes))
  | (?P<string>"(?!"")(?:\\.|[^"\\\n\r])*"|'(?!'')(?:\\.|[^'\\\n\r])*'|""|'')
  | (?P<variable>[?$]\w+)
  | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<number>(?:\d+(?:\.\d*)?[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+\.\d+|\d+)(?![\w:]))
  | (?P<blank>_:\w(?:[\w.-]*[\w-])?)
  | (?P<name>(?:[^\W\d_](?:[\w.-]*[\w-])?)?:(?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])
      (?:(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*
      (?:[\w:-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]))?)?)
  | (?P<word>\w+)
  | (?P<mark>\^\^|&&|\|\||!=|<=|>=|[.;,\[\](){}=<>!+*/|?^-])
  | (?P<bad>["'<][^\s"'<>]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def sparql_tokens(text: str) -> Iterator[Token]:
    """The tokens of ``text`` without white space and comments.

    The kind of a mark is the mark, that of a keyword or function the word in capitals; what fits no token is ``bad``.
    """
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup or "bad"
        if kind == "space":
            continue
        if kind == "mark":
            kind = match.group()
        elif kind == "long":
            kind = "string"
        elif kind == "word" and match.group().upper() in _WORDS:
            kind = match.group().upper()
        yield Token(kind, match.group(), match.start())
