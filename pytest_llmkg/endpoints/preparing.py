"""What is checked and changed in a query before it is sent to an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.endpoints.clauses import Clause, scan
from pytest_llmkg.kg.limits import BASE_IRI

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Prepared", "prepare", "unlisted", "with_addresses", "without_blocks"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query that may be sent: its text with all prefixes declared, and its form."""

    text: str
    form: str


def prepare(
    query: str, prefixes: Mapping[str, str], services: Collection[str], graphs: Collection[str]
) -> Prepared | str:
    """``query`` ready to be sent, or why it must not be.

    Only SELECT, ASK, CONSTRUCT and DESCRIBE are; updates, which some servers take where they expect queries, are not.
    Those of ``prefixes`` that it uses without declaring them are declared, and relative IRIs are resolved as in
    embedded graphs. A SERVICE that is not on the list is a refusal; with SILENT it counts as a service that failed,
    which is one solution without bindings (SPARQL 1.1 Federated Query, 2.3).

    Args:
        query: what a model wrote.
        prefixes: namespaces by prefix.
        services: addresses that the endpoint may be asked to call.
        graphs: IRIs that FROM may name.
    """
    found = scan(query, prefixes)
    if found.doubt is not None:
        return found.doubt
    if found.form is None:
        seen = f"found {found.first!r:.60}" if found.first else "found none of them"
        return f"only SELECT, ASK, CONSTRUCT and DESCRIBE are allowed, {seen}"
    refused = _refusal(found.clauses, services, graphs)
    if refused is not None:
        return refused
    text = without_blocks(query, [c for c in found.clauses if c.word == "SERVICE" and c.target not in services])
    # In full, so that it does not depend on how the server reads a prefix that is declared twice.
    text = with_addresses(text, prefixes, {address: address for address in services})
    lines = [f"PREFIX {prefix}: <{prefixes[prefix]}>\n" for prefix in sorted(found.missing) if prefix in prefixes]
    if found.has_relative and not found.has_base:
        lines.insert(0, f"BASE <{BASE_IRI}>\n")
    return Prepared("".join(lines) + text, found.form)


def _refusal(clauses: Collection[Clause], services: Collection[str], graphs: Collection[str]) -> str | None:
    for clause in clauses:
        if clause.word == "SERVICE" and clause.target not in services and not _may_fail(clause):
            return unlisted("SERVICE", clause.text, services)
        if clause.word == "FROM" and clause.target not in graphs:
            return unlisted("FROM", clause.text, graphs)
    return None


def _may_fail(clause: Clause) -> bool:
    return clause.silent and clause.target is not None and clause.block_end is not None


def unlisted(word: str, text: str, allowed: Collection[str]) -> str:
    """The refusal of a target that is not on the list."""
    if not allowed:
        return f"{word} is not allowed; a query runs on the given graph alone"
    names = ", ".join(f"<{name}>" for name in sorted(allowed)[:20])
    return f"{word} {text[:200]} is not allowed; allowed are {names}"


def without_blocks(query: str, clauses: Collection[Clause]) -> str:
    """``query`` with an empty group in place of each of ``clauses`` with its block."""
    kept, place = [], 0
    for clause in clauses:
        if clause.block_end is not None and clause.start >= place:  # else it stands inside one that is gone
            kept += [query[place : clause.start], "{ }"]
            place = clause.block_end
    return "".join([*kept, query[place:]])


def with_addresses(query: str, prefixes: Mapping[str, str], addresses: Mapping[str, str]) -> str:
    """``query`` with the addresses of services in place of their names; whatever is not on the list stays."""
    kept, place = [], 0
    for clause in scan(query, prefixes).clauses:
        address = addresses.get(clause.target or "")
        if clause.word == "SERVICE" and address is not None:
            kept += [query[place : clause.target_start], f"<{address}>"]
            place = clause.target_end
    return "".join([*kept, query[place:]])
