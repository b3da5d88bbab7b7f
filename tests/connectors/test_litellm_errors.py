from __future__ import annotations

import dataclasses
import importlib.metadata
import logging
import socket
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.litellm_api import CONNECTOR, LitellmConnector
from pytest_llmkg.errors import ConnectorError, UserError
from tests.connectors.litellm_calls import REQUEST, Caller, spec
from tests.openai_server import Fault, OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable


def test_without_an_address_hosted_vllm_is_refused_since_litellm_would_ask_openai() -> None:
    with pytest.raises(UserError, match="HOSTED_VLLM_API_BASE"):
        CONNECTOR.check(spec("hosted_vllm/Org/Model"))


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
    ask: Caller, server: OpenAIServer, provider: str, fault: Fault, cause: str
) -> None:
    server.faults.append(fault)
    text = ask.refusal(spec(f"{provider}/test", api_base=server.url))
    assert text.startswith(f"my-model at {server.url}: {cause}")
    assert len(text) > len(f"my-model at {server.url}: ")
    assert "\n" not in text
    assert len(text) < 400
    assert server.count == 1


def test_a_server_that_hangs_is_given_up_at_the_time_limit(ask: Caller, server: OpenAIServer) -> None:
    server.faults.append(Fault("hang"))
    text = ask.refusal(spec(api_base=server.url), dataclasses.replace(REQUEST, timeout=0.3))
    assert text == f"my-model at {server.url}: no answer within 0.3 s"


def test_an_endpoint_that_is_down_is_named(ask: Caller) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses connections, and nobody else can take it
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert ask.refusal(spec(api_base=base)).startswith(f"my-model at {base}: the connection failed: ")


def test_the_endpoint_is_named_without_user_password_and_query(
    ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults.append(Fault("status", 500))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:hunter22@127.0.0.1:{server.port}/v1")
    text = ask.refusal(spec())
    assert f"my-model at {server.url}: " in text
    assert "hunter22" not in text


def test_keys_that_an_endpoint_repeats_are_hidden(
    ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my-own-key-4711")
    monkeypatch.setenv("SOME_TOKEN", "another-token-0815")
    message = "bad: my-own-key-4711, another-token-0815, sk-abcdefghij, Bearer abcdefghij http://x.example/?key=zzz"
    server.faults.append(Fault("status", 401, message=message))
    text = ask.refusal(spec(api_base=server.url))
    assert text.endswith(
        "HTTP 401: bad: [hidden], [hidden], [hidden], [hidden] http://x.example/; check OPENAI_API_KEY"
    )


def test_an_error_hides_its_original_so_that_no_traceback_shows_it(
    run: Callable[..., Any], server: OpenAIServer
) -> None:
    server.faults.append(Fault("status", 401, message="sk-abcdefghij"))
    with pytest.raises(ConnectorError) as caught:
        run(LitellmConnector(spec(api_base=server.url)).ask(REQUEST))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_parameter_that_the_model_does_not_take_is_dropped_with_a_note(ask: Caller, server: OpenAIServer) -> None:
    answer = ask(spec("openai/o1", api_base=server.url, temperature=0.5))
    assert answer.dropped == ("temperature",)
    (failed,) = answer.failed_calls
    assert "temperature" in failed.error
    assert ["temperature" in body for body in server.requests] == [False]


def test_nothing_is_printed_and_nothing_reaches_the_log(
    ask: Caller,
    server: OpenAIServer,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.faults.extend([Fault("status", 429), Fault("status", 500), None])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            ask.refusal(spec(api_base=server.url))
        ask(spec(api_base=server.url))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert not [record for record in caplog.records if "litellm" in record.name.lower()]
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).error("noise")
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert "noise" not in caplog.text


def test_a_provider_that_litellm_does_not_know_is_said_so(ask: Caller) -> None:
    assert ask.refusal(spec("nosuchprovider/x")) == "my-model at nosuchprovider: litellm knows no such provider"


def test_a_missing_key_is_said_in_words_and_without_a_traceback(ask: Caller) -> None:
    for provider, variable in (("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")):
        text = ask.refusal(spec(f"{provider}/x"))
        assert text.startswith(f"my-model at {provider}: Missing")
        assert variable in text
        assert "Traceback" not in text


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_the_malicious_releases_are_refused(monkeypatch: pytest.MonkeyPatch, ask: Caller, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: version)
    with pytest.raises(UserError, match=f"litellm {version} carried a credential stealer"):
        CONNECTOR.check(spec())
    assert f"litellm {version} carried" in ask.refusal(spec())


def test_a_missing_litellm_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, ask: Caller) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(UserError, match="pip install litellm"):
        CONNECTOR.check(spec())
    assert ask.refusal(spec()) == "my-model at openai: litellm is not installed; install it with `pip install litellm`"


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


def test_a_server_that_repeats_the_key_does_not_get_it_into_the_records(
    ask: Caller, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "zq7Kx91LongSecretValue4242"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OTHER_API_KEY", "EMPTY")
    server.reply, server.finish_reason = f"EMPTY\nAuthorization: Bearer {key}", f"stop {key}"
    answer = ask(spec(api_base=server.url))
    assert answer.text == "EMPTY\nAuthorization: Bearer [hidden]"
    assert key not in repr(answer)
