"""A planted key is in nothing that can be printed: errors, chains, locals of every frame, answers, objects."""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.plain import to_plain
from tests.connectors.litellm_calls import REQUEST, Caller, Lean, spec
from tests.openai_server import Fault, OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "zq7Kx91LongSecretValue4242"
IN_ADDRESS = "pw-Of-The-Address-99"
IN_QUERY = "q-Of-The-Address-77"


@pytest.fixture(params=["lean", "litellm"])
def either(request: pytest.FixtureRequest, lean: Lean, ask: Caller) -> Caller:
    """Each of the two clients."""
    return lean if request.param == "lean" else ask


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OTHER_API_KEY", "EMPTY")


def printable(error: BaseException) -> Iterator[str]:
    """All that a traceback with locals can show of ``error`` and of what it is chained to."""
    seen, waiting = set(), [error]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        waiting += [chained for chained in (current.__cause__, current.__context__) if chained is not None]
        yield repr(current)
        yield str(current)
        for frame, _line in traceback.walk_tb(current.__traceback__):
            # The test's own frames know the key.
            if not frame.f_code.co_filename.endswith("test_openai_keys.py"):
                yield from (f"{frame.f_code.co_name}: {name} = {value!r}" for name, value in frame.f_locals.items())


def assert_hidden(texts: Iterator[str]) -> None:
    shown = [text for text in texts if any(secret in text for secret in (KEY, IN_ADDRESS, IN_QUERY))]
    assert shown == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 401, message=f"Incorrect API key provided: {KEY}"),
        Fault("status", 500, body={"error": {"message": "x", "headers": f"Authorization: Bearer {KEY}"}}),
        Fault("status", 200, body={"choices": [], "echo": KEY}),
        Fault("reset"),
        Fault("close"),
        Fault("cut"),
        Fault("hang"),
        Fault("garbage"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_no_error_shows_the_key(either: Caller, server: OpenAIServer, fault: Fault) -> None:
    server.faults.append(fault)
    request = REQUEST if fault.kind != "hang" else type(REQUEST)(REQUEST.messages, timeout=0.2)
    error = either.failure(spec(), request)
    assert server.headers[0].get("Authorization", server.headers[0].get("authorization")) == f"Bearer {KEY}"
    assert error.__cause__ is None
    assert_hidden(printable(error))


def test_no_cancellation_shows_the_key(either: Caller, server: OpenAIServer, run: Callable[..., Any]) -> None:
    server.latency = 20

    async def cancel() -> asyncio.CancelledError:
        connector = either.make(spec())
        call = asyncio.create_task(connector.ask(REQUEST))
        while server.count == 0:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await call
        await connector.close()
        return caught.value

    assert_hidden(printable(run(cancel())))


def test_the_password_of_an_address_is_shown_nowhere(
    lean: Lean, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{IN_ADDRESS}@127.0.0.1:{server.port}/v1?key={IN_QUERY}")
    server.faults.append(Fault("status", 403, message=f"{IN_ADDRESS} {IN_QUERY} at http://me:{IN_ADDRESS}@h/?k={KEY}"))
    error = lean.failure(spec())
    assert str(error).startswith(f"my-model at {server.url}: HTTP 403: [hidden] [hidden] at http://h/")
    assert_hidden(printable(error))


def test_a_server_that_repeats_the_key_does_not_get_it_into_the_records(either: Caller, server: OpenAIServer) -> None:
    server.reply, server.finish_reason = f"EMPTY\nAuthorization: Bearer {KEY}", f"stop {KEY}"
    server.message = {"reasoning_content": f"The key is {KEY}."}
    answer = either(spec())
    assert answer.text == "EMPTY\nAuthorization: Bearer [hidden]"
    assert answer.reasoning == "The key is [hidden]."
    assert KEY not in repr(to_plain(answer))


def test_a_refused_call_in_the_records_does_not_show_the_key(either: Caller, server: OpenAIServer) -> None:
    server.faults.append(Fault("status", 400, message=f"seed is not supported for {KEY}"))
    answer = either(spec(seed=1))
    assert answer.dropped == ("seed",)
    assert KEY not in repr(to_plain(answer))


def test_no_object_of_ours_and_no_log_shows_the_key(
    lean: Lean, server: OpenAIServer, run: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    connector = lean.make(spec())
    with caplog.at_level(logging.DEBUG):
        run(connector.ask(REQUEST))
    ours = [item for item in gc.get_objects() if str(type(item).__module__).startswith("pytest_llmkg")]
    assert ours
    assert_hidden(repr(item) for item in ours)
    assert_hidden(repr(vars(item)) for item in ours if hasattr(item, "__dict__"))
    run(connector.close())
    assert KEY not in caplog.text
