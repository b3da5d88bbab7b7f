"""Answer files of the TEXT2SPARQL challenge: lists of objects with ``dataset``, ``question``, ``query``, ``qname``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.asked_questions import as_block, asked_question, said_before
from pytest_llmkg.errors import ConnectorError, RunFileError
from pytest_llmkg.records import Answer

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
_OTHER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """One recorded query; ``name`` is the question's name in its set (``ck25:1-en``), empty when the file has none."""

    dataset: str
    name: str
    query: str


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
        dataset, name = entry.get("dataset"), entry.get("qname")
        answer = ChallengeAnswer(
            dataset if isinstance(dataset, str) else "", name if isinstance(name, str) else "", query
        )
        found.setdefault(_plain(question), []).append(answer)
    return found


def challenge_answer(found: ChallengeAnswers, request: AskRequest, model: str) -> Answer:
    """The recorded answer to the request's question: by text and dataset; of several the one with the case's name.

    Its seconds and usage are unknown; the note ``untimed`` says so, since an `Answer` cannot have unknown seconds.

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
    return Answer(as_block((named or fitting)[0].query), "stop", notes={"untimed": True})


def _case_name(request: AskRequest, question: Question) -> str:
    case = request.case_key.rpartition("/")[2]
    return _slug(f"{question.kg}:{case}-{question.language or ''}")


def _slug(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")


def _plain(text: str) -> str:
    return " ".join(text.split())
