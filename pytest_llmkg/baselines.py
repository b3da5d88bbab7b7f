"""Baselines: slim run files that are committed, so that later runs can be compared with them.

A baseline holds the header of its run and of every dialogue the scores, tokens, prices and times: all that the gate
needs. Prompts, answers, cases, observations and the texts of errors are left out, so that it is small, and so that a
sealed case or an answer never gets into a repository. It is a run file and can be read wherever one can.
"""

from __future__ import annotations

import dataclasses
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_llmkg.errors import RunFileError, UnknownNameError, UserError
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Answer, Evaluation, FailedCall, ModelSpec, Prompt, RunHeader, Transcript, Turn
from pytest_llmkg.registry import unknown_name
from pytest_llmkg.store import FILE_NAME, SCHEMA, SEALED_LINES, Run, index_run
from pytest_llmkg.store.lines import encode_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "DEFAULT_NAME",
    "FOLDER",
    "baseline_names",
    "baseline_summary",
    "baseline_title",
    "find_baseline",
    "read_slim",
    "slim_header",
    "slim_transcript",
    "write_baseline",
]

FOLDER = "reports/baselines"
"""Where baselines are, below the root of the user's project."""

DEFAULT_NAME = "main"

_LEFT_OUT = "(left out of the baseline)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def baseline_names(root: Path) -> tuple[str, ...]:
    """Names of the baselines of the project in ``root``, sorted."""
    folder = root / FOLDER
    return tuple(sorted(path.name.removesuffix(".jsonl") for path in folder.glob("*.jsonl") if path.is_file()))


def find_baseline(text: str, here: Path, root: Path) -> Path:
    """The run file or folder that ``text`` means: a path from ``here``, else the name of a baseline in ``root``.

    Raises:
        UserError: there is neither.
    """
    if not text.strip():
        raise UserError("the baseline has no name; name a run or a baseline")
    path = here / text
    try:
        exists = path.exists()
    except OSError as error:  # e.g. a name that is too long
        raise UserError(f"{text[:80]}: cannot be read: {error.strerror}") from error
    if exists:
        return path
    named = root / FOLDER / f"{text}.jsonl"
    if _NAME.fullmatch(text) and named.is_file():
        return named
    if _NAME.fullmatch(text):
        hint = f"; there is no run folder {text!r} here either"
        raise UnknownNameError(f"{unknown_name('baseline', text, baseline_names(root))}{hint}")
    raise RunFileError(f"{path}: no such run; give a run folder, a {FILE_NAME} or the name of a baseline")


def baseline_title(path: Path, run: str) -> str:
    """What to call the baseline in ``path``, which was made from ``run``: its name, too, where it has one."""
    is_named = path.suffix == ".jsonl" and path.parent.as_posix().endswith(FOLDER)
    return f"{path.stem} (made from run {run})" if is_named else run


def baseline_summary(name: str, root: Path) -> str:
    """One line on the baseline ``name`` of the project in ``root``: run, date, dialogues, models."""
    try:
        run = index_run(root / FOLDER / f"{name}.jsonl")
    except RunFileError as error:
        return f"{name}: cannot be read: {error}"
    count = f"{len(run.entries)} dialogue{'' if len(run.entries) == 1 else 's'}"
    models = ", ".join(spec.id for spec in run.header.models)
    return f"{name}: run {run.header.run} of {run.header.started[:10]}, {count}, models {models or 'none'}"


def read_slim(path: Path) -> Run:
    """A run as a baseline has it, read one dialogue at a time, so that a large one needs little memory.

    Raises:
        RunFileError: as `pytest_llmkg.store.read_run`.
    """
    index = index_run(path)
    transcripts = tuple(slim_transcript(index.read(key)) for key in index.entries)
    return Run(slim_header(index.header), {}, transcripts, index.truncated)


def write_baseline(run: Run, name: str, root: Path) -> Path:
    """Writes the baseline ``name`` of the project in ``root``, in place of an older one, and returns its path.

    Raises:
        UserError: the name is none, the run holds no dialogue, or the file cannot be written.
    """
    if not _NAME.fullmatch(name) or name.split(".", maxsplit=1)[0] == "run":
        raise UserError(f"{name!r} is no name of a baseline; use letters, digits and . _ + - and begin unlike 'run.'")
    if not run.transcripts:
        raise UserError(f"run {run.header.run!r} holds no dialogue, so it is no baseline")
    path = root / FOLDER / f"{name}.jsonl"
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(b"".join(line + b"\n" for line in _lines(run)))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot write the baseline: {error.strerror}") from error
    return path


def _lines(run: Run) -> Iterable[bytes]:
    yield encode_line("header", to_plain(slim_header(run.header)))
    # In a fixed order, so that an update changes few lines of the committed file.
    for one in sorted(run.transcripts, key=lambda t: (t.model, t.label, t.case, t.iteration)):
        yield encode_line("transcript", _compact(slim_transcript(one)))


def slim_header(header: RunHeader) -> RunHeader:
    """``header`` as a baseline has it: nothing is sealed, and no address holds a user or password."""
    settings = {name: value for name, value in header.settings.items() if name != SEALED_LINES}
    return replace(
        header,
        schema=SCHEMA,
        models=tuple(_without_user(spec) for spec in header.models),
        settings={**settings, "slim": True},
    )


def _without_user(spec: ModelSpec) -> ModelSpec:
    address = spec.api_base
    return spec if address is None else replace(spec, api_base=re.sub(r"(?<=//)[^/?#]*@", "", address))


def slim_transcript(transcript: Transcript) -> Transcript:
    """``transcript`` without a word of case or model: scores, tokens, prices and times are left."""
    late = transcript.unevaluated
    return replace(
        transcript,
        turns=tuple(_slim_turn(turn) for turn in transcript.turns),
        error=None if transcript.error is None else _LEFT_OUT,
        unevaluated=None if late is None else _slim_answer(late),
        failed_calls=tuple(map(_slim_call, transcript.failed_calls)),
    )


def _slim_turn(turn: Turn) -> Turn:
    evaluation = Evaluation(turn.evaluation.outcome, turn.evaluation.score_sets)
    return Turn(Prompt(()), _slim_answer(turn.answer), evaluation, turn.feedback)


def _slim_answer(answer: Answer) -> Answer:
    calls = tuple(map(_slim_call, answer.failed_calls))
    return Answer("", answer.stop_reason, answer.usage, answer.seconds, answer.served_model, failed_calls=calls)


def _slim_call(call: FailedCall) -> FailedCall:
    return replace(call, error=_LEFT_OUT)


def _compact(value: Any) -> Json:
    """Plain data of records without the fields that have their default, which reading fills in again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Json] = {}
        for field in dataclasses.fields(value):
            one = getattr(value, field.name)
            default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            if default is dataclasses.MISSING or one != default:
                found[field.name] = _compact(one)
        return found
    if isinstance(value, tuple | list):
        return [_compact(one) for one in value]
    return to_plain(value)
