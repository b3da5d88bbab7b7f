"""What a session has come to so far: counts by model, for the progress lines."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import headline

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pytest_llmkg.records import Answer, Transcript
    from pytest_llmkg.store import RunIndex
    from pytest_llmkg.suite import Suite

__all__ = ["Count", "Tally", "spent", "spent_before"]

Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of one model.

    Attributes:
        planned, kept: dialogues to be held in this session and those of them taken over from an earlier one.
        ended, errors: dialogues of this session that have ended, and those of them that broke off.
        scored, total: dialogues with a headline score, those taken over included, and the sum of these scores.
        tokens: in and out, of every call of this session, as far as known.
        cost: US dollars, likewise; None while no price is known.
    """

    planned: int = 0
    kept: int = 0
    ended: int = 0
    errors: int = 0
    scored: int = 0
    total: float = 0.0
    tokens: int = 0
    cost: float | None = None

    @property
    def mean(self) -> float | None:
        """Mean of the headline scores, None without any."""
        return self.total / self.scored if self.scored else None


class Tally:
    """Counts transcripts as they are recorded; may be used from any thread."""

    def __init__(self, suite: Suite) -> None:
        self._infos = {task.info.name: task.info for task in suite.tasks}
        self._lock = threading.Lock()
        self._counts = {model.id: Count() for model in suite.models}
        # What each dialogue added to its model's counts, since of several attempts the last one counts.
        self._ended: dict[Key, tuple[int, int, int, float]] = {}

    def plan(self, planned: Mapping[str, int], kept: Collection[Key]) -> None:
        """Says how many dialogues are to be held of each model, and which are held already."""
        with self._lock:
            for model, number in planned.items():
                held = sum(1 for key in kept if key[2] == model)
                self._counts[model] = replace(self._counts[model], planned=number, kept=held)

    def keep(self, transcript: Transcript) -> None:
        """Counts the score of a dialogue that is taken over."""
        score = self._score(transcript)
        with self._lock:
            if score is not None and transcript.model in self._counts:
                count = self._counts[transcript.model]
                changed = replace(count, scored=count.scored + 1, total=count.total + score)
                self._counts[transcript.model] = changed

    def add(self, transcript: Transcript) -> None:
        """Counts a dialogue of this session."""
        score = self._score(transcript)
        key = (transcript.label, transcript.case, transcript.model, transcript.iteration)
        now = (1, int(transcript.error is not None), int(score is not None), score or 0.0)
        tokens, cost = spent(transcript)
        cost = 0.0 if _was_free(transcript) else cost
        with self._lock:
            if transcript.model not in self._counts:
                return
            count, before = self._counts[transcript.model], self._ended.get(key, (0, 0, 0, 0.0))
            self._ended[key] = now
            self._counts[transcript.model] = replace(
                count,
                ended=count.ended + now[0] - before[0],
                errors=count.errors + now[1] - before[1],
                scored=count.scored + now[2] - before[2],
                total=count.total + now[3] - before[3],
                tokens=count.tokens + tokens,
                cost=count.cost if cost is None else cost + (count.cost or 0.0),
            )

    def complete(self, directory: Path, resumed: RunIndex | None) -> None:
        """Counts, at the end, the dialogues of the run in ``directory`` that no process told of.

        Those are what workers held ahead of tests that never ran; of a run that was ``resumed`` only what is new.
        Does nothing when all that was planned has ended.

        Raises:
            RunFileError: the run cannot be read.
        """
        with self._lock:
            is_whole = all(count.ended + count.kept >= count.planned for count in self._counts.values())
            known = set(self._ended)
        if is_whole:
            return
        from pytest_llmkg.store import index_run

        run = index_run(directory)
        for key in run.entries:
            found = (key.label, key.case, key.model, key.iteration)
            if found in known:
                continue
            transcript = run.read(key)
            if resumed is None or key not in resumed.entries or resumed.read(key) != transcript:
                self.add(transcript)

    def _score(self, transcript: Transcript) -> float | None:
        info = self._infos.get(transcript.task)
        return None if info is None or transcript.error is not None else headline(transcript, info)

    def of(self, model: str) -> Count:
        """The counts of ``model``."""
        with self._lock:
            return self._counts[model]


def spent(transcript: Transcript) -> tuple[int, float | None]:
    """Tokens and US dollars of every call, those that failed included; None when nothing is known of the cost."""
    answers: list[Answer] = [turn.answer for turn in transcript.turns]
    if transcript.unevaluated is not None:
        answers.append(transcript.unevaluated)
    usages = [answer.usage for answer in answers if not answer.from_cache]
    usages += [call.usage for answer in answers for call in answer.failed_calls]
    usages += [call.usage for call in transcript.failed_calls]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    tokens = sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in usages)
    return tokens, sum(costs) if costs else None


def _was_free(transcript: Transcript) -> bool:
    """Whether all of it came from the cache, which costs nothing."""
    answers = [turn.answer for turn in transcript.turns]
    if transcript.unevaluated is not None:
        answers.append(transcript.unevaluated)
    calls = [*transcript.failed_calls, *(call for answer in answers for call in answer.failed_calls)]
    return bool(answers) and not calls and all(answer.from_cache for answer in answers)


def spent_before(run: RunIndex | None) -> list[tuple[str, float]]:
    """Model and US dollars of each dialogue of a run that is resumed, as far as known."""
    costs = [] if run is None else [(key.model, spent(run.read(key))[1]) for key in run.entries]
    return [(model, cost) for model, cost in costs if cost is not None]
