"""Which nodes, classes, predicates and literals of a graph a question names."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN, expand
from pytest_llmkg.connectors.symbolic.words import FILLERS, stem, stems_of
from pytest_llmkg.contracts import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_llmkg.connectors.symbolic.facts import Triple

__all__ = [
    "SUBCLASS",
    "TYPE",
    "Lexicon",
    "Mention",
    "build_lexicon",
    "find_mentions",
    "is_meta",
    "read_table",
    "schema_terms",
    "superclasses",
]

TYPE = f"{WELL_KNOWN['rdf']}type"
SUBCLASS = f"{WELL_KNOWN['rdfs']}subClassOf"
_LABEL_WORDS = frozenset({("label",), ("name",), ("nam",), ("title",), ("titl",), ("pref", "label")})


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The names (sequences of stems) of a graph's terms."""

    nodes: Mapping[Term, tuple[tuple[str, ...], ...]]
    classes: Mapping[Term, tuple[tuple[str, ...], ...]]
    predicates: Mapping[str, tuple[tuple[str, ...], ...]]
    labels: tuple[str, ...]

    def predicate_words(self, iri: str) -> frozenset[str]:
        """The words of a predicate's names that say something."""
        return frozenset(w for name in self.predicates.get(iri, ()) for w in name if w not in FILLERS)


@dataclass(frozen=True, slots=True)
class Mention:
    """``term`` is named by the question's words ``[start, end)``."""

    term: Term
    start: int
    end: int


def read_table(text: str | None, prefixes: Mapping[str, str]) -> dict[str, str]:
    """The labels of a two-column CSV table by full IRI."""
    labels = {}
    for row in csv.reader((text or "").splitlines()):
        if len(row) < 2:
            continue
        name = row[0].strip().strip("<>")
        prefix, _, local = name.partition(":")
        iri = name if "//" in name else expand(prefix, local, prefixes)
        if iri:
            labels[iri] = row[1].strip()
    return labels


def build_lexicon(facts: Sequence[Triple], table: Mapping[str, str]) -> Lexicon:
    """The names that local names, label properties, a schema inside the graph and ``table`` give to its terms."""
    schema = schema_terms(facts)
    used = {p.value for _, p, _ in facts} - {TYPE}
    own = {iri: _names(iri, table) for iri in used}
    labels = tuple(sorted(iri for iri in used if any(name in _LABEL_WORDS for name in own[iri])))
    given: dict[Term, list[tuple[str, ...]]] = {}
    for s, p, o in facts:
        if p.value in labels and o.kind == "literal" and s.kind == "iri":
            given.setdefault(s, []).append(stems_of(o.value))
    classes = {o.value for _, p, o in facts if p.value == TYPE and not is_meta(o.value)}
    classes |= {iri for iri, kind in schema.items() if kind == "class"}
    predicates = {iri for iri in used if not is_meta(iri) or iri in labels}

    def names(term: Term) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys(n for n in (*_names(term.value, table), *given.get(term, ())) if n))

    return Lexicon(
        {
            t: names(t) if t.kind == "iri" else (stems_of(t.value),)
            for t in _nodes(facts, labels, {*used, *classes, *schema})
        },
        {Term("iri", iri): names(Term("iri", iri)) for iri in sorted(classes)},
        {iri: names(Term("iri", iri)) for iri in sorted(predicates)},
        labels,
    )


def schema_terms(facts: Iterable[Triple]) -> dict[str, str]:
    """The IRIs that the graph itself declares as ``class`` or ``property``."""
    found = {}
    for s, p, o in facts:
        if p.value == TYPE and s.kind == "iri" and is_meta(o.value):
            found[s.value] = "class" if o.value.endswith("Class") else "property"
    return found


def is_meta(iri: str) -> bool:
    """Whether ``iri`` belongs to the vocabularies that schemas are written in."""
    return iri.startswith((WELL_KNOWN["owl"], WELL_KNOWN["rdfs"], WELL_KNOWN["rdf"]))


def _nodes(facts: Sequence[Triple], labels: tuple[str, ...], taken: set[str]) -> list[Term]:
    """The things that are talked about, and the texts that name nothing else."""
    nodes: dict[Term, None] = {}
    for s, p, o in facts:
        if s.value in taken:
            continue
        for term in (s, o):
            if term.kind == "iri" and term.value not in taken and not is_meta(term.value):
                nodes.setdefault(term)
        is_label = p.value in labels and s.kind == "iri"
        if o.kind == "literal" and not is_label and re.search(r"[^\W\d_]", o.value) and len(o.value) < 80:
            nodes.setdefault(o)
    return list(nodes)


def _names(iri: str, table: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    local = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
    texts = [table[iri]] if iri in table else []
    if re.search(r"[^\W\d_]", local):
        texts.append(local)
    return tuple(dict.fromkeys(n for n in map(stems_of, texts) if n))


def find_mentions(words: Sequence[str], lexicon: Lexicon) -> tuple[list[Mention], list[Mention]]:
    """The nodes and the classes that ``words`` (lower case, in order) name, each by its place.

    A longer name wins over a shorter one in the same place. A node counts by a whole name or, if no node is so named,
    by a word that only this node's names hold. A class counts by its whole name or by its last word (``unit`` for
    ``organizational unit``).
    """
    stems = [stem(word) for word in words]
    heads = {t: (*n, *(name[-1:] for name in n)) for t, n in lexicon.classes.items()}
    classes = _longest(_matches(stems, heads))
    class_words = {w for names in lexicon.classes.values() for name in names for w in name}
    predicate_words = {w for iri in lexicon.predicates for w in lexicon.predicate_words(iri)}
    found = list(_matches(stems, lexicon.nodes))
    # A single word that also names a predicate or class is more likely meant as that.
    found = [m for m in found if m.end - m.start > 1 or stems[m.start] not in class_words | predicate_words]
    if not found:
        found = list(_partial(words, stems, lexicon, class_words | predicate_words))
    nodes = _longest(found)
    inside = {i for m in nodes for i in range(m.start, m.end)}
    return nodes, [c for c in classes if not inside & set(range(c.start, c.end))]


def _matches(stems: Sequence[str], names: Mapping[Term, Iterable[tuple[str, ...]]]) -> Iterator[Mention]:
    for term, all_names in names.items():
        for name in all_names:
            for start in range(len(stems) - len(name) + 1):
                if tuple(stems[start : start + len(name)]) == name and not set(name) <= FILLERS:
                    yield Mention(term, start, start + len(name))


def _partial(words: Sequence[str], stems: Sequence[str], lexicon: Lexicon, common: set[str]) -> Iterator[Mention]:
    for place, word in enumerate(stems):
        if len(words[place]) < 4 or word in common or word in FILLERS:
            continue
        owners = [t for t, names in lexicon.nodes.items() if any(word in name for name in names)]
        if len(owners) == 1:
            yield Mention(owners[0], place, place + 1)


def _longest(mentions: Iterable[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.start, m.term.value)):
        if not any(mention.start < k.end and k.start < mention.end for k in kept):
            kept.append(mention)
    return sorted(kept, key=lambda m: m.start)


def superclasses(facts: Sequence[Triple]) -> dict[str, tuple[str, ...]]:
    """All classes above each class that has some."""
    direct: dict[str, list[str]] = {}
    for s, p, o in facts:
        if p.value == SUBCLASS and s != o:
            direct.setdefault(s.value, []).append(o.value)
    above: dict[str, tuple[str, ...]] = {}
    for iri, nearest in direct.items():
        found: dict[str, None] = {}
        todo = list(nearest)
        while todo:
            following = todo.pop()
            if following not in found:
                found[following] = None
                todo += direct.get(following, [])
        above[iri] = tuple(found)
    return above
