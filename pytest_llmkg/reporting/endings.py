"""How dialogues ended: right, partly right, wrong, unparsable, or not at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import headline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["KINDS", "Endings", "endings_of"]

KINDS = ("full", "partial", "zero", "unparsable", "no_answer", "error", "missing")
"""Scored with 1 or more; in between; with 0 or less; an answer that cannot be parsed; an empty one; a dialogue that
broke off; an evaluated one without the headline score."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Endings:
    """The dialogues of all models under one label, or of one model under it.

    Attributes:
        task, label, model: whose; ``model`` is None for all models together.
        counts: by kind, in the order of `KINDS`.
        hints: kinds of feedback that were given, with how often, the most frequent first.
        stops: reasons other than a normal end for which answers stopped, likewise.
    """

    task: str
    label: str
    model: str | None
    counts: tuple[int, ...]
    hints: tuple[tuple[str, int], ...]
    stops: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """All dialogues."""
        return sum(self.counts)


_NORMAL = {None, "", "stop", "end_turn", "eos", "stop_sequence", "completed"}


def endings_of(transcripts: Iterable[Transcript], infos: Iterable[TaskInfo]) -> tuple[Endings, ...]:
    """By label, first all models together, then each model, in the order in which they come."""
    by_name = {info.name: info for info in infos}
    groups: dict[tuple[str, str], dict[str | None, list[tuple[Transcript, str]]]] = {}
    for transcript in transcripts:
        group = groups.setdefault((transcript.task, transcript.label), {None: []})
        one = (transcript, _kind(transcript, by_name.get(transcript.task)))
        group[None].append(one)
        group.setdefault(transcript.model, []).append(one)
    return tuple(
        _endings(task, label, model, found) for (task, label), group in groups.items() for model, found in group.items()
    )


def _endings(task: str, label: str, model: str | None, found: list[tuple[Transcript, str]]) -> Endings:
    kinds = Counter(kind for _, kind in found)
    turns = [turn for transcript, _ in found for turn in transcript.turns]
    hints = Counter(turn.feedback for turn in turns if turn.feedback is not None)
    stops = Counter(turn.answer.stop_reason for turn in turns)
    return Endings(
        task,
        label,
        model,
        tuple(kinds[kind] for kind in KINDS),
        _sorted(hints.items()),
        _sorted((reason, count) for reason, count in stops.items() if reason not in _NORMAL and reason is not None),
    )


def _sorted(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts, key=lambda pair: (-pair[1], pair[0])))


def _kind(transcript: Transcript, info: TaskInfo | None) -> str:
    if transcript.outcome != "scored":
        return transcript.outcome
    value = headline(transcript, info) if info else None
    if value is None:
        return "missing"
    return "full" if value >= 1 - _ROUNDING else "zero" if value <= _ROUNDING else "partial"
