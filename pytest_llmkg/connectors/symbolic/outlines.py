"""Schemas and examples that a prompt shows as plain lists: which classes there are, with their properties and ranges.

Besides RDF, three notations are read: a line ``class: property (range or range); property``, shapes
``class { property range ; }`` with labels behind ``#``, and nested lists ``- class`` and ``  - property (range)``.
Names are prefixed or in angle brackets; a prompt tells its prefixes as ``name: <namespace>``, each on its own line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.lexicon import TYPE, is_meta
from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN, expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_llmkg.connectors.symbolic.facts import Triple

__all__ = ["Outline", "find_examples", "outline_of", "read_outline", "without_examples"]

_DOMAIN, _RANGE_OF = f"{WELL_KNOWN['rdfs']}domain", f"{WELL_KNOWN['rdfs']}range"
_NAME = r"(?:<[^<>\s]+>|(?:[A-Za-z][\w-]*)?:[A-Za-z_][\w-]*)"
_RANGE = rf"(?:{_NAME}|@[A-Za-z-]+|IRI)"
_PREFIX = re.compile(r"^[ \t]*([A-Za-z][\w-]*)?:[ \t]+<([^<>\s]+)>[ \t]*$", re.MULTILINE)
_LINE = re.compile(rf"({_NAME}):[ \t]+(\S.*)")
_LISTED = re.compile(rf"({_NAME})(?:[ \t]+\(([^()]*)\))?")
_SHAPE = re.compile(rf"({_NAME})[ \t]*\{{")
_IN_SHAPE = re.compile(rf"({_NAME})((?:[ \t]+(?:\[|\]|OR\b|{_RANGE}))*)[ \t]*;?")
_ITEM = re.compile(rf"([ \t]*)-[ \t]+({_NAME})(?:[ \t]+\(([^()]*)\))?[ \t]*")
_EXAMPLE = re.compile(
    r"^[ \t>*#]*Example\b[^\n:]{0,20}:[ \t]*(?P<question>\S[^\n]*)\n\s*"
    r"```(?:sparql|rq)[ \t]*\n(?P<query>.*?)\n?[ \t]*```",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outline:
    """The shown classes, each with its properties and their ranges, all by IRI; ``@en`` stands for texts in English.

    ``labels`` are those of classes, ``prefixes`` all that the prompt tells.
    """

    classes: Mapping[str, Mapping[str, tuple[str, ...]]]
    labels: Mapping[str, str]
    prefixes: Mapping[str, str]


def find_examples(text: str) -> tuple[tuple[str, str], ...]:
    """The questions with a query each that ``text`` shows: ``Example: question``, then a fenced block."""
    return tuple((m["question"].strip(), m["query"].strip()) for m in _EXAMPLE.finditer(text.replace("\r\n", "\n")))


def without_examples(text: str) -> str:
    """``text`` without what `find_examples` finds in it."""
    return _EXAMPLE.sub("", text.replace("\r\n", "\n"))


def read_outline(text: str) -> Outline | None:
    """The schema in ``text``, None when it shows no class with a property."""
    prefixes = {m[1] or "": m[2] for m in _PREFIX.finditer(text)}
    classes: dict[str, dict[str, tuple[str, ...]]] = {}
    labels: dict[str, str] = {}
    for name, label, uses in tuple(_described(text)):  # a class is told before its properties
        iri = _iri(name, prefixes)
        if iri is None:
            continue
        if label:
            labels.setdefault(iri, label)
        known = classes.setdefault(iri, {})
        for use, ranges in uses:
            full = _iri(use, prefixes)
            if full is not None:
                known.setdefault(full, tuple(r for r in (_iri(one, prefixes) for one in ranges) if r))
    return Outline(classes, labels, prefixes) if any(classes.values()) else None


def outline_of(facts: Sequence[Triple], prefixes: Mapping[str, str]) -> Outline | None:
    """The schema that a graph is, by the domains and ranges of its properties; None for a graph with things in it."""
    if any(p.value == TYPE and not is_meta(o.value) for _, p, o in facts):
        return None
    ranges: dict[str, list[str]] = {}
    for s, p, o in facts:
        if p.value == _RANGE_OF:
            ranges.setdefault(s.value, []).append(o.value)
    classes: dict[str, dict[str, tuple[str, ...]]] = {}
    for s, p, o in facts:
        if p.value == _DOMAIN:
            classes.setdefault(o.value, {})[s.value] = tuple(ranges.get(s.value, ()))
    return Outline(classes, {}, prefixes) if classes else None


_Uses = list[tuple[str, list[str]]]


def _described(text: str) -> Iterator[tuple[str, str, _Uses]]:
    """Each class as written, with its first label and its properties as written."""
    uses: _Uses | None = None  # of the open shape or list item
    is_shape, label = False, ""
    for line in text.splitlines():
        row, item = line.strip(), _ITEM.fullmatch(line)
        inside = _IN_SHAPE.fullmatch(row) if is_shape else None
        if row.startswith("#"):
            label = row.lstrip("# ").partition(" / ")[0]
        elif row == "}":
            is_shape = False
        elif inside and uses is not None:
            uses.append((inside[1], re.findall(_RANGE, inside[2])))
        elif item and item[1] and uses is not None:
            uses.append((item[2], re.findall(_RANGE, item[3] or "")))
        elif shape := _SHAPE.fullmatch(row):
            uses, is_shape = [], True
            yield shape[1], label, uses
            label = ""
        elif item and not item[1]:
            uses = []
            yield item[2], "", uses
        elif found := _LINE.fullmatch(row):
            listed = [_LISTED.fullmatch(part.strip()) for part in found[2].split(";")]
            if all(listed):
                yield found[1], "", [(m[1], re.findall(_RANGE, m[2] or "")) for m in listed if m]


def _iri(name: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI of a name; a language tag stands for itself, and what is no name for nothing."""
    if name.startswith("@"):
        return name
    if name.startswith("<"):
        return name[1:-1]
    prefix, colon, local = name.partition(":")
    return expand(prefix, local, prefixes) if colon else None
