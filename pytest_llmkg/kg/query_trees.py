"""Parse trees of queries, kept from the grammar check until the query is run. Runs inside the worker."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["QueryTrees", "tree_parts"]

_KEPT = 4
_LONGEST_KEPT = 20_000


class QueryTrees:
    """rdflib's parse trees of the latest queries. Parsing takes several times as long as running a query."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Any] = OrderedDict()

    def parse(self, query: str) -> Any:
        """The tree of ``query``, to look at.

        Raises:
            Exception: whatever the parser raises for a text that is no query.
        """
        from rdflib.plugins.sparql.parser import parseQuery

        if query not in self._held:
            tree: Any = parseQuery(query)
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
