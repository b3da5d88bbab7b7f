"""Case files (TOML) to cases; every complaint names file, entry and field."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import generated_reference
from pytest_llmkg.cases.question_sets import is_question_file, load_question_set, question_cases
from pytest_llmkg.cases.sealed import SUFFIX, OpenedFile, case_files_in, read_opened
from pytest_llmkg.contracts import FieldType, Task
from pytest_llmkg.errors import CaseFileError, RecordError, UnknownNameError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Case
from pytest_llmkg.sealing import private_key

if TYPE_CHECKING:
    from pytest_llmkg.cases.graph_files import GraphFile
    from pytest_llmkg.registry import Registry

__all__ = ["SCHEMA", "check_case_folders", "check_case_text", "load_case_files"]

SCHEMA = 1
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FORMATS = {"format", "graphFormat"}  # name a serialization format in every task that has them
_TOP_LEVEL = {"schema", "canary", "task", "defaults", "variant", "case"}


@dataclass(frozen=True, slots=True)
class _CaseFile:
    path: Path
    sealed: bool
    graphs: Path
    task: Task
    defaults: Mapping[str, Json]
    variants: Sequence[Mapping[str, Json]]
    cases: Sequence[Mapping[str, Json]]


def load_case_files(
    paths: Iterable[Path],
    graphs: Path,
    tasks: Registry[Task],
    seed: int,
    wanted: Callable[[str, str], bool] | None = None,
    named_graphs: Mapping[str, GraphFile] | None = None,
) -> tuple[Case, ...]:
    """All cases of ``paths``, in the order of files, then variants, then entries.

    Args:
        paths: case files, or folders whose ``*.toml`` and ``*.toml.sealed`` files are taken in order of plain name; or
            question sets (`pytest_llmkg.cases.question_sets`).
        graphs: folder in which ``{ file = "..." }`` is looked up, after the folder of the case file itself.
        tasks: the known tasks.
        seed: of generated cases.
        wanted: whether cases of a label and a task are; the texts of others are not even read. None for all.
        named_graphs: graphs that question sets ask about, by name.

    Raises:
        CaseFileError: a file, entry or field is wrong; the text says which and what was expected.
    """
    cases: dict[tuple[str, str], Case] = {}
    for path in _expand(paths):
        if is_question_file(path):
            found: Iterable[Case] = _questions(path, named_graphs or {}, wanted)
        else:
            found = _cases_of(_read(path, graphs, tasks), seed, wanted)
        for case in found:
            key = (case.label, case.id)
            if key in cases:
                raise CaseFileError(
                    f"{path}: case {case.id!r} of {case.label} exists already; ids must be unique in a label"
                )
            cases[key] = case
    return tuple(cases.values())


def _questions(
    path: Path, graphs: Mapping[str, GraphFile], wanted: Callable[[str, str], bool] | None
) -> Iterable[Case]:
    # A broken reference query is an error of its own case, told before any model is asked; the others run.
    cases = question_cases(load_question_set(path, check_queries=False), graphs)
    return cases if wanted is None else (case for case in cases if wanted(case.label, case.task))


def _expand(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir() and not is_question_file(path):
            yield from case_files_in(path)
        else:
            yield path


def check_case_folders(paths: Iterable[Path]) -> None:
    """Complains about a folder among ``paths`` that holds no case file.

    Raises:
        CaseFileError: names it.
    """
    for path in paths:
        if path.is_dir() and not any(case_files_in(path)) and not is_question_file(path):
            raise CaseFileError(f"{path}: the folder holds no case file (*.toml or *.toml.sealed)")


def check_case_text(text: str, path: Path, graphs: Path, tasks: Registry[Task], seed: int) -> None:
    """Complains like `load_case_files` when ``text`` could not stand in the case file ``path``."""
    for _ in _cases_of(_parsed(OpenedFile(text), path, graphs, tasks), seed):
        pass


def _read(path: Path, graphs: Path, tasks: Registry[Task]) -> _CaseFile:
    return _parsed(read_opened(path, str(path), private_key), path, graphs, tasks)


def _parsed(content: OpenedFile, path: Path, graphs: Path, tasks: Registry[Task]) -> _CaseFile:
    try:
        data = tomllib.loads(content.text)
    except tomllib.TOMLDecodeError as error:
        raise CaseFileError(f"{path}: not a TOML file: {error}") from error
    except RecursionError as error:
        raise CaseFileError(f"{path}: not a TOML file: nested too deeply") from error
    if data.get("schema") != SCHEMA:
        raise CaseFileError(f"{path}: field 'schema' must be {SCHEMA}, found {data.get('schema')!r}")
    for key in sorted(data.keys() - _TOP_LEVEL):
        raise CaseFileError(f"{path}: unknown field {key!r}; a case file has {', '.join(sorted(_TOP_LEVEL))}")
    try:
        task = tasks.get(str(data.get("task")))
    except UnknownNameError as error:
        raise CaseFileError(f"{path}: field 'task': {error}") from error
    defaults = data.get("defaults", {})
    if not isinstance(defaults, dict):
        raise CaseFileError(f"{path}: field 'defaults' must be a table")
    variants, cases = _tables(path, data, "variant"), _tables(path, data, "case")
    return _CaseFile(path, content.sealed, graphs, task, defaults, variants, cases)


def _tables(path: Path, data: Mapping[str, object], name: str) -> list[Mapping[str, Json]]:
    tables = data.get(name)
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise CaseFileError(f"{path}: at least one [[{name}]] is needed")
    return tables


def _cases_of(file: _CaseFile, seed: int, wanted: Callable[[str, str], bool] | None = None) -> Iterable[Case]:
    for number, entry in enumerate(file.cases, 1):
        identifier = entry.get("id")
        if not isinstance(identifier, str) or not _SLUG.fullmatch(identifier):
            raise CaseFileError(
                f"{file.path}: case {number}: field 'id' must be of a-z, 0-9 and single hyphens, found {identifier!r}"
            )
    labels = [variant.get("label") for variant in file.variants]
    for variant in file.variants:
        label = variant.get("label")
        if not isinstance(label, str) or not label:
            raise CaseFileError(f"{file.path}: every [[variant]] needs the field 'label', found {label!r}")
        if wanted is not None and not wanted(label, file.task.info.name):
            continue
        for entry in file.cases:
            chosen = entry.get("variants", labels)
            unknown = [name for name in chosen if name not in labels] if isinstance(chosen, list) else [chosen]
            if unknown or not chosen:
                name = repr(unknown[0]) if unknown else "is named, so the case would never be asked"
                raise CaseFileError(f"{file.path}: case {entry['id']!r}: field 'variants': no variant {name}")
            if isinstance(chosen, list) and label in chosen:
                yield _case(file, label, {**file.defaults, **variant, **entry}, seed)


def _case(file: _CaseFile, label: str, fields: Mapping[str, Json], seed: int) -> Case:
    place = f"{file.path}: case {fields['id']!r} ({label})"
    data, sealed = dict[str, Json](), file.sealed
    for name, value in fields.items():
        if name not in {"id", "label", "variants"}:
            data[name], secret = _resolve(value, file, str(fields["id"]), f"{place}: field {name!r}")
            sealed = sealed or secret
    _check_fields(file.task, data, place)
    try:
        for name in _FORMATS & data.keys():
            format_named(str(data[name]))
        if file.task.generate is not None:
            data = dict(file.task.generate(data, seed))
        plain = {k: to_plain(v) for k, v in data.items()}
        return Case(str(fields["id"]), file.task.info.name, label, plain, sealed)
    except (CaseFileError, RecordError, UnknownNameError) as error:
        raise CaseFileError(f"{place}: {error}") from error


def _resolve(value: Json, file: _CaseFile, identifier: str, place: str) -> tuple[Json, bool]:
    """``value``, or the text of the file or generator that it names, and whether that file was sealed."""
    if isinstance(value, dict) and value.keys() == {"generated"}:
        return _generated(str(value["generated"]), place), False
    if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
        parts = {name: _resolve(item, file, identifier, f"{place}: {name!r}") for name, item in value.items()}
        return {name: part for name, (part, _) in parts.items()}, any(secret for _, secret in parts.values())
    if not (isinstance(value, dict) and value.keys() == {"file"}):
        return value, False
    name = str(value["file"]).replace("{id}", identifier)
    for folder in (file.path.parent, file.graphs):
        path = _inside(folder, name, place) or _inside(folder, name + SUFFIX, place)
        if path is not None:
            content = read_opened(path, f"{place}: file {name!r}", private_key)
            return content.text, content.sealed
    raise CaseFileError(f"{place}: no file {name!r} in {file.path.parent} or {file.graphs}")


def _generated(name: str, place: str) -> str:
    try:
        return generated_reference(name)
    except CaseFileError as error:
        raise CaseFileError(f"{place}: {error}") from error


def _inside(folder: Path, name: str, place: str) -> Path | None:
    """The file ``name`` below ``folder``, None if there is none; a prompt must not show files from elsewhere."""
    try:
        path = (_real(folder) / name).resolve()
        if path.is_relative_to(_real(folder)):
            return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError) as error:  # too long, with a zero byte, a circle of links
        raise CaseFileError(f"{place}: no file can be called {name!r:.60}: {error}") from error
    raise CaseFileError(f"{place}: file {name!r} lies outside of {folder}; put it there")


@functools.cache
def _real(folder: Path) -> Path:
    """``folder`` without links; each is looked at once, not once for each of some thousand fields."""
    return folder.resolve()


def _check_fields(task: Task, data: Mapping[str, Json], place: str) -> None:
    known = {name.rstrip("?"): (kind, name.endswith("?")) for name, kind in task.fields.items()}
    for name in sorted(data.keys() - known):
        raise CaseFileError(f"{place}: unknown field {name!r}; {task.info.name} has {', '.join(known)}")
    for name, (kind, optional) in known.items():
        if name not in data:
            if optional:
                continue
            raise CaseFileError(f"{place}: field {name!r} is missing")
        if not _FITS[kind](data[name]):
            raise CaseFileError(f"{place}: field {name!r} must be {_WORDS[kind]}, found {data[name]!r:.60}")


def _strings(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


_FITS: Mapping[FieldType, Callable[[Json], bool]] = {
    "text": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "texts": lambda v: isinstance(v, list) and _strings(v),
    "mapping": lambda v: isinstance(v, dict) and _strings(v.values()),
}
_WORDS: Mapping[FieldType, str] = {
    "text": "a text",
    "integer": "a whole number",
    "texts": "a list of texts",
    "mapping": "a table of texts",
}
