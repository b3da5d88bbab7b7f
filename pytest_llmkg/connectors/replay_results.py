"""Answers in result files of LLM-KG-Bench 3, to be found by case and iteration."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import ConnectorError, RunFileError, UserError
from pytest_llmkg.records import Answer
from pytest_llmkg.registry import unknown_name
from pytest_llmkg.result_files import is_result_file, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.plain import Json

__all__ = [
    "RecordedResults",
    "chosen_model",
    "holds_results",
    "read_results",
    "recorded_answer",
    "split_argument",
]

_OTHER = re.compile(r"[^a-z0-9]+")

# By label and case the answers of each record in order; the k-th record is the k-th time that the case was asked.
RecordedResults = dict[str, list[tuple[Answer, ...]]]


def split_argument(argument: str) -> tuple[Path, str | None]:
    """File and model of ``FILE#MODEL``; a file whose own name holds ``#`` is preferred, and model ids may hold one.

    Raises:
        RunFileError: there is no such file.
    """
    ends = [len(argument), *(i for i, char in enumerate(argument) if char == "#")]
    for end in ends:
        path = Path(argument[:end])
        run_file = path / "run.jsonl" if path.is_dir() else path
        if argument[:end] and run_file.is_file():
            return run_file, argument[end + 1 :] or None
    raise RunFileError(f"{argument.partition('#')[0]}: there is no such run file")


def chosen_model(path: Path, model: str | None, models: Sequence[str]) -> str:
    """The model to replay, of those in the file ``path``.

    Raises:
        UserError: several and none is named, or none of that name.
    """
    if model is None and len(models) > 1:
        named = ", ".join(f"replay:{path}#{name}" for name in models)
        raise UserError(f"{path}: the file holds the answers of {len(models)} models; name one of {named}")
    if model is not None and model not in models:
        raise UserError(f"{path}: {unknown_name('recorded model', model, models)}")
    return models[0] if model is None else model


def holds_results(argument: str) -> bool:
    """Whether ``argument`` names a result file, not a run file of this program.

    Raises:
        RunFileError: there is no such file.
    """
    return is_result_file(split_argument(argument)[0])


def read_results(argument: str) -> RecordedResults:
    """The recorded answers of the result file ``argument`` by ``label/case``; the password is ``LLMKG_PASSWORD``.

    A record's case is its ``uid`` (or ``taskUid``, or else the label) as case ids are written: small letters, digits
    and hyphens.

    Raises:
        RunFileError: no such file, or one without any answer.
        UserError: the file holds several models and none is named, or none of that name.
    """
    path, model = split_argument(argument)
    records = read_records(path, os.environ.get("LLMKG_PASSWORD"))
    models = list(dict.fromkeys(str(record.get("modelId")) for record in records))
    wanted = chosen_model(path, model, models) if models else ""
    found: RecordedResults = {}
    for record in records:
        key, answers = _key(record), _answers(record.get("interactions"))
        if key is not None and answers and str(record.get("modelId")) == wanted:
            found.setdefault(key, []).append(answers)
    if not found:
        raise RunFileError(f"{path}: the file holds no recorded answer")
    return found


def recorded_answer(found: RecordedResults, request: AskRequest) -> Answer:
    """The recorded answer for the request's case, iteration and turn; the prompt may be another one.

    Raises:
        ConnectorError: none was recorded, or the dialogue has gone another way since.
    """
    label, _, case = request.case_key.partition("/")
    given = [message.text for message in request.messages if message.role == "assistant"]
    place = f"{request.case_key or '(without key)'!r}, iteration {request.iteration}, turn {len(given) + 1}"
    records = found.get(f"{label}/{_case_id(case)}", [])
    if not records:
        known = sum(key.startswith(f"{label}/") for key in found)
        why = f"it holds {known} other cases of this label" if known else "it holds no case of this label"
        raise ConnectorError(f"no recorded answer for {place}: {why}")
    if request.iteration > len(records):
        raise ConnectorError(f"no recorded answer for {place}: the case was recorded {len(records)} times")
    answers = records[request.iteration - 1]
    if len(given) >= len(answers):
        raise ConnectorError(f"no recorded answer for {place}: the recorded dialogue has {len(answers)} answers")
    if given != [answer.text for answer in answers[: len(given)]]:
        raise ConnectorError(f"no recorded answer for {place}: its dialogue is another one than the recorded")
    return answers[len(given)]


def _key(record: Mapping[str, Json]) -> str | None:
    info, data = record.get("taskInfo"), record.get("taskData")
    label = info.get("taskLabel") or info.get("taskId") if isinstance(info, dict) else None
    table = data if isinstance(data, dict) else {}
    case = table.get("uid") or table.get("taskUid") or label
    return f"{label}/{_case_id(case)}" if isinstance(label, str) and isinstance(case, str) else None


def _case_id(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")


def _answers(interactions: Json) -> tuple[Answer, ...]:
    """The answers with the seconds that passed since the message before."""
    answers = []
    before: str = ""
    for entry in interactions if isinstance(interactions, list) else ():
        if not isinstance(entry, list) or len(entry) < 3 or not isinstance(entry[2], str):
            return ()
        if entry[0] == "response":
            answers.append(Answer(entry[2], seconds=_seconds(before, str(entry[1]))))
        before = str(entry[1])
    return tuple(answers)


def _seconds(start: str, end: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):  # no time, or one with and one without a time zone
        return 0.0
