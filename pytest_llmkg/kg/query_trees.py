"""Parse trees of queries, kept from the grammar check until the query is run. Runs inside the worker."""

from __future__ import annotations

import re
import sys
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TOO_DEEP", "QueryTrees", "tree_parts", "with_deep_stack"]

TOO_DEEP = "the query is too long or too deeply nested to be checked; it may be valid"
"""What is told of a query for which even `with_deep_stack` has not enough room."""

# rdflib's grammar takes some 10 calls inside each other for each triple pattern of a block, 20 for each bracket.
_DEEP_CALLS = 40_000
_DEEP_STACK = 256 * 2**20

T = TypeVar("T")

_KEPT = 4
_LONGEST_KEPT = 20_000
_IRI = re.compile(r"<[^<>\"{}|^`\\\x00-\x20]*>")


class QueryTrees:
    """rdflib's parse trees of the latest queries. Parsing takes several times as long as running a query."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Any] = OrderedDict()
        self._ignored: list[tuple[Any, list[Any]]] | None = None

    def parse(self, query: str) -> Any:
        """The tree of ``query``, to look at.

        Raises:
            Exception: whatever the parser raises for a text that is no query.
        """
        if query not in self._held:
            tree = self._parsed(query)
            if len(query) > _LONGEST_KEPT:
                return tree
            self._held[query] = tree
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        return self._held[query]

    def take(self, query: str) -> Any:
        """The tree of ``query``, to use up: rdflib's translation changes the tree that it is given."""
        tree = self.parse(query)
        self._held.pop(query, None)
        return tree

    def _parsed(self, query: str) -> Any:
        from rdflib.plugins.sparql.parser import parseQuery

        # rdflib's grammar looks for a comment before every token, in vain in most queries, for most of its time.
        if "#" not in _IRI.sub("<>", query) and "\\" not in query:
            try:
                return self._parsed_without_comments(query)
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001, S110  (parsed again below for its verdict and message)
                pass
        return parseQuery(query)

    def _parsed_without_comments(self, query: str) -> Any:
        from rdflib.plugins.sparql.parser import QueryUnit, parseQuery

        if self._ignored is None:
            self._ignored = [(part, part.ignoreExprs) for part in _grammar_parts(QueryUnit)]
        for part, _ in self._ignored:
            part.ignoreExprs = []
        try:
            return parseQuery(query)
        finally:
            for part, ignored in self._ignored:
                part.ignoreExprs = ignored


def with_deep_stack(work: Callable[[], T]) -> T:
    """What ``work`` returns; done again in a thread with a deep stack if it needs more than Python's own has.

    Raises:
        RecursionError: it needs still more; the text is `TOO_DEEP`.
        Exception: whatever ``work`` raises.
    """
    try:
        return work()
    except RecursionError:
        pass
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except RecursionError:
            failed.append(RecursionError(TOO_DEEP))
        except BaseException as error:  # noqa: BLE001  (raised below, in the thread that asked)
            failed.append(error)

    calls, size = sys.getrecursionlimit(), threading.stack_size(_DEEP_STACK)
    sys.setrecursionlimit(_DEEP_CALLS)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(calls)
    if failed:
        raise failed[0]
    return done[0]


def _grammar_parts(root: Any) -> Iterator[Any]:
    """Every element of a grammar, each once."""
    from pyparsing import ParserElement

    seen: set[int] = set()
    todo = [root]
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        inner = [getattr(part, "expr", None), getattr(part, "not_ender", None), *getattr(part, "exprs", ())]
        todo.extend(element for element in inner if isinstance(element, ParserElement))


def tree_parts(tree: object) -> Iterator[object]:
    """Every node of a parse tree, without recursion: a query may be nested deeper than Python's stack."""
    from pyparsing import ParseResults

    todo = [tree]
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset | ParseResults):
            todo.extend(part)
