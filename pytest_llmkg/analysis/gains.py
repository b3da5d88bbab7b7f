"""What dialogues gain over their first answer, and what they spoil.

Tasks whose models look around before they answer have no such gain: a step that looks is no answer, and scores nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import finite, has_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["LOOKS", "GainRow", "gain_rows", "last_gain", "looks_around", "turn_scores"]

LOOKS = frozenset({"observation", "spent"})
"""Kinds of feedback that follow a step which looked around: what it saw, or that it may look no more."""

_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class GainRow:
    """One model under one label of a task with hints.

    Attributes:
        model, label, score: whose, and which score of a turn.
        dialogues: those with a score at all; errors are left out.
        continued: those with more than one answer; only they can gain or lose.
        first, last, best: mean score of the first, the last and the best answer, over all ``dialogues``.
        improved, harmed, unchanged: number of dialogues whose last answer scores more, less or the same as the first.
        gain, harm: mean change from first to last of the improved and of the harmed ones (harm is negative); None
            where there is none.
        spoiled: number of dialogues whose last answer scores less than their best.
        errors: dialogues that broke off.
        missing: finished dialogues without the score in any answer.
    """

    model: str
    label: str
    score: str
    dialogues: int
    continued: int
    first: float | None
    last: float | None
    best: float | None
    improved: int
    harmed: int
    unchanged: int
    gain: float | None
    harm: float | None
    spoiled: int
    errors: int
    missing: int


def looks_around(transcript: Transcript) -> bool:
    """Whether some turn of ``transcript`` looked around instead of answering."""
    return any(turn.feedback in LOOKS for turn in transcript.turns)


def turn_scores(transcript: Transcript, info: TaskInfo) -> tuple[float, ...] | None:
    """The headline's score of each answer; None for an error, a task without dialogues, or without this score.

    None also for a dialogue in which the model looked around, since not all of its turns are answers.

    An answer that lacks the score while another has it counts as 0, as in the published means.
    """
    if transcript.outcome == "error" or not has_dialogues(info) or looks_around(transcript):
        return None
    name = _turn_score(info)
    found = [finite(turn.evaluation.scores().get(name)) for turn in transcript.turns]
    return None if all(value is None for value in found) else tuple(value or 0.0 for value in found)


def last_gain(transcript: Transcript, info: TaskInfo) -> float | None:
    """Last answer's score minus the first's; None as for `turn_scores`.

    A number for `pytest_llmkg.analysis.values.values_of`, of which intervals tell how sure the mean gain is.
    """
    scores = turn_scores(transcript, info)
    return None if scores is None else scores[-1] - scores[0]


def gain_rows(transcripts: Iterable[Transcript], infos: Iterable[TaskInfo]) -> tuple[GainRow, ...]:
    """One row for each label and model of the tasks with hints, ordered by label and model.

    A task in which any model looked around is left out with all its dialogues, so that models stay comparable.
    """
    held = list(transcripts)
    exploring = {transcript.task for transcript in held if looks_around(transcript)}
    by_name = {info.name: info for info in infos if has_dialogues(info) and info.name not in exploring}
    groups: dict[tuple[str, str], list[Transcript]] = {}
    for transcript in held:
        if transcript.task in by_name:
            groups.setdefault((transcript.label, transcript.model), []).append(transcript)
    return tuple(_row(key, groups[key], by_name) for key in sorted(groups))


def _turn_score(info: TaskInfo) -> str:
    """``combined`` of the headline ``max_combined``."""
    start, _, name = info.headline.partition("_")
    return name if start.isdecimal() or start in ("max", "mean", "meanExt", "last") else info.headline


def _row(key: tuple[str, str], group: list[Transcript], by_name: Mapping[str, TaskInfo]) -> GainRow:
    label, model = key
    info = by_name[group[0].task]
    errors = sum(transcript.outcome == "error" for transcript in group)
    found = [scores for transcript in group if (scores := turn_scores(transcript, info)) is not None]
    changes = [scores[-1] - scores[0] for scores in found]
    gains = [change for change in changes if change > _TIE]
    harms = [change for change in changes if change < -_TIE]
    return GainRow(
        model=model,
        label=label,
        score=_turn_score(info),
        dialogues=len(found),
        continued=sum(len(scores) > 1 for scores in found),
        first=_mean([scores[0] for scores in found]),
        last=_mean([scores[-1] for scores in found]),
        best=_mean([max(scores) for scores in found]),
        improved=len(gains),
        harmed=len(harms),
        unchanged=len(found) - len(gains) - len(harms),
        gain=_mean(gains),
        harm=_mean(harms),
        spoiled=sum(scores[-1] < max(scores) - _TIE for scores in found),
        errors=errors,
        missing=len(group) - errors - len(found),
    )


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
