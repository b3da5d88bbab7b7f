"""Which queries rdflib and pyoxigraph surely read and answer alike. Runs inside the worker.

Published scores were made with rdflib, which is some ten times slower. It differs from the standard, and so from
pyoxigraph, in: the static rules (projected variables that are not grouped, BIND onto a variable in scope, aggregates
in FILTER), ORDER BY over values that cannot be compared or are unbound, aggregates of empty or nested groups,
functions and casts, plain strings against xsd:string, prefixes that a query declares a second time under another
name, and in the order of solutions, which LIMIT makes visible.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.sparql_text import Token, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PlainQuery", "plain_query"]

_WORDS = frozenset({"a", "AS", "COUNT", "DISTINCT", "FILTER", "PREFIX", "SELECT", "UNION", "WHERE"})
_SIGNS = frozenset("{}()[].;,=*")
# Names without what the two grammars may see differently: dots, escapes, letters beyond ASCII.
_SHAPES = {
    "iri": re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]*>"),
    "pname": re.compile(r"([A-Za-z][A-Za-z0-9_-]*)?:[A-Za-z0-9_][A-Za-z0-9_-]*"),
    "string": re.compile(r"""(?s:"(?!"")[^"\\\r\n\x00-\x1f]*"|'(?!'')[^'\\\r\n\x00-\x1f]*')"""),
    "variable": re.compile(r"\?[A-Za-z_][A-Za-z0-9_]*"),
}
_DECLARED = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)?:")
_COMMENT = re.compile(r"<[^<>\s]*>")


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """A SELECT query of graph patterns, their unions, equality and a COUNT of all solutions.

    Attributes:
        names: the IRIs of its body as `pytest_llmkg.contracts.QueryVerdict` has them.
        declared: the namespaces that it declares, by prefix.
        has_strings: whether it holds a string; strings are alike only where the graph types none explicitly.
    """

    names: tuple[str, ...]
    declared: tuple[tuple[str, str], ...]
    has_strings: bool

    def renames(self, prefixes: Mapping[str, str]) -> bool:
        """Whether a namespace gets a second name, which makes rdflib forget its first one."""
        names: dict[str, str] = {namespace: name for name, namespace in prefixes.items()}
        return any(names.setdefault(namespace, name) != name for name, namespace in self.declared)


@functools.lru_cache(maxsize=16)
def plain_query(query: str) -> PlainQuery | None:
    """What ``query`` is made of, if it is plain and so accepted by both parsers; else None."""
    if len(query) > 20_000 or "#" in _COMMENT.sub("", query):
        return None
    row = list(tokens(query))
    split = _prologue(row)
    if split is None or not _is_plain_body(row[split:]):
        return None
    declared = tuple((row[i + 1].text[:-1], row[i + 2].text[1:-1]) for i in range(0, split, 3))
    body = row[split:]
    if not _parses(query, {t.text.partition(":")[0] for t in body if t.kind == "pname"} - {p for p, _ in declared}):
        return None
    names = ("rdf:type" if t.text == "a" else t.text for t in body if t.kind in {"iri", "pname"} or t.text == "a")
    return PlainQuery(tuple(dict.fromkeys(names)), declared, any(t.kind == "string" for t in body))


def _prologue(row: Sequence[Token]) -> int | None:
    """The number of tokens of the ``PREFIX`` lines before SELECT; None if there is anything else."""
    at = 0
    while at + 2 < len(row) and row[at].text.upper() == "PREFIX":
        if not (_DECLARED.fullmatch(row[at + 1].text) and _SHAPES["iri"].fullmatch(row[at + 2].text)):
            return None
        at += 3
    return at if at < len(row) and row[at].text.upper() == "SELECT" else None


def _is_plain_body(row: Sequence[Token]) -> bool:
    depth = 0
    before = ""
    for token in row:
        text = token.text if token.text == "a" else token.text.upper()
        if token.kind == "word":
            if text not in _WORDS or text == "PREFIX" or (text == "SELECT" and before):
                return False
        elif token.kind == "other":
            depth += (text == "{") - (text == "}")
            if text not in _SIGNS or not _fits(text, before, depth):
                return False
        elif token.kind not in _SHAPES or not _SHAPES[token.kind].fullmatch(token.text):
            return False
        before = text
    return True


def _fits(sign: str, before: str, depth: int) -> bool:
    """Whether a bracket opens an aggregate, an expression of the SELECT line or a filter, and a star is no path's."""
    if sign == "(":
        return before in {"COUNT", "FILTER"} or depth == 0
    return sign != "*" or before in {"(", "SELECT", "DISTINCT"}


def _parses(query: str, undeclared: set[str]) -> bool:
    from pyoxigraph import Store

    try:
        Store().query(query, base_iri=BASE_IRI, prefixes={prefix: f"{BASE_IRI}{prefix}#" for prefix in undeclared})
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (recorded: the caller asks rdflib)
        return False
    return True
