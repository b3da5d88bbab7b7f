"""How well a generated graph of persons keeps to the asked numbers.

Rules as published with LLM-KG-Bench (TurtleSampleGeneration, recorded as SyntheticDatasetGeneration, 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.normal_form import nt_triples

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PersonGraph", "person_graph", "relative_error"]

_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_PERSON = "<http://xmlns.com/foaf/0.1/Person>"
_KNOWS = "<http://xmlns.com/foaf/0.1/knows>"


@dataclass(frozen=True, slots=True)
class PersonGraph:
    """The persons of a graph (subjects of type foaf:Person), each with the distinct objects of its foaf:knows."""

    known: Mapping[str, frozenset[str]]

    @property
    def count(self) -> int:
        """Number of persons."""
        return len(self.known)

    def linked_counts(self) -> list[int]:
        """Numbers of known nodes of any kind, of the persons that know any; as published."""
        return [len(nodes) for nodes in self.known.values() if nodes]

    def friend_counts(self) -> list[int]:
        """For every person the number of other persons that it knows."""
        return [len((nodes & self.known.keys()) - {person}) for person, nodes in self.known.items()]


def person_graph(lines: Iterable[str]) -> PersonGraph:
    """The persons that ``lines`` (N-Triples) state."""
    triples = tuple(nt_triples(lines))
    known: dict[str, set[str]] = {t.subject: set() for t in triples if (t.predicate, t.object) == (_TYPE, _PERSON)}
    for triple in triples:
        if triple.predicate == _KNOWS and triple.subject in known:
            known[triple.subject].add(triple.object)
    return PersonGraph({person: frozenset(nodes) for person, nodes in known.items()})


def relative_error(found: int, asked: int) -> float:
    """``persons_relative_error``: -1 for none, 0 for the asked number (``asked`` > 0), positive for too many."""
    return (found - asked) / asked
