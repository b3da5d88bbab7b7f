"""The triple patterns of a query, in their scopes, for checking them against a schema. Read inside the worker."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_llmkg.kg.query_check import message_of
from pytest_llmkg.kg.query_trees import with_deep_stack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_llmkg.kg.query_trees import QueryTrees

__all__ = ["Pattern", "QueryPatterns", "patterns_from_frame", "read_patterns"]

_SERVICE = "ServiceGraphPattern"
# Each of these has solutions of its own, in which more holds than around it.
_CLOSED = {
    "OptionalGraphPattern",
    "MinusGraphPattern",
    "GraphGraphPattern",
    "Builtin_EXISTS",
    "Builtin_NOTEXISTS",
    "SubSelect",
    _SERVICE,
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One hop. Terms are written ``?x``, ``<iri>``, ``_:label`` or, for literals, with a leading quotation mark.

    Attributes:
        subject, object: its ends; an inverse path has been turned round.
        predicates: one, or those of an alternative; a variable stands as ``?p``.
        scope: the groups that it is in, from the outermost; what holds in a group holds in all groups inside it.
        service: the endpoint of the SERVICE around it (``?e`` for a variable), None for the graph itself.
        loose: whether the pattern may match nothing (``*`` and ``?`` of paths), so that nothing follows from it.
    """

    subject: str
    predicates: tuple[str, ...]
    object: str
    scope: tuple[int, ...] = ()
    service: str | None = None
    loose: bool = False


@dataclass(frozen=True, slots=True)
class QueryPatterns:
    """What `read_patterns` found.

    Attributes:
        error: the parser's message, None if the text is a query, or one that is too deep for the parser: that has no
            patterns then, and whoever runs it learns whether it is valid.
        undeclared: prefixes that are used, but not declared in the query.
        unknown_prefixes: those of them that are not known either; the patterns are empty then.
        patterns: in text order.
        values: the IRIs that VALUES (or BIND of one) gives to variables.
    """

    error: str | None
    undeclared: tuple[str, ...] = ()
    unknown_prefixes: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_patterns(query: str, prefixes: Mapping[str, str], trees: QueryTrees) -> dict[str, Any]:
    """The patterns of ``query``, with ``prefixes`` known beside its own, as a frame."""

    def read() -> dict[str, Any]:
        tree = trees.take(query)
        undeclared = _undeclared(tree)
        unknown = [prefix for prefix in undeclared if prefix not in prefixes]
        found: dict[str, Any] = {"error": None, "undeclared": undeclared, "unknown_prefixes": unknown}
        return found if unknown else {**found, **_read(tree, prefixes)}

    try:
        return with_deep_stack(read)
    except MemoryError:
        raise
    except RecursionError:  # no verdict on the text
        return {"error": None}
    except Exception as error:  # noqa: BLE001  (recorded: whatever a text makes the parser raise is its verdict)
        return {"error": message_of(error)}


def patterns_from_frame(frame: Mapping[str, Any]) -> QueryPatterns:
    """The patterns in a frame of `read_patterns`."""
    rows = [Pattern(s, tuple(p), o, tuple(scope), *rest) for s, p, o, scope, *rest in frame.get("patterns", ())]
    values = {name: tuple(iris) for name, iris in frame.get("values", {}).items()}
    undeclared, unknown = (tuple(frame.get(name, ())) for name in ("undeclared", "unknown_prefixes"))
    return QueryPatterns(frame["error"], undeclared, unknown, tuple(rows), values)


def _undeclared(tree: Any) -> list[str]:
    from rdflib.plugins.sparql.algebra import traverse
    from rdflib.plugins.sparql.parserutils import CompValue

    declared = {part.prefix or "" for part in tree[0] if part.name == "PrefixDecl"}
    found: dict[str, None] = {}

    def look(part: Any) -> None:
        if isinstance(part, CompValue) and part.name == "pname" and (part.prefix or "") not in declared:
            found[part.prefix or ""] = None

    traverse(tree[1], visitPre=look)
    return list(found)


def _read(tree: Any, prefixes: Mapping[str, str]) -> dict[str, Any]:
    from rdflib.plugins.sparql.algebra import translatePath, translatePName, traverse

    prologue = _prologue(tree[0], prefixes)
    body = traverse(tree[1], visitPost=functools.partial(translatePName, prologue=prologue))
    reader = _Reader()
    reader.walk(traverse(body, visitPost=translatePath), (), None)
    return {"patterns": reader.found, "values": reader.values}


def _prologue(declarations: Any, prefixes: Mapping[str, str]) -> Any:
    """What resolves names; rdflib's own forgets a prefix when a second one is declared for its namespace."""
    from rdflib import URIRef
    from rdflib.plugins.sparql.sparql import Prologue

    prologue: Any = Prologue()
    known = dict(prefixes)
    for part in declarations:
        if part.name == "Base":
            prologue.base = prologue.absolutize(part.iri)
        else:
            known[part.prefix or ""] = str(prologue.absolutize(part.iri))
    prologue.resolvePName = lambda prefix, local: URIRef(known[prefix or ""] + (local or ""))
    return prologue


class _Reader:
    """Walks a resolved parse tree; what it finds are rows of plain values."""

    def __init__(self) -> None:
        self.found: list[list[Any]] = []
        self.values: dict[str, list[str]] = {}
        self._number = 0
        self._renamed: dict[str, str] = {}

    def walk(self, part: Any, scope: tuple[int, ...], service: str | None) -> None:
        """Reads ``part`` and all below it."""
        from rdflib.plugins.sparql.parserutils import CompValue

        if isinstance(part, CompValue):
            self._walk_node(part, scope, service)
        elif _is_list(part):
            for item in part:
                self.walk(item, scope, service)

    def _walk_node(self, node: Any, scope: tuple[int, ...], service: str | None) -> None:
        match node.name:
            case "TriplesBlock":
                for row in node.triples or ():
                    self._triples(list(row), scope, service)
            case "InlineData" | "ValuesClause":
                self._inline(node)
            case "GroupOrUnionGraphPattern" if len(node.graph) > 1:
                for branch in node.graph:
                    self.walk(branch, (*scope, self._next()), service)
            case name:
                inner = (*scope, self._next()) if name in _CLOSED else scope
                self._walk_parts(node, inner, self._term(node.term) if name == _SERVICE else service)

    def _walk_parts(self, node: Any, scope: tuple[int, ...], service: str | None) -> None:
        before = self._renamed
        if node.name == "Bind":
            self._bind(node)
        if node.name == "SubSelect":
            self._renamed = self._hidden(node)
        for name, value in node.items():
            if name not in {"template", "service_string"}:  # what CONSTRUCT makes need not be in the graph
                self.walk(value, scope, service)
        self._renamed = before

    def _hidden(self, node: Any) -> dict[str, str]:
        """Names of a subquery's variables: only those that it projects are known outside."""
        if not _is_list(node.projection):
            return self._renamed
        shown = {f"?{item.var}" for item in node.projection if item.var is not None}
        kept = {name: other for name, other in self._renamed.items() if name in shown}
        return kept | {"": f".{self._next()}"} | {name: kept.get(name, name) for name in shown}

    def _inline(self, node: Any) -> None:
        variables = list(node.var)
        for row in node.value:
            cells = list(row) if _is_list(row) else [row]
            for variable, cell in zip(variables, cells, strict=False):
                self._give(variable, cell)

    def _bind(self, node: Any) -> None:
        value = node.expr
        while hasattr(value, "items") and list(value.keys()) == ["expr"]:
            value = value.expr
        self._give(node.var, value)

    def _give(self, variable: Any, value: Any) -> None:
        from rdflib import URIRef

        if isinstance(value, URIRef):
            self.values.setdefault(self._term(variable), []).append(f"<{value}>")

    def _triples(self, row: list[Any], scope: tuple[int, ...], service: str | None) -> None:
        for place in range(0, len(row) - 2, 3):
            subject, path, value = row[place : place + 3]
            for s, p, o, inner, loose in self._hops(self._term(subject), path, self._term(value)):
                self.found.append([s, list(p), o, [*scope, *inner], service, loose])

    def _hops(self, subject: str, path: Any, value: str) -> Iterator[tuple[str, tuple[str, ...], str, list[int], bool]]:
        """The path as single hops, with the scope that alternatives have and whether they may match nothing."""
        from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath

        if not isinstance(path, Path):
            yield subject, (self._term(path),), value, [], False
        elif isinstance(path, InvPath):
            yield from self._hops(value, path.arg, subject)
        elif isinstance(path, SequencePath):
            ends = [subject, *(f"?.{self._next()}" for _ in path.args[1:]), value]
            for number, part in enumerate(path.args):
                yield from self._hops(ends[number], part, ends[number + 1])
        elif isinstance(path, AlternativePath):
            yield from self._alternatives(subject, path.args, value)
        elif isinstance(path, MulPath):
            for hop in self._hops(subject, path.path, value):
                yield (*hop[:4], hop[4] or path.mod != "+")
        elif not isinstance(path, NegatedPath):
            raise TypeError(f"a path of type {type(path).__name__}")

    def _alternatives(
        self, subject: str, parts: Iterable[Any], value: str
    ) -> Iterator[tuple[str, tuple[str, ...], str, list[int], bool]]:
        from rdflib.paths import Path

        parts = list(parts)
        if not any(isinstance(part, Path) for part in parts):
            yield subject, tuple(self._term(part) for part in parts), value, [], False
            return
        for part in parts:
            branch = self._next()
            for s, p, o, inner, _ in self._hops(subject, part, value):
                yield s, p, o, [branch, *inner], True

    def _term(self, term: Any) -> str:
        from rdflib import BNode, URIRef, Variable

        if isinstance(term, Variable):
            name = f"?{term}"
            return self._renamed.get(name, name + self._renamed.get("", ""))
        if isinstance(term, URIRef):
            return f"<{term}>"
        return f"_:{term}" if isinstance(term, BNode) else f'"{term}'

    def _next(self) -> int:
        self._number += 1
        return self._number


def _is_list(part: object) -> bool:
    return isinstance(part, list | tuple) or type(part).__name__ in {"ParseResults", "plist"}
