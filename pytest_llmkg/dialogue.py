"""The turn loop, the only one: prompt, answer, evaluation, then a hint or the end."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from pytest_llmkg.contracts import AskRequest, Connector, KgEngine, Task, UnansweredError
from pytest_llmkg.errors import LlmkgError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, Case, FailedCall, Message, Prompt, Question, Transcript, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_ANSWER_CHARACTERS", "Dialogue", "hold_dialogue"]

R = TypeVar("R")

# Longer answers are cut before anything reads them: no task needs more, and every later step may hold several copies.
MAX_ANSWER_CHARACTERS = 1_000_000
_LONGEST_ERROR = 4000


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What to ask whom, and within which limits.

    Attributes:
        case, task: what to ask and how to score it.
        model: id of the model, as in ``--models``.
        connector: the way to that model.
        iteration: which time this case is asked, from 1.
        timeout: seconds that one answer may take, kept by the connector, which knows what is loading or queueing.
        max_turns: at most so many turns; the task's own limit when None or larger.
        limit: seconds that the whole dialogue may take, with all waiting; None for no limit.
    """

    case: Case
    task: Task
    model: str
    connector: Connector
    iteration: int = 1
    timeout: float = 120.0
    max_turns: int | None = None
    limit: float | None = None

    @property
    def turn_limit(self) -> int:
        """The most answers that this dialogue asks for."""
        own = self.task.info.max_turns
        return own if self.max_turns is None else min(own, self.max_turns)


async def hold_dialogue(dialogue: Dialogue, kg: KgEngine, scorers: Executor | None = None) -> Transcript:
    """Holds ``dialogue`` to its end and returns its transcript.

    Prompts and evaluations are computed by ``scorers`` (the loop's own threads when None), off the event loop, so
    that one slow scorer does not hold up other dialogues. An error ends the dialogue and is told in the transcript,
    never raised; what was answered before it is kept, since answers are paid for. So it is when the dialogue is
    cancelled, unless nothing was answered yet.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    record = _Record()
    try:
        async with asyncio.timeout(dialogue.limit) as limit:
            await _hold_turns(dialogue, _Scoring(kg, scorers), record)
    except asyncio.CancelledError:
        if not record.turns and record.unevaluated is None and not record.failed_calls:
            raise
        record.error = "the dialogue was interrupted"
    except LlmkgError as problem:
        record.error = str(problem) or type(problem).__name__
        if isinstance(problem, UnansweredError):
            record.failed_calls = list(problem.failed_calls)
    except Exception as problem:  # noqa: BLE001  (a faulty task or connector of somebody else: recorded, not hidden)
        record.error = f"{type(problem).__name__}: {problem}"
        if limit.expired():
            record.error = f"the dialogue did not end within {dialogue.limit:g} s"
    case = dialogue.case
    return Transcript(
        case=case.id,
        label=case.label,
        task=case.task,
        model=dialogue.model,
        iteration=dialogue.iteration,
        turns=tuple(record.turns),
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 6),
        error=None if record.error is None else clean_text(" ".join(record.error.split()))[:_LONGEST_ERROR],
        unevaluated=record.unevaluated,
        failed_calls=tuple(record.failed_calls),
    )


@dataclass(slots=True)
class _Record:
    """What a dialogue has come to so far; stays readable when a turn fails."""

    turns: list[Turn] = field(default_factory=list)
    unevaluated: Answer | None = None
    failed_calls: list[FailedCall] = field(default_factory=list)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Scoring:
    """The graph engine, and the threads that use it."""

    kg: KgEngine
    scorers: Executor | None

    async def run(self, work: Callable[[], R]) -> R:
        """What ``work`` returns, computed off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.scorers, work)


async def _hold_turns(dialogue: Dialogue, scoring: _Scoring, record: _Record) -> None:
    case, task, kg = dialogue.case, dialogue.task, scoring.kg
    prompt = await scoring.run(functools.partial(task.prompt, case, kg))
    question = prompt.question
    history: tuple[Message, ...] = ()
    for number in range(dialogue.turn_limit):
        history += prompt.messages
        answer = await _ask(dialogue, history, question, record.failed_calls)
        record.unevaluated, record.failed_calls = answer, []
        evaluation = await scoring.run(functools.partial(task.evaluate, case, answer, kg))
        turn = Turn(prompt, answer, evaluation)
        record.unevaluated = None
        record.turns.append(turn)
        hint = task.feedback(case, turn) if number + 1 < dialogue.turn_limit else None
        if hint is None:
            return
        record.turns[-1] = dataclasses.replace(turn, feedback=hint.kind)
        history += (Message("assistant", answer.text),)
        prompt = Prompt.user(hint.text)


async def _ask(
    dialogue: Dialogue, history: tuple[Message, ...], question: Question | None, failed_calls: list[FailedCall]
) -> Answer:
    key = f"{dialogue.case.label}/{dialogue.case.id}"
    request = AskRequest(history, key, dialogue.iteration, dialogue.timeout, question, failed_calls)
    clock = time.monotonic()
    answer = await dialogue.connector.ask(request)
    text, stop_reason = clean_text(answer.text), answer.stop_reason
    if len(text) > MAX_ANSWER_CHARACTERS:
        text, stop_reason = text[:MAX_ANSWER_CHARACTERS], f"cut at {MAX_ANSWER_CHARACTERS} characters"
    return dataclasses.replace(
        answer,
        text=text,
        stop_reason=stop_reason,
        seconds=answer.seconds or round(time.monotonic() - clock, 6),
    )
