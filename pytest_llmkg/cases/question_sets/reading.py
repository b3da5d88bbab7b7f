"""A file or folder of questions to a `QuestionSet`, by the suffix of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets.challenge_yaml import read_challenge_yaml
from pytest_llmkg.cases.question_sets.json_files import read_grasp_lines, read_json
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN, QuestionSet, complain
from pytest_llmkg.cases.sealed import read_opened
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.kg.query_syntax import query_error

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_question_file", "load_question_set"]

_READERS = {".yml": read_challenge_yaml, ".yaml": read_challenge_yaml, ".json": read_json, ".jsonl": read_grasp_lines}


def is_question_file(path: Path) -> bool:
    """Whether ``path`` is read as a question set: by its suffix, or a folder of Turtle files without case files."""
    if path.is_dir():
        return any(path.glob("*.ttl")) and not any(path.glob("*.toml*"))
    return path.suffix in _READERS or path.suffix == ".ttl"


def load_question_set(path: Path, *, check_queries: bool = True) -> QuestionSet:
    """The questions in ``path``.

    Args:
        path: a question file, or a folder of SHACL examples.
        check_queries: complain of reference queries that do not parse; else they are taken as they are.

    Raises:
        CaseFileError: the file cannot be read or a question in it cannot be used; names file, line and id.
    """
    if path.is_dir() or path.suffix == ".ttl":
        from pytest_llmkg.cases.question_sets.shacl import read_shacl

    if path.is_dir():
        files = sorted(path.glob("*.ttl"))
        found = read_shacl(path, [(file, _text(file)) for file in files])
    elif path.suffix == ".ttl":
        found = read_shacl(path, [(path, _text(path))])
    elif path.suffix in _READERS:
        found = _READERS[path.suffix](path, _text(path))
    else:
        raise CaseFileError(f"{path}: question files end in {', '.join([*_READERS, '.ttl'])}")
    if check_queries:
        _check_queries(found)
    return found


def _text(path: Path) -> str:
    return read_opened(path, str(path), lambda: None).text.removeprefix("\ufeff")


def _check_queries(questions: QuestionSet) -> None:
    broken = []
    for question in questions.questions:
        error = query_error(question.query, {**WELL_KNOWN, **questions.prefixes, **question.prefixes})
        if error is not None:
            broken.append(
                complain(questions.path, question.line, question.id, f"the reference query is broken: {error}")
            )
    if broken:
        others = f" (and {len(broken) - 1} more; llmkg text2sparql check lists them)" if len(broken) > 1 else ""
        raise CaseFileError(f"{broken[0]}{others}")
