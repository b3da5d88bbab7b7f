"""``replay:FILE`` gives the answers of an earlier run again, without any model.

FILE is a run file, or the folder that holds ``run.jsonl``; ``replay:FILE#MODEL`` names one of several models
in it. A recorded answer is found by case, iteration and turn. It counts only for the dialogue that it was
given to: when the messages up to the previous answer differ from the recorded ones, there is no answer.
Usage, price and seconds are the recorded ones, so a replayed run has the figures of the first one.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, RecordError, RunFileError, UserError
from pytest_llmkg.plain import from_plain
from pytest_llmkg.records import Answer, Message, ModelSpec, Transcript
from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    path, model = _split(argument)
    lines = list(_transcript_lines(path))
    models = list(dict.fromkeys(str(data.get("model")) for _, data in lines))
    if not models:
        raise RunFileError(f"{path}: the file holds no recorded dialogue")
    if model is None and len(models) > 1:
        named = ", ".join(f"replay:{path}#{name}" for name in models)
        raise UserError(f"{path}: the file holds the answers of {len(models)} models; name one of {named}")
    if model is not None and model not in models:
        raise UserError(f"{path}: {unknown_name('recorded model', model, models)}")
    wanted = models[0] if model is None else model
    found: Recording = {}
    for number, data in lines:
        if data.get("model") == wanted:
            transcript = _transcript(data, f"{path}, line {number}")
            found[f"{transcript.label}/{transcript.case}", transcript.iteration] = transcript
    return found


def _split(argument: str) -> tuple[Path, str | None]:
    """File and model; a file whose own name holds ``#`` is preferred, and model ids may hold one too."""
    ends = [len(argument), *(i for i, char in enumerate(argument) if char == "#")]
    for end in ends:
        path = Path(argument[:end])
        run_file = path / "run.jsonl" if path.is_dir() else path
        if argument[:end] and run_file.is_file():
            return run_file, argument[end + 1 :] or None
    raise RunFileError(f"{argument.partition('#')[0]}: there is no such run file")


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
        self._reading = asyncio.Lock()

    async def ask(self, request: AskRequest) -> Answer:
        """The recorded answer for the request's case, iteration and turn.

        Raises:
            ConnectorError: none was recorded, or it was given to a dialogue that went another way.
        """
        async with self._reading:
            if self._recording is None:
                self._recording = await self._read()
        turn = sum(message.role == "assistant" for message in request.messages)
        place = f"{request.case_key or '(without key)'!r}, iteration {request.iteration}, turn {turn + 1}"
        transcript = self._recording.get((request.case_key, request.iteration))
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
        self._recording = None

    async def _read(self) -> Recording:
        try:
            return await asyncio.to_thread(read_recording, self._argument)
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
    read_recording(spec.model)


CONNECTOR = ConnectorFactory(
    scheme="replay",
    summary="Answers of an earlier run (replay:FILE or replay:FILE#MODEL); calls no model.",
    make=ReplayConnector,
    check=_check,
)
