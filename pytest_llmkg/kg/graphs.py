"""Graphs that are trusted (case files, generators): read, write and compare them in this process.

Nothing here has a time limit; texts of a model go through `pytest_llmkg.kg.Sandbox` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.terms import from_oxigraph, to_oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Dataset

__all__ = ["TripleOfTerms", "isomorphic", "parse_triples", "serialise"]

TripleOfTerms: TypeAlias = tuple[Term, Term, Term]


def parse_triples(graph: GraphText) -> tuple[TripleOfTerms, ...]:
    """The triples of ``graph`` in text order, duplicates kept.

    Relative IRIs are resolved against ``BASE_IRI``. Blank nodes keep their labels where the text has some.

    Raises:
        UnknownNameError: an unknown format.
        UserError: the text does not parse, or holds named graphs or triple terms.
    """
    from pyoxigraph import parse

    known = format_named(graph.format)
    try:
        quads = list(
            parse(graph.text, known.oxigraph_format(), base_iri=BASE_IRI, without_named_graphs=True),
        )
    except (SyntaxError, ValueError) as error:
        raise UserError(f"the graph is no {known.title}: {error}") from error
    return tuple((from_oxigraph(q.subject), from_oxigraph(q.predicate), from_oxigraph(q.object)) for q in quads)


def serialise(triples: Iterable[TripleOfTerms], format_name: str, prefixes: Mapping[str, str] | None = None) -> str:
    """``triples`` as text, in the order given: the same input gives the same text in every process.

    Args:
        triples: what to write; consecutive triples of one subject are grouped where the format can.
        format_name: any name that `format_named` takes.
        prefixes: prefix to namespace; ignored by N-Triples and JSON-LD expanded form.

    Raises:
        UnknownNameError: an unknown format.
        UserError: a term that the format cannot hold.
    """
    from pyoxigraph import Triple, serialize

    known = format_named(format_name)
    names = dict(sorted((prefixes or {}).items()))
    try:
        rows = [Triple(*_terms(triple)) for triple in triples]
        data = serialize(rows, format=known.oxigraph_format(), prefixes=names)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(f"the triples cannot be written as {known.title}: {error}") from error
    return (data or b"").decode("utf-8")


def isomorphic(first: Iterable[TripleOfTerms], second: Iterable[TripleOfTerms]) -> bool:
    """Whether both are the same graph but for blank node labels and duplicates (RDF 1.1 Concepts, 3.6).

    Literals are compared as terms: ``"1"`` and ``"01"`` of xsd:integer differ. The time may grow exponentially with
    the number of blank nodes that look alike.

    Raises:
        UserError: a term that is no valid IRI or literal, or stands where its kind may not.
    """
    return _canonical(first) == _canonical(second)


def _canonical(triples: Iterable[TripleOfTerms]) -> Dataset:
    from pyoxigraph import CanonicalizationAlgorithm, Dataset, Quad

    try:
        data = Dataset(Quad(*_terms(triple)) for triple in triples)
    except (ValueError, TypeError) as error:
        raise UserError(f"the triples are no RDF graph: {error}") from error
    data.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return data


def _terms(triple: TripleOfTerms) -> tuple[Any, Any, Any]:
    """The engine's terms; it checks itself which kind may stand where."""
    return to_oxigraph(triple[0]), to_oxigraph(triple[1]), to_oxigraph(triple[2])
