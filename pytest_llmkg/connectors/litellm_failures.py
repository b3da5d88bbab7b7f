"""What litellm's exceptions mean; it calls nearly everything an error 500, so their causes are looked at."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.failures import Refusal, read_refusal
from pytest_llmkg.connectors.scrubbing import on_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["refusal_of"]

_NOISE = re.compile(r"^(litellm\.)?\w*(Error|Timeout|Exception)( \w*Error)?(:| - )\s*")
_STATUS_ERROR = "HTTPStatusError"  # of httpx, which need not be the one that is importable here
_TIMEOUTS = ("Timeout", "APITimeoutError")


def refusal_of(error: BaseException, timeout_s: float) -> Refusal:
    """The refusal behind an exception of litellm or of a library below it.

    Args:
        error: what the call raised.
        timeout_s: the time limit of the call, for saying so.
    """
    causes = _causes(error)
    responses = [getattr(cause, "response", None) for cause in causes if type(cause).__name__.endswith(_STATUS_ERROR)]
    response = next((found for found in responses if found is not None), None)
    text, kind = _words(error), type(error).__name__
    if response is not None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        told = read_refusal(response.status_code, headers, _body(causes, text))
        return replace(told, message=told.message or text, code=f"{told.code} {kind}".strip())
    if kind in _TIMEOUTS:
        return Refusal(f"no answer within {timeout_s:g} s")
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, FileNotFoundError):
            return Refusal(f"the connection failed: {cause.strerror}")
        if isinstance(cause, json.JSONDecodeError):
            return Refusal(f"the endpoint sent no JSON: {cause}", 200)
    return _without_response(error, text, kind)


def _without_response(error: BaseException, text: str, kind: str) -> Refusal:
    """Litellm's own objection (no key, no such provider, an unfit setting), or a connection that failed somehow."""
    if text.startswith("LLM Provider NOT provided"):
        return Refusal("litellm knows no such provider", is_final=True)
    status = getattr(error, "status_code", None)
    failed = isinstance(status, int) and (status >= 500 or status in (200, 408, 409, 429))
    return Refusal(text or kind, code=kind, is_final=not failed)


def _causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    while (deeper := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(deeper)
    return causes


def _words(error: BaseException) -> str:
    """The text without litellm's names before it and the traceback behind it."""
    text = on_one_line(str(error).partition("Traceback (most recent call last)")[0])
    while match := _NOISE.match(text):
        text = text[match.end() :]
    return text


def _body(causes: Sequence[BaseException], text: str) -> Mapping[str, object] | str:
    """The body of the response: the openai library keeps it, others leave it in the text."""
    for cause in causes:
        body = getattr(cause, "body", None)
        if isinstance(body, dict):
            return body if "error" in body else {"error": body}
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text
