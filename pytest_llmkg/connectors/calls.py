"""What happens around one call to an endpoint, the same for every client library.

A refusal is a value here, not an exception, until the very end: the traceback of a `ConnectorError` then shows one
frame that holds the request and nothing that was received or sent with a key.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.failures import Refusal, Verdict, judge, retry_after
from pytest_llmkg.connectors.scrubbing import Secrets
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, FailedCall, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pytest_llmkg.connectors.refused import SentSettings, Settings

__all__ = ["Outcome", "Speaker", "call_until_taken"]

Outcome = Answer | Refusal
# Each round goes without one more setting; few models refuse more than four.
_MOST_ROUNDS = 6
_USAGE = tuple(field.name for field in dataclasses.fields(Usage))


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says in one line what went wrong with a model, without keys.

    Attributes:
        model_id: the model's name in ``--models``.
        where: the endpoint, fit to be shown.
        model: its name at the endpoint.
        key_variable: environment variable of its key, None when unknown.
        secrets: what must not be said.
    """

    model_id: str
    where: str
    model: str
    key_variable: str | None
    secrets: Secrets

    def line(self, refusal: Refusal, verdict: Verdict) -> str:
        """One sentence: model, endpoint, cause, and what to do about it."""
        cause = self.secrets.hide_all(refusal.message) or refusal.code
        if refusal.status not in (None, 200):
            cause = f"HTTP {refusal.status}: {cause or 'no reason given'}"
        advice = "" if verdict.advice is None else f"; {self._advice(verdict.advice)}"
        return f"{self.model_id} at {self.where}: {cause or 'no answer'}{advice}"

    def failed_call(self, refusal: Refusal, seconds: float) -> FailedCall:
        """The record of a refused call that was made again."""
        return FailedCall(self.line(refusal, Verdict()), refusal.status, refusal.usage, seconds)

    def error(self, refusal: Refusal) -> ConnectorError:
        """The exception for ``refusal``, with nothing attached to it."""
        verdict = judge(refusal)
        usage = {name: getattr(refusal.usage, name) for name in _USAGE}
        return ConnectorError(
            self.line(refusal, verdict),
            status=None if refusal.status == 200 else refusal.status,
            retryable=verdict.retryable,
            retry_after=retry_after(refusal.headers) if verdict.retryable else None,
            overloaded=verdict.overloaded,
            usage={name: value for name, value in usage.items() if value is not None},
        )

    def _advice(self, advice: str) -> str:
        key = self.key_variable or "the provider's key in the environment"
        texts = {
            "key": f"check {key}",
            "model": f"the endpoint knows no model {self.model!r}",
            "address": f"the endpoint knows no model {self.model!r}, or its address is wrong (most end with /v1)",
            "quota": f"the account of {key} has nothing left",
            "max_tokens": "lower max_tokens of the model",
        }
        return texts[advice]


async def call_until_taken(
    call: Callable[[SentSettings], Awaitable[Outcome]], settings: Settings, speaker: Speaker, timeout_s: float
) -> Answer | ConnectorError:
    """The outcome of ``call``, made again while the endpoint refuses a setting of ours.

    Args:
        call: makes one request with the given settings; raises nothing but cancellation.
        settings: of the model; what is refused is remembered there for later calls.
        speaker: words for what goes wrong.
        timeout_s: seconds for all requests together.
    """
    failed: list[FailedCall] = []
    refusal = Refusal(f"no answer within {timeout_s:g} s")
    try:
        async with asyncio.timeout(timeout_s):
            for _ in range(_MOST_ROUNDS):
                sent, started = settings.current, time.perf_counter()
                outcome = await call(sent)
                seconds = time.perf_counter() - started
                answer = outcome if isinstance(outcome, Answer) else _ruled(outcome)
                if answer is not None:
                    return _complete(answer, seconds, sent, failed)
                if isinstance(outcome, Refusal):
                    refusal = outcome
                    if not settings.give_up(refusal, sent):
                        break
                    failed.append(speaker.failed_call(refusal, seconds))
    except TimeoutError:
        refusal = Refusal(f"no answer within {timeout_s:g} s")
    return speaker.error(refusal)


def _ruled(refusal: Refusal) -> Answer | None:
    """The empty answer that a refusal of the dialogue itself stands for, None when it is about something else."""
    reason = judge(refusal).stop_reason
    return None if reason is None else Answer("", reason, refusal.usage)


def _complete(answer: Answer, seconds: float, sent: SentSettings, failed: Sequence[FailedCall]) -> Answer:
    return Answer(
        text=answer.text,
        stop_reason=answer.stop_reason,
        usage=answer.usage,
        seconds=seconds,
        served_model=answer.served_model,
        reasoning=answer.reasoning,
        dropped=sent.dropped,
        failed_calls=tuple(failed),
    )
