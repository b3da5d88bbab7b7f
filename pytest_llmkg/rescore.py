"""Recorded answers through a task's rules again: the turn loop with a record in the model's place."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pytest_llmkg.records import Answer, Prompt, Transcript, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.contracts import KgEngine, Task
    from pytest_llmkg.records import Case

__all__ = ["rescore_answers", "rescore_transcript"]


def rescore_answers(task: Task, case: Case, answers: Sequence[str], kg: KgEngine) -> tuple[Turn, ...]:
    """The turns of ``answers``, evaluated by ``task``; prompts are left empty.

    ``feedback`` of each turn is the kind of hint that the rules give there (None: stop), whatever the record did, and
    None after the last turn that the task allows.
    """
    turns = []
    for number, text in enumerate(answers, 1):
        answer = Answer(text)
        turns.append(_decided(task, case, Turn(Prompt(()), answer, task.evaluate(case, answer, kg)), number))
    return tuple(turns)


def rescore_transcript(task: Task, case: Case, transcript: Transcript, kg: KgEngine) -> Transcript:
    """``transcript`` with new evaluations of its answers.

    A dialogue that broke off stays so: what would have followed an answer that could not be evaluated is not known.
    """
    turns = [
        _decided(task, case, dataclasses.replace(turn, evaluation=task.evaluate(case, turn.answer, kg)), number)
        for number, turn in enumerate(transcript.turns, 1)
    ]
    return dataclasses.replace(transcript, turns=tuple(turns))


def _decided(task: Task, case: Case, turn: Turn, number: int) -> Turn:
    hint = task.feedback(case, turn) if number < task.info.max_turns else None
    return dataclasses.replace(turn, feedback=None if hint is None else hint.kind)
