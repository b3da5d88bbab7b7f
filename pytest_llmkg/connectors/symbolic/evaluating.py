"""The result of a shown query on a shown graph, one value a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN, prefixes_of, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine, QueryResult, Term

__all__ = ["answer_result"]

_SHORT = re.compile(r"\bprefixed names?\b|\bwrite [\w.-]*:\w|\bCURIEs?\b", re.IGNORECASE)
_NOTHING = "EMPTY"


def answer_result(request: Request, engine: KgEngine) -> str | None:
    """The values of the result, each once, in the engine's order; None when the query does not run.

    IRIs are prefixed names where the prompt asks for such, else full IRIs; literals are their bare text.
    """
    if request.graph is None or request.query is None:
        return None
    prefixes = prefixes_of(request.graph, request.prose)
    known = {**WELL_KNOWN, **prefixes}
    result = engine.run_query(request.graph, request.query, known)
    if result.error is not None:
        return None
    short = known if _SHORT.search(request.prose) else None
    return "\n".join(dict.fromkeys(_lines(result, short))) or _NOTHING


def _lines(result: QueryResult, prefixes: Mapping[str, str] | None) -> list[str]:
    if result.boolean is not None:
        return ["true" if result.boolean else "false"]
    return [_shown(term, prefixes) for row in result.rows for term in row if term is not None]


def _shown(term: Term, prefixes: Mapping[str, str] | None) -> str:
    if term.kind == "iri":
        return term.value if prefixes is None else shorten(term.value, prefixes)
    return f"_:{term.value}" if term.kind == "bnode" else term.value
