"""Where a Turtle or N-Triples text first goes wrong: a recogniser that knows the grammar and nothing else.

It costs less than a parse in the sandbox and names the exact token, which is what a search for repairs needs. The
verdict on a repaired text is still the graph library's.

Source of the grammar: RDF 1.1 Turtle, section 6.5; RDF 1.1 N-Triples, section 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Fault", "Token", "first_fault", "mixed_roles", "tokens_of"]

_DEEPEST = 60
_TOKENS = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
  | (?P<long>(?P<quotes>\"{3}|'{3})(?:\\[tbnrf"'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|[^\\])*?(?P=quotes))
  | (?P<string>"(?!"")(?:\\[tbnrf"'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|[^"\\\n\r])*"
      |'(?!'')(?:\\[tbnrf"'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|[^'\\\n\r])*'|""|'')
  | (?P<directive>@(?:prefix|base)\b)
  | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?![\w-]))
  | (?P<number>[+-]?(?:\d+(?:\.\d*)?[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d*\.\d+|\d+)(?![\w:]))
  | (?P<blank>_:\w(?:[\w.-]*[\w-])?)
  | (?P<name>(?:[^\W\d_](?:[\w.-]*[\w-])?)?:(?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])
      (?:(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*
      (?:[\w:-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]))?)?)
  | (?P<word>\w[\w-]*)
  | (?P<caret>\^\^)
  | (?P<mark>[.;,\[\]()])
  | (?P<bad>["'<][^\s"'<>]*|@\w*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NOUNS = frozenset({"iri", "name", "blank"})


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind (a group of the lexer, or the mark itself for punctuation), its text and where it begins."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Fault:
    """The first token that does not fit, and the undeclared prefix if that is why."""

    at: int
    prefix: str | None = None


class _FaultError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.at)
        self.fault = fault


def tokens_of(text: str) -> list[Token]:
    """The tokens of ``text`` without white space and comments; what fits no token becomes one of kind ``bad``."""
    return list(_read_tokens(text))


def _read_tokens(text: str) -> Iterator[Token]:
    for match in _TOKENS.finditer(text):
        kind = _kind(match)
        if kind != "space":
            yield Token(match.group() if kind == "mark" else kind, match.group(), match.start())


def _kind(match: re.Match[str]) -> str:
    kind = match.lastgroup or "bad"
    return "string" if kind == "long" else kind


def first_fault(text: str, *, lines_only: bool = False) -> Fault | None:
    """The first fault of a Turtle text (of N-Triples if ``lines_only``), None if there is none."""
    reader = _Reader(text, lines_only=lines_only)
    try:
        reader.document()
    except _FaultError as found:
        return found.fault
    return None


def mixed_roles(text: str) -> int:
    """How many names a sound text uses both as predicate and as subject or object, which few sensible graphs do."""
    reader = _Reader(text, lines_only=False)
    try:
        reader.document()
    except _FaultError:
        return 0
    return len(reader.predicates & reader.things)


class _Reader:
    """A recursive-descent recogniser over the tokens of one text."""

    def __init__(self, text: str, *, lines_only: bool) -> None:
        # Tokens are read one by one, since most texts end at an early fault.
        self._tokens = _read_tokens(text)
        self._end = Token("end", "", len(text))
        self._token = next(self._tokens, self._end)
        self._text = text
        self._lines_only = lines_only
        self._prefixes: set[str] = set()
        self.predicates: set[str] = set()
        self.things: set[str] = set()

    def document(self) -> None:
        while self._kind != "end":
            self._statement()

    def _step(self) -> Token:
        """Goes on to the next token and returns the one left behind."""
        passed, self._token = self._token, next(self._tokens, self._end)
        return passed

    @property
    def _kind(self) -> str:
        return self._token.kind

    def _fail(self, prefix: str | None = None) -> _FaultError:
        return _FaultError(Fault(self._token.start, prefix))

    def _take(self, *kinds: str) -> Token:
        if self._token.kind not in kinds:
            raise self._fail()
        return self._step()

    def _statement(self) -> None:
        if self._lines_only:
            self._line()
        elif self._kind == "directive" or self._token.text.lower() in {"prefix", "base"}:
            self._directive()
        else:
            self._triples()
            self._take(".")

    def _line(self) -> None:
        """One line of N-Triples, on a line of its own."""
        start = self._take("iri", "blank").start
        self._take("iri")
        if self._kind == "string":
            self._literal()
        else:
            self._take("iri", "blank")
        end = self._take(".").end
        if "\n" in self._text[start:end]:
            raise _FaultError(Fault(self._text.index("\n", start)))
        if self._kind != "end" and "\n" not in self._text[end : self._token.start]:
            raise self._fail()

    def _directive(self) -> None:
        opening = self._take("directive", "word")
        if opening.text.lower().endswith("prefix"):
            name = self._token
            if name.kind != "name" or name.text.count(":") != 1 or not name.text.endswith(":"):
                raise self._fail()
            self._step()
            self._take("iri")
            self._prefixes.add(name.text[:-1])
        else:
            self._take("iri")
        if opening.kind == "directive":
            self._take(".")

    def _triples(self) -> None:
        if self._kind == "[":
            self._bracket(0)
            if self._kind != ".":
                self._predicates(0)
            return
        if self._kind == "(":
            self._collection(0)
        else:
            self.things.add(self._noun())
        self._predicates(0)

    def _noun(self) -> str:
        if self._kind not in _NOUNS:
            raise self._fail()
        if self._kind == "name":
            prefix = self._token.text.partition(":")[0]
            if prefix not in self._prefixes:
                raise self._fail(prefix)
        return self._step().text

    def _predicates(self, depth: int) -> None:
        while True:
            if self._kind == "word" and self._token.text == "a":
                self._step()
            elif self._kind == "blank":
                raise self._fail()
            else:
                self.predicates.add(self._noun())
            self._object(depth)
            while self._kind == ",":
                self._step()
                self._object(depth)
            if self._kind != ";":
                return
            while self._kind == ";":
                self._step()
            if self._kind in {".", "]", "end"}:
                return

    def _object(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._fail()
        if self._kind == "[":
            self._bracket(depth + 1)
        elif self._kind == "(":
            self._collection(depth + 1)
        elif self._kind == "string":
            self._literal()
        elif self._kind == "number" or self._token.text in {"true", "false"}:
            self._step()
        else:
            self.things.add(self._noun())

    def _literal(self) -> None:
        opening = self._token
        closing = self._take("string").end
        if self._lines_only and (opening.text.startswith("'") or opening.text.startswith('"""')):
            raise _FaultError(Fault(opening.start))
        if self._kind == "language" and self._token.start == closing:
            self._step()
        elif self._kind == "caret":
            self._step()
            if self._kind == "blank" or (self._lines_only and self._kind != "iri"):
                raise self._fail()
            self._noun()

    def _bracket(self, depth: int) -> None:
        self._take("[")
        if self._kind != "]":
            self._predicates(depth)
        self._take("]")

    def _collection(self, depth: int) -> None:
        self._take("(")
        while self._kind != ")":
            self._object(depth)
        self._take(")")
