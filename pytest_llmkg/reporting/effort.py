"""What a model's calls took and cost, what failed, and what its endpoint refused."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.effort import dialogue_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.records import Answer, FailedCall, Transcript
    from pytest_llmkg.reporting.sources import Source

__all__ = ["Effort", "Replaced", "efforts_of", "replaced_of"]


@dataclass(frozen=True, slots=True)
class Effort:
    """The calls of one model.

    Attributes:
        answers: that came, also those that could not be evaluated.
        failed_calls: that brought none.
        retried: answers that came only after a failed call.
        statuses: what failed calls ended with (``HTTP 429``, ``no status``), with how often, the most frequent first.
        dropped: settings that the endpoint refused, with the number of answers concerned.
        from_cache: answers that an earlier run paid for.
        cached_tokens, reasoning_tokens: as far as known, None when wholly unknown.
        served: names that the endpoint gave itself.
        stages: wall seconds of all answers by stage, of systems that tell them.
        seconds: wall seconds of all calls, failed ones included, without waiting for leave to call and without
            scoring; None when some answer does not tell its time.
        failed_cost: US dollars of the failed calls as far as known, None when wholly unknown.
        unpriced: dialogues of failed calls alone that told no cost, though they may have cost something.
    """

    answers: int
    failed_calls: int
    retried: int
    statuses: tuple[tuple[str, int], ...]
    dropped: tuple[tuple[str, int], ...]
    from_cache: int
    cached_tokens: int | None
    reasoning_tokens: int | None
    served: tuple[str, ...]
    stages: tuple[tuple[str, float], ...] = ()
    seconds: float | None = None
    failed_cost: float | None = None
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Replaced:
    """The attempts of a model that do not count, since a later one of the same dialogue does.

    Attributes:
        attempts: how many.
        seconds: wall seconds of their calls, None when unknown for any.
        cost: US dollars as far as known, None when wholly unknown.
        cost_known: whether the cost of each of their answers is known.
    """

    attempts: int
    seconds: float | None
    cost: float | None
    cost_known: bool


def efforts_of(transcripts: Iterable[Transcript]) -> dict[str, Effort]:
    """By model."""
    groups: dict[str, list[Transcript]] = {}
    for transcript in transcripts:
        groups.setdefault(transcript.model, []).append(transcript)
    return {model: _effort(group) for model, group in groups.items()}


def _effort(group: list[Transcript]) -> Effort:
    answers = [answer for transcript in group for answer in _answers(transcript)]
    failed = [call for answer in answers for call in answer.failed_calls]
    failed += [call for transcript in group for call in transcript.failed_calls]
    return Effort(
        answers=len(answers),
        failed_calls=len(failed),
        retried=sum(bool(answer.failed_calls) for answer in answers),
        statuses=_counted(_status(call) for call in failed),
        dropped=_counted(name for answer in answers for name in answer.dropped),
        from_cache=sum(answer.from_cache for answer in answers),
        cached_tokens=_sum(answer.usage.cached_tokens for answer in answers),
        reasoning_tokens=_sum(answer.usage.reasoning_tokens for answer in answers),
        served=tuple(sorted({answer.served_model for answer in answers if answer.served_model})),
        stages=_stages(answers),
        seconds=_whole(dialogue_seconds(transcript) for transcript in group),
        failed_cost=_money(failed),
        unpriced=sum(_is_unpriced(transcript) for transcript in group),
    )


def replaced_of(sources: Iterable[Source]) -> dict[str, Replaced] | None:
    """By model; None when no source tells of attempts that do not count."""
    telling = [source.replaced for source in sources if source.replaced is not None]
    if not telling:
        return None
    groups: dict[str, list[tuple[float | None, list[float | None], float | None]]] = {}
    for replaced in telling:
        for one in replaced():
            answers = _answers(one)
            failed = [call for answer in answers for call in answer.failed_calls] + list(one.failed_calls)
            costs = [answer.usage.cost for answer in answers]
            groups.setdefault(one.model, []).append((dialogue_seconds(one), costs, _money(failed)))
    return {model: _replaced(found) for model, found in groups.items()}


def _replaced(found: list[tuple[float | None, list[float | None], float | None]]) -> Replaced:
    answers = [cost for _, costs, _ in found for cost in costs]
    known = [cost for cost in (*answers, *(failed for _, _, failed in found)) if cost is not None]
    return Replaced(
        len(found),
        _whole(seconds for seconds, _, _ in found),
        math.fsum(known) if known else None,
        all(cost is not None for cost in answers),
    )


def _whole(numbers: Iterable[float | None]) -> float | None:
    """The sum, None if any is unknown."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return math.fsum(known) if len(known) == len(found) else None


def _money(calls: Iterable[FailedCall]) -> float | None:
    known = [call.usage.cost for call in calls if call.usage.cost is not None]
    return math.fsum(known) if known else None


def _answers(transcript: Transcript) -> list[Answer]:
    found = [turn.answer for turn in transcript.turns]
    return found if transcript.unevaluated is None else [*found, transcript.unevaluated]


def _is_unpriced(transcript: Transcript) -> bool:
    calls = transcript.failed_calls
    return bool(calls) and not _answers(transcript) and _money(calls) is None


def _status(call: FailedCall) -> str:
    return "no status" if call.status is None else f"HTTP {call.status}"


def _counted(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))


def _stages(answers: Iterable[Answer]) -> tuple[tuple[str, float], ...]:
    found: dict[str, list[float]] = {}
    for answer in answers:
        for stage, seconds in answer.stages.items():
            found.setdefault(stage, []).append(seconds)
    return tuple((stage, math.fsum(seconds)) for stage, seconds in found.items())


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
