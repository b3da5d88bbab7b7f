"""Whether a query that is trusted (of a question file) parses; in this process, on no graph, so that it is fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.query_check import message_of
from pytest_llmkg.kg.query_run import declare_function

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["query_error"]


def query_error(query: str, prefixes: Mapping[str, str]) -> str | None:
    """The parser's message, None if ``query`` parses with ``prefixes`` declared before it.

    Functions that the engine does not know are no error. Nothing is run: a query with SERVICE, which could reach out,
    is given to rdflib's parser only, which does not look prefixes up.
    """
    if "service" in query.lower():
        return _rdflib_error(query)
    from pyoxigraph import Store

    known: dict[Any, Any] = {}
    while True:
        try:
            Store().query(query, base_iri=BASE_IRI, prefixes=dict(prefixes), custom_functions=known)
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            if not declare_function(error, known):
                return " ".join(message_of(error).split())
        else:
            return None


def _rdflib_error(query: str) -> str | None:
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        parseQuery(query)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (recorded: whatever a text makes the parser raise is its verdict)
        return " ".join(message_of(error).split())
    return None
