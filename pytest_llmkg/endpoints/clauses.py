"""Where a query names other stores: its SERVICE, GRAPH and FROM clauses, found by a scan of its tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.sparql_text import Token, expand_escapes, placed_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Clause", "Scan", "scan"]

_FORMS = frozenset({"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"})
_MAY_FOLLOW = {"SERVICE": "SILENT", "FROM": "NAMED", "GRAPH": ""}  # a word between the keyword and its target
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BEFORE_TARGETS = frozenset({"GRAPH", "SERVICE", "SILENT", "FROM", "NAMED"})
_KEYWORDS = re.compile(r"service|from", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that names a store or a graph.

    Attributes:
        word: its keyword, SERVICE, GRAPH or FROM.
        start: index of the keyword in the query.
        target_start, target_end: where its target stands.
        target: the IRI in full; None for a variable or a prefixed name without a known prefix.
        text: the target as written.
        block_end: index behind the clause's closing brace; None for FROM, or when there is no such brace.
        silent: whether SILENT stands there.
    """

    word: str
    start: int
    target_start: int
    target_end: int
    target: str | None
    text: str
    block_end: int | None = None
    silent: bool = False

    @property
    def is_variable(self) -> bool:
        """Whether the target is a variable."""
        return self.text[:1] in {"?", "$"}


@dataclass(frozen=True, slots=True)
class Scan:
    """What a query's tokens tell.

    Attributes:
        form: SELECT, ASK, CONSTRUCT or DESCRIBE; None if its first word is another one.
        first: that word, in upper case; empty if there is none.
        clauses: in text order.
        missing: prefixes that it uses without declaring them.
        has_base: whether it declares a base.
        has_relative: whether it holds a relative IRI.
        doubt: why the scan cannot be relied on, None if it can.
    """

    form: str | None
    first: str
    clauses: tuple[Clause, ...]
    missing: frozenset[str]
    has_base: bool
    has_relative: bool
    doubt: str | None


class _Names:
    """The prologue: prefixes and base."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = dict(prefixes)
        self.declared: set[str] = set()
        self.base: str | None = None

    def full(self, token: Token) -> str | None:
        if token.kind == "iri":
            iri = token.text[1:-1]
            return iri if _SCHEME.match(iri) else urljoin(self.base or BASE_IRI, iri)
        prefix, _, name = token.text.partition(":")
        if token.kind != "pname" or prefix not in self.prefixes:
            return None
        return self.prefixes[prefix] + re.sub(r"\\(.)", r"\1", name)


def scan(query: str, prefixes: Mapping[str, str]) -> Scan:
    """Scans ``query``, before which ``prefixes`` hold as far as it does not declare them itself."""
    row = list(placed_tokens(query))
    names = _Names(prefixes)
    at = _prologue(row, names)
    body = row[at:]
    first = body[0][1].text.upper() if body and body[0][1].kind == "word" else ""
    used = {token.text.partition(":")[0] for _, token in body if token.kind == "pname"}
    relative = any(token.kind == "iri" and not _SCHEME.match(token.text[1:-1]) for _, token in row)
    return Scan(
        form=first if first in _FORMS else None,
        first=first,
        clauses=_clauses(query, body, names),
        missing=frozenset(used - names.declared),
        has_base=names.base is not None,
        has_relative=relative,
        doubt=_doubt(query, row, names.prefixes),
    )


def _prologue(row: list[tuple[int, Token]], names: _Names) -> int:
    """Reads the prologue; the index of the first token behind it."""
    at = 0
    while at < len(row):
        word = row[at][1].text.upper() if row[at][1].kind == "word" else ""
        if word == "BASE" and at + 1 < len(row):
            names.base = names.full(row[at + 1][1])
            at += 2
        elif word == "PREFIX" and at + 2 < len(row):
            prefix, namespace = row[at + 1][1].text.removesuffix(":"), names.full(row[at + 2][1])
            names.declared.add(prefix)
            if namespace is not None:
                names.prefixes[prefix] = namespace
            at += 3
        else:
            return at
    return at


def _clauses(query: str, row: list[tuple[int, Token]], names: _Names) -> tuple[Clause, ...]:
    ends = _block_ends(row)
    found = []
    for at, (start, token) in enumerate(row):
        word = token.text.upper() if token.kind == "word" else ""
        if word not in _MAY_FOLLOW:
            continue
        follows = at + 1
        has_more = follows < len(row) and row[follows][1].text.upper() == _MAY_FOLLOW[word]
        follows += has_more
        place, target = row[follows] if follows < len(row) else (len(query), Token("other", ""))
        end, full = place + len(target.text), names.full(target)
        silent = has_more and word == "SERVICE"
        found.append(Clause(word, start, place, end, full, target.text, ends.get(follows + 1), silent))
    return tuple(found)


def _block_ends(row: list[tuple[int, Token]]) -> dict[int, int]:
    """For the number of the token of each opening brace the index behind its closing one."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, (start, token) in enumerate(row):
        if token.kind == "other" and token.text == "{":
            opened.append(at)
        elif token.kind == "other" and token.text == "}" and opened:
            ends[opened.pop()] = start + 1
    return ends


def _doubt(query: str, row: list[tuple[int, Token]], prefixes: Collection[str]) -> str | None:
    """Whether an engine may read a SERVICE or FROM where this scan reads none."""
    for at, (_, token) in enumerate(row):
        # An engine may read "trueSERVICE" as two words; no other word of SPARQL contains one of these.
        parted = token.kind == "word" and _KEYWORDS.search(token.text) and not _KEYWORDS.fullmatch(token.text)
        if parted or (token.kind == "pname" and _is_parted(row, at, prefixes)):
            return (
                f"a query with the word {token.text!r:.60} is not allowed; separate SERVICE and FROM from other words"
            )
    if _KEYWORDS.search(query) and any(token.kind == "other" and token.text in {'"', "'"} for _, token in row):
        # A server that bears line breaks in short strings reads the rest of the query otherwise than this scan.
        return "a query with SERVICE or FROM and a quotation mark that is not closed on its line is not allowed"
    expanded = expand_escapes(query)
    if expanded != query:
        # Some engines replace escapes before they look for tokens, others afterwards.
        early = [token for _, token in placed_tokens(expanded)]
        late = [Token(token.kind, expand_escapes(token.text)) for _, token in row]
        if early != late and any(_KEYWORDS.search(token.text) for token in (*early, *late) if token.kind != "string"):
            return "a query that hides the word SERVICE or FROM in escapes is not allowed; write it plainly"
    return None


def _is_parted(row: list[tuple[int, Token]], at: int, prefixes: Collection[str]) -> bool:
    """Whether an engine may read a prefixed name such as ``SERVICE:x`` as a keyword and a name."""
    prefix = row[at][1].text.partition(":")[0]
    if not _KEYWORDS.search(prefix):
        return False
    before = row[at - 1][1].text.upper() if at else ""
    follows = row[at + 1][1].text.upper() if at + 1 < len(row) else ""
    return prefix not in prefixes or (before not in _BEFORE_TARGETS and follows in {"{", "WHERE", "FROM"})
