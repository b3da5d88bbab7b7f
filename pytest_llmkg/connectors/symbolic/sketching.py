"""Graphs that stand in for one that is not shown: examples of what a schema, or a list of names, allows to be said.

Queries are planned on shown facts. Where a prompt shows only the schema, or only names with labels, an example of each
class with each property is made up, so that the same plans can be drawn; they cannot be tried out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.facts import Triple
from pytest_llmkg.connectors.symbolic.lexicon import TYPE, read_table, schema_terms, superclasses
from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN
from pytest_llmkg.connectors.symbolic.words import stems_of
from pytest_llmkg.contracts import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_llmkg.connectors.symbolic.outlines import Outline

__all__ = ["Known", "is_schema", "sketch_list", "sketch_outline", "sketch_schema"]

_MOST_FACTS = 5_000
_MOST_NAMED = 6
_RDFS, _XSD, _OWL = WELL_KNOWN["rdfs"], WELL_KNOWN["xsd"], WELL_KNOWN["owl"]
_RDF_TEXT = f"{WELL_KNOWN['rdf']}langString"
_NAMES = frozenset({"name", "nam", "label", "title", "titl"})  # stems
_LABEL, _DOMAIN, _RANGE = f"{_RDFS}label", f"{_RDFS}domain", f"{_RDFS}range"
_EXAMPLES = {"date": "2000-01-01", "dateTime": "2000-01-01T00:00:00", "gYear": "2000", "boolean": "true"}
_QUOTED = re.compile(r'"([^"\n]{1,80})"(?:@([A-Za-z-]+))?')
_LANGUAGE = re.compile(r"@[A-Za-z-]+$")
_PREFIX = re.compile(r"(?<![\w.:/-])([A-Za-z][\w.-]*)?:(?=[\s,]|$)")
_GUESSED = (
    Term("literal", "1", f"{_XSD}integer"),
    Term("literal", "2000-01-01", f"{_XSD}date"),
    Term("literal", "1 a"),
)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts to plan on, with the labels and the prefixes of their names; ``made_up`` if they are only examples."""

    facts: tuple[Triple, ...]
    labels: Mapping[str, str]
    prefixes: Mapping[str, str]
    made_up: bool = False


def is_schema(facts: Sequence[Triple]) -> bool:
    """Whether ``facts`` declare classes and properties and say nothing of anything else."""
    declared = schema_terms(facts)
    subjects = {s.value for s, _, _ in facts if s.kind == "iri"}
    return {"class", "property"} <= set(declared.values()) and subjects <= set(declared)


def sketch_schema(facts: Sequence[Triple], question: str) -> tuple[Triple, ...]:
    """``facts`` with one example of each class, and every property between the examples of its domain and range.

    The texts that ``question`` quotes are labels of all examples and values of all properties for texts.
    """
    room = max(0, _MOST_FACTS - len(facts))
    return (*facts, *islice(_examples(facts, question), room))


def _examples(facts: Sequence[Triple], question: str) -> Iterator[Triple]:
    declared = schema_terms(facts)
    classes = [iri for iri, kind in declared.items() if kind == "class"]
    examples = {iri: Term("bnode", f"example{i}") for i, iri in enumerate(classes)}
    above = superclasses(facts)
    quoted = [Term("literal", text, None, language or None) for text, language in _QUOTED.findall(question)]
    for iri, node in examples.items():
        yield node, Term("iri", TYPE), Term("iri", iri)
        yield from _links(_LABEL, [node], quoted or [_GUESSED[2]])
    for iri in (i for i, kind in declared.items() if kind == "property"):
        domains, ranges = (_values(facts, iri, end) for end in (_DOMAIN, _RANGE))
        subjects = _examples_of(domains, examples, above)
        objects = [*_examples_of(ranges, examples, above)] if _leads_to_things(facts, iri, ranges) else []
        yield from _links(iri, subjects, objects or _literals(ranges, quoted))


def sketch_outline(outline: Outline, question: str, language: str) -> Known:
    """Facts from a shown list of classes with their properties: one example of each, linked as the list says.

    The texts that ``question`` quotes are names of all examples, by the properties that mean a name; only a class
    without such a property has them as values of all its texts. Labels are in ``language`` where they can be.
    """
    listed = {r for uses in outline.classes.values() for ranges in uses.values() for r in ranges}
    things = [iri for iri in dict.fromkeys((*outline.classes, *sorted(listed))) if _is_class(iri, outline)]
    examples = {iri: Term("bnode", f"example{i}") for i, iri in enumerate(things)}
    quoted = [text for text, _ in _QUOTED.findall(question)]
    made = [(node, Term("iri", TYPE), Term("iri", iri)) for iri, node in examples.items()]
    for iri, uses in outline.classes.items():
        names = [use for use in uses if {*stems_of(re.split(r"[/#:]", use)[-1])} & _NAMES] or list(uses)
        for use, ranges in uses.items():
            objects = [examples[r] for r in ranges if r in examples]
            objects += _outlined_literals(ranges, quoted if use in names else [], language)
            made += _links(use, [examples[iri]], objects)
    return Known(tuple(made[:_MOST_FACTS]), outline.labels, outline.prefixes, made_up=True)


def _is_class(iri: str, outline: Outline) -> bool:
    return iri in outline.classes or not iri.startswith((_XSD, "@", _RDF_TEXT))


def _outlined_literals(ranges: Sequence[str], quoted: Sequence[str], language: str) -> list[Term]:
    tags = [r[1:] for r in ranges if r.startswith("@")] + [language] * (_RDF_TEXT in ranges)
    if tags:
        tag = language if language in tags else tags[0]
        return [Term("literal", text, None, tag) for text in (*quoted, _GUESSED[2].value)]
    types = [r for r in ranges if r.startswith(_XSD)]
    return _literals(types, [Term("literal", text) for text in quoted]) if types else []


def sketch_list(table: str, prose: str, question: str) -> Known:
    """Facts from a CSV list of names with labels, which says neither what is a class nor what fits together.

    A name in capitals is a class; of the others, one whose label is in lower case is a property, and the rest are
    things, of which those count that ``question`` names.
    """
    prefixes = {m[1] or "": f"{m[1] or ''}:" for m in _PREFIX.finditer(prose)}
    prefixes |= {line.partition(":")[0]: line.partition(":")[0] + ":" for line in table.splitlines() if ":" in line}
    prefixes |= {p: WELL_KNOWN[p] for p in ("rdf", "rdfs", "xsd", "owl")}
    labels = {iri: _plain(label) for iri, label in read_table(table, prefixes).items()}
    words = set(stems_of(question))
    kinds = {iri: _guess(iri, label) for iri, label in labels.items()}
    named = [i for i, kind in kinds.items() if kind == "thing" and set(stems_of(labels[i])) <= words][:_MOST_NAMED]
    example, other = Term("bnode", "example"), Term("bnode", "other")
    made = [(example, Term("iri", TYPE), Term("iri", iri)) for iri, kind in kinds.items() if kind == "class"]
    made += [(Term("iri", iri), Term("iri", _LABEL), Term("literal", labels[iri])) for iri in named]
    made += [(example, Term("iri", _LABEL), _GUESSED[2])]
    things = [Term("iri", iri) for iri in named]
    for iri in (i for i, kind in kinds.items() if kind == "property"):
        # Away from the example of all classes, mostly: without a schema, a property of its is likelier than one to it.
        made += _links(iri, [example], [other, *things, *_GUESSED])
        made += _links(iri, [other], [*things, *_GUESSED])
        made += _links(iri, things, [example, *_GUESSED])
    return Known(tuple(made[:_MOST_FACTS]), labels, prefixes, made_up=True)


def _plain(label: str) -> str:
    """The first of several labels, without its language."""
    return _LANGUAGE.sub("", label.partition(" | ")[0].strip())


def _guess(iri: str, label: str) -> str:
    local = re.split(r"[/#:]", iri)[-1]
    if local[:1].isupper() and label[:1].islower():
        return "class"
    return "property" if label[:1].islower() else "thing"


def _links(iri: str, subjects: Iterable[Term], objects: Sequence[Term]) -> Iterator[Triple]:
    for subject in subjects:
        for thing in objects:
            yield subject, Term("iri", iri), thing


def _values(facts: Sequence[Triple], iri: str, predicate: str) -> list[str]:
    return [o.value for s, p, o in facts if s.value == iri and p.value == predicate and o.kind == "iri"]


def _examples_of(
    classes: Sequence[str], examples: Mapping[str, Term], above: Mapping[str, tuple[str, ...]]
) -> Iterator[Term]:
    """The examples of ``classes`` and of those below them; of all classes if none is given or known."""
    known = [iri for iri in classes if iri in examples]
    for iri, node in examples.items():
        if not known or iri in known or any(a in known for a in above.get(iri, ())):
            yield node


def _leads_to_things(facts: Sequence[Triple], iri: str, ranges: Sequence[str]) -> bool:
    if ranges:
        return not any(r.startswith(_XSD) or r.endswith(("#langString", "#Literal")) for r in ranges)
    kinds = {o.value for s, p, o in facts if s.value == iri and p.value == TYPE}
    return f"{_OWL}DatatypeProperty" not in kinds


def _literals(ranges: Sequence[str], quoted: Sequence[Term]) -> list[Term]:
    types = [r for r in ranges if r.startswith(_XSD) and not r.endswith("#string")]
    if types:
        return [Term("literal", _EXAMPLES.get(t.removeprefix(_XSD), "1"), t) for t in types]
    return [*quoted, _GUESSED[2]]
