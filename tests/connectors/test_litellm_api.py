from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.litellm_api import LitellmConnector
from pytest_llmkg.records import Answer, Usage
from tests.connectors.litellm_calls import REQUEST, Caller, spec
from tests.openai_server import Fault, OpenAIServer, echo

if TYPE_CHECKING:
    from collections.abc import Callable


def test_an_answer_has_text_stop_reason_tokens_seconds_and_the_served_model(ask: Caller, server: OpenAIServer) -> None:
    server.reply = echo
    server.finish_reason = "length"
    answer = ask(spec(api_base=server.url))
    assert (answer.text, answer.stop_reason, answer.served_model) == ("Who?", "length", "test-served")
    assert answer.usage == Usage(7, 3, None)
    assert 0 < answer.seconds < 60


def test_the_request_holds_the_dialogue_and_only_the_settings_of_the_model(ask: Caller, server: OpenAIServer) -> None:
    ask(spec(api_base=server.url))
    ask(
        spec(
            api_base=server.url,
            temperature=0,
            max_tokens=9,
            top_p=0.5,
            seed=0,
            extra={"reasoning_effort": "low", "stop": ["#"]},
        )
    )
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Who?"}]
    assert server.requests == [
        {"model": "test", "messages": messages},
        {
            "model": "test",
            "messages": messages,
            "temperature": 0,
            "max_tokens": 9,
            "top_p": 0.5,
            "seed": 0,
            "reasoning_effort": "low",
            "stop": ["#"],
        },
    ]


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_openai_ids_go_to_the_address_of_the_environment_without_a_key(
    ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, server.url)
    assert ask(spec()).text == "ok"
    assert server.headers[0]["authorization"] == "Bearer none"


def test_a_key_of_the_environment_is_used(ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-test")
    ask(spec())
    assert server.headers[0]["authorization"] == "Bearer secret-of-the-test"


def test_hosted_vllm_ids_go_to_their_address(
    ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.url)
    assert ask(spec("hosted_vllm/Org/Model-7B")).served_model == "Org/Model-7B-served"


def test_a_message_without_content_is_an_empty_answer(ask: Caller, server: OpenAIServer) -> None:
    server.faults.append(Fault("null_content"))
    assert ask(spec(api_base=server.url)).text == ""


def test_reasoning_is_not_part_of_the_answer(ask: Caller, server: OpenAIServer) -> None:
    server.message = {"reasoning_content": "Let me think."}
    server.reply = "Bob"
    answer = ask(spec("hosted_vllm/m", api_base=server.url))
    assert (answer.text, answer.reasoning) == ("Bob", "Let me think.")


def test_a_long_answer_arrives_whole(ask: Caller, server: OpenAIServer) -> None:
    server.faults.append(Fault("big"))
    assert ask(spec(api_base=server.url)).text == "x" * 1_000_000


def test_the_price_of_the_table_is_per_million_tokens(ask: Caller, server: OpenAIServer) -> None:
    server.usage = (2_000, 500)
    answer = ask(spec(api_base=server.url, price_in=3.0, price_out=10.0))
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2_000, 500)
    assert answer.usage.cost == pytest.approx(0.006 + 0.005)


def test_a_price_of_zero_in_the_table_is_zero(ask: Caller, server: OpenAIServer) -> None:
    assert ask(spec(api_base=server.url, price_in=0, price_out=0)).usage.cost == 0


@pytest.mark.parametrize("model", ["openai/gpt-4o", "openai/unheard-of"])
def test_the_price_at_an_address_of_ones_own_is_unknown(ask: Caller, server: OpenAIServer, model: str) -> None:
    assert ask(spec(model, api_base=server.url)).usage == Usage(7, 3, None)


def test_usage_that_is_not_reported_is_unknown(ask: Caller, server: OpenAIServer) -> None:
    server.usage = None
    assert ask(spec(api_base=server.url, price_in=1, price_out=1)).usage == Usage(None, None, None)


def test_the_price_of_the_provider_is_litellms(monkeypatch: pytest.MonkeyPatch) -> None:
    connector = LitellmConnector(spec("openai/gpt-4o"))

    class Response:
        _hidden_params: dict[str, object] = {"response_cost": 0.25}  # noqa: RUF012  (stands for litellm's own class)

    assert connector._table_price(Response()) == 0.25
    for unknown in (None, 0, 0.0, float("nan")):
        Response._hidden_params = {"response_cost": unknown}
        assert connector._table_price(Response()) is None


def test_many_calls_run_at_once(run: Callable[..., Any], server: OpenAIServer) -> None:
    server.latency = 0.3
    connector = LitellmConnector(spec(api_base=server.url))

    async def many() -> list[Answer]:
        answers = await asyncio.gather(*(connector.ask(REQUEST) for _ in range(12)))
        await connector.close()
        return list(answers)

    assert [answer.text for answer in run(many())] == ["ok"] * 12
    assert server.peak == 12


def test_a_closed_connector_leaves_nothing_that_breaks_the_next(run: Callable[..., Any], server: OpenAIServer) -> None:
    async def twice() -> list[str]:
        texts = []
        for _ in range(2):
            connector = LitellmConnector(spec(api_base=server.url))
            texts.append((await connector.ask(REQUEST)).text)
            await connector.close()
            await connector.close()
        return texts

    assert run(twice()) == ["ok", "ok"]


def test_the_time_for_importing_does_not_count(run: Callable[..., Any], server: OpenAIServer) -> None:
    connector = LitellmConnector(spec(api_base=server.url))
    load = connector._library

    async def slowly() -> Any:
        await asyncio.sleep(2.5)
        return await load()

    connector._library = slowly  # type: ignore[method-assign]  # stands for a slow machine
    assert run(connector.ask(dataclasses.replace(REQUEST, timeout=2))).text == "ok"
    run(connector.close())


def test_a_cancelled_call_ends_at_once(run: Callable[..., Any], server: OpenAIServer) -> None:
    server.latency = 20

    async def cancel() -> float:
        connector = LitellmConnector(spec(api_base=server.url))
        call = asyncio.create_task(connector.ask(dataclasses.replace(REQUEST, timeout=60)))
        while server.count == 0:
            await asyncio.sleep(0.01)
        started = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await connector.close()
        return time.monotonic() - started

    assert run(cancel()) < 15
