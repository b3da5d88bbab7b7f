"""The client of the TEXT2SPARQL API against a loopback server that fails on demand."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pytest_llmkg.connectors import text2sparql_http
from pytest_llmkg.connectors.text2sparql_http import CONNECTOR, KEY_VARIABLE, Text2SparqlConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec, Question, Usage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

IRI = "https://data.example/lifts/"
QUESTION = Question("Which lifts are red & new?", "lifts", "en", IRI)
QUERY = "SELECT ?lift { ?lift a <urn:Lift> }"


def request(question: Question | None = QUESTION, *later: Message, timeout: float = 20.0) -> AskRequest:
    return AskRequest((Message("user", "prompt"), *later), "Text2SparqlKgqa-lifts-en/1", 1, timeout, question)


async def talk(
    handler: Handler, *requests: AskRequest, path: str = "/api", spec: dict[str, Any] | None = None
) -> list[Answer]:
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", handler)
    async with TestServer(app) as server:
        url = str(server.make_url(path))
        connector = Text2SparqlConnector(ModelSpec(f"http:{url}", url, "http", **(spec or {})))
        try:
            return [await connector.ask(one) for one in requests]
        finally:
            await connector.close()


def replying(data: object, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(data, status=status, headers=headers)

    return handler


def test_question_and_dataset_are_sent_and_the_query_comes_back_in_a_block(run: Run) -> None:
    seen: list[dict[str, str]] = []

    async def handler(got: web.Request) -> web.Response:
        seen.append(dict(got.query))
        return web.json_response({"dataset": IRI, "question": got.query["question"], "query": QUERY, "more": 1})

    [answer] = run(talk(handler, request()))
    assert seen == [{"dataset": IRI, "question": "Which lifts are red & new?"}]
    assert answer.text == f"```sparql\n{QUERY}\n```"
    assert answer.usage == Usage()  # unknown, not zero
    assert answer.seconds > 0


def test_usage_timings_and_model_are_taken_where_told(run: Run) -> None:
    told = {
        "query": QUERY,
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.5},
        "timings": {"retrieve": 0.25, "model": 1, "wrong": "x", "negative": -1},
        "model": "inner-1",
    }
    [answer] = run(talk(replying(told), request()))
    assert answer.usage == Usage(100, 20, 0.5)
    assert answer.stages == {"retrieve": 0.25, "model": 1.0}
    assert answer.served_model == "inner-1"
    [priced] = run(talk(replying(told), request(), spec={"price_in": 10_000.0, "price_out": 0.0}))
    assert priced.usage.cost == pytest.approx(1.0)


def test_a_hint_is_not_sent_on_and_gets_the_same_answer(run: Run) -> None:
    calls: list[str] = []

    async def handler(got: web.Request) -> web.Response:
        calls.append(got.query["question"])
        return web.json_response({"query": QUERY})

    hint = (Message("assistant", "```sparql\nASK {}\n```"), Message("user", "it is empty"))
    first, second = run(talk(handler, request(), request(QUESTION, *hint)))
    assert len(calls) == 1
    assert second.text == "```sparql\nASK {}\n```"
    assert second.usage == Usage()
    assert first.usage == Usage()


@pytest.mark.parametrize(
    ("handler", "pattern", "retryable"),
    [
        (replying({"detail": "no such dataset"}, 404), r"HTTP 404: no such dataset; its address is wrong", False),
        (replying({"detail": "missing"}, 422), r"HTTP 422: missing$", False),
        (replying({"error": "boom"}, 500), r"HTTP 500: boom$", True),
        (replying({"error": "slow down"}, 429, {"Retry-After": "7"}), r"HTTP 429: slow down", True),
        (replying({"query": None}), r"sent no query: 'query' is None", True),
        (replying(["x"]), r"sent no query", True),
        (replying({"error": "bad key"}, 401), rf"HTTP 401: bad key; check {KEY_VARIABLE}", False),
    ],
)
def test_refusals_are_told_with_what_to_do(run: Run, handler: Handler, pattern: str, retryable: bool) -> None:
    with pytest.raises(ConnectorError, match=pattern) as caught:
        run(talk(handler, request()))
    assert caught.value.retryable is retryable
    if caught.value.status == 429:
        assert caught.value.retry_after == 7
        assert caught.value.overloaded


@pytest.mark.parametrize("body", ["<html>Log in</html>", '{"query": "SELECT', ""])
def test_what_is_no_json_is_an_error_of_the_endpoint_not_an_empty_answer(run: Run, body: str) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="text/html")

    with pytest.raises(ConnectorError, match="sent no JSON") as caught:
        run(talk(handler, request()))
    assert caught.value.retryable
    assert caught.value.status is None


def test_a_body_beyond_the_limit_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text2sparql_http, "MOST_BYTES", 2**20)

    async def handler(_request: web.Request) -> web.Response:
        return web.Response(body=b" " * (2**20 + 1))

    with pytest.raises(ConnectorError, match="more than 1 MiB") as caught:
        run(talk(handler, request()))
    assert not caught.value.retryable


def test_the_time_limit_holds_for_headers_and_body_together(run: Run) -> None:
    async def handler(got: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(got)
        await response.write(b'{"query": ')
        await asyncio.sleep(30)
        return response

    with pytest.raises(ConnectorError, match=r"no answer within 0.3 s") as caught:
        run(talk(handler, request(timeout=0.3)))
    assert caught.value.retryable


def test_redirects_are_followed_at_the_same_place_only(run: Run) -> None:
    async def near(got: web.Request) -> web.Response:
        if got.path == "/api":
            raise web.HTTPTemporaryRedirect("/api/")
        return web.json_response({"query": f"ASK {{}} # {got.query['question']}"})

    async def far(_got: web.Request) -> web.Response:
        raise web.HTTPFound("http://elsewhere.example/login?key=sekret")

    async def around(got: web.Request) -> web.Response:
        raise web.HTTPFound(got.path)

    [answer] = run(talk(near, request()))
    assert "Which lifts are red & new?" in answer.text
    with pytest.raises(ConnectorError, match=r"sends us to http://elsewhere.example/login; give") as caught:
        run(talk(far, request()))
    assert "sekret" not in str(caught.value)
    with pytest.raises(ConnectorError, match="more than 3 redirects"):
        run(talk(around, request()))


@pytest.mark.parametrize(
    "place", ["http://[::1/", "http://127.0.0.1:99999999/", "file:///etc/passwd", "//other.example/", ""]
)
def test_redirects_to_no_place_at_all_are_errors_too(run: Run, place: str) -> None:
    async def handler(_got: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": place})

    with pytest.raises(ConnectorError, match=r"HTTP 302: the system sends us to .*give the address") as caught:
        run(talk(handler, request()))
    assert not caught.value.retryable


def sending(text: str, **headers: str) -> Handler:
    async def handler(_got: web.Request) -> web.Response:
        return web.Response(body=text.encode(), headers={"Content-Type": "application/json", **headers})

    return handler


def test_numbers_that_no_counter_reaches_are_unknown(run: Run) -> None:
    huge = "9" * 400
    told = f'"usage": {{"prompt_tokens": {huge}, "completion_tokens": 7, "cost": {huge}}}'
    times = f'"timings": {{"model": {huge}, "check": 1e999, "search": NaN, "shape": 2, "wait": 3}}'
    [answer] = run(talk(sending(f'{{"query": "ASK {{}}", {told}, {times}}}'), request()))
    assert answer.usage == Usage(None, 7)
    assert answer.stages == {"shape": 2.0}


def test_half_characters_are_replaced_since_no_file_can_hold_them(run: Run) -> None:
    body = r'{"query": "ASK {} # \ud800", "model": "m\ud800", "timings": {"\ud800": 1}}'
    [answer] = run(talk(sending(body), request()))
    assert answer.text == "```sparql\nASK {} # \ufffd\n```"
    assert (answer.served_model, answer.stages) == ("m\ufffd", {"\ufffd": 1.0})


@pytest.mark.parametrize(
    ("query", "shown"), [("[1]", r"\[1\]"), ("{}", "{}"), ("3", "3"), ("true", "True"), ("null", "None")]
)
def test_a_query_that_is_no_text_is_an_error_of_the_system(run: Run, query: str, shown: str) -> None:
    with pytest.raises(ConnectorError, match=f"sent no query: 'query' is {shown}"):
        run(talk(sending(f'{{"query": {query}}}'), request()))


def test_a_bomb_is_not_unpacked(run: Run) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(32)) + packer.flush()

    async def handler(_got: web.Request) -> web.Response:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    with pytest.raises(ConnectorError, match="more than 4 MiB"):
        run(talk(handler, request()))


@pytest.mark.parametrize("sent", [b"", b"{"])
def test_a_connection_that_is_cut_is_worth_another_try(run: Run, sent: bytes) -> None:
    async def handler(got: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        if sent:
            await response.prepare(got)
            await response.write(sent)
        assert got.transport is not None
        got.transport.abort()
        return response

    with pytest.raises(ConnectorError, match="the connection failed") as caught:
        run(talk(handler, request()))
    assert caught.value.retryable


def test_nobody_listening_is_worth_another_try(run: Run) -> None:
    connector = Text2SparqlConnector(ModelSpec("m", "http://127.0.0.1:9/", "http"))

    async def ask() -> None:
        try:
            await connector.ask(request())
        finally:
            await connector.close()

    with pytest.raises(ConnectorError, match=r"m at http://127.0.0.1:9/: the connection failed") as caught:
        run(ask())
    assert caught.value.retryable


def test_the_key_is_sent_and_hidden_wherever_it_comes_back(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "k3y-that-nobody-sees"
    monkeypatch.setenv(KEY_VARIABLE, key)

    async def echoing(got: web.Request) -> web.Response:
        return web.json_response({"query": f"ASK {{}} # {got.headers['Authorization']}"})

    async def failing(got: web.Request) -> web.Response:
        return web.json_response({"error": f"wrong: {got.headers['Authorization']}"}, status=403)

    [answer] = run(talk(echoing, request()))
    assert key not in answer.text
    assert "[hidden]" in answer.text
    with pytest.raises(ConnectorError) as caught:
        run(talk(failing, request()))
    assert key not in str(caught.value)


def test_without_question_or_dataset_nothing_is_sent(run: Run) -> None:
    calls: list[str] = []

    async def handler(got: web.Request) -> web.Response:
        calls.append(got.query["dataset"])
        return web.json_response({"query": QUERY})

    with pytest.raises(ConnectorError, match=r"Text2SparqlKgqa-lifts-en asks none; choose tasks that do"):
        run(talk(handler, request(None)))
    bare = Question("Which?", "lifts")
    with pytest.raises(ConnectorError, match="'lifts' names no dataset IRI"):
        run(talk(handler, request(bare)))
    assert not calls
    run(talk(handler, request(bare), spec={"extra": {"dataset": "urn:d"}}))
    assert calls == ["urn:d"]


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("http://localhost:8000/api", "http://localhost:8000/api"),
        ("//localhost:8000/api", "http://localhost:8000/api"),  # what is left of --models=http://localhost:8000/api
        ("https://host.example", "https://host.example"),
    ],
)
def test_addresses(argument: str, shown: str) -> None:
    spec = ModelSpec(f"http:{argument}", argument, "http")
    CONNECTOR.check(spec)
    assert CONNECTOR.address(spec) == shown


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("", "give the system's address"),
        ("ftp://host/", "give the system's address"),
        ("http://[::1", "give the system's address"),
        ("http://me:hidden-pw@host/", "no user, password or query"),
        ("http://host/?key=hidden-pw", "no user, password or query"),
    ],
)
def test_unusable_addresses_are_named_before_anything_runs(argument: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        CONNECTOR.check(ModelSpec(f"http:{argument}", argument, "http"))
    assert "hidden-pw" not in str(caught.value)
    with pytest.raises(UserError, match=r"extra\.dataset"):
        CONNECTOR.check(ModelSpec("m", "http://host/", "http", extra={"dataset": 3}))


def test_a_query_with_fences_of_its_own_and_an_empty_one_stay_as_they_are(run: Run) -> None:
    fenced = f"```\n{QUERY}\n```"
    [answer] = run(talk(replying({"query": fenced}), request()))
    assert answer.text == fenced
    [answer] = run(talk(replying({"query": ""}), request()))
    assert answer.text == ""
    assert json.dumps(dict(answer.stages)) == "{}"
