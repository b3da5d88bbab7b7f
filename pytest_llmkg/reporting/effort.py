"""What a model's calls took, what failed, and what its endpoint refused."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.records import Answer, FailedCall, Transcript

__all__ = ["Effort", "efforts_of"]


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
    )


def _answers(transcript: Transcript) -> list[Answer]:
    found = [turn.answer for turn in transcript.turns]
    return found if transcript.unevaluated is None else [*found, transcript.unevaluated]


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
