"""``replay:FILE`` gives the answers of an earlier run again, without any model.

FILE is a run file, or the folder that holds ``run.jsonl``; ``replay:FILE#MODEL`` names one of several models
in it. Result files of LLM-KG-Bench (.json, .gz, .zip) are taken as well, see `replay_results`, and answer files of the
TEXT2SPARQL challenge, see `replay_challenge`: a system that took part stands on the leaderboard beside others.
A recorded answer is found by case, iteration and turn. It counts only for the dialogue that it was
given to: when the messages up to the previous answer differ from the recorded ones, there is no answer.
Usage, price and seconds are the recorded ones, so a replayed run has the figures of the first one.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.replay_challenge import (
    ChallengeAnswers,
    challenge_answer,
    holds_challenge_answers,
    read_challenge_answers,
)
from pytest_llmkg.connectors.replay_results import (
    RecordedResults,
    chosen_model,
    holds_results,
    read_results,
    recorded_answer,
    split_argument,
)
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, RecordError, RunFileError, UserError
from pytest_llmkg.plain import from_plain
from pytest_llmkg.records import Answer, Message, ModelSpec, Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest

__all__ = ["CONNECTOR", "ReplayConnector", "read_recording"]

Recording = dict[tuple[str, int], Transcript]


def read_recording(argument: str) -> Recording:
    """The transcripts of one model by case key ``label/id`` and iteration; of several for the same the last.

    Args:
        argument: ``FILE`` or ``FILE#MODEL``.

    Raises:
        RunFileError: no run file, or a broken line in it; names file and line. A last line that was cut off
            while it was written is passed over.
        UserError: the file holds several models and none is named, or none of that name.
    """
    path, model = split_argument(argument)
    lines = list(_transcript_lines(path))
    models = list(dict.fromkeys(str(data.get("model")) for _, data in lines))
    if not models:
        raise RunFileError(f"{path}: the file holds no recorded dialogue")
    wanted = chosen_model(path, model, models)
    found: Recording = {}
    for number, data in lines:
        if data.get("model") == wanted:
            transcript = _transcript(data, f"{path}, line {number}")
            found[f"{transcript.label}/{transcript.case}", transcript.iteration] = transcript
    return found


def _transcript_lines(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RunFileError(f"{path}: the run file cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            # A line gets its line end last: what follows the last one was cut off while it was written.
            if number == len(lines):
                return
            raise RunFileError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(data, dict) or "kind" not in data:
            raise RunFileError(f"{path}, line {number}: not a line of a run file (no object with 'kind')")
        if data["kind"] == "transcript":
            yield number, {name: value for name, value in data.items() if name != "kind"}


def _transcript(data: Mapping[str, object], place: str) -> Transcript:
    try:
        return from_plain(Transcript, data, "$")
    except RecordError as error:
        raise RunFileError(f"{place}: {error}") from error


class ReplayConnector:
    """Looks each answer up in a recording, which it reads at the first call."""

    def __init__(self, spec: ModelSpec) -> None:
        self._id = spec.id
        self._argument = spec.model
        self._recording: Recording | None = None
        self._results: RecordedResults | None = None
        self._challenge: ChallengeAnswers | None = None
        self._reading = asyncio.Lock()

    async def ask(self, request: AskRequest) -> Answer:
        """The recorded answer for the request's case, iteration and turn.

        Raises:
            ConnectorError: none was recorded, or it was given to a dialogue that went another way.
        """
        async with self._reading:
            if self._recording is None and self._results is None and self._challenge is None:
                await self._read()
        if self._challenge is not None:
            return challenge_answer(self._challenge, request, self._id)
        if self._results is not None:
            return self._from_results(self._results, request)
        return self._from_run(self._recording or {}, request)

    def _from_results(self, results: RecordedResults, request: AskRequest) -> Answer:
        try:
            return recorded_answer(results, request)
        except ConnectorError as error:
            raise ConnectorError(f"{self._id}: {error}") from error

    def _from_run(self, recording: Recording, request: AskRequest) -> Answer:
        turn = sum(message.role == "assistant" for message in request.messages)
        place = f"{request.case_key or '(without key)'!r}, iteration {request.iteration}, turn {turn + 1}"
        transcript = recording.get((request.case_key, request.iteration))
        answers = () if transcript is None else _answers(transcript)
        if transcript is None or turn >= len(answers):
            broke = transcript.error if transcript is not None else None
            why = f" (the recorded dialogue ended with: {broke})" if broke else ""
            raise ConnectorError(f"{self._id}: no recorded answer for {place}{why}")
        before = _messages(transcript, turn)
        if request.messages[: len(before)] != before:
            raise ConnectorError(
                f"{self._id}: no recorded answer for {place}: its dialogue is another one than the recorded"
            )
        return answers[turn]

    async def close(self) -> None:
        """Forgets the recording."""
        self._recording = self._results = self._challenge = None

    async def _read(self) -> None:
        try:
            path, _ = split_argument(self._argument)
            if holds_challenge_answers(path):
                self._challenge = await asyncio.to_thread(read_challenge_answers, path)
            elif holds_results(self._argument):
                self._results = await asyncio.to_thread(read_results, self._argument)
            else:
                self._recording = await asyncio.to_thread(read_recording, self._argument)
        except UserError as error:
            raise ConnectorError(f"{self._id}: {error}") from error


def _answers(transcript: Transcript) -> tuple[Answer, ...]:
    """All answers, also the one that came but could not be evaluated then."""
    last = () if transcript.unevaluated is None else (transcript.unevaluated,)
    return (*(turn.answer for turn in transcript.turns), *last)


def _messages(transcript: Transcript, turns: int) -> tuple[Message, ...]:
    """The messages of the first ``turns`` turns, answers included."""
    return tuple(
        message
        for turn in transcript.turns[:turns]
        for message in (*turn.prompt.messages, Message("assistant", turn.answer.text))
    )


def _check(spec: ModelSpec) -> None:
    if not spec.model:
        raise UserError(f"model {spec.id!r} names no file; write replay:FILE or replay:FILE#MODEL")
    path, _ = split_argument(spec.model)
    if holds_challenge_answers(path):
        read_challenge_answers(path)
    elif holds_results(spec.model):
        read_results(spec.model)
    else:
        read_recording(spec.model)


CONNECTOR = ConnectorFactory(
    scheme="replay",
    summary="Answers of an earlier run, of LLM-KG-Bench or of the TEXT2SPARQL challenge (replay:FILE[#MODEL]).",
    make=ReplayConnector,
    check=_check,
    is_free=True,
    only_questions=lambda spec: holds_challenge_answers(split_argument(spec.model)[0]),
)
