"""What the analysis of errors must know of an answered query, observed while graph and reference are at hand.

The analysis itself (`pytest_llmkg.analysis.error_categories`) reads these observations from transcripts.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pytest_llmkg.kg.sparql_text import body_tokens
from pytest_llmkg.metrics.challenge import challenge_scores, flatten_result
from pytest_llmkg.metrics.datatypes import NUMBERS
from pytest_llmkg.tasks.kgqa_patterns import declared_prefixes, described_query, full_iri
from pytest_llmkg.tasks.kgqa_schema import known_names, local_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult, Term
    from pytest_llmkg.plain import Json

__all__ = ["observations"]

_MOST_COLUMNS = 6  # of which subsets are tried
_SHOWN = 15
_DASHES = re.compile("[\u2010-\u2015\u2212\u00ad]")


def observations(
    reference: str,
    wanted: QueryResult,
    query: str | None,
    result: QueryResult,
    run: Callable[[str], QueryResult],
    graphs: tuple[Mapping[str, str], Sequence[GraphText], KgEngine],
) -> dict[str, Json]:
    """Observations by name, of the answered query and, with ``reference`` before the name, of the reference query.

    ``kind`` of a result is ``boolean``, ``number`` (one cell), ``empty``, ``things`` or ``values``. The ``F`` of
    ``projectionF``, ``encodingF`` and ``namespaceF`` is ``set_F`` after the best choice of columns, after differences
    of encoding were removed, and after names of wrong namespaces were replaced; None where that was not tried.

    Args:
        reference: the reference query, and what it gave in ``wanted``.
        wanted: see there.
        query: the answered query, None if there is none.
        result: what it gave.
        run: runs a query on the graph.
        graphs: prefixes that are declared for the query, the graph with the services, and the engine that knows them.
    """
    prefixes, stores, kg = graphs
    info = _described(reference, wanted, prefixes, "reference")
    info |= {"projectionF": None, "encodingF": None, "namespaceF": None, "unknownNames": [], "undeclaredPrefixes": []}
    if query is None:
        return info
    info |= _described(query, result, prefixes, "")
    shown: list[Json] = [*list(flatten_result(result))[:_SHOWN]]
    declared = {**prefixes, **declared_prefixes(query)}
    known = known_names(stores, kg)
    unknown = [] if known is None else [iri for iri in info["predicates"] or () if str(iri) not in known]  # type: ignore[union-attr]
    info |= {
        "answer": shown,
        "unknownNames": unknown,
        "undeclaredPrefixes": _undeclared(query, declared),
    }
    right = _f(result, wanted)
    if result.error is None and right < 1.0:
        info["projectionF"] = _best_projection(result, wanted)
    if result.error is None and right < 1.0 and result.boolean is None is wanted.boolean:
        info["encodingF"] = _f_of(set(map(_folded, flatten_result(result))), set(map(_folded, flatten_result(wanted))))
    if known is not None and right < 1.0:
        info["namespaceF"] = _with_right_namespaces(query, wanted, run, (known, declared))
    return info


def _described(query: str, result: QueryResult, prefixes: Mapping[str, str], before: str) -> dict[str, Json]:
    described = {**described_query(query, prefixes), "form": _form(query), "kind": _kind(result), "size": _size(result)}
    described["columns"] = len(result.variables)
    if not before:
        return described
    return {before + name[0].upper() + name[1:]: value for name, value in described.items()}


def _form(query: str) -> str | None:
    first = next((token.text.upper() for token in body_tokens(query) if token.kind == "word"), None)
    return first if first in {"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"} else None


def _size(result: QueryResult) -> int:
    return 1 if result.boolean is not None else len(result.rows)


def _kind(result: QueryResult) -> str:
    if result.boolean is not None:
        return "boolean"
    cells = [term for row in result.rows for term in row if term is not None]
    if not cells:
        return "empty"
    if len(cells) == 1 and _is_number(cells[0]):
        return "number"
    return "things" if any(term.kind != "literal" for term in cells) else "values"


def _is_number(term: Term) -> bool:
    return term.kind == "literal" and term.datatype in NUMBERS


def _undeclared(query: str, declared: Mapping[str, str]) -> list[Json]:
    used = {token.text.partition(":")[0] for token in body_tokens(query) if token.kind == "pname"}
    return [*sorted(used - declared.keys())]


def _f(result: QueryResult, wanted: QueryResult) -> float:
    return challenge_scores(flatten_result(result), flatten_result(wanted), ordered=False)["set_F"]


def _f_of(answered: set[str], reference: set[str]) -> float:
    return challenge_scores(dict.fromkeys(answered, 1), dict.fromkeys(reference, 1), ordered=False)["set_F"]


def _best_projection(result: QueryResult, wanted: QueryResult) -> float | None:
    """The best ``set_F`` over all choices of columns; None when there is nothing to choose."""
    if not 1 < len(result.variables) <= _MOST_COLUMNS or wanted.boolean is not None:
        return None
    columns = [{row[i].value for row in result.rows if row[i] is not None} for i in range(len(result.variables))]  # type: ignore[union-attr]
    reference = set(flatten_result(wanted))
    choices = (c for size in range(1, len(columns)) for c in itertools.combinations(columns, size))
    return max(_f_of(set().union(*choice), reference) for choice in choices)


def _folded(value: str) -> str:
    """``value`` without differences of encoding: percent signs, Unicode forms, kinds of dashes, underscores, case."""
    text = unicodedata.normalize("NFC", unquote(value))
    return _DASHES.sub("-", text).replace("_", " ").strip().casefold()


def _with_right_namespaces(
    query: str, wanted: QueryResult, run: Callable[[str], QueryResult], names: tuple[frozenset[str], Mapping[str, str]]
) -> float | None:
    """``set_F`` of the query with names that the graph does not know replaced by those with the same local name."""
    known, declared = names
    by_local: dict[str, list[str]] = {}
    for iri in sorted(known):
        by_local.setdefault(local_name(iri), []).append(iri)
    replaced: dict[str, str] = {}
    for token in body_tokens(query):
        if token.kind in {"iri", "pname"}:
            iri = full_iri(token.text, declared)
            local = token.text.rpartition(":")[2] if iri == token.text else local_name(iri)
            others = [other for other in by_local.get(local, ()) if other != iri]
            if iri not in known and len(others) == 1:
                replaced[token.text] = f"<{others[0]}>"
    if not replaced:
        return None
    pattern = "|".join(re.escape(text) for text in sorted(replaced, key=len, reverse=True))
    head, body = _split(query)
    changed = re.sub(rf"(?<![\w:])(?:{pattern})(?![\w-])", lambda match: replaced[match[0]], body)
    return _f(run(head + changed), wanted)


def _split(query: str) -> tuple[str, str]:
    """Prologue and body: names in declarations must stay."""
    first = re.search(
        r"(?i)\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.sub(r"<[^<>\s]*>", lambda m: "x" * len(m[0]), query)
    )
    place = first.start() if first else 0
    return query[:place], query[place:]
