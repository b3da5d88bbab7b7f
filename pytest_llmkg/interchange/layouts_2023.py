"""LLM-KG-Bench result files of 2023 as cases of this project's tasks.

Those files have neither ``taskLabel`` nor the data of the task, so all that a score needs is derived from the recorded
prompt, answer and info of each record; nothing of it is kept here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pytest_llmkg.plain import Json
from pytest_llmkg.records import Case

__all__ = ["NOT_COMPUTED", "RECORDED_TRIPLES", "case_of_2023"]

NOT_COMPUTED: Mapping[str, Sequence[str]] = {"FactExtractStatic": ("diffRatioRaw",)}
"""Recorded scores that no record has the means for, by task: FactExtractStatic compares with a text that is lost."""

RECORDED_TRIPLES = "recordedTriples"
"""The field of a case with the triples that the published program read from the answer (N-Triples lines)."""

Record = Mapping[str, Json]
_Converter = Callable[[str, str, Record], dict[str, Json]]

_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_RDFS_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_DOUBLE = "<http://www.w3.org/2001/XMLSchema#double>"
_SCHEMA, _QUDT, _UNIT = "http://schema.org/", "http://qudt.org/schema/qudt/", "http://qudt.org/vocab/unit/"
_UNIT_NAMES = {"mm": "MilliM", "cm": "CentiM", "m": "M"}
_IRI = r"(https?://[^\s$]+)"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BLOCK_START = "PREFIX"


def case_of_2023(record: Record) -> tuple[Case, str]:
    """The case and the answer of a record without ``taskLabel``.

    Raises:
        ValueError: the task or its version is not known, or the record lacks something; the text says what.
    """
    described, interactions = record.get("taskInfo"), record.get("interactions")
    if not isinstance(described, dict) or not isinstance(interactions, list):
        raise ValueError("the record is not complete")
    task, version = str(described.get("taskId")), str(described.get("version"))
    if task not in _CONVERTERS:
        raise ValueError(f"task {task!r} is not known")
    name, versions, convert = _CONVERTERS[task]
    if version not in versions:
        raise ValueError(f"version {version!r} of task {task!r} is not known")
    messages = [(entry[0], str(entry[2])) for entry in interactions if isinstance(entry, list) and len(entry) > 2]
    if not messages or messages[-1][0] != "response":
        raise ValueError("the record holds no answer")
    info = record.get("info")
    details = info if isinstance(info, dict) else {}
    answer = messages[-1][1]
    fields = convert(messages[0][1], answer, details)
    triples = details.get("parsableTriples")
    if isinstance(triples, str):
        fields[RECORDED_TRIPLES] = [line for line in triples.split("\n") if line]
    return Case("recorded", name, task, fields), answer


def _sample_generation(prompt: str, _answer: str, _info: Record) -> dict[str, Json]:
    return {"n": int(_found(r"consists of (\d+) different", prompt, "number of persons"))}


def _turtle_errors(prompt: str, answer: str, info: Record) -> dict[str, Json]:
    """The reference is the block of the answer with the recorded difference undone."""
    broken = prompt.partition("\n\n")[2]
    last = broken.strip().rpartition("\n")[2].split()
    # The published pattern ends with the last words; the white space before the last two signs is optional.
    end = re.escape(" ".join(last[:-2])).replace(r"\ ", " ") + "".join(rf"\s?{re.escape(sign)}" for sign in last[-2:])
    diff = info.get("diff")
    if not isinstance(diff, str) or len(last) < 3:
        raise ValueError("the record holds no difference from the reference")
    block = re.search(f"{_BLOCK_START}.*{end}", answer, re.DOTALL)
    reference = _before_changes(block.group().splitlines() if block else [], diff)
    return {"broken": broken, "reference": "\n".join(reference), "blockStart": _BLOCK_START, "blockEnd": end}


def _before_changes(changed: list[str], diff: str) -> list[str]:
    """The lines from which a unified ``diff`` leads to ``changed``.

    Raises:
        ValueError: the difference does not fit.
    """
    lines: list[str] = []
    done = 0
    for line in diff.split("\n"):
        if hunk := _HUNK.match(line):
            # An empty side is numbered by the line before it.
            start = int(hunk[3]) - (hunk[4] != "0")
            lines += changed[done:start]
            done = start
        elif line[:1] == "-" and not line.startswith("--- optimal"):
            lines.append(line[1:])
        elif line[:1] == " " or (line[:1] == "+" and not line.startswith("+++ answer")):
            if done >= len(changed) or changed[done] != line[1:]:
                raise ValueError("the recorded difference does not fit the recorded answer")
            lines += [line[1:]] if line[:1] == " " else []
            done += 1
    return lines + changed[done:]


def _fact_extract(prompt: str, _answer: str, _info: Record) -> dict[str, Json]:
    properties = {
        "mainListProperty": _found(rf"{_IRI}(?<=/printMaterial)", prompt, "first list property"),
        "secondListProperty": _found(rf"{_IRI}(?<=/supportMaterial)", prompt, "second list property"),
    }
    main = re.findall(r"^MODEL MATERIAL:\s*\n(.+)$", prompt, re.MULTILINE)
    second = re.findall(r"^SUPPORT MATERIAL:\s*\n(.+)$", prompt, re.MULTILINE)
    # The published reference lacks the last entry of the third list; every recorded recall shows that it is 32 triples.
    kept = [entries[:-1] if number == 3 else entries for number, entries in enumerate(map(_entries, main), 1)]
    values = _found(rf"use the {_IRI} namespace", prompt, "namespace of materials")
    thing = f"<{_named('Printer name', prompt)}>"
    triples = [
        f"{thing} {_RDF_TYPE} <{_found(rf'Attach {_IRI} as rdf:type', prompt, 'class')}> .",
        f"{thing} <{_SCHEMA}manufacturer> <{_named('Company', prompt)}> .",
        f'<{_named("Company", prompt)}> {_RDFS_LABEL} "{_field("Company", prompt)}" .',
        *(f"{thing} <{properties['mainListProperty']}> <{values}{e}> ." for entries in kept for e in entries),
        *(f"{thing} <{properties['secondListProperty']}> <{values}{e}> ." for line in second for e in _entries(line)),
        *_dimensions(thing, prompt),
    ]
    return {
        **properties,
        "dimensionProperties": [f"{_SCHEMA}{name}" for name in ("width", "height", "depth")],
        "valueProperty": f"{_QUDT}numericValue",
        "unitProperty": f"{_QUDT}hasUnit",
        "reference": "\n".join(dict.fromkeys(triples)),
        "format": "nt",
    }


def _dimensions(thing: str, prompt: str) -> list[str]:
    sizes = re.search(r"External dimensions:\s*([\d.]+) \xd7 ([\d.]+) \xd7 ([\d.]+) (\w+)", prompt)
    if sizes is None or sizes[4] not in _UNIT_NAMES:
        raise ValueError("the prompt holds no dimensions in a known unit")
    return [
        line
        for name, size in zip(("width", "height", "depth"), sizes.groups()[:3], strict=True)
        for line in (
            f"{thing} <{_SCHEMA}{name}> _:{name} .",
            f"_:{name} {_RDF_TYPE} <{_QUDT}QuantityValue> .",
            f'_:{name} <{_QUDT}numericValue> "{float(size)}"^^{_DOUBLE} .',
            f"_:{name} <{_QUDT}hasUnit> <{_UNIT}{_UNIT_NAMES[sizes[4]]}> .",
        )
    ]


def _entries(line: str) -> list[str]:
    return [entry.strip() for entry in line.split(",")]


def _field(name: str, prompt: str) -> str:
    return _found(rf"^{name}:\s*(.+?)\s*$", prompt, name)


def _named(name: str, prompt: str) -> str:
    namespace = _found(rf"{_IRI}\$encoded_label\$", prompt, "namespace")
    return namespace + _field(name, prompt).replace(" ", "_")


def _found(pattern: str, prompt: str, what: str) -> str:
    match = re.search(pattern, prompt, re.MULTILINE)
    if match is None:
        raise ValueError(f"the prompt holds no {what}")
    return match[1]


_CONVERTERS: Mapping[str, tuple[str, Sequence[str], _Converter]] = {
    "FactExtractStatic": ("FactExtractStatic", ("1.0", "1.1"), _fact_extract),
    "SyntheticDatasetGeneration": ("TurtleSampleGeneration", ("1.0",), _sample_generation),
    "TurtleErrorsStatic": ("TurtleErrorsStatic", ("2.0", "5.0"), _turtle_errors),
}
