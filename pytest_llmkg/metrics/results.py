"""Agreement of a query's result with a reference result, as one flat set of values.

Source: LLM-KG-Bench 3, Text2SparqlExecEval tasks.
"""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.datatypes import DECIMAL, FLOATS, INTEGERS, XSD
from pytest_llmkg.metrics.sets import SetMatch, match_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.contracts import QueryResult, Term

__all__ = ["answer_set", "match_names", "match_result", "shorten", "shown_answer_set"]

_DECIMAL_FORM = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_SHOWN = 15

Value = str | tuple[str, str]


def answer_set(result: QueryResult, prefixes: Mapping[str, str]) -> frozenset[Value]:
    """All values of all rows in one set: columns, row order and doubles do not count; unbound cells are dropped.

    IRIs are shortened with ``prefixes``, literals stand for their normalised lexical form. A literal that Python
    holds for false (0, false, the empty text) is published to match no reference; it becomes a pair, which no
    reference text can equal.
    """
    return frozenset(_value(term, prefixes) for row in result.rows for term in row if term is not None)


def match_result(values: frozenset[Value], reference: Sequence[str]) -> SetMatch:
    """Precision (1 for an empty result, as published), recall and F1 of ``values``."""
    return match_sets(values, frozenset(reference), empty_precision=1.0)


def shown_answer_set(values: frozenset[Value]) -> list[str]:
    """``answerSet`` of the info: sorted, the first 15, then ``...``."""
    texts = sorted(v if isinstance(v, str) else v[0] for v in values)
    return [*texts[:_SHOWN], "..."] if len(texts) > _SHOWN else texts


def match_names(
    answer: Iterable[str], reference: Iterable[str], prefixes: Mapping[str, str]
) -> tuple[SetMatch, SetMatch]:
    """Agreement of the IRIs in two queries: by (shortened) name, and by what follows the last colon of it.

    Args:
        answer: names in the answered query, as in `pytest_llmkg.contracts.QueryVerdict`.
        reference: names in the reference query.
        prefixes: used to shorten full IRIs; declarations inside the queries are not looked at.
    """
    given, right = (frozenset(_name(n, prefixes) for n in names) for names in (answer, reference))
    suffixes = (frozenset(n.rpartition(":")[2] for n in names) for names in (given, right))
    return match_sets(given, right, empty_precision=1.0), match_sets(*suffixes, empty_precision=1.0)


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """``prefix:rest`` with the longest namespace that fits, else ``<iri>``."""
    fitting = [(len(ns), prefix) for prefix, ns in prefixes.items() if ns and iri.startswith(ns)]
    if not fitting:
        return f"<{iri}>"
    length, prefix = max(fitting)
    return f"{prefix}:{iri[length:]}"


def _name(name: str, prefixes: Mapping[str, str]) -> str:
    return shorten(name[1:-1], prefixes) if name.startswith("<") else name


def _value(term: Term, prefixes: Mapping[str, str]) -> Value:
    if term.kind == "iri":
        return shorten(term.value, prefixes)
    if term.kind == "bnode":
        return f"_:{term.value}"
    text, falsy = _normalised(term.value, term.datatype)
    return (text, term.datatype or "") if falsy else text


def _normalised(lexical: str, datatype: str | None) -> tuple[str, bool]:
    """The lexical form as rdflib writes it back after reading its value, and whether that value is false in Python."""
    if datatype in INTEGERS and re.fullmatch(r"\s*[+-]?\d+\s*", lexical):
        # Digits only, so a hostile literal of a million digits is never turned into a number.
        digits = lexical.strip().lstrip("+-").lstrip("0") or "0"
        return ("-" if lexical.strip().startswith("-") and digits != "0" else "") + digits, digits == "0"
    if datatype in FLOATS:
        with contextlib.suppress(ValueError):
            return str(float(lexical)), float(lexical) == 0
    if datatype == DECIMAL and _DECIMAL_FORM.fullmatch(lexical):
        return f"{Decimal(lexical):f}", Decimal(lexical) == 0
    if datatype == XSD + "boolean" and lexical in {"true", "false", "1", "0"}:
        return ("true", False) if lexical in {"true", "1"} else ("false", True)
    return lexical, not lexical
