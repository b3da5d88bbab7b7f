"""Agreement of RDF graphs with their blank nodes matched as well as can be: the corrected counterpart of `triples`."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sequences import match_multisets
from pytest_llmkg.metrics.sets import SetMatch, harmonic_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["match_erased", "match_graphs"]

Triple = tuple[str, str, str]

# Steps of the search for a better matching; small graphs are matched exactly far below it.
_MOST_STEPS = 20_000
_MOST_BLANK_NODES = 500


def match_graphs(answer: Iterable[str], reference: Iterable[str]) -> SetMatch:
    """Precision, recall and F1 of the answer's triples under the best matching of blank nodes that is found.

    Each blank node of one graph stands for at most one of the other. The search is exact for graphs whose blank nodes
    are few or well told apart by what is said of them, and a lower bound where its limit of steps is hit. Graphs with
    more than 500 blank nodes, which no reference comes near, are compared with all blank nodes alike. Two empty graphs
    agree.

    Args:
        answer: N-Triples lines.
        reference: N-Triples lines.
    """
    given, wanted = ({_parse(line) for line in lines if line.strip()} for lines in (answer, reference))
    if not given and not wanted:
        return SetMatch(1.0, 1.0, 1.0)
    if max(len(_blank_nodes(triples)) for triples in (given, wanted)) > _MOST_BLANK_NODES:
        hits = (Counter(map(_blurred, given)) & Counter(map(_blurred, wanted))).total()
    else:
        hits = _Search(given, wanted).best()
    precision = hits / len(given) if given else 0.0
    recall = hits / len(wanted) if wanted else 0.0
    return SetMatch(precision, recall, harmonic_mean(precision, recall))


def match_erased(answer: Iterable[str], reference: Iterable[str]) -> SetMatch:
    """The same with all blank nodes alike, as a multiset: what `match_graphs` can reach at most.

    Where both agree, it makes no difference which blank node carries which property.
    """
    given, wanted = ([_blurred(_parse(line)) for line in set(lines) if line.strip()] for lines in (answer, reference))
    return match_multisets(given, wanted)


def _parse(line: str) -> Triple:
    subject, predicate, rest = line.strip().split(" ", 2)
    return subject, predicate, rest.removesuffix(".").rstrip()


def _blurred(triple: Triple) -> Triple:
    subject, predicate, target = ("_:" if _is_blank(term) else term for term in triple)
    return subject, predicate, target


def _is_blank(term: str) -> bool:
    return term.startswith("_:")


def _blank_nodes(triples: Iterable[Triple]) -> list[str]:
    return sorted({term for s, _, o in triples for term in (s, o) if _is_blank(term)})


class _Search:
    """Branch and bound over the partial matchings of blank nodes, the most promising pairs first."""

    def __init__(self, given: set[Triple], wanted: set[Triple]) -> None:
        ground = {t for t in given if not (_is_blank(t[0]) or _is_blank(t[2]))}
        self._ground_hits = len(ground & wanted)
        self._wanted = wanted
        self._loose = given - ground
        self._at: dict[str, list[Triple]] = defaultdict(list)
        for triple in sorted(self._loose):
            for node in {t for t in (triple[0], triple[2]) if _is_blank(t)}:
                self._at[node].append(triple)
        colours, wanted_colours = _colours(self._loose), _colours(wanted)
        targets = _blank_nodes(wanted)
        self._candidates = {
            node: sorted(
                targets,
                key=lambda t, n=node: (-(colours[n] & wanted_colours[t]).total(), t),  # type: ignore[misc]
            )
            for node in self._at
        }
        best = {n: (colours[n] & wanted_colours[c[0]]).total() if c else 0 for n, c in self._candidates.items()}
        self._order = sorted(self._at, key=lambda n: (-best[n], -len(self._at[n]), n))
        self._steps = 0
        self._best = 0

    def best(self) -> int:
        """The number of triples in common under the best matching found."""
        self._extend(0, {}, set(), 0, len(self._loose))
        return self._ground_hits + self._best

    def _extend(self, depth: int, mapping: dict[str, str], used: set[str], hits: int, open_: int) -> None:
        self._best = max(self._best, hits)
        self._steps += 1
        if depth == len(self._order) or hits + open_ <= self._best or self._steps > _MOST_STEPS:
            return
        node = self._order[depth]
        for target in (*(c for c in self._candidates[node] if c not in used), None):
            closed, more = self._decided(node, target, mapping)
            if target is None:
                self._extend(depth + 1, mapping | {node: ""}, used, hits, open_ - closed)
            else:
                self._extend(depth + 1, mapping | {node: target}, used | {target}, hits + more, open_ - closed)

    def _decided(self, node: str, target: str | None, mapping: Mapping[str, str]) -> tuple[int, int]:
        """How many triples are decided when ``node`` becomes ``target``, and how many of them are hits."""
        known = {**mapping, node: target or ""}
        closed = hits = 0
        for s, p, o in self._at[node]:
            if all(not _is_blank(term) or term in known for term in (s, o)):
                closed += 1
                hits += (known.get(s, s), p, known.get(o, o)) in self._wanted
        return closed, hits


def _colours(triples: Iterable[Triple]) -> dict[str, Counter[tuple[str, str, str]]]:
    """What is said of each blank node, other blank nodes being all alike."""
    found: dict[str, Counter[tuple[str, str, str]]] = defaultdict(Counter)
    for s, p, o in triples:
        if _is_blank(s):
            found[s]["out", p, "_:" if _is_blank(o) else o] += 1
        if _is_blank(o):
            found[o]["in", p, "_:" if _is_blank(s) else s] += 1
    return found
