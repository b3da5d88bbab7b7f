"""Faults of an endpoint as the lean client and litellm tell them: the same for both."""

from __future__ import annotations

import dataclasses
import socket
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors import openai_api
from pytest_llmkg.records import Answer, FailedCall, Usage
from tests.connectors.litellm_calls import REQUEST, Caller, Lean, spec
from tests.openai_server import Fault, OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_llmkg.errors import ConnectorError


@pytest.fixture(params=["lean", "litellm"])
def either(request: pytest.FixtureRequest, lean: Lean, ask: Caller) -> Caller:
    """Each of the two clients."""
    return lean if request.param == "lean" else ask


RETRYABLE, FINAL = True, False


@pytest.mark.parametrize(
    ("fault", "cause", "status", "retryable", "overloaded"),
    [
        (Fault("status", 400), "HTTP 400: injected fault", 400, FINAL, False),
        (Fault("status", 401), "HTTP 401: injected fault; check OPENAI_API_KEY", 401, FINAL, False),
        (Fault("status", 403), "HTTP 403: injected fault; check OPENAI_API_KEY", 403, FINAL, False),
        (
            Fault("status", 404, message="no such model: model x not found"),
            "HTTP 404: no such model: model x not found; the endpoint knows no model 'test'",
            404,
            FINAL,
            False,
        ),
        (Fault("status", 408), "HTTP 408: ", 408, RETRYABLE, False),
        (Fault("status", 429, retry_after=1.5), "HTTP 429: injected fault", 429, RETRYABLE, True),
        (Fault("status", 500), "HTTP 500: injected fault", 500, RETRYABLE, False),
        (Fault("status", 503, retry_after=2), "HTTP 503: injected fault", 503, RETRYABLE, True),
        (Fault("status", 529), "HTTP 529: injected fault", 529, RETRYABLE, True),
        (Fault("reset"), "the connection failed: Connection reset by peer", None, RETRYABLE, False),
        (Fault("close"), "", None, RETRYABLE, False),
        (Fault("cut"), "", None, RETRYABLE, False),
        (Fault("garbage"), "the endpoint sent no JSON: ", None, RETRYABLE, False),
        (Fault("invalid_json"), "the endpoint sent no JSON: ", None, RETRYABLE, False),
        (Fault("html"), "", None, RETRYABLE, False),
        (Fault("no_choices"), "the endpoint sent an answer without choices", None, RETRYABLE, False),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else "",
)
def test_every_fault_is_one_line_that_says_what_to_do_after_one_request(
    either: Caller,
    server: OpenAIServer,
    fault: Fault,
    cause: str,
    status: int | None,
    retryable: bool,
    overloaded: bool,
) -> None:
    server.faults.append(fault)
    error = either.failure(spec(api_base=server.url))
    assert str(error).startswith(f"my-model at {server.url}: {cause}")
    assert len(str(error)) > len(f"my-model at {server.url}: ")
    assert "\n" not in str(error)
    assert (error.status, error.retryable, error.overloaded) == (status, retryable, overloaded)
    assert error.retry_after == fault.retry_after
    assert server.count == 1


def test_a_used_up_quota_is_no_overload(either: Caller, server: OpenAIServer) -> None:
    body = {"error": {"message": "You exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
    server.faults.append(Fault("status", 429, body=body, headers={"Retry-After": "5"}))
    error = either.failure(spec(api_base=server.url))
    assert str(error).endswith("You exceeded your quota; the account of OPENAI_API_KEY has nothing left")
    assert (error.status, error.retryable, error.overloaded, error.retry_after) == (429, False, False, None)


def test_a_server_that_hangs_is_given_up_at_the_time_limit(either: Caller, server: OpenAIServer) -> None:
    server.faults.append(Fault("hang"))
    error = either.failure(spec(api_base=server.url), dataclasses.replace(REQUEST, timeout=0.3))
    assert str(error) == f"my-model at {server.url}: no answer within 0.3 s"
    assert (error.status, error.retryable) == (None, True)


def test_an_endpoint_that_is_down_is_named(either: Caller) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses connections, and nobody else can take it
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error = either.failure(spec(api_base=base))
    assert str(error).startswith(f"my-model at {base}: the connection failed: ")
    assert error.retryable


OVERFLOW = {
    "message": "This model's maximum context length is 10 tokens, your messages have 20 tokens",
    "type": "invalid_request_error",
    "code": "context_length_exceeded",
}
FILTERED = {"message": "The response was filtered", "type": None, "code": "content_filter"}


@pytest.mark.parametrize(("error", "reason"), [(OVERFLOW, "context_length"), (FILTERED, "content_filter")])
def test_a_dialogue_that_is_refused_for_what_it_is_gets_an_empty_answer(
    either: Caller, server: OpenAIServer, error: object, reason: str
) -> None:
    server.faults.append(Fault("status", 400, body={"error": error}))
    answer = either(spec(api_base=server.url, max_tokens=5))
    assert (answer.text, answer.stop_reason, answer.failed_calls) == ("", reason, ())
    assert server.count == 1


def test_an_error_in_a_success_is_an_error(lean: Lean, server: OpenAIServer) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    halfway = {"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "gone"}, "message": {}}]}
    for body, status, text in (
        ({"error": {"message": "broken"}, "usage": usage}, None, "broken"),
        ({"error": {"message": "busy", "code": 429}, "usage": usage}, 429, "HTTP 429: busy"),
        (halfway | {"usage": usage}, 502, "HTTP 502: gone"),
        ({"choices": [], "usage": usage}, None, "the endpoint sent an answer without choices"),
        ({"choices": [{"message": {"content": 5}}], "usage": usage}, None, "the endpoint sent an answer without text"),
    ):
        server.faults.append(Fault("status", 200, body=body))
        error = lean.failure(spec(api_base=server.url))
        assert (error.status, error.retryable, error.usage) == (status, True, {"input_tokens": 5, "output_tokens": 1})
        assert str(error) == f"my-model at {server.url}: {text}"


@pytest.mark.parametrize("body", [[], "text", 5, {"error": None, "choices": {}}, {"choices": [None]}, {"choices": "x"}])
def test_a_success_of_any_other_shape_is_an_error(lean: Lean, server: OpenAIServer, body: object) -> None:
    server.faults.append(Fault("status", 200, body=body))
    assert lean.failure(spec(api_base=server.url)).retryable


def test_a_huge_body_is_an_error(lean: Lean, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_api, "MOST_BYTES", 2**20)
    server.faults.append(Fault("status", 200, body={"x": "y" * (2**20)}))
    error = lean.failure(spec(api_base=server.url))
    assert "more than 1 MiB" in str(error)
    assert not error.retryable
    server.reply = "x" * (2**19)
    assert len(lean(spec(api_base=server.url)).text) == 2**19


def test_a_server_that_cannot_prove_who_it_is_gets_no_prompt(lean: Lean, server: OpenAIServer, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_certificate(tmp_path))
    server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
    base = server.url.replace("http:", "https:")
    error = lean.failure(spec(api_base=base))
    assert str(error).startswith(f"my-model at {base}: no secure connection: ")
    assert "certificate" in str(error)
    assert (error.retryable, server.count) == (False, 0)


def own_certificate(folder: Path) -> Path:
    """A key and a certificate that it signed itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(pem)
    path = folder / "server.pem"
    path.write_bytes(text)
    return path


def test_a_header_that_cannot_be_sent_is_said_so(lean: Lean, server: OpenAIServer) -> None:
    error = lean.failure(spec(api_base=server.url, extra={"extra_headers": {"X-A": "b\r\nX-C: d"}}))
    assert "the request cannot be sent: " in str(error)
    assert (error.retryable, server.count) == (False, 0)


def test_a_redirect_is_not_followed_but_told(lean: Lean, server: OpenAIServer) -> None:
    server.faults.append(Fault("status", 307, headers={"Location": "http://other.example/v1?key=secret"}))
    error = lean.failure(spec(api_base=server.url))
    assert str(error).startswith(
        f"my-model at {server.url}: HTTP 307: the endpoint sends us to http://other.example/v1; set api_base"
    )
    assert (error.retryable, server.count) == (False, 1)


def unsupported(name: str, hint: str = "") -> Fault:
    error = {
        "message": f"Unsupported parameter: '{name}' is not supported with this model.{hint}",
        "type": "invalid_request_error",
        "param": name,
        "code": "unsupported_parameter",
    }
    return Fault("status", 400, body={"error": error})


def test_settings_that_are_refused_are_left_out_named_and_remembered(
    either: Caller, server: OpenAIServer, run: Callable[..., Any]
) -> None:
    server.faults.extend([unsupported("max_tokens", " Use 'max_completion_tokens' instead."), unsupported("seed")])
    connector = either.make(spec(api_base=server.url, max_tokens=9, seed=3, temperature=0))

    async def twice() -> list[Answer]:
        answers = [await connector.ask(REQUEST) for _ in range(2)]
        await connector.close()
        return answers

    first, second = run(twice())
    sent = [
        {name: value for name, value in body.items() if name not in ("model", "messages")} for body in server.requests
    ]
    assert sent == [
        {"max_tokens": 9, "seed": 3, "temperature": 0},
        {"max_completion_tokens": 9, "seed": 3, "temperature": 0},
        {"max_completion_tokens": 9, "temperature": 0},
        {"max_completion_tokens": 9, "temperature": 0},
    ]
    assert (first.text, first.dropped, second.dropped) == ("ok", ("seed",), ("seed",))
    assert [(call.status, call.usage) for call in first.failed_calls] == [(400, Usage())] * 2
    assert isinstance(first.failed_calls[0], FailedCall)
    assert f"my-model at {server.url}: HTTP 400: Unsupported parameter: 'max_tokens'" in first.failed_calls[0].error
    assert second.failed_calls == ()


def test_a_setting_that_is_not_ours_cannot_be_left_out(either: Caller, server: OpenAIServer) -> None:
    server.every = (1, unsupported("logprobs"))
    assert either.failure(spec(api_base=server.url, seed=3)).status == 400
    assert server.count == 1


def test_an_endpoint_that_refuses_everything_is_given_up(lean: Lean, server: OpenAIServer) -> None:
    server.every = (1, Fault("status", 400, message="max_tokens, max_completion_tokens, a_a, b_b are not supported"))
    error: ConnectorError = lean.failure(spec(api_base=server.url, max_tokens=3, extra={"a_a": 1, "b_b": 2, "c_c": 3}))
    assert (error.status, error.retryable) == (400, False)
    assert 2 <= server.count <= 6
