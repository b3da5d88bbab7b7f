"""What the rules on a single run measure: mean scores, errors, cost, time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import dialogue_scores, finite, has_dialogues, headline
from pytest_llmkg.analysis.values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.records import Answer, Number, TaskInfo, Transcript

__all__ = ["Cost", "MeanScore", "answering_seconds", "cost_of", "mean_score", "percentile", "score_named"]


@dataclass(frozen=True, slots=True)
class MeanScore:
    """A mean of label means.

    Attributes:
        mean: None without any value.
        dialogues: values in it.
        labels: labels with a value.
        errors: dialogues that broke off, so that they have none.
        missing: evaluated dialogues without the score; of a score by name, which not every task has, only those under
            labels where others have it.
        without: labels without any value.
    """

    mean: float | None
    dialogues: int
    labels: int
    errors: int
    missing: int
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars as far as known, how many of the answers have no known price, and how many of the failed calls."""

    known: float
    answers: int
    unknown: int
    failed_unknown: int


def mean_score(transcripts: Sequence[Transcript], infos: Iterable[TaskInfo], name: str | None) -> MeanScore:
    """The mean of the headline score (``name`` None) or of another one, each label with the same weight."""
    values = values_of(transcripts, infos, headline if name is None else lambda t, i: score_named(t, i, name))
    by_label: dict[str, list[float]] = {}
    for (_, label, _), found in values.by_case.items():
        by_label.setdefault(label, []).extend(found)
    means = [math.fsum(found) / len(found) for found in by_label.values() if found]
    return MeanScore(
        mean=math.fsum(means) / len(means) if means else None,
        dialogues=sum(map(len, by_label.values())),
        labels=len(means),
        errors=sum(values.errors.values()),
        missing=sum(number for (_, label), number in values.missing.items() if name is None or by_label[label]),
        without=tuple(label for label, found in by_label.items() if not found),
    )


def score_named(transcript: Transcript, info: TaskInfo, name: str) -> Number | None:
    """A score of an evaluated dialogue by its published name.

    In tasks of several turns the name of a turn's score (``combined``) stands for its maximum (``max_combined``).
    """
    if transcript.outcome == "error":
        return None
    scores = dialogue_scores(transcript, info)
    if name in scores or not has_dialogues(info):
        return scores.get(name)
    return scores.get(f"max_{name}")


def cost_of(transcripts: Iterable[Transcript]) -> Cost:
    """What all answers and failed calls cost; an answer from the cache counts with what it cost when it was paid.

    A price below 0 or beyond all bounds is none.
    """
    answers: list[Answer] = []
    failed = []
    for one in transcripts:
        own = [turn.answer for turn in one.turns] + ([one.unevaluated] if one.unevaluated else [])
        answers += own
        failed += [*one.failed_calls, *(call for answer in own for call in answer.failed_calls)]
    costs = [_price(answer.usage.cost) for answer in answers]
    failed_costs = [_price(call.usage.cost) for call in failed]
    known = [cost for cost in (*costs, *failed_costs) if cost is not None]
    return Cost(math.fsum(known), len(answers), costs.count(None), failed_costs.count(None))


def _price(cost: float | None) -> float | None:
    found = finite(cost)
    return None if found is None or found < 0 else found


def answering_seconds(transcripts: Iterable[Transcript]) -> list[float]:
    """Seconds that the model took for all answers of each evaluated dialogue; waiting for a free place is left out."""
    evaluated = [one for one in transcripts if one.outcome != "error"]
    return [math.fsum(finite(turn.answer.seconds) or 0.0 for turn in one.turns) for one in evaluated]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of ``values`` (at least one) that at least ``share`` of them do not exceed."""
    return sorted(values)[max(math.ceil(share * len(values) - 1e-9), 1) - 1]
