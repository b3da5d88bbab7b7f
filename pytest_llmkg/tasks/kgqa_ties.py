"""What a reference query with ORDER BY and LIMIT would give, had it broken its ties otherwise."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.kg.sparql_text import Token, tokens
from pytest_llmkg.metrics.challenge_rows import TieGroup, groups_without_ties
from pytest_llmkg.metrics.result_rows import term_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_llmkg.contracts import QueryResult, Term

__all__ = ["reference_groups"]

_KEY = "llmkgKey"  # no reference query may use such a variable
_OPENING, _CLOSING = "([{", ")]}"
_IN_BRACKETS = re.compile(r"\A\(\s*([?$]\w+)\s*\)\Z")
_LINE_END = re.compile(r"[\r\n]")
_ENDS = {"LIMIT", "OFFSET", "VALUES"}

Row = tuple["Term | None", ...]
_Keyed = tuple[Row, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A token with its place in the text and how many brackets are open around it."""

    token: Token
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        return self.token.text.upper() if self.token.kind == "word" and not self.depth else ""


@dataclass(frozen=True, slots=True)
class _Modified:
    """A query without its LIMIT that shows what it is sorted by: a column by number, or by variable name."""

    text: str
    keys: tuple[str, ...]
    start: int
    length: int | None
    is_distinct: bool


def reference_groups(
    query: str, result: QueryResult, run: Callable[[str], QueryResult], *, ordered: bool
) -> tuple[TieGroup, ...]:
    """The rows of ``result`` in groups that nothing puts in order, with further rows that a LIMIT cut off among equals.

    Args:
        query: the reference query.
        result: what it gave.
        run: runs another query on the same graph.
        ordered: whether the order counts; else all that is surely in the result is one group.
    """
    plain = groups_without_ties(result, ordered=ordered)
    modified = _without_limit(query, result) if result.boolean is None else None
    if modified is None or (modified.length is None and not modified.start and not ordered):
        return plain
    whole = run(modified.text)
    if whole.error is not None or not set(modified.keys) <= set(whole.variables):
        return plain
    groups = _windowed(whole, len(result.variables), modified)
    if sum(group.wanted for group in groups) != len(set(result.rows)):
        return plain
    return groups if ordered else _merged(groups)


def _windowed(whole: QueryResult, width: int, modified: _Modified) -> tuple[TieGroup, ...]:
    """Groups of equal keys, each with the number of its different rows that lie inside OFFSET and LIMIT."""
    columns = [whole.variables.index(name) for name in modified.keys]
    rows: list[_Keyed] = [(row[:width], tuple(term_key(row[i]) for i in columns)) for row in whole.rows]
    if modified.is_distinct:  # of rows that differ in a hidden key only, the first stands for all
        rows = _first_of_each(rows)
    end = len(rows) if modified.length is None else modified.start + modified.length
    groups, place = [], 0
    for _, members in itertools.groupby(rows, key=lambda item: item[1]):
        found = [row for row, _ in members]
        inside = found[max(0, modified.start - place) : max(0, end - place)]
        if inside:
            groups.append(TieGroup(tuple(dict.fromkeys(found)), len(set(inside))))
        place += len(found)
    return tuple(groups)


def _first_of_each(rows: Sequence[_Keyed]) -> list[_Keyed]:
    first: dict[Row, tuple[tuple[str, ...], ...]] = {}
    for row, key in rows:
        first.setdefault(row, key)
    return list(first.items())


def _merged(groups: Sequence[TieGroup]) -> tuple[TieGroup, ...]:
    """The groups that are wanted as a whole as one, so that their order does not count."""
    sure = tuple(row for group in groups if group.wanted == len(group.rows) for row in group.rows)
    rest = [group for group in groups if group.wanted < len(group.rows)]
    return ((TieGroup(sure, len(sure)),) if sure else ()) + tuple(rest)


def _without_limit(query: str, result: QueryResult) -> _Modified | None:
    row = list(_placed(query))
    select = next((i for i, t in enumerate(row) if t.word == "SELECT"), None)
    if select is None:
        return None
    body = next((i for i, t in enumerate(row[select:], select) if not t.depth and t.token.text == "{"), None)
    tail = [i for i, t in enumerate(row) if body is not None and i > body and not t.depth]
    if body is None or any(row[i].word == "VALUES" for i in tail):
        return None
    cut = next((i for i in tail if row[i].word in _ENDS), None)
    order = next((i for i in tail if row[i].word == "ORDER"), None)
    numbers = _limits(row, tail)
    if numbers is None:
        return None
    conditions = [] if order is None else list(_conditions(row[order + 2 : cut], query))
    head_end = row[body].start if row[body - 1].word != "WHERE" else row[body - 1].start
    added, keys = [], []
    for number, condition in enumerate(conditions):
        name = condition[1:] if condition[0] in "?$" and condition[1:].isidentifier() else None
        if name is None and any(t.token.text == "*" and not t.depth for t in row[select:body]):
            return None
        if name not in result.variables:
            added.append(condition if name else f"({condition} AS ?{_KEY}{number})")
        keys.append(name or f"{_KEY}{number}")
    end = len(query) if cut is None else row[cut].start
    text = f"{query[:head_end]} {' '.join(added)} {query[head_end:end]}"
    return _Modified(text, tuple(keys), *numbers, is_distinct=row[select + 1].word in {"DISTINCT", "REDUCED"})


def _limits(row: Sequence[_Placed], tail: Sequence[int]) -> tuple[int, int | None] | None:
    """OFFSET and LIMIT; None when one of them is no number."""
    found: dict[str, int] = {}
    for i in tail:
        if row[i].word in {"LIMIT", "OFFSET"}:
            digits = "".join(itertools.takewhile(str.isdigit, (t.token.text for t in row[i + 1 :])))
            if not digits:
                return None
            found[row[i].word] = int(digits)
    return found.get("OFFSET", 0), found.get("LIMIT")


def _conditions(row: Sequence[_Placed], query: str) -> Iterator[str]:
    """The expressions behind ORDER BY: a variable, or something in brackets with the name of its function before."""
    start = None
    for placed in row:
        if placed.depth:
            continue
        if placed.word in {"ASC", "DESC"}:
            start = None
        elif placed.token.kind == "variable":
            yield placed.token.text
        elif placed.token.text == "(":
            start = placed.start if start is None else start
        elif placed.token.text == ")" and start is not None:
            found = query[start : placed.end]
            yield _IN_BRACKETS.sub(r"\1", found)
            start = None
        else:
            start = placed.start if start is None else start


def _placed(query: str) -> Iterator[_Placed]:
    """The tokens with their places; a closing bracket has the depth of its opening one."""
    place = depth = 0
    for token in tokens(query):
        while not query.startswith(token.text, place):
            end = _LINE_END.search(query, place) if query[place] == "#" else None
            place = end.end() if end else place + 1
        depth -= token.text in _CLOSING
        yield _Placed(token, place, place + len(token.text), depth)
        depth += token.text in _OPENING
        place += len(token.text)
