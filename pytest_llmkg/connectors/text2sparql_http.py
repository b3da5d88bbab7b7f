"""``http:URL`` is a system that serves the API of the TEXT2SPARQL challenge.

One question is one ``GET URL?dataset=IRI&question=TEXT``; the response is a JSON object with ``query`` (the challenge
also has ``dataset`` and ``question`` in it, which are not looked at). Three further fields are understood where a
system sends them: ``usage`` (``prompt_tokens``, ``completion_tokens``, ``cost`` in US dollars), ``timings`` (seconds by
stage) and ``model``. Tokens and prices that nobody told are unknown, never zero.

``http:http://host/path``, ``http:https://host/path`` and the plain ``http://host/path`` are understood. A key
is taken from the environment variable ``TEXT2SPARQL_API_KEY`` and sent as a bearer token. In a model table,
``extra = { dataset = "IRI" }`` names the dataset of question sets that have none.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pytest_llmkg.connectors.asked_questions import as_block, asked_question, said_before
from pytest_llmkg.connectors.failures import Refusal, judge, read_refusal, retry_after
from pytest_llmkg.connectors.http_calls import broken_connection, proxy_for, read_body
from pytest_llmkg.connectors.scrubbing import HiddenText, Secrets, clean_url
from pytest_llmkg.connectors.usage import own_price, read_tokens, told_cost
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import aiohttp

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import ModelSpec, Question

__all__ = ["CONNECTOR", "KEY_VARIABLE", "MOST_BYTES", "Text2SparqlConnector"]

KEY_VARIABLE = "TEXT2SPARQL_API_KEY"
MOST_BYTES = 4 * 2**20
"""The largest body that is read; a response holds one query."""

_MOST_REDIRECTS = 3
_MOST_STAGES = 20
_MOST_NUMBER = 10**15
_OWN_STAGES = ("wait", "prepare")  # by the clock of this program, see `analysis.effort`
_ADVICE = {
    "key": f"check {KEY_VARIABLE}",
    "model": "the system may not know this dataset",
    "address": "its address is wrong, or it does not know this dataset",
    "quota": "the system's account has nothing left",
}


class Text2SparqlConnector:
    """One system, with connections that are kept open between questions."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._secrets = Secrets(os.environ)
        self._session: aiohttp.ClientSession | None = None
        self._tells_usage = False

    async def ask(self, request: AskRequest) -> Answer:
        """The system's query in a fenced block; a hint on an answer gets the same answer again, without a call.

        Raises:
            ConnectorError: the task asks no question or its set names no dataset; the system refused, failed, did not
                answer in time, or sent something else than a query.
        """
        question = asked_question(request, self._spec.id)
        before = said_before(request, tells_usage=self._tells_usage)
        if before is not None:
            return before
        params = {"dataset": _dataset(question, self._spec), "question": question.text}
        started = time.perf_counter()
        found: Answer | Refusal
        try:
            async with asyncio.timeout(request.timeout):
                found = await self._get(self._open(), params)
        except TimeoutError:
            found = Refusal(f"no answer within {request.timeout:g} s")
        if isinstance(found, Answer):
            return replace(found, seconds=time.perf_counter() - started)
        raise self._error(found) from None

    async def close(self) -> None:
        """Closes the connections; may be called twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        """The session, made by the first call because it belongs to the event loop that it is made on."""
        if self._session is None:
            import aiohttp

            headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "pytest-llmkg"}
            key = os.environ.get(KEY_VARIABLE, "").strip()
            if key:
                headers["Authorization"] = HiddenText(f"Bearer {key}")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _get(self, session: aiohttp.ClientSession, params: Mapping[str, str]) -> Answer | Refusal:
        """One question, with redirects as long as they stay at the same host: elsewhere the key must not go."""
        import aiohttp

        start = _address(self._spec)
        url, proxy, sent = start, proxy_for(start), dict(params)
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                async with session.get(url, params=sent, allow_redirects=False, proxy=proxy) as response:
                    raw = await read_body(response, MOST_BYTES)
                    goal, actual = response.headers.get("Location"), str(response.url)
            except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
                return broken_connection(error)
            if not 300 <= response.status < 400:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return self._read(response.status, headers, raw)
            url = _joined(actual, goal or "")
            if not goal or not _is_same_place(url, start):
                return Refusal(f"the system sends us to {clean_url(url)}; give the address where it really is", 302)
            sent = {} if urlsplit(url).query else dict(params)
        return Refusal(f"more than {_MOST_REDIRECTS} redirects", 302)

    def _read(self, status: int, headers: Mapping[str, str], raw: bytes | None) -> Answer | Refusal:
        if raw is None:
            return Refusal(f"the system sent more than {MOST_BYTES // 2**20} MiB", is_final=True)
        try:
            data: Any = json.loads(raw)
        except (ValueError, RecursionError) as error:
            if 200 <= status < 300:
                return Refusal(f"the system sent no JSON: {error}", 200)
            return read_refusal(status, headers, raw[:1000].decode(errors="replace"))
        if not 200 <= status < 300:
            return read_refusal(status, headers, data)
        query = data.get("query") if isinstance(data, dict) else None
        if not isinstance(query, str):
            return Refusal(f"the system sent no query: 'query' is {query!r:.40}", 200)
        usage, served = self._usage(data.get("usage")), data.get("model")
        return Answer(
            text=self._secrets.hide(as_block(clean_text(query))),
            stop_reason="stop",
            usage=usage,
            served_model=self._secrets.hide(clean_text(served)) if isinstance(served, str) and served else None,
            stages=_timings(data.get("timings")),
        )

    def _usage(self, told: object) -> Usage:
        told = _countable(told)
        tokens = read_tokens(told)
        cost = own_price(self._spec, tokens)
        usage = replace(tokens, cost=told_cost(told) if cost is None else cost)
        self._tells_usage = self._tells_usage or usage != Usage()
        return usage

    def _error(self, refusal: Refusal) -> ConnectorError:
        verdict = judge(refusal)
        cause = self._secrets.hide_all(refusal.message) or refusal.code or "no answer"
        status = None if refusal.status == 200 else refusal.status
        if status is not None:
            cause = f"HTTP {status}: {cause}"
        advice = f"; {_ADVICE[verdict.advice]}" if verdict.advice in _ADVICE and (status or 0) // 100 != 3 else ""
        return ConnectorError(
            f"{self._spec.id} at {_address(self._spec)}: {cause}{advice}",
            status=status,
            retryable=verdict.retryable,
            retry_after=retry_after(refusal.headers) if verdict.retryable else None,
            overloaded=verdict.overloaded,
        )


def _dataset(question: Question, spec: ModelSpec) -> str:
    dataset = question.dataset or spec.extra.get("dataset")
    if isinstance(dataset, str) and dataset:
        return dataset
    raise ConnectorError(
        f"{spec.id}: the question set of {question.kg!r} names no dataset IRI, which the system must be told; "
        'set it in the question file (dataset: id:) or by extra = { dataset = "IRI" } of the model'
    )


def _is_same_place(url: str, other: str) -> bool:
    try:
        one, two = urlsplit(url), urlsplit(other)
        return (one.scheme, one.hostname, one.port) == (two.scheme, two.hostname, two.port)
    except ValueError:
        return False


def _timings(told: object) -> dict[str, float]:
    """Stages with their seconds, as far as they are numbers that can be times."""
    entries = list(told.items())[:_MOST_STAGES] if isinstance(told, dict) else []
    return {
        clean_text(name)[:40]: float(value)
        for name, value in entries
        if name not in _OWN_STAGES and isinstance(value, int | float) and not isinstance(value, bool)
        if 0 <= value < _MOST_NUMBER  # which NaN is not, either
    }


def _countable(told: object) -> object:
    """``told`` without numbers that no counter reaches, which Python can neither add to a price nor write."""
    if isinstance(told, dict):
        return {name: _countable(value) for name, value in told.items()}
    return None if isinstance(told, int) and abs(told) >= _MOST_NUMBER else told


def _joined(base: str, goal: str) -> str:
    try:
        return urljoin(base, goal)
    except ValueError:  # e.g. a bracket that is not closed
        return goal


def _address(spec: ModelSpec) -> str:
    """The address without surrounding space; that of a plain ``http://host`` lost its scheme to the connector's name.

    Raises:
        UserError: it is none, or holds what must not be written to files.
    """
    text = (spec.api_base or spec.model).strip()
    url = f"http:{text}" if text.startswith("//") else text
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UserError(
            f"model {spec.id.partition('?')[0]!r}: give the system's address, e.g. http:http://localhost:8000/"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UserError(
            f"model at {clean_url(url)}: the address must hold no user, password or query, since it is written to run "
            f"files; a key is read from {KEY_VARIABLE}"
        )
    return url


def _check(spec: ModelSpec) -> None:
    _address(spec)
    dataset = spec.extra.get("dataset")
    if dataset is not None and not isinstance(dataset, str):
        raise UserError(f"model {spec.id!r}: extra.dataset must be an IRI, found {dataset!r:.40}")


CONNECTOR = ConnectorFactory(
    scheme="http",
    summary="A system serving the TEXT2SPARQL challenge's API (http:URL); answers questions on graphs only.",
    make=Text2SparqlConnector,
    check=_check,
    address=lambda spec: clean_url(_address(spec)),
    only_questions=lambda _spec: True,
)
