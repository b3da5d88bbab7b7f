"""Facts of a data sheet as a graph: the asked lists and sizes, under the names that the prompt fixes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.prefixes import WELL_KNOWN
from pytest_llmkg.connectors.symbolic.sheets import list_values, sheet_fields, sizes_of
from pytest_llmkg.connectors.symbolic.words import FILLERS, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine

__all__ = ["answer_extraction", "asks_for_extraction"]

_LONGEST = 20_000
_WIDE = re.compile(r"[ \t]{9,}")  # columns stand less far apart, as far as patterns can tell
_SHEET = re.compile(r"^[^\n]*\n={4,}[ \t]*\n", re.MULTILINE)
_NAMESPACE = re.compile(r"\bnamespace (https?://[^\s,;)]+)")
_CLASS = re.compile(r"\btype\b[^\n]*?<([^<>\s]+)>")
_LISTED = re.compile(r"^-\s*([^\n]*?),? each by the property <([^<>\s]+)>", re.MULTILINE)
_PROPERTY = re.compile(r"\bproperty (\w+) of [^\n(]*\(namespace ([^\s)]+)\)")
_SIZES = re.compile(r"\bproperties (\w+(?:(?:, and |, | and )\w+)*) of (\S+)")
_NAMED = re.compile(r"([\w]+):([A-Za-z]\w*)(?: \(namespace ([^\s)]+)\))?")
_MAKERS = ("maker", "manufacturer", "producer", "brand", "vendor")
_NAMES = ("name", "product", "model")


def asks_for_extraction(prose: str) -> bool:
    """Whether ``prose`` holds a sheet behind an underlined heading, and asks for lists or sizes in it as RDF."""
    if len(prose) > _LONGEST:
        return False
    return bool(_SHEET.search(prose)) and bool(_LISTED.search(prose) or _SIZES.search(prose))


@dataclass(frozen=True, slots=True)
class _Names:
    """How the prompt wants things, values of lists and units to be named."""

    things: str
    values: str
    terms: dict[str, str]


def answer_extraction(request: Request, _engine: KgEngine) -> str | None:
    """A fenced Turtle document; None when the sheet does not name its product or the prompt no namespace."""
    heading = _SHEET.search(request.prose)
    if heading is None:
        return None
    asked, sheet = request.prose[: heading.start()], _WIDE.sub(" " * 8, request.prose[heading.end() :])
    fields = sheet_fields(sheet)
    name = next((fields[key] for key in _NAMES if key in fields), None)
    namespaces = [n.rstrip(".") for n in _NAMESPACE.findall(asked)]
    if name is None or not namespaces:
        return None
    terms = {m[1]: m[3] for m in _NAMED.finditer(asked) if m[3]} | _well_known(asked)
    names = _Names(namespaces[0], _values_namespace(asked) or namespaces[0], terms)
    subject = _iri(names.things, name)
    lines = [*_kind(asked, subject), *_maker(asked, fields, names, subject)]
    for words, prop in _LISTED.findall(asked):
        about = [w for w in stems_of(f"{words} {re.split(r'[/#]', prop)[-1]}") if w not in FILLERS]
        lines += (f"{subject} <{prop}> {_iri(names.values, value)} ." for value in list_values(sheet, about))
    lines += _sizes(asked, sheet, names, subject)
    return "```turtle\n" + "\n".join(lines) + "\n```" if lines else None


def _well_known(asked: str) -> dict[str, str]:
    return {m[1]: WELL_KNOWN[m[1]] for m in _NAMED.finditer(asked) if m[1] in WELL_KNOWN and not m[3]}


def _values_namespace(asked: str) -> str | None:
    found = re.search(r"\b(?:values?|items?|entries)\b[^.;\n]*?\bnamespace (https?://[^\s,;)]+)", asked)
    return found[1].rstrip(".") if found else None


def _iri(namespace: str, name: str) -> str:
    local = re.sub(r"[^\w.~-]+", "_", name.strip())
    return f"<{namespace}{local}>"


def _term(names: _Names, short: str) -> str:
    prefix, _, local = short.partition(":")
    return f"<{names.terms.get(prefix, WELL_KNOWN.get(prefix, ''))}{local}>"


def _kind(asked: str, subject: str) -> Iterator[str]:
    found = _CLASS.search(asked)
    if found:
        yield f"{subject} a <{found[1]}> ."


def _maker(asked: str, fields: dict[str, str], names: _Names, subject: str) -> Iterator[str]:
    maker = next((fields[key] for key in _MAKERS if key in fields), None)
    found = _PROPERTY.search(asked)
    if maker is None or found is None:
        return
    yield f"{subject} <{found[2]}{found[1]}> {_iri(names.things, maker)} ."
    if "rdfs:label" in asked:
        text = maker.replace("\\", "\\\\").replace('"', '\\"')
        yield f'{_iri(names.things, maker)} {_term(names, "rdfs:label")} "{text}" .'


def _sizes(asked: str, sheet: str, names: _Names, subject: str) -> Iterator[str]:
    """A blank node with a number and a unit for each asked size, by the three names that the prompt gives for them."""
    found = _SIZES.search(asked)
    if found is None:
        return
    rest = asked[found.end() :]
    used = [f"{m[1]}:{m[2]}" for m in _NAMED.finditer(rest) if m[1] in names.terms]
    node_type = next((n for n in used if n.partition(":")[2][:1].isupper()), None)
    number = next((n for n in used if re.search(r"value|number", n.partition(":")[2].lower()) and n != node_type), None)
    unit = next((n for n in used if n.lower().endswith("unit")), None)
    units = re.search(r"\bunits?\b[^.;\n]*?\(namespace ([^\s)]+)\)", rest)
    owner = _PROPERTY.search(asked)
    if not (node_type and number and unit and units and owner):
        return
    for size in sizes_of(sheet, re.findall(r"\w+", re.sub(r"\band\b", "", found[1]))):
        double = f'"{float(size.number)}"^^<{WELL_KNOWN["xsd"]}double>'
        parts = f"a {_term(names, node_type)} ; {_term(names, number)} {double}"
        yield f"{subject} <{owner[2]}{size.name}> [ {parts} ; {_term(names, unit)} <{units[1]}{size.unit}> ] ."
