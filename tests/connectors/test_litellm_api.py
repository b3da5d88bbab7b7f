from __future__ import annotations

import asyncio
import dataclasses
import importlib.metadata
import logging
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.litellm_api import CONNECTOR, LitellmConnector, _clean_url, _one_line
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec, Usage
from tests.openai_server import Fault, OpenAIServer, echo

if TYPE_CHECKING:
    from collections.abc import Callable

REQUEST = AskRequest((Message("system", "Be short."), Message("user", "Who?")), "L/c", 1, 5.0)


def spec(model: str = "openai/test", **settings: Any) -> ModelSpec:
    return ModelSpec("my-model", model, "litellm", **settings)


@pytest.fixture
def ask(run: Callable[..., Any]) -> Callable[..., Answer]:
    """Asks a model once and closes it."""

    async def once(model: ModelSpec, request: AskRequest) -> Answer:
        connector = LitellmConnector(model)
        try:
            return await connector.ask(request)
        finally:
            await connector.close()

    def call(model: ModelSpec, request: AskRequest = REQUEST) -> Answer:
        answer: Answer = run(once(model, request))
        return answer

    return call


def refusal(ask: Callable[..., Answer], model: ModelSpec, request: AskRequest = REQUEST) -> str:
    with pytest.raises(ConnectorError) as caught:
        ask(model, request)
    return str(caught.value)


def test_an_answer_has_text_stop_reason_tokens_seconds_and_the_served_model(
    ask: Callable[..., Answer], server: OpenAIServer
) -> None:
    server.reply = echo
    server.finish_reason = "length"
    answer = ask(spec(api_base=server.url))
    assert (answer.text, answer.stop_reason, answer.served_model) == ("Who?", "length", "test-served")
    assert answer.usage == Usage(7, 3, None)
    assert 0 < answer.seconds < 60


def test_the_request_holds_the_dialogue_and_only_the_settings_of_the_model(
    ask: Callable[..., Answer], server: OpenAIServer
) -> None:
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
    ask: Callable[..., Answer], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, server.url)
    assert ask(spec()).text == "ok"
    assert server.headers[0]["authorization"] == "Bearer none"


def test_a_key_of_the_environment_is_used(
    ask: Callable[..., Answer], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-test")
    ask(spec())
    assert server.headers[0]["authorization"] == "Bearer secret-of-the-test"


def test_hosted_vllm_ids_go_to_their_address(
    ask: Callable[..., Answer], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.url)
    assert ask(spec("hosted_vllm/Org/Model-7B")).served_model == "Org/Model-7B-served"


def test_without_an_address_hosted_vllm_is_refused_since_litellm_would_ask_openai() -> None:
    with pytest.raises(UserError, match="HOSTED_VLLM_API_BASE"):
        CONNECTOR.check(spec("hosted_vllm/Org/Model"))


def test_a_message_without_content_is_an_empty_answer(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.faults.append(Fault("null_content"))
    assert ask(spec(api_base=server.url)).text == ""


def test_reasoning_is_not_part_of_the_answer(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.message = {"reasoning_content": "Let me think."}
    server.reply = "Bob"
    assert ask(spec("hosted_vllm/m", api_base=server.url)).text == "Bob"


def test_a_long_answer_arrives_whole(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.faults.append(Fault("big"))
    assert ask(spec(api_base=server.url)).text == "x" * 1_000_000


@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault("status", 400), "HTTP 400: "),
        (Fault("status", 401), "HTTP 401: "),
        (Fault("status", 404), "HTTP 404: "),
        (Fault("status", 429, retry_after=1), "HTTP 429: "),
        (Fault("status", 500), "HTTP 500: "),
        (Fault("status", 503), "HTTP 503: "),
        (Fault("reset"), "the connection failed: Connection reset by peer"),
        (Fault("cut"), ""),
        (Fault("garbage"), "the endpoint sent no JSON: "),
        (Fault("invalid_json"), "the endpoint sent no JSON: "),
        (Fault("html"), ""),
        (Fault("no_choices"), "the endpoint sent an answer without choices"),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else "",
)
def test_every_fault_is_one_clear_line_after_one_request(
    ask: Callable[..., Answer], server: OpenAIServer, provider: str, fault: Fault, cause: str
) -> None:
    server.faults.append(fault)
    text = refusal(ask, spec(f"{provider}/test", api_base=server.url))
    assert text.startswith(f"my-model at {server.url}: {cause}")
    assert len(text) > len(f"my-model at {server.url}: ")
    assert "\n" not in text
    assert len(text) < 400
    assert server.count == 1


def test_a_server_that_hangs_is_given_up_at_the_time_limit(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.faults.append(Fault("hang"))
    text = refusal(ask, spec(api_base=server.url), dataclasses.replace(REQUEST, timeout=0.3))
    assert text == f"my-model at {server.url}: no answer within 0.3 s"


def test_an_endpoint_that_is_down_is_named(ask: Callable[..., Answer]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses connections, and nobody else can take it
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert refusal(ask, spec(api_base=base)).startswith(f"my-model at {base}: the connection failed: ")


def test_the_endpoint_is_named_without_user_password_and_query(
    ask: Callable[..., Answer], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults.append(Fault("status", 500))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:hunter22@127.0.0.1:{server.port}/v1")
    text = refusal(ask, spec())
    assert f"my-model at {server.url}: " in text
    assert "hunter22" not in text


def test_keys_that_an_endpoint_repeats_are_hidden(
    ask: Callable[..., Answer], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my-own-key-4711")
    monkeypatch.setenv("SOME_TOKEN", "another-token-0815")
    message = "bad: my-own-key-4711, another-token-0815, sk-abcdefghij, Bearer abcdefghij http://x.example/?key=zzz"
    server.faults.append(Fault("status", 401, message=message))
    text = refusal(ask, spec(api_base=server.url))
    assert text.endswith("HTTP 401: bad: [hidden], [hidden], [hidden], [hidden] http://x.example/")


def test_an_error_hides_its_original_so_that_no_traceback_shows_it(
    run: Callable[..., Any], server: OpenAIServer
) -> None:
    server.faults.append(Fault("status", 401, message="sk-abcdefghij"))
    with pytest.raises(ConnectorError) as caught:
        run(LitellmConnector(spec(api_base=server.url)).ask(REQUEST))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_price_of_the_table_is_per_million_tokens(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.usage = (2_000, 500)
    answer = ask(spec(api_base=server.url, price_in=3.0, price_out=10.0))
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2_000, 500)
    assert answer.usage.cost == pytest.approx(0.006 + 0.005)


def test_a_price_of_zero_in_the_table_is_zero(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    assert ask(spec(api_base=server.url, price_in=0, price_out=0)).usage.cost == 0


@pytest.mark.parametrize("model", ["openai/gpt-4o", "openai/unheard-of"])
def test_the_price_at_an_address_of_ones_own_is_unknown(
    ask: Callable[..., Answer], server: OpenAIServer, model: str
) -> None:
    assert ask(spec(model, api_base=server.url)).usage == Usage(7, 3, None)


def test_usage_that_is_not_reported_is_unknown(ask: Callable[..., Answer], server: OpenAIServer) -> None:
    server.usage = None
    assert ask(spec(api_base=server.url, price_in=1, price_out=1)).usage == Usage(None, None, None)


def test_the_price_of_the_provider_is_litellms(monkeypatch: pytest.MonkeyPatch) -> None:
    connector = LitellmConnector(spec("openai/gpt-4o"))

    class Response:
        _hidden_params: dict[str, object] = {"response_cost": 0.25}  # noqa: RUF012  (stands for litellm's own class)

    assert connector._cost(Response(), 7, 3) == 0.25
    for unknown in (None, 0, 0.0, float("nan")):
        Response._hidden_params = {"response_cost": unknown}
        assert connector._cost(Response(), 7, 3) is None


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


def test_a_parameter_that_the_model_does_not_take_is_an_error_and_not_dropped(
    ask: Callable[..., Answer], server: OpenAIServer
) -> None:
    assert "temperature" in refusal(ask, spec("openai/o1", api_base=server.url, temperature=0.5))
    assert server.count == 0


def test_nothing_is_printed_and_nothing_reaches_the_log(
    ask: Callable[..., Answer],
    server: OpenAIServer,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.faults.extend([Fault("status", 429), Fault("status", 500), None])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            refusal(ask, spec(api_base=server.url))
        ask(spec(api_base=server.url))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert not [record for record in caplog.records if "litellm" in record.name.lower()]


def test_a_provider_that_litellm_does_not_know_is_said_so(ask: Callable[..., Answer]) -> None:
    assert refusal(ask, spec("nosuchprovider/x")) == "my-model at nosuchprovider: litellm knows no such provider"


def test_a_missing_key_is_said_in_words_and_without_a_traceback(ask: Callable[..., Answer]) -> None:
    for provider, variable in (("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")):
        text = refusal(ask, spec(f"{provider}/x"))
        assert text.startswith(f"my-model at {provider}: Missing")
        assert variable in text
        assert "Traceback" not in text


def test_the_time_for_importing_does_not_count(run: Callable[..., Any], server: OpenAIServer) -> None:
    connector = LitellmConnector(spec(api_base=server.url))
    load = connector._library

    async def slowly() -> Any:
        await asyncio.sleep(2.5)
        return await load()

    connector._library = slowly  # type: ignore[method-assign]  # stands for a slow machine
    assert run(connector.ask(dataclasses.replace(REQUEST, timeout=2))).text == "ok"
    run(connector.close())


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_the_malicious_releases_are_refused(monkeypatch: pytest.MonkeyPatch, ask: Any, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: version)
    with pytest.raises(UserError, match=f"litellm {version} carried a credential stealer"):
        CONNECTOR.check(spec())
    assert f"litellm {version} carried" in refusal(ask, spec())


def test_a_missing_litellm_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Answer]) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(UserError, match="pip install litellm"):
        CONNECTOR.check(spec())
    assert refusal(ask, spec()) == "my-model at openai: litellm is not installed; install it with `pip install litellm`"


@pytest.mark.parametrize(
    ("model", "settings", "hint"),
    [
        ("gpt-4o", {}, "provider/model"),
        ("", {}, "provider/model"),
        ("Qwen/Qwen2.5-7B-Instruct", {}, "hosted_vllm/Qwen/Qwen2.5-7B-Instruct"),
        ("openai/x", {"extra": {"stream": True, "n": 2}}, "must not hold n, stream"),
    ],
)
def test_what_can_never_work_is_said_before_anything_runs(model: str, settings: Any, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        CONNECTOR.check(spec(model, **settings))


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


@given(st.text(), st.text("abcdefABCDEF0123-_", min_size=6), st.text())
def test_a_message_is_one_bounded_line_and_never_shows_a_key(before: str, secret: str, after: str) -> None:
    line = _one_line(f"{before}{secret}{after}", {"ANY_API_KEY": secret})
    assert line.splitlines() in ([], [line])
    assert len(line) <= 300
    if secret not in before + "[hidden]" + after:
        assert secret not in line


@given(st.text())
def test_any_text_can_be_cleaned_as_an_address(text: str) -> None:
    assert "?" not in _clean_url(f"https://host.example/{text}".replace("#", "?"))


def test_an_address_keeps_host_port_and_path_only() -> None:
    assert _clean_url("https://u:p@host.example:8443/v1?key=1#x") == "https://host.example:8443/v1"
    assert _clean_url("http://[broken") == "an address that cannot be read"
