"""A shown graph as triples in an order that depends on its facts alone, and not on hashes or parser runs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Triple", "load_facts", "term_key"]

Triple = tuple[Term, Term, Term]
_ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
_ROUNDS = 3


def load_facts(graph: GraphText, engine: KgEngine) -> tuple[Triple, ...]:
    """The triples of ``graph``, sorted, blank nodes named ``b0``, ``b1`` ... by what is said of them.

    Empty when the text is no RDF or too large for the engine's limits.
    """
    result = engine.run_query(graph, _ALL, {})
    if result.error is not None:
        return ()
    triples = [(s, p, o) for s, p, o in result.rows if s is not None and p is not None and o is not None]
    names = _stable_names(triples)
    renamed = {(_renamed(s, names), p, _renamed(o, names)) for s, p, o in triples}
    return tuple(sorted(renamed, key=lambda t: tuple(map(term_key, t))))


def term_key(term: Term) -> tuple[str, str, str, str]:
    """A sort key for terms of all kinds."""
    return term.kind, term.value, term.datatype or "", term.language or ""


def _renamed(term: Term, names: Mapping[str, str]) -> Term:
    return Term("bnode", names[term.value]) if term.kind == "bnode" else term


def _stable_names(triples: Iterable[Triple]) -> dict[str, str]:
    """Names by colour refinement: nodes that are told apart by their surroundings get names in a fixed order."""
    triples = list(triples)
    colours = {t.value: "" for triple in triples for t in triple if t.kind == "bnode"}
    for _ in range(_ROUNDS):
        seen: dict[str, list[str]] = {label: [] for label in colours}
        for s, p, o in triples:
            if s.kind == "bnode":
                seen[s.value].append(f"> {p.value} {_shown(o, colours)}")
            if o.kind == "bnode":
                seen[o.value].append(f"< {p.value} {_shown(s, colours)}")
        colours = {label: hashlib.sha256("\n".join(sorted(d)).encode()).hexdigest() for label, d in seen.items()}
    return {label: f"b{i}" for i, label in enumerate(sorted(colours, key=lambda c: (colours[c], c)))}


def _shown(term: Term, colours: Mapping[str, str]) -> str:
    return colours[term.value] if term.kind == "bnode" else "\t".join(term_key(term))
