"""Seconds and money of systems that answer questions, per question and per solved question, by one clock for all.

What counts as a system's seconds is the same for a bare model, a pipeline, a foreign system behind HTTP and a callable:
the wall time of everything that it did for a question, failed and repeated calls included, measured by this program;
not what was done once for many questions (``prepare``, shown apart), not the wait for leave to call that this program
makes it wait, and not the scoring. Money likewise counts every call. What is unknown makes its sum unknown, never zero.

Solved questions are counted as the sum of the headline scores, so that half an answer is half a question (SPARQL-LLM
divides cost by F1 in the same way).
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.analysis.dialogue import headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.records import Answer, FailedCall, TaskInfo, Transcript

__all__ = [
    "EffortRow",
    "QuestionEffort",
    "Spread",
    "asks_question",
    "dialogue_seconds",
    "effort_rows",
    "effort_tables",
    "question_effort",
]

_APART = ("prepare", "wait")
_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class QuestionEffort:
    """What one dialogue took.

    Attributes:
        seconds: the system's own wall time, None when a recorded answer does not tell it.
        prepare: seconds of it that were spent for later questions, too; not in ``seconds``.
        stages: seconds by stage, without ``prepare`` and ``wait``; what tells none has ``model`` alone, and what a
            foreign system's own stages leave out is ``other``.
        cost: US dollars, None when unknown for any answer.
        input_tokens, output_tokens: likewise.
        calls: calls to models, failed ones included, as far as they are told.
        score: the headline score, None when the dialogue ended as an error.
    """

    seconds: float | None
    prepare: float
    stages: Mapping[str, float]
    cost: float | None
    input_tokens: int | None
    output_tokens: int | None
    calls: int
    score: float | None


@dataclass(frozen=True, slots=True)
class Spread:
    """Figures of one quantity over questions: sum, mean, median, 95th percentile (nearest rank) and maximum."""

    total: float
    mean: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True)
class EffortRow:
    """What a model took for its questions.

    Attributes:
        model, label: the label is None for all together.
        questions: dialogues, those that ended as errors included, whose time and money count, too.
        errors: of these.
        solved: sum of the headline scores; an error solved nothing.
        mean_score: over the dialogues that did not end as errors, None without any.
        seconds, cost: by question; None when unknown for any question.
        seconds_per_solved, cost_per_solved: None when unknown or nothing was solved.
        cost_at_least: US dollars of the questions whose cost is known, None without any; the whole cost when it is
            known for all.
        tokens: in and out together, mean of a question, None when unknown for any.
        tokens_at_least: sum over the questions that tell theirs, None without any.
        calls: mean of a question.
        prepare: seconds that were spent once.
        stages: mean seconds of a question by stage, the longest first.
    """

    model: str
    label: str | None
    questions: int
    errors: int
    solved: float
    mean_score: float | None
    seconds: Spread | None
    cost: Spread | None
    seconds_per_solved: float | None
    cost_per_solved: float | None
    cost_at_least: float | None
    tokens: float | None
    tokens_at_least: float | None
    calls: float
    prepare: float
    stages: tuple[tuple[str, float], ...]


def asks_question(transcript: Transcript) -> bool:
    """Whether a prompt of the dialogue names the question that it puts into words."""
    return any(turn.prompt.question is not None for turn in transcript.turns)


def effort_rows(
    transcripts: Iterable[Transcript], infos: Mapping[str, TaskInfo], by: Literal["model", "label"] = "model"
) -> tuple[EffortRow, ...]:
    """A row for each model, or for each model and label, in the order of first appearance.

    Args:
        transcripts: the dialogues; only those of tasks in ``infos`` count.
        infos: tasks by name.
        by: what a row stands for.
    """
    by_model, by_label = effort_tables(transcripts, infos)
    return by_label if by == "label" else by_model


def effort_tables(
    transcripts: Iterable[Transcript], infos: Mapping[str, TaskInfo]
) -> tuple[tuple[EffortRow, ...], tuple[EffortRow, ...]]:
    """Both tables of `effort_rows`, by model and by model and label, from one pass."""
    groups: dict[tuple[str, str | None], list[QuestionEffort]] = defaultdict(list)
    for transcript in transcripts:
        info = infos.get(transcript.task)
        if info is not None:
            effort = question_effort(transcript, info)
            groups[transcript.model, None].append(effort)
            groups[transcript.model, transcript.label].append(effort)
    rows = [_row(model, label, found) for (model, label), found in groups.items()]
    return tuple(row for row in rows if row.label is None), tuple(row for row in rows if row.label is not None)


def dialogue_seconds(transcript: Transcript) -> float | None:
    """Wall seconds of the calls of a dialogue of any task, failed ones included; None when an answer does not tell.

    Not in it: the wait for leave to call, what was done once for many questions, and the scoring.
    """
    found = [_seconds(answer) for answer in _answers(transcript)] + [call.seconds for call in transcript.failed_calls]
    return _sum(found) if found else 0.0


def _answers(transcript: Transcript) -> list[Answer]:
    late = transcript.unevaluated
    return [turn.answer for turn in transcript.turns] + ([] if late is None else [late])


def question_effort(transcript: Transcript, info: TaskInfo) -> QuestionEffort:
    """What ``transcript`` took, whose task is ``info``."""
    answers = _answers(transcript)
    lost = list(transcript.failed_calls)
    seconds = [_seconds(answer) for answer in answers] + [call.seconds for call in lost]
    stages: dict[str, float] = defaultdict(float)
    for answer in answers:
        for name, value in _stages(answer).items():
            stages[name] += value
    if lost:
        stages["model"] += sum(call.seconds for call in lost)
    failed = [call for answer in answers for call in answer.failed_calls] + lost
    score = headline(transcript, info)
    return QuestionEffort(
        seconds=_sum(seconds),
        prepare=sum(answer.stages.get("prepare", 0.0) for answer in answers),
        stages=dict(stages),
        cost=_sum([answer.usage.cost for answer in answers], [call.usage.cost for call in failed]),
        input_tokens=_whole([answer.usage.input_tokens for answer in answers], failed, "input_tokens"),
        output_tokens=_whole([answer.usage.output_tokens for answer in answers], failed, "output_tokens"),
        calls=sum(_calls(answer) for answer in answers) + len(failed),
        score=None if score is None else float(score),
    )


def _seconds(answer: Answer) -> float | None:
    """The time of an answer with the failed calls before it, which a pipeline's own clock has in it already."""
    if answer.notes.get("untimed"):
        return None
    return answer.seconds + (0.0 if _is_metered(answer) else sum(call.seconds for call in answer.failed_calls))


def _is_metered(answer: Answer) -> bool:
    """Whether a pipeline's clock took the time, which always tells how long it had to wait."""
    return "wait" in answer.stages


def _stages(answer: Answer) -> dict[str, float]:
    told = {name: seconds for name, seconds in answer.stages.items() if name not in _APART}
    seconds = _seconds(answer)
    if seconds is None or answer.notes.get("repeated"):
        return told
    if told and not _is_metered(answer):  # told by the system itself, whose clock may leave something out
        other = seconds - sum(told.values())
        return {**told, "other": other} if other > _NOISE else told
    return told or {"model": seconds}


def _calls(answer: Answer) -> int:
    told = answer.notes.get("calls")
    if isinstance(told, int):
        return told
    return 0 if answer.notes.get("repeated") else 1


def _sum(needed: Sequence[float | None], further: Sequence[float | None] = ()) -> float | None:
    """The sum, None if any of ``needed`` is unknown; of ``further`` what is known counts."""
    known = [value for value in needed if value is not None]
    if len(known) < len(needed) or (not needed and not any(value is not None for value in further)):
        return None
    return math.fsum([*known, *(value for value in further if value is not None)])


def _whole(needed: Sequence[int | None], failed: Sequence[FailedCall], name: str) -> int | None:
    total = _sum(needed, [getattr(call.usage, name) for call in failed])
    return None if total is None else int(total)


def _row(model: str, label: str | None, found: Sequence[QuestionEffort]) -> EffortRow:
    scores = [one.score for one in found if one.score is not None]
    solved = math.fsum(scores)
    seconds, cost = _spread([one.seconds for one in found]), _spread([one.cost for one in found])
    tokens = [_sum([one.input_tokens, one.output_tokens]) for one in found]
    stages: dict[str, float] = defaultdict(float)
    for one in found:
        for name, value in one.stages.items():
            stages[name] += value / len(found)
    return EffortRow(
        model=model,
        label=label,
        questions=len(found),
        errors=len(found) - len(scores),
        solved=solved,
        mean_score=solved / len(scores) if scores else None,
        seconds=seconds,
        cost=cost,
        seconds_per_solved=seconds.total / solved if seconds is not None and solved > 0 else None,
        cost_per_solved=cost.total / solved if cost is not None and solved > 0 else None,
        cost_at_least=_known([one.cost for one in found]),
        tokens=None if (total := _spread(tokens)) is None else total.mean,
        tokens_at_least=_known(tokens),
        calls=sum(one.calls for one in found) / len(found),
        prepare=math.fsum(one.prepare for one in found),
        stages=tuple(sorted(stages.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = sorted(value for value in values if value is not None)
    if not known or len(known) < len(values):
        return None
    total = math.fsum(known)
    nearest = known[max(0, math.ceil(0.95 * len(known)) - 1)]
    return Spread(total, total / len(known), statistics.median(known), nearest, known[-1])
