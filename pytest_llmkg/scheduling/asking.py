"""Asking a model with patience: leave from the desk, time limits, repeated calls, the cache of paid answers."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import UnansweredError
from pytest_llmkg.errors import ConnectorError, LlmkgError, RecordError
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Answer, FailedCall, Usage
from pytest_llmkg.scheduling.desk import CallReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_llmkg.answer_cache import AnswerCache
    from pytest_llmkg.contracts import AskRequest, Connector
    from pytest_llmkg.records import ModelSpec
    from pytest_llmkg.scheduling.desk import Desk, Permit

__all__ = ["Patience", "PatientConnector"]

_LONGEST_RETRY_AFTER = 600.0
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a failed call is repeated and how long is waited before.

    Attributes:
        retries: repeated calls after the first one.
        first_wait: seconds before the first repetition; each further wait is twice as long, and each is shortened by
            a random part of up to a half, so that calls which failed together do not come back together.
        longest_wait: seconds; what an endpoint asks to wait itself may be longer, up to ten minutes.
        grace: seconds beyond a request's time limit until a connector that does not keep it is given up.
    """

    retries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    grace: float = 60.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before repetition number ``attempt``, counted from 0."""
        doubled = self.first_wait * 2.0 ** min(attempt, 100)  # of thousands of repetitions, too, a number
        own = min(self.longest_wait, doubled) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        return own if retry_after is None else max(own, retry_after)


class PatientConnector:
    """A connector around another one; the one place where calls are repeated.

    Args:
        spec: the model, whose id the desk knows.
        inner: what makes a single call.
        desk: gives leave for each call.
        patience: how calls are repeated.
        cache: paid answers of earlier runs; None for none, e.g. when asking is free.
        on_problem: told why an answer could not be cached, which costs nothing now but will.
    """

    def __init__(
        self,
        spec: ModelSpec,
        inner: Connector,
        desk: Desk,
        patience: Patience,
        cache: AnswerCache | None,
        on_problem: Callable[[str], None],
    ) -> None:
        self._spec = spec
        self._inner = inner
        self._desk = desk
        self._patience = patience
        self._cache = cache
        self._on_problem = on_problem

    async def ask(self, request: AskRequest) -> Answer:
        """The answer, with the calls before it that failed.

        Raises:
            UnansweredError: all calls failed, or a repetition made no sense.
        """
        if self._cache is not None:
            known = await asyncio.to_thread(self._cache.get, self._spec, request)
            if known is not None:
                return known
        failed: list[FailedCall] = []
        try:
            while True:
                outcome = await self._call(request, failed)
                if isinstance(outcome, Answer):
                    answer = dataclasses.replace(outcome, failed_calls=(*failed, *outcome.failed_calls))
                    await self._remember(request, answer)
                    return answer
                await asyncio.sleep(outcome)
        except asyncio.CancelledError:
            if failed:  # the dialogue's time is over, and was spent on calls that failed
                self._desk.give_up(self._spec.id)
            raise

    async def close(self) -> None:
        """Closes the inner connector."""
        await self._inner.close()

    async def _remember(self, request: AskRequest, answer: Answer) -> None:
        if self._cache is not None:
            try:
                await asyncio.to_thread(self._cache.put, self._spec, request, answer)
            except LlmkgError as error:
                self._on_problem(str(error))

    async def _call(self, request: AskRequest, failed: list[FailedCall]) -> Answer | float:
        """One call: the answer, or the seconds to wait before the next one; ``failed`` grows by a failed call."""
        model = self._spec.id
        permit = await self._desk.enter(model, urgent=bool(failed) or _has_begun(request))
        if permit.refusal is not None:
            raise UnansweredError(f"{permit.refusal} (not asked again)", failed)
        report, clock = CallReport("abandoned"), time.monotonic()
        try:
            answer = await self._attempt(request)
            report = CallReport("answer")
        except ConnectorError as error:
            failed.append(_failed_call(error, time.monotonic() - clock))
            request.failed_calls.append(failed[-1])
            wait = self._next_wait(error, permit, len(failed))
            report = _report(error, repeated=wait is not None)
            if wait is None:
                raise UnansweredError(_with_count(error, len(failed)), failed) from error
            return wait
        except LlmkgError:
            report = CallReport("failed")
            raise
        else:
            return answer
        finally:
            self._desk.leave(model, permit, report)

    async def _attempt(self, request: AskRequest) -> Answer:
        limit = request.timeout + self._patience.grace
        try:
            async with asyncio.timeout(limit):  # not wait_for, which makes a task for each call before Python 3.12
                answer: object = await self._inner.ask(request)
        except TimeoutError as error:
            text = f"model {self._spec.id!r} gave no answer within {request.timeout:g} s"
            raise ConnectorError(text, retryable=True) from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():  # a library cancelled itself, nobody this dialogue
                raise ConnectorError(f"model {self._spec.id!r}: the call was cancelled", retryable=True) from error
            raise
        if not isinstance(answer, Answer):
            raise ConnectorError(f"model {self._spec.id!r} gave a {type(answer).__name__}, which is no Answer")
        usage = answer.usage
        if any(number is not None and number < 0 for number in (usage.input_tokens, usage.output_tokens, usage.cost)):
            raise ConnectorError(f"model {self._spec.id!r} told a negative usage: {usage}")
        return answer

    def _next_wait(self, error: ConnectorError, permit: Permit, calls: int) -> float | None:
        """Seconds until the next call, None when there is no point in one."""
        if not error.retryable or not permit.patient or _asks_too_much(error) or calls > self._patience.retries:
            return None
        return self._patience.wait(calls - 1, error.retry_after)


def _has_begun(request: AskRequest) -> bool:
    return any(message.role == "assistant" for message in request.messages)


def _asks_too_much(error: ConnectorError) -> bool:
    return error.retry_after is not None and error.retry_after > _LONGEST_RETRY_AFTER


def _failed_call(error: ConnectorError, seconds: float) -> FailedCall:
    try:
        usage = from_plain(Usage, to_plain(error.usage))
    except RecordError:  # a connector of somebody else told something that is no usage; the error counts
        usage = Usage()
    return FailedCall(str(error)[:_LONGEST_REASON], error.status, usage, round(seconds, 6))


def _report(error: ConnectorError, *, repeated: bool) -> CallReport:
    # An endpoint that wants to be left alone for hours, since a day's quota is used up, refuses for good in effect.
    if _asks_too_much(error) or (not error.retryable and error.status in (401, 403, 404)):
        return CallReport("refused", reason=str(error)[:_LONGEST_REASON])
    gave_up = error.retryable and not repeated
    if error.overloaded:
        return CallReport("overloaded", error.retry_after, gave_up=gave_up, repeated=repeated)
    return CallReport("failed", gave_up=gave_up, repeated=repeated)


def _with_count(error: ConnectorError, calls: int) -> str:
    return str(error) if calls == 1 else f"{error} (call {calls})"
