"""Agreement of RDF graphs as sets of N-Triples lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sets import SetMatch, match_sets

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["match_triples"]

_BLANK_NODE = re.compile(r"_:\w+")


def match_triples(answer: Iterable[str], reference: Iterable[str]) -> SetMatch:
    """``contentPrecision``, ``contentRecall`` and ``contentF1`` of LLM-KG-Bench 3 (RdfSyntaxFixList).

    Blank node labels are erased, so which blank node carries which property is not compared, and lines that become
    equal collapse. The published rule also counts the empty text behind the last line break as a line of both graphs.
    """
    return match_sets(_lines(answer), _lines(reference))


def _lines(triples: Iterable[str]) -> frozenset[str]:
    return frozenset(_BLANK_NODE.sub("_:", line) for line in triples) | {""}
