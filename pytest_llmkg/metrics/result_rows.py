"""Agreement of two query results as rows of typed terms: the corrected counterpart of `results`."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.datatypes import NUMBERS, XSD
from pytest_llmkg.metrics.numbers_by_value import number_key
from pytest_llmkg.metrics.sequences import match_multisets, match_sequences
from pytest_llmkg.metrics.sets import SetMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.contracts import QueryResult, Term

__all__ = ["FURTHER_COLUMNS", "column_choices", "match_rows", "term_key"]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Choices of columns tried at the most: 3 of 8 columns are 336.
_MOST_CHOICES = 400
_MOST_STEPS = 10_000_000
FURTHER_COLUMNS = 3
"""Columns that an answer may have beyond those of the reference; with more, each could hold a guess."""

Key = tuple[str, ...]


def match_rows(answered: QueryResult, reference: QueryResult, *, ordered: bool) -> SetMatch:
    """Precision, recall and F1 of the rows of ``answered``.

    Rows are a multiset, or a sequence when ``ordered`` (the reference query has ORDER BY). Names and order of columns
    do not count, and up to three further columns are left out: the choice of answered columns that agrees best is
    taken. With more of them, which could hold a guess each, no row agrees. Numbers are compared by value, other
    literals with datatype and language, any blank node equals any other. Two empty results agree; an empty one agrees
    with no other. For ASK the two truth values are compared.
    """
    if answered.error is not None:
        return SetMatch(0.0, 0.0, 0.0)
    if answered.boolean is not None or reference.boolean is not None:
        right = float(answered.boolean is reference.boolean)
        return SetMatch(right, right, right)
    match = match_sequences if ordered else match_multisets
    wanted = [tuple(map(term_key, row)) for row in reference.rows]
    given = [tuple(map(term_key, row)) for row in answered.rows]
    width = len(wanted[0]) if wanted else 0
    if not wanted or not given or not width <= len(given[0]) <= width + FURTHER_COLUMNS:
        return match(given, wanted)
    choices = column_choices(given, wanted, width)
    if len(given) * len(wanted) * len(choices) > _MOST_STEPS:
        # Comparing in order takes a step for each pair of rows, so the columns are chosen without it.
        choices = [max(choices, key=lambda choice: match_multisets(_columns(given, choice), wanted).f1)]
    return max((match(_columns(given, choice), wanted) for choice in choices), key=lambda found: found.f1)


def term_key(term: Term | None) -> Key:
    """What ``term`` is compared by."""
    if term is None:
        return ("unbound",)
    if term.kind == "iri":
        return ("iri", term.value)
    if term.kind == "bnode":
        return ("bnode",)
    if term.datatype in NUMBERS:
        text = term.value.strip()
        # What XML Schema allows, which is less than float() reads.
        if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return ("number", number_key(text))
    return ("literal", term.value, term.datatype or f"{XSD}string", (term.language or "").lower())


def _columns(rows: Iterable[tuple[Key, ...]], choice: Sequence[int]) -> list[tuple[Key, ...]]:
    return [tuple(row[i] for i in choice) for row in rows]


def column_choices(given: list[tuple[Key, ...]], wanted: list[tuple[Key, ...]], width: int) -> list[tuple[int, ...]]:
    """Choices of ``width`` answered columns: all of them, or the likeliest one by the values shared."""
    columns = range(len(given[0]))
    if math.perm(len(columns), width) <= _MOST_CHOICES:
        return list(itertools.permutations(columns, width))
    likeness = [
        [(Counter(row[i] for row in given) & Counter(row[j] for row in wanted)).total() for i in columns]
        for j in range(width)
    ]
    chosen: list[int] = []
    for shared in likeness:
        chosen.append(max((i for i in columns if i not in chosen), key=lambda i, s=shared: (s[i], -i)))  # type: ignore[misc]
    return [tuple(chosen)]
