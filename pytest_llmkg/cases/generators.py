"""Generated cases: the same parameters and seed give the same case, to the byte, in every process."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import Term
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.kg.graphs import TripleOfTerms, serialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.plain import Json

__all__ = ["FriendGraph", "friend_graph"]

_PEOPLE = "https://kg.example/people/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_MOST_EDGES = 1_000_000
_TYPE = Term("iri", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@dataclass(frozen=True, slots=True)
class FriendGraph:
    """A graph of persons in which one, the special node, is known by more persons than every other one."""

    text: str
    triples: int
    special_node: str
    special_friends: tuple[str, ...]


def friend_graph(parameters: Mapping[str, Json], seed: int) -> FriendGraph:
    """The graph of LLM-KG-Bench's RdfFriendCount, its triples in an order drawn from ``seed``.

    Person i knows the persons i+1 .. i+knowsCount (modulo n); the first ``specialAddKnowsCount`` persons also know
    the special person. The published generator draws nothing and lists subjects in an order that gives the answer
    away or depends on the process; here persons and their triples are shuffled.

    Args:
        parameters: ``format``, ``n``, ``knowsCount``, ``specialIndex`` (from 0), ``specialAddKnowsCount``.
        seed: of the run.

    Raises:
        CaseFileError: the parameters do not make the special node the only best known one, or the graph is too large.
        UnknownNameError: an unknown format.
    """
    n, knows = _number(parameters, "n"), _number(parameters, "knowsCount")
    special, added = _number(parameters, "specialIndex"), _number(parameters, "specialAddKnowsCount")
    _check(n, knows, special, added)
    friends = range(added)
    known = [
        sorted({(i + step) % n for step in range(1, knows + 1)} | ({special} if i < added else set())) for i in range(n)
    ]
    # The order must be the same for all formats of a case, so the format does not enter the seed.
    order = random.Random(f"{seed}/{n}/{knows}/{special}/{added}")  # noqa: S311  (no secret)
    persons = list(range(n))
    order.shuffle(persons)
    triples = [triple for person in persons for triple in _person(person, known[person], order)]
    text = serialise(triples, _format(parameters), {"people": _PEOPLE, "foaf": _FOAF})
    return FriendGraph(text, len(triples), _iri(special).value, tuple(_name(i) for i in friends))


def _check(n: int, knows: int, special: int, added: int) -> None:
    given = f"n={n}, knowsCount={knows}, specialIndex={special}, specialAddKnowsCount={added}"
    # The last of the first `added` persons knows those up to added - 1 + knows; the special one must lie behind.
    if not (knows > 0 and 0 < added <= special - knows and special < n):
        raise CaseFileError(
            f"{given}: one or more of the first persons must also know the special person, who must not be one of "
            f"them nor known to them already; raise specialIndex or n"
        )
    if n * knows > _MOST_EDGES:
        raise CaseFileError(f"{given}: n times knowsCount may be {_MOST_EDGES} at most")


def _person(person: int, known: list[int], order: random.Random) -> list[TripleOfTerms]:
    order.shuffle(known)
    foaf_person, foaf_knows = Term("iri", f"{_FOAF}Person"), Term("iri", f"{_FOAF}knows")
    return [
        (_iri(person), _TYPE, foaf_person),
        *((_iri(person), foaf_knows, _iri(target)) for target in known),
    ]


def _iri(person: int) -> Term:
    return Term("iri", _PEOPLE + _name(person))


def _name(person: int) -> str:
    return f"person-{person + 1:08d}"


def _number(parameters: Mapping[str, Json], name: str) -> int:
    value = parameters.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise CaseFileError(f"parameter {name!r} must be a whole number, found {value!r}")
    return value


def _format(parameters: Mapping[str, Json]) -> str:
    value = parameters.get("format")
    if not isinstance(value, str):
        raise CaseFileError(f"parameter 'format' must be a text, found {value!r}")
    return value
