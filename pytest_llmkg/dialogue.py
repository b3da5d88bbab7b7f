"""The turn loop, the only one: prompt, answer, evaluation, then a hint or the end."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pytest_llmkg.contracts import AskRequest, Connector, KgEngine, Task
from pytest_llmkg.errors import ConnectorError, LlmkgError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, Case, Message, Prompt, Transcript, Turn

__all__ = ["MAX_ANSWER_CHARACTERS", "Dialogue", "hold_dialogue"]

# Longer answers are cut before anything reads them: no task needs more, and every later step may hold several copies.
MAX_ANSWER_CHARACTERS = 1_000_000


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
        grace: seconds after ``timeout`` until the dialogue gives up on a connector that does not keep it.
    """

    case: Case
    task: Task
    model: str
    connector: Connector
    iteration: int = 1
    timeout: float = 120.0
    max_turns: int | None = None
    grace: float = 60.0

    @property
    def turn_limit(self) -> int:
        """The most answers that this dialogue asks for."""
        own = self.task.info.max_turns
        return own if self.max_turns is None else min(own, self.max_turns)


async def hold_dialogue(dialogue: Dialogue, kg: KgEngine) -> Transcript:
    """Holds ``dialogue`` to its end and returns its transcript.

    Prompts and evaluations are computed off the event loop, so that one slow scorer does not hold up other dialogues.
    An error ends the dialogue and is told in the transcript, never raised; what was answered before it is kept, since
    answers are paid for.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    record = _Record()
    try:
        await _hold_turns(dialogue, kg, record)
    except LlmkgError as problem:
        record.error = str(problem) or type(problem).__name__
    except Exception as problem:  # noqa: BLE001  (a faulty task or connector of somebody else: recorded, not hidden)
        record.error = f"{type(problem).__name__}: {problem}"
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
        error=None if record.error is None else clean_text(" ".join(record.error.split())),
        unevaluated=record.unevaluated,
    )


@dataclass(slots=True)
class _Record:
    """What a dialogue has come to so far; stays readable when a turn fails."""

    turns: list[Turn] = field(default_factory=list)
    unevaluated: Answer | None = None
    error: str | None = None


async def _hold_turns(dialogue: Dialogue, kg: KgEngine, record: _Record) -> None:
    case, task = dialogue.case, dialogue.task
    prompt = await asyncio.to_thread(task.prompt, case, kg)
    history: tuple[Message, ...] = ()
    for number in range(dialogue.turn_limit):
        history += prompt.messages
        answer = await _ask(dialogue, history)
        record.unevaluated = answer
        turn = Turn(prompt, answer, await asyncio.to_thread(task.evaluate, case, answer, kg))
        record.unevaluated = None
        record.turns.append(turn)
        hint = task.feedback(case, turn) if number + 1 < dialogue.turn_limit else None
        if hint is None:
            return
        record.turns[-1] = dataclasses.replace(turn, feedback=hint.kind)
        history += (Message("assistant", answer.text),)
        prompt = Prompt.user(hint.text)


async def _ask(dialogue: Dialogue, history: tuple[Message, ...]) -> Answer:
    request = AskRequest(history, f"{dialogue.case.label}/{dialogue.case.id}", dialogue.iteration, dialogue.timeout)
    clock = time.monotonic()
    try:
        answer = await asyncio.wait_for(dialogue.connector.ask(request), dialogue.timeout + dialogue.grace)
    except TimeoutError as error:
        raise ConnectorError(f"model {dialogue.model!r} gave no answer within {dialogue.timeout:g} s") from error
    text, stop_reason = clean_text(answer.text), answer.stop_reason
    if len(text) > MAX_ANSWER_CHARACTERS:
        text, stop_reason = text[:MAX_ANSWER_CHARACTERS], f"cut at {MAX_ANSWER_CHARACTERS} characters"
    return dataclasses.replace(
        answer,
        text=text,
        stop_reason=stop_reason,
        seconds=answer.seconds or round(time.monotonic() - clock, 6),
    )
