"""Which queries rdflib and pyoxigraph answer alike. Runs inside the worker.

Scores that were published were made with rdflib. It differs from the standard, and so from pyoxigraph, in: the static
rules (projected variables that are not grouped, BIND onto a variable in scope, aggregates in FILTER), ORDER BY over
values that cannot be compared or are unbound, aggregates of empty or nested groups, functions and casts, plain
strings against xsd:string, prefixes that a query declares a second time under another name, and in the order of
solutions, which LIMIT makes visible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_llmkg.kg.query_trees import tree_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_plain"]

# Wrappers that the grammar puts around every expression or path, and patterns that both engines treat alike.
_PLAIN = frozenset(
    {
        "AdditiveExpression",
        "Aggregate_Count",
        "ConditionalAndExpression",
        "ConditionalOrExpression",
        "Filter",
        "GroupGraphPatternSub",
        "GroupOrUnionGraphPattern",
        "MultiplicativeExpression",
        "PathAlternative",
        "PathElt",
        "PathSequence",
        "PrefixDecl",
        "RelationalExpression",
        "SelectQuery",
        "TriplesBlock",
        "pname",
        "vars",
    }
)
_SINGLE = frozenset({"PathAlternative", "PathSequence"})
_ALONE = frozenset({"AdditiveExpression", "MultiplicativeExpression"})


def is_plain(tree: Any, prefixes: Mapping[str, str]) -> bool:
    """Whether both engines surely give the same solutions for the query of ``tree``, whatever their order.

    True only for basic graph patterns without literals, their unions, equality of IRIs and a COUNT of all solutions.

    Args:
        tree: rdflib's parse tree, not translated yet.
        prefixes: declared before the query.
    """
    from rdflib import Literal
    from rdflib.plugins.sparql.parserutils import CompValue

    declared: dict[str, str] = {}
    for part in tree_parts(tree):
        if isinstance(part, Literal):
            return False
        if isinstance(part, CompValue):
            if not _is_plain_part(part):
                return False
            if part.name == "PrefixDecl":
                name, namespace = str(part.get("prefix") or ""), str(part["iri"])
                if declared.setdefault(namespace, name) != name:
                    return False
    return not _renamed(declared, prefixes)


def _is_plain_part(part: Any) -> bool:
    if part.name not in _PLAIN:
        return False
    if part.name in _SINGLE:
        return len(part["part"]) == 1
    if part.name == "PathElt":
        return part.get("mod") is None
    if part.name in _ALONE:
        return not part.get("other")
    if part.name == "RelationalExpression" and part.get("op") is not None:
        return str(part["op"]) in {"=", "!="}
    return part.name != "SelectQuery" or not any(
        part.get(clause) is not None for clause in ("groupby", "having", "orderby", "limitoffset", "valuesClause")
    )


def _renamed(declared: Mapping[str, str], prefixes: Mapping[str, str]) -> bool:
    """Whether a namespace gets a second name, which makes rdflib forget its first one."""
    names = {namespace: name for name, namespace in prefixes.items()}
    return any(names.get(namespace, name) != name for namespace, name in declared.items())
