"""Where a report's dialogues come from: runs in memory, or run files that are read one dialogue at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    FailedCall,
    Message,
    Prompt,
    RunHeader,
    ScoreSet,
    Transcript,
    Turn,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.plain import Json

__all__ = [
    "HIDDEN",
    "AnyRun",
    "KeepsReplaced",
    "Key",
    "RunLike",
    "Source",
    "StoredRun",
    "slim",
    "source_of",
    "without_texts",
]

HIDDEN = "(not shown: the case is sealed)"
"""Stands for the texts of a sealed case where a run's setting ``hide_cases`` keeps them out of reports."""

_ERROR_LIMIT = 300
_COUNTED = ("calls", "repeated", "untimed")

KeyT = TypeVar("KeyT", bound="tuple[str, str, str, int]")


class Key(NamedTuple):
    """Which dialogue; the same fields in the same order as `pytest_llmkg.store.DialogueKey`."""

    label: str
    case: str
    model: str
    iteration: int


class RunLike(Protocol):
    """A run in memory; `pytest_llmkg.store.Run` is one."""

    @property
    def header(self) -> RunHeader:
        """What was run."""
        ...

    @property
    def cases(self) -> Mapping[str, Case]:
        """By ``label/id``."""
        ...

    @property
    def transcripts(self) -> Sequence[Transcript]:
        """All dialogues."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether the run file ended in the middle of a line."""
        ...


@runtime_checkable
class StoredRun(Protocol[KeyT]):
    """A run whose dialogues are read when they are needed; `pytest_llmkg.store.RunIndex` is one."""

    @property
    def header(self) -> RunHeader:
        """What was run."""
        ...

    @property
    def cases(self) -> Mapping[str, Case]:
        """By ``label/id``."""
        ...

    @property
    def entries(self) -> Mapping[KeyT, object]:
        """The dialogues."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether the run file ended in the middle of a line."""
        ...

    def read(self, key: KeyT, /) -> Transcript:
        """One dialogue."""
        ...


@runtime_checkable
class KeepsReplaced(Protocol):
    """A run that also tells of attempts that do not count, since another one of the same dialogue replaced them."""

    def replaced(self) -> Iterable[Transcript]:
        """These attempts, one at a time; their answers were paid for all the same."""
        ...


AnyRun = RunLike | StoredRun[Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A run as reports read it.

    Attributes:
        header, cases, truncated: as in the run.
        read: by dialogue what reads it.
        replaced: gives the attempts that do not count; None when the run does not tell of them.
    """

    header: RunHeader
    cases: Mapping[str, Case]
    truncated: bool
    read: Mapping[Key, Callable[[], Transcript]]
    replaced: Callable[[], Iterable[Transcript]] | None = None


def source_of(run: AnyRun) -> Source:
    """``run`` as a source."""
    readers: dict[Key, Callable[[], Transcript]]
    if isinstance(run, StoredRun):
        readers = {Key(*key): _later(run, key) for key in run.entries}
    else:
        readers = {Key(t.label, t.case, t.model, t.iteration): _same(t) for t in run.transcripts}
    replaced = run.replaced if isinstance(run, KeepsReplaced) else None
    return Source(run.header, run.cases, run.truncated, readers, replaced)


def _later(run: StoredRun[Any], key: object) -> Callable[[], Transcript]:
    return lambda: run.read(key)


def _same(transcript: Transcript) -> Callable[[], Transcript]:
    return lambda: transcript


def without_texts(transcript: Transcript) -> Transcript:
    """``transcript`` with its scores and numbers, but without anything that the case or the model said."""
    return replace(
        transcript,
        turns=tuple(_turn_without_texts(turn) for turn in transcript.turns),
        # A message may quote what was asked or answered.
        error=None if transcript.error is None else HIDDEN,
        unevaluated=None if transcript.unevaluated is None else _hidden_answer(transcript.unevaluated),
        failed_calls=_hidden_calls(transcript.failed_calls),
    )


def _turn_without_texts(turn: Turn) -> Turn:
    return replace(
        turn,
        prompt=Prompt(tuple(Message(message.role, HIDDEN) for message in turn.prompt.messages)),
        answer=_hidden_answer(turn.answer),
        evaluation=replace(turn.evaluation, info={}),
    )


def _hidden_answer(answer: Answer) -> Answer:
    return replace(
        answer,
        text=HIDDEN,
        reasoning=None if answer.reasoning is None else HIDDEN,
        failed_calls=_hidden_calls(answer.failed_calls),
        notes=_counted_notes(answer),
    )


def _hidden_calls(calls: tuple[FailedCall, ...]) -> tuple[FailedCall, ...]:
    return tuple(replace(call, error=HIDDEN) for call in calls)


_NO_PROMPT = Prompt(())


def slim(transcript: Transcript) -> Transcript:
    """``transcript`` with all that is counted, but without long texts, so that many fit into memory."""
    return replace(
        transcript,
        case=intern(transcript.case),
        label=intern(transcript.label),
        task=intern(transcript.task),
        model=intern(transcript.model),
        turns=tuple(_slim_turn(turn) for turn in transcript.turns),
        error=None if transcript.error is None else intern(transcript.error[:_ERROR_LIMIT]),
        unevaluated=None if transcript.unevaluated is None else _slim_answer(transcript.unevaluated),
        failed_calls=_slim_calls(transcript.failed_calls),
    )


def _slim_turn(turn: Turn) -> Turn:
    evaluation = turn.evaluation
    sets = tuple(
        ScoreSet(intern(one.signature), {intern(k): v for k, v in one.values.items()}, one.notes)
        for one in evaluation.score_sets
    )
    return Turn(_NO_PROMPT, _slim_answer(turn.answer), Evaluation(evaluation.outcome, sets), turn.feedback)


def _slim_answer(answer: Answer) -> Answer:
    return Answer(
        "",
        None if answer.stop_reason is None else intern(answer.stop_reason),
        answer.usage,
        answer.seconds,
        None if answer.served_model is None else intern(answer.served_model),
        None,
        answer.dropped,
        _slim_calls(answer.failed_calls),
        answer.from_cache,
        answer.stages,
        _counted_notes(answer),
    )


def _counted_notes(answer: Answer) -> Mapping[str, Json]:
    """The notes that the analysis of time and cost counts by: numbers and flags, never texts."""
    kept = {name: answer.notes[name] for name in _COUNTED if name in answer.notes}
    return {name: value for name, value in kept.items() if isinstance(value, int | float)}


def _slim_calls(calls: tuple[FailedCall, ...]) -> tuple[FailedCall, ...]:
    return tuple(replace(call, error=call.error[:_ERROR_LIMIT]) for call in calls)
