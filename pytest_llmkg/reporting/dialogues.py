"""Dialogues turn by turn, as a page shows them: text made visible and cut to a bearable length."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, has_dialogues, headline
from pytest_llmkg.records import Answer, FailedCall, Number
from pytest_llmkg.reporting.formats import number, visible
from pytest_llmkg.reporting.parser_errors import readable_error
from pytest_llmkg.reporting.sources import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Case, TaskInfo, Transcript, Turn
    from pytest_llmkg.reporting.views import Report

__all__ = [
    "HIDDEN",
    "CaseView",
    "CutText",
    "DialogueGroup",
    "DialogueView",
    "TurnView",
    "case_view",
    "dialogue_groups",
    "dialogue_view",
]

TEXT_LIMIT = 20_000
"""Characters of a prompt message or an answer that a page shows; the run file holds the whole."""

FIELD_LIMIT = 600
"""Characters of a case's field or of an observation."""

_PAIRS = (("rdfString", "reference"), ("sparql", "query"), ("answerSet", "result"))
"""Observations that hold the part of an answer that was scored, each with the case's field that it is held against."""

_ALONE = ("reference", "result", "specialNodeIri")
"""Fields of a case that say what an answer should hold, where no observation says what was scored."""

_REFERENCES = ("reference", "query", "result", "specialNodeIri")
"""All fields that an answer may be held against."""


@dataclass(frozen=True, slots=True)
class CutText:
    """The beginning of a text with its whole length in characters, None when nothing was cut."""

    text: str
    length: int | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn.

    Attributes:
        messages: (role, text) of the prompt.
        answer, reasoning: what the model said and thought.
        details: numbers of the call; its texts are not shown from here.
        extracted: the part of the answer that was scored, None where the task names none.
        outcome, feedback: of the turn.
        scores: (signature, ((name, value), ...)).
        info: (name, text) of the other observations.
        notes: what corrected rules treat otherwise.
        told: (name, text) of what a system tells of its work.
    """

    messages: tuple[tuple[str, CutText], ...]
    answer: CutText
    reasoning: CutText | None
    details: Answer
    extracted: CutText | None
    outcome: str
    scores: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    info: tuple[tuple[str, CutText], ...]
    notes: tuple[str, ...]
    told: tuple[tuple[str, CutText], ...]
    feedback: str | None


@dataclass(frozen=True, slots=True)
class DialogueView:
    """One dialogue.

    Attributes:
        label, case, model, iteration, outcome, started, seconds, error: as in the transcript.
        headline: value of the task's headline score, None for an error.
        fields: the case's own fields, cut short.
        reference_name: the case's field that says what an answer should be, None where there is none.
        reference: that field, None where the case does not say.
        turns: the evaluated turns.
        scores: aggregates over the turns by name; empty for one-turn tasks.
        unevaluated: an answer that came but could not be evaluated.
        failed_calls: of the turn that got no answer.
    """

    label: str
    case: str
    model: str
    iteration: int
    outcome: str
    started: str
    seconds: float
    error: str | None
    headline: Number | None
    fields: tuple[tuple[str, CutText], ...]
    reference_name: str | None
    reference: CutText | None
    turns: tuple[TurnView, ...]
    scores: tuple[tuple[str, str], ...]
    unevaluated: CutText | None
    failed_calls: tuple[FailedCall, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """What a case says: (name, text) of the fields that answers may be held against, and all fields cut short."""

    id: str
    references: tuple[tuple[str, CutText], ...]
    fields: tuple[tuple[str, CutText], ...]


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
    groups = [(k, list(g)) for k, g in groupby(report.transcripts, key=lambda t: (t.model, t.label))]
    share = _fair_share([len(group) for _, group in groups], limit)
    return tuple(
        DialogueGroup(
            model,
            label,
            len(group),
            tuple(dialogue_view(report.full(t), infos.get(t.task), report.shown_case(t)) for t in group[:share]),
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


def dialogue_view(
    transcript: Transcript, info: TaskInfo | None, case: Case | None, *, alone: bool = True
) -> DialogueView:
    """The view of ``transcript``, whose texts must be those that may be shown.

    Args:
        transcript: the dialogue.
        info: its task.
        case: its case, None when it is unknown or must not be shown.
        alone: whether the view must hold what others hold, too: the texts of the case (see `case_view`) and the
            headline score (which the index of a page has).
    """
    late = transcript.unevaluated
    observation, name = _compared(transcript, case)
    shown = case if alone else None
    return DialogueView(
        label=visible(transcript.label),
        case=visible(transcript.case),
        model=visible(transcript.model),
        iteration=transcript.iteration,
        outcome=transcript.outcome,
        started=visible(transcript.started),
        seconds=transcript.seconds,
        error=None if transcript.error is None else visible(transcript.error),
        headline=headline(transcript, info) if info and alone else None,
        fields=_fields(shown.data) if shown else (),
        reference_name=name,
        reference=_reference(shown.data, name) if shown and name else None,
        turns=tuple(_turn(turn, observation) for turn in transcript.turns),
        scores=_aggregates(transcript, info),
        unevaluated=cut(late.text, TEXT_LIMIT) if late else None,
        failed_calls=transcript.failed_calls,
    )


def case_view(case: Case) -> CaseView:
    """What pages show of ``case``."""
    names = [name for name in _REFERENCES if name in case.data]
    found = [(name, text) for name in names if (text := _reference(case.data, name)) is not None]
    return CaseView(visible(case.id), tuple(found), _fields(case.data))


def _compared(transcript: Transcript, case: Case | None) -> tuple[str | None, str | None]:
    """The observation that holds what was scored, and the case's field that it is held against."""
    data = {} if case is None else case.data
    for observation, name in _PAIRS:
        seen = any(observation in turn.evaluation.info for turn in transcript.turns)
        if seen and (case is None or name in data):
            return observation, name if name in data else None
    return None, next((name for name in _ALONE if name in data), None)


def _reference(data: Mapping[str, Json], name: str) -> CutText | None:
    text = _joined(data.get(name))
    return None if text is None else cut(text, TEXT_LIMIT)


def _joined(value: Json) -> str | None:
    """A text that is not empty, or the entries of a list, one on each line; None for anything else."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value:
        return "\n".join(sorted(_plain_text(entry) for entry in value))
    return None


def _aggregates(transcript: Transcript, info: TaskInfo | None) -> tuple[tuple[str, str], ...]:
    if info is None or not has_dialogues(info):
        return ()
    return tuple(
        (visible(name), number(value))
        for name, value in dialogue_scores(transcript, info).items()
        if not name.partition("_")[0].isdecimal()
    )


def _turn(turn: Turn, observation: str | None) -> TurnView:
    evaluation = turn.evaluation
    extracted = None if observation is None else _joined(evaluation.info.get(observation))
    return TurnView(
        messages=tuple((message.role, cut(message.text, TEXT_LIMIT)) for message in turn.prompt.messages),
        answer=cut(turn.answer.text, TEXT_LIMIT),
        reasoning=None if turn.answer.reasoning is None else cut(turn.answer.reasoning, TEXT_LIMIT),
        details=turn.answer,
        extracted=None if extracted is None else cut(extracted, TEXT_LIMIT),
        outcome=evaluation.outcome,
        scores=tuple(
            (visible(scores.signature), tuple((visible(k), number(v)) for k, v in scores.values.items()))
            for scores in evaluation.score_sets
        ),
        info=_fields(evaluation.info),
        notes=tuple(visible(note) for scores in evaluation.score_sets for note in scores.notes),
        told=_fields(turn.answer.notes),
        feedback=None if turn.feedback is None else visible(turn.feedback),
    )


def _fields(data: Mapping[str, Json]) -> tuple[tuple[str, CutText], ...]:
    return tuple((visible(name), cut(_plain_text(value), FIELD_LIMIT)) for name, value in data.items())


def _plain_text(value: Json) -> str:
    return readable_error(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
