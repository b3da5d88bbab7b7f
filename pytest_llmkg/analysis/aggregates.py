"""Means over dialogues: per model and task label, and per model.

Errors are counted and shown, never taken as a score of 0. Unparsable and empty answers have a score by rule
and are part of every mean. All orders and sums are independent of the order in which dialogues finished.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import finite, headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.records import Number, TaskInfo, Transcript

__all__ = ["Counts", "LabelRow", "ModelRow", "label_rows", "model_rows"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many dialogues ended in which way.

    Attributes:
        scored, unparsable, no_answer: by the outcome of the last turn.
        error: broke off; no part of any mean.
        missing: evaluated, but without the task's headline score, hence no part of the mean either.
    """

    scored: int = 0
    unparsable: int = 0
    no_answer: int = 0
    error: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        """All dialogues."""
        return self.scored + self.unparsable + self.no_answer + self.error

    @property
    def evaluated(self) -> int:
        """Dialogues that did not end as an error."""
        return self.total - self.error

    @property
    def in_mean(self) -> int:
        """Dialogues whose headline score is part of the mean."""
        return self.evaluated - self.missing

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.scored + other.scored,
            self.unparsable + other.unparsable,
            self.no_answer + other.no_answer,
            self.error + other.error,
            self.missing + other.missing,
        )


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One model on one task label.

    Attributes:
        headline: name of the score that ``mean`` is of.
        mean: over ``counts.in_mean`` dialogues, None when there is none.
        deviation: sample standard deviation, None with fewer than two values.
    """

    model: str
    task: str
    label: str
    headline: str
    counts: Counts
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model over all its task labels.

    Attributes:
        rank: competition rank (1, 2, 2, 4) by ``mean`` among the complete models; None for incomplete ones,
            whose means are of other labels and cannot be compared.
        mean: mean of the model's label means, each label with the same weight; None without any.
        labels: number of labels in ``mean``.
        incomplete: True when other models have labels that this one lacks.
        cost: US dollars as far as known, None when wholly unknown.
        cost_known: True when the cost of every turn is known.
        seconds: sum of the dialogues' wall times.
        turns: answers, of errors too, since they were paid for.
        input_tokens, output_tokens: as far as known, None when wholly unknown.
    """

    rank: int | None
    model: str
    counts: Counts
    mean: float | None
    labels: int
    incomplete: bool
    cost: float | None
    cost_known: bool
    seconds: float
    turns: int
    input_tokens: int | None
    output_tokens: int | None


def label_rows(transcripts: Iterable[Transcript], infos: Sequence[TaskInfo]) -> tuple[LabelRow, ...]:
    """One row for each model and task label, ordered by task (as in ``infos``), label and model.

    Transcripts of a task that ``infos`` lacks have no headline score; they are counted as missing.
    """
    by_name = {info.name: info for info in infos}
    order = {info.name: number for number, info in enumerate(infos)}
    groups: dict[tuple[int, str, str, str], list[Transcript]] = {}
    for transcript in transcripts:
        place = order.get(transcript.task, len(order))
        key = (place, transcript.task, transcript.label, transcript.model)
        groups.setdefault(key, []).append(transcript)
    return tuple(
        _label_row(key[1:], groups[key], by_name.get(key[1]))
        for key in sorted(groups, key=lambda k: (*k[:2], _natural(k[2]), k[2], k[3]))
    )


def _natural(text: str) -> list[tuple[int, str]]:
    """A sort key that puts ``level-2`` before ``level-10``."""
    words = "".join(c if c.isdecimal() and c.isascii() else f" {c} " for c in text).split(" ")
    return [(int(word), "") if word.isascii() and word.isdecimal() else (-1, word) for word in words if word]


def _label_row(key: tuple[str, ...], group: list[Transcript], info: TaskInfo | None) -> LabelRow:
    task, label, model = key
    values: list[Number] = []
    for transcript in group:
        value = headline(transcript, info) if info else None
        if value is not None:
            values.append(value)
    outcomes = Counter(transcript.outcome for transcript in group)
    counts = Counts(outcomes["scored"], outcomes["unparsable"], outcomes["no_answer"], outcomes["error"])
    counts = replace(counts, missing=counts.evaluated - len(values))
    return LabelRow(model, task, label, info.headline if info else "", counts, _mean(values), _deviation(values))


def _mean(values: Sequence[Number]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _deviation(values: Sequence[Number]) -> float | None:
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def model_rows(
    rows: Sequence[LabelRow], transcripts: Iterable[Transcript], models: Iterable[str] = ()
) -> tuple[ModelRow, ...]:
    """One row for each model of ``rows`` and of ``models`` (which may have no dialogue at all).

    Ordered by rank, then incomplete models by falling mean, ties by name.
    """
    groups: dict[str, list[Transcript]] = {}
    for transcript in transcripts:
        groups.setdefault(transcript.model, []).append(transcript)
    covered = _covered(rows)
    everything = frozenset().union(*covered.values())
    names = sorted({*models, *groups})
    found = [
        _model_row(
            name,
            [row for row in rows if row.model == name],
            groups.get(name, []),
            incomplete=covered.get(name, frozenset()) != everything,
        )
        for name in names
    ]
    return _ranked(found)


def _covered(rows: Iterable[LabelRow]) -> Mapping[str, frozenset[str]]:
    covered: dict[str, frozenset[str]] = {}
    for row in rows:
        if row.mean is not None:
            covered[row.model] = covered.get(row.model, frozenset()) | {row.label}
    return covered


def _model_row(model: str, rows: list[LabelRow], group: list[Transcript], *, incomplete: bool) -> ModelRow:
    means = [row.mean for row in rows if row.mean is not None]
    answers = [turn.answer for transcript in group for turn in transcript.turns]
    answers += [transcript.unevaluated for transcript in group if transcript.unevaluated]
    usages = [answer.usage for answer in answers]
    costs = [cost for usage in usages if (cost := finite(usage.cost)) is not None]
    tokens_in = [usage.input_tokens for usage in usages if usage.input_tokens is not None]
    tokens_out = [usage.output_tokens for usage in usages if usage.output_tokens is not None]
    return ModelRow(
        rank=None,
        model=model,
        counts=sum((row.counts for row in rows), Counts()),
        mean=_mean(means),
        labels=len(means),
        incomplete=incomplete or not means,
        cost=math.fsum(costs) if costs else None,
        cost_known=len(costs) == len(usages) > 0,
        seconds=math.fsum(finite(transcript.seconds) or 0.0 for transcript in group),
        turns=len(usages),
        input_tokens=sum(tokens_in) if tokens_in else None,
        output_tokens=sum(tokens_out) if tokens_out else None,
    )


def _ranked(rows: Iterable[ModelRow]) -> tuple[ModelRow, ...]:
    ordered = sorted(rows, key=lambda row: (row.incomplete, -_comparable(row), row.model))
    complete = [_comparable(row) for row in ordered if not row.incomplete]
    return tuple(row if row.incomplete else replace(row, rank=complete.index(_comparable(row)) + 1) for row in ordered)


def _comparable(row: ModelRow) -> float:
    """The mean without its last bits, in which equal results may differ; below every mean if None."""
    return -math.inf if row.mean is None else round(row.mean, 12)
