"""What a query is made of, for the analysis of errors: triple patterns, their shape, predicates, LIMIT and ORDER BY.

A reading of the tokens, not a parser: expressions in brackets are left out, blank nodes in brackets are one node each.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.kg.sparql_text import body_tokens, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_llmkg.kg.sparql_text import Token
    from pytest_llmkg.plain import Json

__all__ = ["declared_prefixes", "described_query", "full_iri"]

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_ROUNDS = 4
_MOST_TOKENS = 3_000  # of a query are looked at; some steps below take the square of their number
_STEP = re.compile(r"<[^<>]*>|[?$]\w+")  # of a path
Pattern = tuple[str, str, str]


def described_query(query: str, prefixes: Mapping[str, str]) -> dict[str, Json]:
    """``patterns`` (how many triple patterns), ``shape`` (equal for queries whose patterns differ in names of variables
    and in predicates only), ``predicates``, ``limit``, ``offset``, ``orderBy`` and ``projected`` (variables).
    """  # noqa: D205  (the names belong together)
    known = {**prefixes, **declared_prefixes(query)}
    row = list(itertools.islice(body_tokens(query), _MOST_TOKENS))
    found = list(_patterns(row, known))
    predicates = dict.fromkeys(iri for _, path, _ in found for iri in re.findall(r"<([^<>]*)>", path))
    return {
        "patterns": len(found),
        "shape": _shape(found),
        "predicates": list(predicates),
        "projected": _projected(row),
        **_modifiers(row),
    }


def declared_prefixes(query: str) -> dict[str, str]:
    """The prefixes that ``query`` declares itself."""
    row = list(itertools.islice(tokens(query), _MOST_TOKENS))
    return {
        row[i + 1].text[:-1]: row[i + 2].text[1:-1]
        for i in range(len(row) - 2)
        if row[i].text.upper() == "PREFIX" and row[i + 1].kind == "pname" and row[i + 2].kind == "iri"
    }


def full_iri(name: str, prefixes: Mapping[str, str]) -> str:
    """The IRI of a name as written in a query: ``<...>``, ``a``, ``prefix:local``; unknown prefixes stay."""
    if name.startswith("<"):
        return name[1:-1]
    if name == "a":
        return _RDF_TYPE
    prefix, _, local = name.partition(":")
    return prefixes[prefix] + local.replace("\\", "") if prefix in prefixes else name


def _projected(row: Sequence[Token]) -> int | None:
    """How many columns the outermost SELECT names; None for ``*`` and other forms of query."""
    if not row or row[0].text.upper() != "SELECT":
        return None
    depth = count = 0
    for token in row[1:]:
        if token.text == "{" or (not depth and token.text.upper() in {"WHERE", "FROM"}):
            break
        if token.text == "*" and not depth:
            return None
        count += not depth and (token.kind == "variable" or token.text == "(")
        depth += (token.text == "(") - (token.text == ")")
    return count


def _modifiers(row: Sequence[Token]) -> dict[str, Json]:
    """The last LIMIT and OFFSET behind all groups, and whether there is an ORDER BY."""
    ends = [i for i, token in enumerate(row) if token.text == "}"]
    tail = row[ends[-1] + 1 :] if ends else []
    words = [token.text.upper() for token in tail]
    return {
        "limit": _number_after(words, "LIMIT"),
        "offset": _number_after(words, "OFFSET"),
        "orderBy": "ORDER" in words,
    }


def _number_after(words: Sequence[str], name: str) -> int | None:
    if name not in words:
        return None
    digits = ""
    for word in words[words.index(name) + 1 :]:
        if not re.fullmatch(r"[0-9]{1,9}", word):
            break
        digits += word
    return int(digits[:9]) if digits else None


def _patterns(row: Sequence[Token], prefixes: Mapping[str, str]) -> Iterator[Pattern]:
    """The triple patterns in text order; a pattern is what stands in braces, outside of brackets of expressions."""
    place = next((i for i, token in enumerate(row) if token.text == "{"), len(row))
    part: list[str] = []
    depth = 0
    for i in range(place, len(row)):
        token = row[i]
        word = token.text.upper() if token.kind == "word" else ""
        depth += token.text == "("
        is_path = token.text in {"(", ")"} or depth
        if is_path and not (len(part) >= 1 and _in_path(part, row[i - 1] if i else None)):
            depth -= token.text == ")"
            continue
        depth -= token.text == ")"
        if (word and word not in {"A", "TRUE", "FALSE"}) or (token.text in {"{", "}", "."} and not depth):
            yield from _triples(part)
            part = []
        elif token.kind != "language":
            part.append(_name(token, prefixes))
    yield from _triples(part)


def _in_path(part: Sequence[str], before: Token | None) -> bool:
    """Whether a bracket belongs to a property path: the subject is there, and no function's name stands before it."""
    return before is not None and bool(part) and part[-1] != "," and not (before.kind == "word" and before.text != "a")


def _name(token: Token, prefixes: Mapping[str, str]) -> str:
    if token.kind in {"iri", "pname"} or token.text == "a":
        return f"<{full_iri(token.text, prefixes)}>"
    return token.text


def _triples(part: Sequence[str]) -> Iterator[Pattern]:
    """The triples of ``s p o ; p o , o``; what does not look so gives none."""
    subject: str | None = None
    path: list[str] = []
    rest = list(part)
    while rest:
        item = rest.pop(0)
        if item == ";":
            path = []
        elif item == ",":
            continue
        elif subject is None:
            subject = item
        elif item in {"+", "*", "?"} and path:
            path.append(item)
        elif _is_term(item) and path and not _goes_on(path):
            yield subject, "".join(path), item
            if not (rest and rest[0] in {",", ";"}):
                return
        else:
            path.append(item)


def _is_term(item: str) -> bool:
    return item[:1] in {"?", "$", "<", '"', "'", "_"} or item[:1].isalnum() or item in {"[", "+", "-"}


def _goes_on(path: Sequence[str]) -> bool:
    """Whether a path that ends so needs more: an operator between or before two steps, an open bracket."""
    return path[-1] in {"/", "|", "^", "!", "("} or path.count("(") > path.count(")")


def _shape(patterns: Sequence[Pattern]) -> str:
    """A digest of the graph of patterns: variables without names, predicates without their IRIs."""
    colours = {term: "?" if term[:1] in {"?", "$", "_"} else term for s, _, o in patterns for term in (s, o)}
    for _ in range(_ROUNDS):
        around: dict[str, Counter[str]] = {term: Counter() for term in colours}
        for subject, path, value in patterns:
            kind = _STEP.sub("p", path)
            around[subject][f">{kind}{colours[value]}"] += 1
            around[value][f"<{kind}{colours[subject]}"] += 1
        colours = {term: _digest(f"{colours[term]}{sorted(around[term].items())}") for term in colours}
    edges = sorted(f"{colours[s]}{_STEP.sub('p', p)}{colours[o]}" for s, p, o in patterns)
    return _digest("|".join(edges))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
