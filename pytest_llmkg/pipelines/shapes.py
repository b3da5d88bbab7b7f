"""A graph's schema as a prompt shows it: the kept part of a profile, and a shape for each class."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.pipelines.prompting import on_one_line
from pytest_llmkg.pipelines.void import is_datatype
from pytest_llmkg.pipelines.words import spoken_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_llmkg.kg import ClassUse, GraphProfile, PropertyUse
    from pytest_llmkg.pipelines.settings import PipelineSettings

__all__ = ["class_text", "kept_classes", "schema_block", "shorten"]

_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# Vocabularies that describe vocabularies; a class of theirs is no subject of questions. owl:Class and rdfs:Class are
# kept, since ontologies are asked about.
_META = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/ns/shacl#",
    "http://rdfs.org/ns/void#",
    "http://ldf.fi/void-ext#",
    "http://www.w3.org/ns/sparql-service-description#",
)
_SEARCHED_PROPERTIES = 12


def kept_classes(profile: GraphProfile, settings: PipelineSettings) -> tuple[ClassUse, ...]:
    """The classes that the prompt may show, cut to what ``settings`` keep, the most frequent first.

    A fraction of the schema is that share of the classes and of the properties, each by frequency in the whole graph,
    rounded up.
    """
    classes = [use for use in profile.classes if not use.iri.startswith(_META) or use.iri.endswith("#Class")]
    fraction = settings.schema_fraction
    classes = classes[: math.ceil(len(classes) * fraction)]
    names = sorted(profile.predicates, key=lambda name: (-profile.predicates[name], name))
    names = names[: math.ceil(len(names) * fraction)]
    return tuple(_cut(use, frozenset(names), settings) for use in classes)


def _cut(use: ClassUse, names: frozenset[str], settings: PipelineSettings) -> ClassUse:
    if not settings.properties:
        return replace(use, properties=())
    kept = [_cut_ranges(one, settings) for one in use.properties if one.iri in names][: settings.top_properties]
    if not settings.frequency_order:
        random.Random(f"{settings.seed} {use.iri}").shuffle(kept)  # noqa: S311 (no secret)
    return replace(use, properties=tuple(kept))


def _cut_ranges(use: PropertyUse, settings: PipelineSettings) -> PropertyUse:
    return replace(use, ranges=use.ranges[: settings.top_ranges] if settings.ranges else ())


def class_text(use: ClassUse, labels: Mapping[str, Sequence[str]]) -> str:
    """What a class is found by: its name, its labels and the names of its commonest properties."""
    own = [spoken_name(use.iri), *labels.get(use.iri, ())]
    parts = [spoken_name(one.iri) for one in use.properties[:_SEARCHED_PROPERTIES]]
    return " ".join([*own, *own, *parts])


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """``iri`` as a prefixed name where a query could hold it so, else in angle brackets."""
    for prefix, namespace in prefixes.items():
        if namespace and iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace)):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"


def schema_block(
    classes: Sequence[ClassUse],
    labels: Mapping[str, Sequence[str]],
    prefixes: Mapping[str, str],
    settings: PipelineSettings,
) -> str:
    """The shapes of ``classes`` as one fenced block, which no label can end; empty without classes."""
    if not classes:
        return ""
    show: Callable[[str], str] = lambda iri: shorten(iri, prefixes)  # noqa: E731  (a name for a short call)
    match settings.schema_form:
        case "shex":
            tag, parts = "shex", [_shex(use, labels.get(use.iri, ()), show) for use in classes]
        case "turtle":
            declared = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
            tag, parts = "turtle", [declared, *(_turtle(use, show) for use in classes)]
        case "list":
            tag, parts = "text", [_list(use, show) for use in classes]
        case _:
            tag, parts = "text", [show(use.iri) for use in classes]
    return f"```{tag}\n" + "\n".join(part.rstrip("\n") for part in parts) + "\n```"


def _shex(use: ClassUse, labels: Sequence[str], show: Callable[[str], str]) -> str:
    lines = [
        f"  a [ {show(use.iri)} ]",
        *(f"  {show(one.iri)} {_shex_value(one, show)}".rstrip() for one in use.properties),
    ]
    head = f"# {' / '.join(map(on_one_line, labels[:3]))}\n" if labels else ""
    return f"{head}{show(use.iri)} {{\n" + " ;\n".join(lines) + "\n}"


def _shex_value(use: PropertyUse, show: Callable[[str], str]) -> str:
    """The classes in brackets; the datatypes, joined by OR, since ShEx's brackets hold values."""
    if not use.ranges:
        return ""
    classes = [show(name) for name, _ in use.ranges if name and not is_datatype(name)]
    types = [show(name) for name, _ in use.ranges if name and is_datatype(name)]
    parts = [*([f"[ {' '.join(classes)} ]"] if classes else []), *types]
    return " OR ".join(parts) or "IRI"


def _list(use: ClassUse, show: Callable[[str], str]) -> str:
    lines = [f"- {show(use.iri)}"]
    for one in use.properties:
        ranges = " or ".join(show(name) for name, _ in one.ranges if name)
        lines.append(f"  - {show(one.iri)}{f' ({ranges})' if ranges else ''}")
    return "\n".join(lines)


def _turtle(use: ClassUse, show: Callable[[str], str]) -> str:
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    lines = [f"{show(use.iri)} a {show(f'{rdfs}Class')} ."]
    for one in use.properties:
        ranges = "".join(f" ; {show(f'{rdfs}range')} {show(name)}" for name, _ in one.ranges if name)
        lines.append(f"{show(one.iri)} {show(f'{rdfs}domain')} {show(use.iri)}{ranges} .")
    return "\n".join(lines)
