"""Dialogues turn by turn, as a page shows them: text made visible and cut to a bearable length."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, has_dialogues, headline
from pytest_llmkg.records import Answer, Message, Number, Prompt
from pytest_llmkg.reporting.formats import number, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Case, TaskInfo, Transcript, Turn
    from pytest_llmkg.reporting.views import Report

__all__ = ["CutText", "DialogueGroup", "DialogueView", "TurnView", "dialogue_groups"]

TEXT_LIMIT = 20_000
"""Characters of a prompt message or an answer that a page shows; the run file holds the whole."""

FIELD_LIMIT = 600
"""Characters of a case's field or of an observation."""

HIDDEN = "(not shown: the case is sealed)"
"""Stands for the texts of a sealed case where a run's setting ``hide_cases`` keeps them out of reports."""


@dataclass(frozen=True, slots=True)
class CutText:
    """The beginning of a text with its whole length in characters, None when nothing was cut."""

    text: str
    length: int | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn; ``messages`` are (role, text), ``scores`` (signature, ((name, value), ...)), ``info`` (name, text)."""

    messages: tuple[tuple[str, CutText], ...]
    answer: CutText
    details: Answer
    outcome: str
    scores: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    info: tuple[tuple[str, CutText], ...]
    feedback: str | None


@dataclass(frozen=True, slots=True)
class DialogueView:
    """One dialogue.

    Attributes:
        case, iteration, outcome, seconds, error: as in the transcript.
        headline: value of the task's headline score, None for an error.
        fields: the case's own fields, cut short.
        turns: the evaluated turns.
        scores: aggregates over the turns by name; empty for one-turn tasks.
        unevaluated: an answer that came but could not be evaluated.
    """

    case: str
    iteration: int
    outcome: str
    seconds: float
    error: str | None
    headline: Number | None
    fields: tuple[tuple[str, CutText], ...]
    turns: tuple[TurnView, ...]
    scores: tuple[tuple[str, str], ...]
    unevaluated: CutText | None


@dataclass(frozen=True, slots=True)
class DialogueGroup:
    """The dialogues of one model and task label; ``total`` counts also those that are not shown."""

    model: str
    label: str
    total: int
    dialogues: tuple[DialogueView, ...]


def dialogue_groups(report: Report, limit: int) -> tuple[DialogueGroup, ...]:
    """The dialogues of ``report`` by model and label, about ``limit`` in all and at least one of each group."""
    infos = {info.name: info for info in report.tasks}
    hide = any(header.settings.get("hide_cases") for header in report.headers)
    groups = [(k, list(g)) for k, g in groupby(report.transcripts, key=lambda t: (t.model, t.label))]
    share = _fair_share([len(group) for _, group in groups], limit)
    return tuple(
        DialogueGroup(
            model,
            label,
            len(group),
            tuple(_dialogue(t, infos.get(t.task), report.cases, hide=hide) for t in group[:share]),
        )
        for (model, label), group in groups
    )


def _fair_share(sizes: Sequence[int], limit: int) -> int:
    """The largest number that every group may show, so that all together show at most ``limit``; at least 1."""
    share = max(sizes, default=1)
    while share > 1 and sum(min(size, share) for size in sizes) > limit:
        share -= 1
    return share


def cut(text: str, limit: int) -> CutText:
    """The first ``limit`` characters of ``text``, made visible."""
    return CutText(visible(text[:limit]), len(text) if len(text) > limit else None)


def _dialogue(transcript: Transcript, info: TaskInfo | None, cases: Mapping[str, Case], *, hide: bool) -> DialogueView:
    case = cases.get(f"{transcript.label}/{transcript.case}")
    if hide and (case is None or case.sealed):
        transcript, case = _without_texts(transcript), None
    late = transcript.unevaluated
    return DialogueView(
        case=visible(transcript.case),
        iteration=transcript.iteration,
        outcome=transcript.outcome,
        seconds=transcript.seconds,
        error=None if transcript.error is None else visible(transcript.error),
        headline=headline(transcript, info) if info else None,
        fields=_fields(case.data) if case else (),
        turns=tuple(_turn(turn) for turn in transcript.turns),
        scores=_aggregates(transcript, info),
        unevaluated=cut(late.text, TEXT_LIMIT) if late else None,
    )


def _without_texts(transcript: Transcript) -> Transcript:
    """``transcript`` with its scores and numbers, but without anything that the case or the model said."""
    return replace(
        transcript,
        turns=tuple(_turn_without_texts(turn) for turn in transcript.turns),
        # A message may quote what was asked or answered.
        error=None if transcript.error is None else HIDDEN,
        unevaluated=None if transcript.unevaluated is None else replace(transcript.unevaluated, text=HIDDEN),
    )


def _turn_without_texts(turn: Turn) -> Turn:
    return replace(
        turn,
        prompt=Prompt(tuple(Message(message.role, HIDDEN) for message in turn.prompt.messages)),
        answer=replace(turn.answer, text=HIDDEN),
        evaluation=replace(turn.evaluation, info={}),
    )


def _aggregates(transcript: Transcript, info: TaskInfo | None) -> tuple[tuple[str, str], ...]:
    if info is None or not has_dialogues(info):
        return ()
    return tuple(
        (visible(name), number(value))
        for name, value in dialogue_scores(transcript, info).items()
        if not name.partition("_")[0].isdecimal()
    )


def _turn(turn: Turn) -> TurnView:
    return TurnView(
        messages=tuple((message.role, cut(message.text, TEXT_LIMIT)) for message in turn.prompt.messages),
        answer=cut(turn.answer.text, TEXT_LIMIT),
        details=turn.answer,
        outcome=turn.evaluation.outcome,
        scores=tuple(
            (visible(scores.signature), tuple((visible(k), number(v)) for k, v in scores.values.items()))
            for scores in turn.evaluation.score_sets
        ),
        info=_fields(turn.evaluation.info),
        feedback=None if turn.feedback is None else visible(turn.feedback),
    )


def _fields(data: Mapping[str, Json]) -> tuple[tuple[str, CutText], ...]:
    return tuple((visible(name), cut(_plain_text(value), FIELD_LIMIT)) for name, value in data.items())


def _plain_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
