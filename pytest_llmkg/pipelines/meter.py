"""One clock for all stages of an answer, and the bill of all calls behind it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import UnansweredError
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, FailedCall, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_llmkg.contracts import AskRequest, Connector

__all__ = ["Meter", "summed_usage"]

_MOST_CHARACTERS = 200_000
_BEHIND = "the pipeline broke off behind this call, which was answered"


class Meter:
    """Takes the time of the stages of one answer, and makes the calls to the model, so that none goes uncounted.

    Args:
        inner: the model.
        clock: seconds, monotonic.
    """

    def __init__(self, inner: Connector, clock: Callable[[], float] = time.perf_counter) -> None:
        self._inner = inner
        self._clock = clock
        self._began = clock()
        self._stages: dict[str, float] = {}
        self._answers: list[Answer] = []

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What is done meanwhile counts as ``name``."""
        start = self._clock()
        try:
            yield
        finally:
            self.add(name, self._clock() - start)

    def add(self, name: str, seconds: float) -> None:
        """Adds to a stage."""
        self._stages[name] = self._stages.get(name, 0.0) + seconds

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; its own time counts as ``model``, that of failed calls too.

        Raises:
            UnansweredError: there is none; it holds every call so far, since they were paid for.
        """
        try:
            answer = await self._inner.ask(request)
        except ConnectorError as error:
            failed = error.failed_calls if isinstance(error, UnansweredError) else ()
            raise UnansweredError(str(error), [*self.paid(), *failed]) from error
        # Longer answers hold no query that anybody would read, and every try is kept and sent again.
        answer = replace(answer, text=clean_text(answer.text)[:_MOST_CHARACTERS])
        self._answers.append(answer)
        self.add("model", answer.seconds + sum(call.seconds for call in answer.failed_calls))
        return answer

    def paid(self) -> Iterator[FailedCall]:
        """All calls so far, for a bill without an answer."""
        for answer in self._answers:
            yield from answer.failed_calls
            yield FailedCall(_BEHIND, None, answer.usage, answer.seconds)

    def bill(self, text: str) -> Answer:
        """``text`` as the answer, with all that it took; the stage ``wait`` is what none of the others took."""
        last = self._answers[-1]
        work = sum(seconds for name, seconds in self._stages.items() if name != "prepare")
        wait = self._clock() - self._began - sum(self._stages.values())
        stages = {**self._stages, "wait": max(0.0, wait)}
        return Answer(
            text,
            last.stop_reason,
            summed_usage([answer.usage for answer in self._answers]),
            round(work, 6),
            last.served_model,
            "\n\n".join(answer.reasoning for answer in self._answers if answer.reasoning) or None,
            tuple(dict.fromkeys(name for answer in self._answers for name in answer.dropped)),
            tuple(call for answer in self._answers for call in answer.failed_calls),
            all(answer.from_cache for answer in self._answers),
            {name: round(seconds, 6) for name, seconds in stages.items()},
        )

    @property
    def calls(self) -> int:
        """Answers that the model gave."""
        return len(self._answers)


def summed_usage(usages: Sequence[Usage]) -> Usage:
    """The sum; what is unknown for one call is unknown for all of them together."""

    def total(values: Sequence[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        total([usage.input_tokens for usage in usages]),
        total([usage.output_tokens for usage in usages]),
        sum(costs) if len(costs) == len(usages) else None,
        total([usage.cached_tokens for usage in usages]),
        total([usage.reasoning_tokens for usage in usages]),
    )
