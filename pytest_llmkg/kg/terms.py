"""RDF terms between this package's `Term` and the engine's own classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import Term
from pytest_llmkg.errors import EngineError

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode

__all__ = ["RDF_TYPE", "XSD", "XSD_STRING", "from_oxigraph", "to_oxigraph"]

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = f"{XSD}string"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def from_oxigraph(term: object) -> Term:
    """``term`` of pyoxigraph as `Term`; a plain string has no datatype, a language-tagged one only its tag.

    Raises:
        EngineError: a term that RDF 1.1 does not know (a triple term).
    """
    from pyoxigraph import BlankNode, Literal, NamedNode

    if isinstance(term, NamedNode):
        return Term("iri", term.value)
    if isinstance(term, BlankNode):
        return Term("bnode", term.value)
    if isinstance(term, Literal):
        if term.language is not None:
            return Term("literal", term.value, language=term.language)
        datatype = term.datatype.value
        return Term("literal", term.value, None if datatype == XSD_STRING else datatype)
    raise EngineError(f"a {type(term).__name__} is no term of RDF 1.1; use IRIs, blank nodes and literals only")


def to_oxigraph(term: Term) -> NamedNode | BlankNode | Literal:
    """``term`` as pyoxigraph's class.

    Raises:
        ValueError: not a valid IRI, blank node label or language tag.
    """
    from pyoxigraph import BlankNode, Literal, NamedNode

    if term.kind == "iri":
        return NamedNode(term.value)
    if term.kind == "bnode":
        return BlankNode(term.value)
    if term.language is not None:
        return Literal(term.value, language=term.language)
    return Literal(term.value, datatype=NamedNode(term.datatype or XSD_STRING))
