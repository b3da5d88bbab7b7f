"""What an endpoint says instead of an answer, and what follows from it; the same rules for every connector."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from pytest_llmkg.connectors.usage import read_tokens
from pytest_llmkg.records import Usage

__all__ = ["Refusal", "Verdict", "judge", "read_refusal", "retry_after"]

_RETRYABLE = frozenset((200, 408, 409, 429))
_OVERLOADED = frozenset((429, 503, 529))
# 401, 403, 404 and 429 say something else, whatever their text mentions.
_MAY_BE_OVERFLOW = frozenset((None, 200, 400, 413, 422, 500))
_MAY_BE_FILTER = frozenset((None, 200, 400, 403, 422))

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum prompt length|maximum model length"
    r"|model'?s context length|prompt is too long|input is too long|prompt is longer than|too many tokens"
    r"|exceeds? (the |your )?(available |maximum |model'?s )?context|exceeds? the (model'?s )?(maximum )?context"
    r"|context (length|window|size|limit) (exceeded|of only)|input token count .{0,40}exceeds"
    r"|inputs` tokens \+ `max_new_tokens` must be|context ?window ?exceeded|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content_filter|content_policy_violation|content ?policy ?violation|responsibleaipolicy"
    r"|content management policy|content filtering policy|data_inspection_failed|input was flagged",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|billing_hard_limit|insufficient (credits|balance)|credit balance is too low", re.IGNORECASE
)
_NO_MODEL = re.compile(r"model_not_found|models?\b.{0,80}(not found|does not exist|no such model)", re.IGNORECASE)
_BAD_KEY = re.compile(r"api key (is )?(not valid|invalid)|(invalid|incorrect) api key", re.IGNORECASE)
# "maximum context length is 4096 tokens ... (10 in the messages, 8190 in the completion)": the dialogue is short
# enough, the setting is too large for any dialogue.
_CONTEXT_SIZE = re.compile(r"(?:maximum context length|max_model_len)\D{0,12}(\d+)", re.IGNORECASE)
_ASKED_FOR = re.compile(
    r"(\d+) (?:in the completion|output tokens)|max(?:_completion)?_tokens\D{0,40}(?:too large:|=|\() ?(\d+)",
    re.IGNORECASE,
)
_LONGEST_WAIT = 86_400.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that brought no answer.

    Attributes:
        message: what the endpoint or the connection said; may repeat a key, so it is not shown as it is.
        status: HTTP status, None when the endpoint did not get that far; 200 for a success without an answer.
        code: the endpoint's own words for the kind of error (code, type), separated by spaces.
        parameter: the setting that the endpoint complains of, by its name in the request.
        headers: of the response, names in lower case.
        usage: what the call used all the same.
        is_final: True when trying again is known to be of no use, whatever the status says.
    """

    message: str = field(repr=False)
    status: int | None = None
    code: str = ""
    parameter: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    usage: Usage = field(default_factory=Usage)
    is_final: bool = False

    @property
    def text(self) -> str:
        """All words of the refusal, for looking at."""
        return f"{self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a refusal.

    Attributes:
        retryable, overloaded: see `pytest_llmkg.errors.ConnectorError`.
        stop_reason: ``context_length`` or ``content_filter`` when the refusal is an answer of a kind, which is scored
            by rule and never asked for again; else None.
        advice: what to do about it: ``key``, ``model``, ``address``, ``quota``, ``max_tokens``; None for nothing.
    """

    retryable: bool = False
    overloaded: bool = False
    stop_reason: str | None = None
    advice: str | None = None


def judge(refusal: Refusal) -> Verdict:
    """The verdict on ``refusal``.

    Worth another try: no connection, no answer in time, garbage, 408, 409, 429 and all of 5xx. Not: a used-up quota,
    and everything else that the endpoint says about the request itself.
    """
    status, text = refusal.status, refusal.text
    if status in _MAY_BE_FILTER and _FILTER.search(text):
        return Verdict(stop_reason="content_filter")
    if status in _MAY_BE_OVERFLOW and _OVERFLOW.search(text):
        return Verdict(advice="max_tokens") if _asks_too_much(text) else Verdict(stop_reason="context_length")
    if refusal.is_final:
        return Verdict(advice=_advice(refusal))
    if status == 402 or (status in (None, 200, 400, 403, 429) and _QUOTA.search(text)):
        return Verdict(advice="quota")
    if status is None or status in _RETRYABLE or status >= 500:
        return Verdict(retryable=True, overloaded=status in _OVERLOADED)
    return Verdict(advice=_advice(refusal))


def read_refusal(status: int, headers: Mapping[str, str], data: object) -> Refusal:
    """The refusal in the JSON body of a response.

    Read are the shapes of OpenAI and those who follow it (``error`` as an object or a text), of FastAPI (``detail``),
    of older vLLM (``message`` beside ``object``) and of Gemini (a list of one). A success whose error has an HTTP
    status as its code, as OpenRouter sends it, is that error.
    """
    if isinstance(data, list) and data:
        data = data[0]
    whole = data if isinstance(data, Mapping) else {"error": data}
    error = whole.get("error") or whole.get("detail") or whole
    details = error if isinstance(error, Mapping) else {}
    message, parameter = _message(error), details.get("param")
    if isinstance(error, list) and error and isinstance(error[0], Mapping):
        parameter = next(iter(_place(error[0])), None)
    codes = [details.get(name) for name in ("code", "type", "status")] + [_inner_code(details)]
    if status == 200 and isinstance(codes[0], int) and 400 <= codes[0] < 600:
        status = codes[0]
    return Refusal(
        message=message,
        status=status,
        code=" ".join(code for code in codes if isinstance(code, str)),
        parameter=parameter if isinstance(parameter, str) else "",
        headers=headers,
        usage=read_tokens(whole.get("usage")),
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that an endpoint asks to wait: ``retry-after-ms``, or ``retry-after`` as seconds or HTTP date.

    Args:
        headers: names in lower case.
        now: seconds since 1970, the clock's if None.

    Returns:
        at least 0 and at most a day; None when the headers do not tell or cannot be read.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None
    return min(max(moment - (time.time() if now is None else now), 0.0), _LONGEST_WAIT)


def _advice(refusal: Refusal) -> str | None:
    status = refusal.status
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(refusal.text)):
        return "key"
    if status in (400, 422) and _NO_MODEL.search(refusal.text):
        return "model"
    if status == 404 and "model" in refusal.text.lower():
        return "model"
    if status in (404, 405) or (status is not None and status < 400):
        return "address"
    return None


def _asks_too_much(text: str) -> bool:
    size, asked = _CONTEXT_SIZE.search(text), _ASKED_FOR.search(text)
    return bool(size and asked and int(asked.group(1) or asked.group(2)) >= int(size.group(1)))


def _message(error: object) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, Mapping):
        told = error.get("message") or error.get("msg") or error.get("detail") or error.get("error")
        metadata = error.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
        parts = [part for part in (told, raw) if isinstance(part, str)]
        return ": ".join(parts)
    if isinstance(error, Sequence):
        items = [item for item in error if isinstance(item, Mapping)]
        return "; ".join(f"{'.'.join(_place(item))}: {item.get('msg', '')}".removeprefix(": ") for item in items)
    return ""


def _place(item: Mapping[object, object]) -> list[str]:
    """The path of a field that FastAPI complains of, without the word ``body``."""
    place = item.get("loc")
    return [str(part) for part in place if part != "body"] if isinstance(place, list) else []


def _inner_code(details: Mapping[str, object]) -> object:
    """Azure's finer code, e.g. ``ResponsibleAIPolicyViolation``."""
    inner = details.get("innererror")
    return inner.get("code") if isinstance(inner, Mapping) else None
