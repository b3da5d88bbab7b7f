"""Any model that litellm reaches, named ``provider/model``, e.g. ``openai/gpt-4o``.

litellm takes seconds to import, so it is imported at the first call, and only in `_import_litellm`. Keys come
from the environment and stay there: what an error says is scrubbed, and an endpoint that repeats a key in its
answer has it replaced. One call is one request: nothing is tried
again here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_llmkg.connectors.litellm_check import BASE_VARIABLES, check_installed, check_spec
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, ModelSpec, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.contracts import AskRequest

__all__ = ["CONNECTOR", "LitellmConnector"]

_SECRET_NAME = re.compile(r"_(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"\b(Bearer\s+|sk-)[\w.*-]{6,}")
_URL = re.compile(r"https?://[^\s'\"<>)\]]+")
_NOISE = re.compile(r"^(litellm\.)?\w*(Error|Timeout|Exception)( \w*Error)?(:| - )\s*")
_LONGEST_CAUSE = 300
_SHORTEST_KEY = 12


class LitellmConnector:
    """One model behind litellm."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._provider = spec.model.partition("/")[0]
        self._importing = asyncio.Lock()
        self._litellm: Any = None

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; only its final text, no reasoning.

        Raises:
            ConnectorError: the endpoint refused, failed, did not answer in time or sent something else than
                an answer.
        """
        try:
            litellm = await self._library()
            started = time.perf_counter()
            # litellm's own limit holds for each read; a body that trickles in would go on for ever.
            async with asyncio.timeout(request.timeout):
                response = await litellm.acompletion(**self._arguments(request))
        except TimeoutError:
            raise self._error(f"no answer within {request.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  (litellm raises anything; all goes on)
            # From None: a traceback of the original error would show what the scrubbed text hides.
            raise self._error(_cause(error, request.timeout)) from None
        return self._answer(response, time.perf_counter() - started)

    async def close(self) -> None:
        """Closes litellm's connections; they are shared, and all models' calls are over when the session ends."""
        litellm, self._litellm = self._litellm, None
        if litellm is not None:
            await litellm.close_litellm_async_clients()
            # litellm would go on using the closed ones in the next session of this process.
            litellm.in_memory_llm_clients_cache.flush_cache()

    async def _library(self) -> Any:
        async with self._importing:
            if self._litellm is None:
                self._litellm = await asyncio.to_thread(_import_litellm)
            return self._litellm

    def _base(self) -> str | None:
        """The address that is not the provider's own, None for that one."""
        names = BASE_VARIABLES.get(self._provider, ())
        return self._spec.api_base or next((os.environ[name] for name in names if os.environ.get(name)), None)

    def _arguments(self, request: AskRequest) -> dict[str, Any]:
        spec, base = self._spec, self._base()
        sampling = {
            "temperature": spec.temperature,
            "max_tokens": spec.max_tokens,
            "top_p": spec.top_p,
            "seed": spec.seed,
            "api_base": base,
        }
        arguments: dict[str, Any] = dict(spec.extra)
        arguments |= {name: value for name, value in sampling.items() if value is not None}
        if base is not None and self._provider == "openai" and not os.environ.get("OPENAI_API_KEY"):
            # A server of one's own asks for no key, but the client refuses to start without one.
            arguments["api_key"] = "none"
        return arguments | {
            "model": spec.model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "timeout": request.timeout,
            "max_retries": 0,
            "num_retries": 0,
        }

    def _answer(self, response: Any, seconds: float) -> Answer:
        choices = getattr(response, "choices", None)
        if not choices:
            raise self._error("the endpoint sent an answer without choices")
        message = getattr(choices[0], "message", None)
        content = getattr(message, "content", None)
        if message is None or not isinstance(content, str | None):
            raise self._error("the endpoint sent an answer without text")
        reason, model = getattr(choices[0], "finish_reason", None), getattr(response, "model", None)
        return Answer(
            text=_without_keys(content or ""),
            stop_reason=None if reason is None else _without_keys(str(reason)),
            usage=self._usage(response),
            seconds=seconds,
            served_model=_without_keys(str(model)) if model else None,
        )

    def _usage(self, response: Any) -> Usage:
        usage = getattr(response, "usage", None)
        tokens_in, tokens_out = (
            value if isinstance(value := getattr(usage, name, None), int) else None
            for name in ("prompt_tokens", "completion_tokens")
        )
        if not tokens_in:
            # Every prompt has tokens: litellm puts zeros where the endpoint reported nothing.
            return Usage()
        return Usage(tokens_in, tokens_out, self._cost(response, tokens_in, tokens_out))

    def _cost(self, response: Any, tokens_in: int, tokens_out: int | None) -> float | None:
        spec = self._spec
        if spec.price_in is not None and spec.price_out is not None:
            return None if tokens_out is None else (tokens_in * spec.price_in + tokens_out * spec.price_out) / 1e6
        if self._base() is not None:
            # litellm would charge the provider's price for a server of one's own that serves the same name.
            return None
        cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
        # A price of zero is litellm's word for "unknown" as well as for "free".
        return float(cost) if isinstance(cost, int | float) and cost > 0 and math.isfinite(cost) else None

    def _error(self, cause: str) -> ConnectorError:
        base = self._base()
        where = self._provider if base is None else _clean_url(base)
        return ConnectorError(f"{self._spec.id} at {where}: {_one_line(cause)}")


def _cause(error: BaseException, timeout: float) -> str:
    """What went wrong, in words; litellm calls nearly everything an error 500, so its causes are looked at."""
    if type(error).__name__ in ("Timeout", "APITimeoutError"):
        return f"no answer within {timeout:g} s"
    causes = [error]
    while (deeper := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(deeper)
    text = _flat(str(error).partition("Traceback (most recent call last)")[0])
    if text.startswith("litellm.BadRequestError: LLM Provider NOT provided"):
        return "litellm knows no such provider"
    while match := _NOISE.match(text):
        text = text[match.end() :]
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, FileNotFoundError):
            return f"the connection failed: {cause.strerror}"
        if isinstance(cause, json.JSONDecodeError):
            return f"the endpoint sent no JSON: {cause}"
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if type(cause).__name__ == "HTTPStatusError" and status is not None:
            return f"HTTP {status}: {text}"
    return text or type(error).__name__


def _import_litellm() -> Any:
    check_installed()
    # Otherwise the import fetches a price list, and prices may change during a run.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
        logger.addHandler(logging.NullHandler())
        logger.setLevel(logging.CRITICAL)
    return litellm


def _clean_url(url: str) -> str:
    """Scheme, host, port and path of ``url``: no user, password, query or fragment."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def _without_keys(text: str) -> str:
    """``text`` without the environment's keys; a server may echo its request, and answers are written to files."""
    for name, value in os.environ.items():
        # Stand-ins for a key, such as "not-needed", may be words of an answer.
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_KEY:
            text = text.replace(value, "[hidden]")
    return text


def _one_line(text: str, environment: Mapping[str, str] | None = None) -> str:
    """``text`` on one line without secrets, and not longer than a terminal can bear."""
    text = _flat(text)
    for name, value in (os.environ if environment is None else environment).items():
        # Very short values are no secrets, and replacing them would garble the text.
        if _SECRET_NAME.search(name) and len(secret := _flat(value)) >= 6:
            text = text.replace(secret, "[hidden]")
    text = _SECRET_TEXT.sub("[hidden]", text)
    text = _URL.sub(lambda match: _clean_url(match.group()), text)
    return text if len(text) <= _LONGEST_CAUSE else text[: _LONGEST_CAUSE - 3] + "..."


def _flat(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


CONNECTOR = ConnectorFactory(
    scheme="litellm",
    summary="Any model that litellm reaches: provider/model, e.g. openai/gpt-4o.",
    make=LitellmConnector,
    check=check_spec,
)
