"""The challenge's files: result sets, answers, evaluations."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import UserError
from pytest_llmkg.metrics.challenge_report import ResultSets

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

__all__ = [
    "AnswerFile",
    "ResultFile",
    "check_new",
    "read_answers_or_results",
    "read_evaluation",
    "read_json_file",
    "write_new",
]

_ORDER = "order_required"


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A result set file: values by question, and the questions whose order counts where the file names them."""

    sets: ResultSets
    ordered: frozenset[str]


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """An answer file: the query by question; a question without an answer is not in it."""

    queries: Mapping[str, str]


def read_answers_or_results(path: Path) -> AnswerFile | ResultFile:
    """The answers or result sets in ``path``: a list holds answers, an object result sets.

    Of several answers to one question the first counts, as in the challenge.

    Raises:
        UserError: neither of both; names the file and the question.
    """
    data = read_json_file(path)
    if isinstance(data, list):
        queries: dict[str, str] = {}
        for number, item in enumerate(data, 1):
            name, query = _answer(path, number, item)
            queries.setdefault(name, query)
        return AnswerFile(queries)
    if not isinstance(data, dict):
        raise UserError(f"{path}: neither a list of answers nor an object of result sets")
    ordered = data.pop(_ORDER, [])
    if not isinstance(ordered, list):
        raise UserError(f"{path}: {_ORDER!r} must be a list of questions")
    for name, values in data.items():
        # A boolean is no 1: {"boolean": true} is the result of ASK as an engine writes it.
        if not isinstance(values, dict) or not all(type(value) in (int, float) for value in values.values()):
            raise UserError(f"{path}: {name!r}: a result set maps values to 0 or 1, found {values!r:.60}")
    return ResultFile(data, frozenset(map(str, ordered)))


def _answer(path: Path, number: int, item: object) -> tuple[str, str]:
    if not isinstance(item, dict) or not isinstance(item.get("qname"), str):
        raise UserError(f"{path}: answer {number}: an answer is an object with 'qname' and 'query', found {item!r:.60}")
    query = item.get("query")
    if not isinstance(query, str):
        raise UserError(f"{path}: {item['qname']!r}: 'query' must be a text, found {query!r:.60}")
    return item["qname"], query


def read_evaluation(path: Path) -> dict[str, dict[str, float]]:
    """A published evaluation file: scores by question, and averages.

    Raises:
        UserError: no such file.
    """
    data: dict[str, dict[str, float]] = read_json_file(path)
    if not isinstance(data, dict) or not all(isinstance(row, dict) for row in data.values()):
        raise UserError(f"{path}: no evaluation file: expected an object of scores by question")
    return data


def read_json_file(path: Path) -> Any:
    """The content of ``path``.

    Raises:
        UserError: it cannot be read or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {' '.join(str(error).split())}") from error


def check_new(path: str) -> None:
    """Complains when `write_new` could not write ``path``, before the work for it is done.

    Raises:
        UserError: the file exists, or its folder does not or cannot be written to.
    """
    if path == "-":
        return
    if os.path.lexists(path):
        raise UserError(f"{path}: exists already; delete it first or give another --output")
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"{path}: cannot be written: {folder} is no folder that can be written to")


def write_new(path: str, data: Json) -> None:
    """Writes ``data`` to a file that does not exist yet, or to standard output for ``-``.

    Raises:
        UserError: the file exists or cannot be written.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if path == "-":
        print(text, end="")
        return
    try:
        with open(path, "x", encoding="utf-8") as file:  # noqa: PTH123  (Path has no such mode)
            file.write(text)
    except FileExistsError as error:
        raise UserError(f"{path}: exists already; delete it first or give another --output") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
