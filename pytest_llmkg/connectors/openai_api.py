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
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_llmkg.connectors.calls import Outcome, Speaker, call_until_taken
from pytest_llmkg.connectors.failures import Refusal, read_refusal
from pytest_llmkg.connectors.refused import Settings
from pytest_llmkg.connectors.scrubbing import HiddenText, Secrets, clean_url
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

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
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
            self._proxy = _proxy(endpoint.url)
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
                raw = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            return _broken(error)
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


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, None when it is too large to be an answer; a server may not fill our memory."""
    size, parts = 0, []
    while part := await response.content.readany():
        size += len(part)
        if size > MOST_BYTES:
            response.close()
            return None
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _broken(error: Exception) -> Refusal:
    """What went wrong with the connection, in words."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return Refusal(f"no secure connection: {error}", is_final=True)
    if isinstance(error, aiohttp.InvalidURL | RuntimeError) or type(error) is ValueError:
        # A header with a line break, or a session that was closed meanwhile.
        return Refusal(f"the request cannot be sent: {error}", is_final=True)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Refusal("the connection failed: the endpoint closed it without an answer")
    if isinstance(error, aiohttp.ClientPayloadError):
        return Refusal("the connection failed: it broke off in the middle of the answer")
    if isinstance(error, aiohttp.ClientResponseError):
        return Refusal(f"the endpoint sent no HTTP: {error.message}")
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    text = os.strerror(number) if number is not None and number > 0 else str(cause)
    return Refusal(f"the connection failed: {text or type(error).__name__}")


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for ``url``, looked up once instead of at each call; never for loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    proxy = urllib.request.getproxies().get(parts.scheme)
    return None if proxy is None else HiddenText(proxy)


def _for_body(extra: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a model's ``extra`` that goes into the request's body."""
    own = {name: value for name, value in extra.items() if name not in _NOT_FOR_SERVERS}
    further = extra.get("extra_body")
    return own | (further if isinstance(further, dict) else {})


def _own_headers(extra: Mapping[str, Json]) -> dict[str, str]:
    headers = extra.get("extra_headers")
    return {name: str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
