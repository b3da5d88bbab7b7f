"""What a graph extracted from a data sheet states: listed values, dimensions and units.

Rules as published with LLM-KG-Bench (FactExtractStatic, 2023). Terms are compared as N-Triples writes them, so
literals by lexical form and datatype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.normal_form import NtTriple, nt_triples
from pytest_llmkg.metrics.sets import SetMatch, match_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["FactProperties", "fact_matches"]


@dataclass(frozen=True, slots=True)
class FactProperties:
    """The IRIs by which the facts are found in a graph.

    Attributes:
        main_list: property of the values that are scored as ``printMat_*``.
        second_list: property of the values that are scored as ``supportMat_*``.
        dimensions: properties from the thing to its dimensions.
        value: property from a dimension to its number.
        unit: property from a dimension to its unit.
    """

    main_list: str
    second_list: str
    dimensions: Sequence[str]
    value: str
    unit: str


def fact_matches(
    answer: Iterable[str], reference: Iterable[str], properties: FactProperties, *, empty_precision: float
) -> Mapping[str, SetMatch]:
    """Agreement by published name: ``printMat``, ``supportMat``, ``DimValues`` and ``DimUnit``.

    Subjects are not looked at. ``DimUnit`` takes any property that points at a node with a unit.

    Args:
        answer: N-Triples lines.
        reference: N-Triples lines.
        properties: where the facts are.
        empty_precision: precision when the answer states nothing; published is 1.
    """
    given, wanted = (_facts(tuple(nt_triples(lines)), properties) for lines in (answer, reference))
    return {name: match_sets(given[name], wanted[name], empty_precision=empty_precision) for name in wanted}


def _facts(triples: Sequence[NtTriple], properties: FactProperties) -> Mapping[str, frozenset[object]]:
    dimensions = {f"<{iri}>" for iri in properties.dimensions}
    pairs = _joined(triples, f"<{properties.value}>")
    return {
        "printMat": _objects(triples, properties.main_list),
        "supportMat": _objects(triples, properties.second_list),
        "DimValues": frozenset(pair for pair in pairs if pair[0] in dimensions),
        "DimUnit": _joined(triples, f"<{properties.unit}>"),
    }


def _objects(triples: Iterable[NtTriple], iri: str) -> frozenset[object]:
    return frozenset(t.object for t in triples if t.predicate == f"<{iri}>")


def _joined(triples: Sequence[NtTriple], end: str) -> frozenset[tuple[str, str]]:
    """The pairs (property that points at a node, what the node has by the property ``end``)."""
    held: dict[str, set[str]] = {}
    for triple in triples:
        if triple.predicate == end:
            held.setdefault(triple.subject, set()).add(triple.object)
    return frozenset((t.predicate, value) for t in triples for value in held.get(t.object, ()))
