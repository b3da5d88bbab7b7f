"""LLM-KG-Bench result files in and out.

Layout 3 of those files is a list of records, each with ``taskInfo``, ``taskData``, ``interactions``, ``scores`` and
``info``. Whatever a score needs is taken from the record itself: the graph from its data or its prompt, the base
prefix from the graph's declaration.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.interchange_2023 import NOT_COMPUTED, case_of_2023
from pytest_llmkg.plain import Json
from pytest_llmkg.records import Case

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RecordedDialogue", "differences", "read_records", "recorded_dialogue", "with_scores"]

_BLANK_NODE = re.compile(r"_:\w+")
_LARGEST_FILE = 2 * 2**30
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
# Published runs resolve "rdfs:" to something that is not RDFS where a query does not declare it (measured on 803
# answers; the true value cannot be seen, so any unused IRI serves). The other names are rdflib's own defaults.
_RECORDED_PREFIXES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": _RDF,
    "rdfs": "urn:x-llmkg:recorded-default-prefix:rdfs#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_BASE = re.compile(r"^\s*@?prefix\s+:\s*<([^>]*)>", re.IGNORECASE | re.MULTILINE)

Record = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RecordedDialogue:
    """A record as a case of this project's task, with its answers in order; ``skipped`` says why it is none.

    ``not_computed`` names recorded scores for which the record lacks the means.
    """

    label: str
    case: Case | None
    answers: tuple[str, ...] = ()
    skipped: str | None = None
    not_computed: tuple[str, ...] = ()


def read_records(path: Path, password: str | None = None) -> list[dict[str, Json]]:
    """The records of a result file: JSON, gzipped JSON, or an AES-encrypted zip, which is opened in memory only.

    Raises:
        RunFileError: not such a file, or a wrong or missing password.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise RunFileError(f"{path}: larger than {_LARGEST_FILE // 2**30} GiB")
        content = path.read_bytes()
        if path.suffix == ".zip":
            content = _unzipped(path, content, password)
        elif path.suffix == ".gz":
            content = gzip.decompress(content)
        records = json.loads(content)
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, ValueError, RecursionError, zlib.error) as error:  # also bad UTF-8, numbers of 5,000 digits
        raise RunFileError(f"{path}: not a complete JSON file: {error}") from error
    if not isinstance(records, list) or not all(isinstance(r, dict) and "taskInfo" in r for r in records):
        raise RunFileError(f"{path}: not an LLM-KG-Bench result file (a list of records with 'taskInfo')")
    return records


def _unzipped(path: Path, content: bytes, password: str | None) -> bytes:
    import pyzipper

    try:
        with pyzipper.AESZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.endswith(".json") and "result" in name]
            if len(names) != 1:
                raise RunFileError(f"{path}: expected one result file (*result*.json) inside, found {len(names)}")
            archive.setpassword((password or "").encode())
            unpacked: bytes = archive.read(names[0])
            return unpacked
    except (pyzipper.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error) as error:
        hint = (
            "the password is wrong or the file is damaged"
            if password
            else "give --password or set LLMKG_PASSWORD if it is encrypted"
        )
        raise RunFileError(f"{path}: the archive cannot be opened ({error}); {hint}") from error


def recorded_dialogue(record: Record) -> RecordedDialogue:
    """``record`` as a case of one of this project's tasks, or the reason why it is skipped."""
    try:
        info = _table(record, "taskInfo")
        if "taskLabel" not in info and "taskId" in info:
            return _dialogue_of_2023(record, _text(info, "taskId"))
        data = _table(record, "taskData")
        label, task, version = (_text(info, key) for key in ("taskLabel", "taskId", "version"))
        messages = [(entry[0], entry[2]) for entry in _list(record, "interactions")]  # type: ignore[index]
        if task not in _CONVERTERS:
            return RecordedDialogue(label, None, skipped=f"task {task!r} is not known")
        name, known_versions, convert = _CONVERTERS[task]
        if version not in known_versions:
            return RecordedDialogue(label, None, skipped=f"version {version!r} of task {task!r} is not known")
        answers = tuple(str(text) for role, text in messages if role == "response")
        if not answers:
            return RecordedDialogue(label, None, skipped="the record holds no answer")
        fields = convert(data, str(messages[0][1]))
        identifier = str(data.get("uid") or data.get("taskUid") or label)
        return RecordedDialogue(label, Case(identifier, name, label, fields), answers)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        shown = record.get("taskInfo")
        label = str(shown.get("taskLabel")) if isinstance(shown, dict) else "?"
        return RecordedDialogue(label, None, skipped=f"the record is not complete: {error!r}")


def _dialogue_of_2023(record: Record, label: str) -> RecordedDialogue:
    try:
        case, answer = case_of_2023(record)
    except ValueError as error:
        return RecordedDialogue(label, None, skipped=str(error))
    return RecordedDialogue(label, case, (answer,), not_computed=tuple(NOT_COMPUTED.get(label, ())))


def with_scores(record: Record, scores: Mapping[str, Json], info: Mapping[str, Json]) -> dict[str, Json]:
    """``record`` with other scores and info; all else, and the order of its fields, stays as it is."""
    return {**record, "scores": dict(scores), "info": dict(info)}


def differences(recorded: Json, recomputed: Json, tolerance: float = 1e-9) -> tuple[int, list[str]]:
    """How many values of ``recorded`` are met, and the paths of those that are not (also of superfluous ones).

    A list counts as one value. The order of ``answerSet`` is arbitrary in the files and does not count, nor do order
    and blank node labels of ``parsableTriples``.
    """
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        met, missed = 0, [f".{key}" for key in recomputed if key not in recorded]
        for key, value in recorded.items():
            if key not in recomputed:
                missed.append(f".{key}")
                continue
            order = _ORDERS.get(key, _as_is)
            more, below = differences(order(value), order(recomputed[key]), tolerance)
            met, missed = met + more, missed + [f".{key}{path}" for path in below]
        return met, missed
    if isinstance(recorded, int | float) and isinstance(recomputed, int | float):
        return (1, []) if abs(recorded - recomputed) <= tolerance else (0, [f"={recorded}!={recomputed}"])
    return (1, []) if recorded == recomputed else (0, [f"={recorded!r:.60}!={recomputed!r:.60}"])


def _as_is(value: Json) -> Json:
    return value


def _sorted(value: Json) -> Json:
    return sorted(value, key=str) if isinstance(value, list) else value


def _rows(value: Json) -> Json:
    return [*sorted(_BLANK_NODE.sub("_:", value).split("\n"))] if isinstance(value, str) else value


_ORDERS: Mapping[str, Callable[[Json], Json]] = {"answerSet": _sorted, "parsableTriples": _rows}


def _syntax_fix(data: Record, _prompt: str) -> dict[str, Json]:
    return {"format": _text(data, "graphFormat"), "broken": _text(data, "task"), "reference": _text(data, "optimal")}


def _friend_count(data: Record, prompt: str) -> dict[str, Json]:
    numbers = {key: int(str(data[key])) for key in ("n", "knowsCount", "specialIndex", "specialAddKnowsCount")}
    n, special = numbers["n"], numbers["specialIndex"]
    edges = {(i, (i + step) % n) for i in range(n) for step in range(1, numbers["knowsCount"] + 1)}
    edges |= {(i, special) for i in range(numbers["specialAddKnowsCount"])}
    return {
        **numbers,
        "format": _text(data, "graphFormat"),
        # The prompt is one paragraph, an empty line, and the graph as serialised.
        "graph": prompt.partition("\n\n")[2],
        "triples": n + len(edges),
        "specialNodeIri": _text(data, "specialNodeIri"),
        "specialFriends": _list(data, "specialFriends"),
    }


def _answer_lines(data: Record, _prompt: str) -> dict[str, Json]:
    graph = _text(data, "graphTurtle")
    return {
        "format": _text(data, "graphFormat"),
        "graph": graph,
        "prefixes": {"": _base_of(graph)},
        "query": _text(data, "refSparql"),
        "result": _list(data, "refResultSet"),
    }


def _text2sparql(data: Record, _prompt: str) -> dict[str, Json]:
    graph = _text(data, "graphTurtle")
    return {
        "format": "turtle",
        "graph": graph,
        "prefixes": {"": _base_of(graph), **_RECORDED_PREFIXES},
        "question": _text(data, "question"),
        "query": _text(data, "refSparql"),
        "result": _list(data, "refResultSet"),
    }


def _base_of(graph: str) -> str:
    declaration = _BASE.search(graph)
    if declaration is None:
        raise ValueError("the graph declares no empty prefix")
    return declaration[1]


def _table(record: Record, key: str) -> Mapping[str, Json]:
    value = record[key]
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no table")
    return value


def _list(record: Record, key: str) -> list[Json]:
    value = record[key]
    if not isinstance(value, list):
        raise TypeError(f"{key} is no list")
    return value


def _text(record: Record, key: str) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value


_Converter = Callable[[Record, str], dict[str, Json]]
_CONVERTERS: Mapping[str, tuple[str, Sequence[str], _Converter]] = {
    "RdfSyntaxFixList": ("RdfSyntaxFixList", ("0.3-testing",), _syntax_fix),
    "RdfFriendCount": ("RdfFriendCount", ("4.4",), _friend_count),
    "Sparql2AnswerListOrganizational": ("Sparql2AnswerList", ("2.0.2",), _answer_lines),
    "Text2SparqlExecEvalListOrganizational": ("Text2SparqlList", ("3.1.2",), _text2sparql),
    "Text2SparqlExecEvalListOrgaNumerical": ("Text2SparqlList", ("4.0",), _text2sparql),
}
