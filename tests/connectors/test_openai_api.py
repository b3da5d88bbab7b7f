"""The lean client: answers, what is sent, usage, prices; its faults stand in `test_openai_failures`."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.endpoints import own_endpoint
from pytest_llmkg.connectors.http_calls import proxy_for
from pytest_llmkg.connectors.openai_api import OpenAIConnector
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Message, Usage
from tests.connectors.litellm_calls import REQUEST, Lean, lean_connector, spec
from tests.openai_server import Fault, OpenAIServer, echo

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Who?"}]


def test_an_answer_has_text_stop_reason_tokens_seconds_and_the_served_model(lean: Lean, server: OpenAIServer) -> None:
    server.reply = echo
    server.finish_reason = "length"
    answer = lean(spec(api_base=server.url))
    assert (answer.text, answer.stop_reason, answer.served_model) == ("Who?", "length", "test-served")
    assert answer.usage == Usage(7, 3, None)
    assert 0 < answer.seconds < 60
    assert (answer.reasoning, answer.dropped, answer.failed_calls) == (None, (), ())


def test_the_request_holds_the_dialogue_and_only_the_settings_of_the_model(lean: Lean, server: OpenAIServer) -> None:
    lean(spec(api_base=server.url))
    extra = {
        "reasoning_effort": "low",
        "stop": ["#"],
        "drop_params": True,
        "extra_headers": {"X-Title": "llmkg", "X-Number": 3},
        "extra_body": {"top_k": 5},
    }
    lean(spec(api_base=server.url, temperature=0, max_tokens=9, top_p=0.5, seed=0, extra=extra))
    assert server.requests == [
        {"model": "test", "messages": MESSAGES},
        {
            "model": "test",
            "messages": MESSAGES,
            "temperature": 0,
            "max_tokens": 9,
            "top_p": 0.5,
            "seed": 0,
            "reasoning_effort": "low",
            "stop": ["#"],
            "top_k": 5,
        },
    ]
    assert (server.headers[1]["X-Title"], server.headers[1]["X-Number"]) == ("llmkg", "3")
    assert server.paths == ["/v1/chat/completions"] * 2


@pytest.mark.parametrize(
    ("model", "base", "key"),
    [
        ("openai/m", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("hosted_vllm/m", "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
        ("ollama_chat/m", "OLLAMA_API_BASE", "OLLAMA_API_KEY"),
        ("openrouter/m", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY"),
    ],
)
def test_address_and_key_come_from_the_environment(
    lean: Lean, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, model: str, base: str, key: str
) -> None:
    monkeypatch.setenv(base, server.url)
    lean(spec(model))
    monkeypatch.setenv(key, "secret-of-the-test")
    lean(spec(model))
    assert [headers.get("Authorization") for headers in server.headers] == [None, "Bearer secret-of-the-test"]


def test_a_user_in_the_address_is_sent_as_such(
    lean: Lean, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:pw!@127.0.0.1:{server.port}/v1")
    assert lean(spec()).text == "ok"
    assert server.headers[0]["Authorization"] == "Basic bWU6cHch"


def test_a_message_without_content_is_an_empty_answer(lean: Lean, server: OpenAIServer) -> None:
    server.faults.append(Fault("null_content"))
    answer = lean(spec(api_base=server.url))
    assert (answer.text, answer.stop_reason) == ("", "stop")


def test_thoughts_are_not_part_of_the_answer(lean: Lean, server: OpenAIServer) -> None:
    server.message = {"reasoning_content": "Let me think."}
    assert lean(spec(api_base=server.url)).reasoning == "Let me think."
    server.message, server.reply = {}, "<think>Hm.</think>\n\nBob"
    answer = lean(spec(api_base=server.url))
    assert (answer.text, answer.reasoning) == ("Bob", "Hm.")
    server.reply, server.finish_reason = "<think>Hm, hm", "length"
    answer = lean(spec(api_base=server.url))
    assert (answer.text, answer.reasoning, answer.stop_reason) == ("", "Hm, hm", "length")


def test_a_long_answer_arrives_whole_and_any_text_can_be_asked(lean: Lean, server: OpenAIServer) -> None:
    server.faults.append(Fault("big"))
    assert lean(spec(api_base=server.url)).text == "x" * 1_000_000
    server.reply = echo
    text = "\x00 \ud800 é 漢 \U0001f600 \u202e </s>" + "y" * 300_000
    request = dataclasses.replace(REQUEST, messages=(Message("user", text),))
    assert lean(spec(api_base=server.url), request).text == text


def test_the_parts_of_the_tokens_are_told(lean: Lean, server: OpenAIServer) -> None:
    server.usage = (90, 50)
    server.usage_details = {
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 32},
    }
    answer = lean(spec(api_base=server.url, price_in=1, price_out=2))
    assert answer.usage == Usage(90, 50, 0.00019, 64, 32)


def test_usage_that_is_not_reported_is_unknown_and_no_output_is_legal(lean: Lean, server: OpenAIServer) -> None:
    server.usage = None
    assert lean(spec(api_base=server.url, price_in=1, price_out=1)).usage == Usage(None, None, None)
    server.usage = (7, 0)
    assert lean(spec(api_base=server.url, price_in=1, price_out=1)).usage == Usage(7, 0, 7e-06)


def test_only_openrouter_is_believed_its_price_and_the_table_goes_first(lean: Lean, server: OpenAIServer) -> None:
    server.usage_details = {"cost": 0.25}
    costs = [
        lean(spec(model, api_base=server.url, **prices)).usage.cost
        for model, prices in (
            ("openrouter/a/b", {}),
            ("openai/b", {}),
            ("openrouter/a/b", {"price_in": 0, "price_out": 0}),
        )
    ]
    assert costs == [0.25, None, 0.0]


def test_two_hundred_calls_run_at_once_on_connections_that_are_used_again(
    run: Callable[..., Any], server: OpenAIServer
) -> None:
    server.latency = 0.5
    connector = lean_connector(spec(api_base=server.url))

    async def many() -> list[Answer]:
        answers = []
        for _ in range(2):
            answers += await asyncio.gather(*(connector.ask(REQUEST) for _ in range(200)))
        await connector.close()
        return answers

    assert [answer.text for answer in run(many())] == ["ok"] * 400
    assert server.count == 400
    assert server.peak > 100
    assert server.connections <= 200


def test_a_closed_connector_leaves_nothing_that_breaks_the_next(run: Callable[..., Any], server: OpenAIServer) -> None:
    async def twice() -> list[str]:
        texts = []
        for _ in range(2):
            connector = lean_connector(spec(api_base=server.url))
            texts.append((await connector.ask(REQUEST)).text)
            await connector.close()
            await connector.close()
        return texts

    assert run(twice()) == ["ok", "ok"]


@pytest.mark.filterwarnings("error")
def test_a_cancelled_call_ends_at_once_and_leaves_neither_warning_nor_noise(
    server: OpenAIServer, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    server.latency = 20
    complaints: list[dict[str, Any]] = []

    async def cancel() -> float:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
        connector = lean_connector(spec(api_base=server.url))
        calls = [asyncio.create_task(connector.ask(dataclasses.replace(REQUEST, timeout=60))) for _ in range(5)]
        while server.count < 5:
            await asyncio.sleep(0.01)
        started = time.monotonic()
        for call in calls:
            call.cancel()
        for call in calls:
            with pytest.raises(asyncio.CancelledError):
                await call
        server.latency = 0
        assert (await connector.ask(REQUEST)).text == "ok"
        await connector.close()
        return time.monotonic() - started

    assert asyncio.run(cancel(), debug=True) < 15
    gc.collect()
    printed = capfd.readouterr()
    assert (printed.out, printed.err, complaints) == ("", "", [])
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_a_restarted_server_costs_at_most_one_call_that_is_worth_another_try(run: Callable[..., Any]) -> None:
    async def over_a_restart() -> str:
        with OpenAIServer() as first:
            connector = lean_connector(spec(api_base=first.url))
            await connector.ask(REQUEST)
        with OpenAIServer(at_port=first.port, reply="again"):
            (answer,) = await asyncio.gather(connector.ask(REQUEST), return_exceptions=True)
            if isinstance(answer, ConnectorError) and answer.retryable:
                answer = await connector.ask(REQUEST)
        await connector.close()
        assert isinstance(answer, Answer)
        return answer.text

    assert run(over_a_restart()) == "again"


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://far.example/v1", "http://me:pw@proxy.example:3128"),
        ("https://far.example/v1", None),
        ("http://near.example/v1", None),
        ("http://127.0.0.1:8/v1", None),
        ("http://localhost/v1", None),
    ],
)
def test_a_proxy_of_the_environment_is_used_except_where_it_must_not(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://me:pw@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    monkeypatch.delenv("https_proxy", raising=False)
    found = proxy_for(url)
    assert found == proxy
    assert "pw" not in repr(found)


def test_the_request_goes_through_the_proxy(lean: Lean, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("no_proxy", "")
    # The test server repeats the path that it does not know: a proxy is asked for the whole address.
    assert "no such path: http://far.invalid/v1/chat" in lean.refusal(spec(api_base="http://far.invalid/v1"))


def test_making_a_connector_opens_nothing() -> None:
    endpoint = own_endpoint(spec(api_base="http://127.0.0.1:1/v1"), os.environ)
    assert endpoint is not None
    assert OpenAIConnector(spec(), endpoint)._session is None


@pytest.mark.parametrize("number", [10**400, 1e308, float("inf"), float("nan")])
def test_numbers_beyond_all_bounds_are_none(lean: Lean, server: OpenAIServer, number: float) -> None:
    server.usage_details = {
        "cost": number,
        "prompt_tokens_details": {"cached_tokens": number},
        "cost_details": {"upstream_inference_cost": number},
    }
    assert lean(spec("openrouter/a/b", api_base=server.url)).usage == Usage(7, 3, None)
    server.usage_details = {"prompt_tokens": number, "completion_tokens": number}
    assert lean(spec(api_base=server.url, price_in=1, price_out=1)).usage == Usage(None, None, None)
