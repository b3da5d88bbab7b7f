"""Models behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp, OpenRouter and the like.

A lean client: one request is one ``POST …/chat/completions``, with nothing between it and the HTTP library. It has no
scheme of its own: `pytest_llmkg.connectors.litellm_api` picks it for the models that have such a server, because the
general library needs ten to twenty times the CPU time for the same call. Nothing is tried again here, except
without a setting that the server refuses.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_llmkg.connectors.calls import Outcome, Speaker, call_until_taken
from pytest_llmkg.connectors.failures import Refusal, read_refusal
from pytest_llmkg.connectors.http_calls import broken_connection, proxy_for, read_body
from pytest_llmkg.connectors.refused import Settings
from pytest_llmkg.connectors.scrubbing import Secrets, clean_url
from pytest_llmkg.connectors.thinking import message_text
from pytest_llmkg.connectors.usage import own_price, read_tokens, told_cost
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import aiohttp

    from pytest_llmkg.connectors.endpoints import Endpoint
    from pytest_llmkg.connectors.refused import SentSettings
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import ModelSpec

__all__ = ["MOST_BYTES", "OpenAIConnector"]

MOST_BYTES = 32 * 2**20
"""The largest body that is read; an answer of a model has kilobytes."""

# Words of litellm about its own work, which no server knows.
_NOT_FOR_SERVERS = frozenset(
    ("additional_drop_params", "allowed_openai_params", "custom_llm_provider", "drop_params", "extra_body")
) | {"extra_headers"}


class OpenAIConnector:
    """One model of one server, with connections that are kept open between calls."""

    def __init__(self, spec: ModelSpec, endpoint: Endpoint) -> None:
        secrets = Secrets(os.environ, endpoint.secrets)
        self._spec, self._endpoint, self._secrets = spec, endpoint, secrets
        self._settings = Settings(spec, _for_body(spec.extra))
        self._speaker = Speaker(spec.id, endpoint.label, endpoint.model, endpoint.key_variable, secrets)
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; a dialogue that is too long and a filtered one are answers with that stop reason.

        Raises:
            ConnectorError: the server refused, failed, did not answer in time or sent something else than an answer.
        """
        session = self._open()
        try:
            outcome = await self._ask(session, request)
        except asyncio.CancelledError as cancelled:
            # The frames below hold what was sent and received.
            cancelled.__context__ = None
            raise cancelled.with_traceback(None) from None
        if isinstance(outcome, ConnectorError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Closes the connections; may be called twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        """The session, made by the first call because it belongs to the event loop that it is made on."""
        if self._session is None:
            import aiohttp

            endpoint = self._endpoint
            self._proxy = proxy_for(endpoint.url)
            headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "pytest-llmkg"}
            if endpoint.authorization is not None:
                headers["Authorization"] = endpoint.authorization
            self._session = aiohttp.ClientSession(
                # How many calls run at once is decided above; one that waits in the pool would lose its time.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                headers=headers | {"Content-Type": "application/json"} | _own_headers(self._spec.extra),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _ask(self, session: aiohttp.ClientSession, request: AskRequest) -> Answer | ConnectorError:
        messages = [{"role": message.role, "content": message.text} for message in request.messages]

        async def call(sent: SentSettings) -> Outcome:
            body = {"model": self._endpoint.model, "messages": messages, **sent.values}
            return await self._post(session, json.dumps(body).encode())

        return await call_until_taken(call, self._settings, self._speaker, request.timeout)

    async def _post(self, session: aiohttp.ClientSession, body: bytes) -> Outcome:
        import aiohttp

        try:
            async with session.post(
                self._endpoint.url, data=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                raw = await read_body(response, MOST_BYTES)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            return broken_connection(error)
        if raw is None:
            return Refusal(f"the endpoint sent more than {MOST_BYTES // 2**20} MiB", is_final=True)
        status = 200 if 200 <= response.status < 300 else response.status
        if 300 <= status < 400:
            target = clean_url(response.headers.get("Location", "elsewhere"))
            return Refusal(f"the endpoint sends us to {target}; set api_base to where it really is", status)
        try:
            data = json.loads(raw)
        except (ValueError, RecursionError) as error:
            data = None
            if status == 200:
                return Refusal(f"the endpoint sent no JSON: {error}", status)
        if status == 200 and isinstance(data, dict) and not data.get("error"):
            return self._answer(data)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return read_refusal(status, headers, raw[:1000].decode(errors="replace") if data is None else data)

    def _answer(self, data: Mapping[str, Any]) -> Outcome:
        choices, usage = data.get("choices"), self._usage(data.get("usage"))
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return Refusal("the endpoint sent an answer without choices", 200, usage=usage)
        if choice.get("error"):  # OpenRouter's way to say that its provider failed halfway
            return read_refusal(200, {}, {"error": choice["error"], "usage": data.get("usage")})
        message, reason = choice.get("message"), choice.get("finish_reason")
        read = message_text(message, cut=reason == "length") if isinstance(message, dict) else None
        if read is None:
            return Refusal("the endpoint sent an answer without text", 200, usage=usage)
        hide, served = self._secrets.hide, data.get("model")
        return Answer(
            text=hide(read[0]),
            stop_reason=hide(str(reason)) if reason else None,
            usage=usage,
            served_model=hide(str(served)) if served else None,
            reasoning=None if read[1] is None else hide(read[1]),
        )

    def _usage(self, told: object) -> Usage:
        tokens = read_tokens(told)
        cost = own_price(self._spec, tokens)
        if cost is None and self._endpoint.tells_cost:
            cost = told_cost(told)
        return tokens if cost is None else replace(tokens, cost=cost)


def _for_body(extra: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a model's ``extra`` that goes into the request's body."""
    own = {name: value for name, value in extra.items() if name not in _NOT_FOR_SERVERS}
    further = extra.get("extra_body")
    return own | (further if isinstance(further, dict) else {})


def _own_headers(extra: Mapping[str, Json]) -> dict[str, str]:
    headers = extra.get("extra_headers")
    return {name: str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
