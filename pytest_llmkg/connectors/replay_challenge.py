"""Answer files of the TEXT2SPARQL challenge: lists of objects with ``dataset``, ``question``, ``query``, ``qname``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.asked_questions import as_block, asked_question, said_before
from pytest_llmkg.connectors.usage import read_tokens, told_cost
from pytest_llmkg.errors import ConnectorError, RecordError, RunFileError
from pytest_llmkg.plain import from_plain
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import Question

__all__ = [
    "ChallengeAnswer",
    "ChallengeAnswers",
    "challenge_answer",
    "holds_challenge_answers",
    "read_challenge_answers",
]

_LARGEST = 256 * 2**20
_HEAD = 65_536
# Other tools record what a provider told, as the systems of `text2sparql_http` send it.
_OF_CHAT_COMPLETIONS = ("prompt_tokens", "completion_tokens")
_OTHER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """One recorded query.

    Attributes:
        dataset, name: IRI of the dataset and name of the question in its set (``ck25:1-en``), empty if not recorded.
        query: may be empty.
        seconds, usage, stages: what it took, where ``llmkg text2sparql ask`` recorded it; None is unknown.
    """

    dataset: str
    name: str
    query: str
    seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    stages: Mapping[str, float] = field(default_factory=dict)


ChallengeAnswers = dict[str, list[ChallengeAnswer]]
"""By the question's text, without extra space."""


def holds_challenge_answers(path: Path) -> bool:
    """Whether ``path`` looks like an answer file of the challenge: JSON, a list whose first objects have its fields.

    Raises:
        RunFileError: it cannot be read.
    """
    if path.suffix != ".json":
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror}") from error
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return start == b"[" and b'"question"' in head and b'"query"' in head and b'"interactions"' not in head


def read_challenge_answers(path: Path) -> ChallengeAnswers:
    """The answers in ``path``.

    Raises:
        RunFileError: no such file; names the entry.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise RunFileError(f"{path}: larger than {_LARGEST // 2**20} MiB")
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RunFileError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RunFileError(f"{path}: not JSON: {' '.join(str(error).split())}") from error
    if not isinstance(data, list) or not data:
        raise RunFileError(f"{path}: an answer file is a list of answers")
    found: ChallengeAnswers = {}
    for number, item in enumerate(data, start=1):
        entry = item if isinstance(item, dict) else {}
        question, query = entry.get("question"), entry.get("query")
        if not isinstance(question, str) or not isinstance(query, str):
            raise RunFileError(f"{path}: answer {number}: needs the texts 'question' and 'query', found {item!r:.60}")
        found.setdefault(_plain(question), []).append(_answer(entry, query, f"{path}: answer {number}"))
    return found


def _answer(entry: Mapping[str, object], query: str, place: str) -> ChallengeAnswer:
    dataset, name = entry.get("dataset"), entry.get("qname")
    usage = entry.get("usage")
    foreign = isinstance(usage, Mapping) and not usage.keys().isdisjoint(_OF_CHAT_COMPLETIONS)
    own = {"stages", "usage"} - ({"usage"} if foreign else set())
    plain = {field: entry[field] for field in own if entry.get(field) is not None}
    try:
        known = from_plain(Answer, {**plain, "text": ""})
    except RecordError as error:
        raise RunFileError(f"{place}: {error}") from error
    return ChallengeAnswer(
        dataset if isinstance(dataset, str) else "",
        name if isinstance(name, str) else "",
        query,
        _seconds(entry.get("seconds")),
        replace(read_tokens(usage), cost=told_cost(usage)) if foreign else known.usage,
        known.stages,
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    return None


def challenge_answer(found: ChallengeAnswers, request: AskRequest, model: str) -> Answer:
    """The recorded answer to the request's question: by text and dataset; of several the one with the case's name.

    Where its seconds were not recorded, the note ``untimed`` says so, since an `Answer` cannot have unknown ones.

    Raises:
        ConnectorError: the task asks no question, or the file has no answer to it.
    """
    question = asked_question(request, model)
    if request.iteration > 1:
        raise ConnectorError(f"{model}: no recorded answer for iteration {request.iteration}: the file has one of each")
    before = said_before(request, tells_usage=False)
    if before is not None:
        return before
    fitting = [
        answer
        for answer in found.get(_plain(question.text), [])
        if not answer.dataset or question.dataset is None or answer.dataset == question.dataset
    ]
    if not fitting:
        raise ConnectorError(f"{model}: no recorded answer to the question of {request.case_key!r}")
    named = [answer for answer in fitting if _slug(answer.name) == _case_name(request, question)]
    answer = (named or fitting)[0]
    return Answer(
        as_block(answer.query),
        "stop",
        answer.usage,
        answer.seconds or 0.0,
        stages=answer.stages,
        notes={"untimed": True} if answer.seconds is None else {},
    )


def _case_name(request: AskRequest, question: Question) -> str:
    case = request.case_key.rpartition("/")[2]
    return _slug(f"{question.kg}:{case}-{question.language or ''}")


def _slug(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")


def _plain(text: str) -> str:
    return " ".join(text.split())
