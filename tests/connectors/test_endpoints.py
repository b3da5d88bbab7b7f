from __future__ import annotations

from typing import Any

import pytest

from pytest_llmkg.connectors.endpoints import own_base, own_endpoint
from pytest_llmkg.connectors.litellm_api import CONNECTOR, LitellmConnector
from pytest_llmkg.connectors.openai_api import OpenAIConnector
from pytest_llmkg.errors import UserError
from tests.connectors.litellm_calls import spec

BASE = "http://127.0.0.1:8000/v1"
OWN = {"api_base": BASE}


@pytest.mark.parametrize(
    ("model", "settings", "environment", "url"),
    [
        ("openai/m", OWN, {}, f"{BASE}/chat/completions"),
        ("openai/a/b", {}, {"OPENAI_BASE_URL": f"{BASE}/"}, f"{BASE}/chat/completions"),
        ("openai/m", {}, {"OPENAI_API_BASE": BASE}, f"{BASE}/chat/completions"),
        ("openai/m", OWN, {"OPENAI_BASE_URL": "http://other/v1"}, f"{BASE}/chat/completions"),
        ("openai/m", {}, {"OPENAI_BASE_URL": "http://me:pw@h:1/v1?k=1"}, "http://h:1/v1/chat/completions?k=1"),
        ("openai/m", {}, {"OPENAI_BASE_URL": "http://[::1]:8/v1"}, "http://[::1]:8/v1/chat/completions"),
        ("openai/m", {}, {}, None),
        ("openai/m", {"api_base": "https://api.openai.com/v1"}, {}, None),
        ("openai/m", {"api_base": "https://me@api.openai.com.example/v1"}, {}, "https://api.openai.com.example/v1/chat/completions"),
        ("hosted_vllm/Org/M", {}, {"HOSTED_VLLM_API_BASE": BASE}, f"{BASE}/chat/completions"),
        ("hosted_vllm/Org/M", {}, {}, None),
        ("ollama_chat/q:7b", {"api_base": "http://h:11434"}, {}, "http://h:11434/v1/chat/completions"),
        ("ollama/q:7b", {}, {"OLLAMA_API_BASE": "http://h:11434/v1/"}, "http://h:11434/v1/chat/completions"),
        ("ollama/q:7b", {}, {}, None),
        ("ollama/q:7b", {"api_base": BASE, "extra": {"stop": ["#"]}}, {}, f"{BASE}/chat/completions"),
        ("ollama/q:7b", {"api_base": BASE, "extra": {"num_ctx": 8192}}, {}, None),
        ("openrouter/a/b", {}, {}, "https://openrouter.ai/api/v1/chat/completions"),
        ("openrouter/a/b", OWN, {}, f"{BASE}/chat/completions"),
        ("anthropic/m", OWN, {}, None),
        ("gemini/m", {}, {"OPENAI_BASE_URL": BASE}, None),
        ("azure/m", OWN, {}, None),
        ("openai/", OWN, {}, None),
    ],
)  # fmt: skip
def test_which_models_have_a_server_of_their_own(
    model: str, settings: dict[str, Any], environment: dict[str, str], url: str | None
) -> None:
    endpoint = own_endpoint(spec(model, **settings), environment)
    assert (None if endpoint is None else str(endpoint.url)) == url
    if endpoint is not None:
        assert endpoint.model == model.partition("/")[2]


def test_the_connector_follows_from_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(CONNECTOR.make(spec(api_base=BASE)), OpenAIConnector)
    assert isinstance(CONNECTOR.make(spec("anthropic/m")), LitellmConnector)
    assert isinstance(CONNECTOR.make(spec()), LitellmConnector)
    monkeypatch.setenv("OPENAI_BASE_URL", BASE)
    assert isinstance(CONNECTOR.make(spec()), OpenAIConnector)


@pytest.mark.parametrize("base", ["localhost:8000/v1", "ftp://h/v1", "/v1", "http://", "http://h:port/v1", "http://[/"])
def test_an_address_that_is_none_is_refused_before_anything_runs(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    with pytest.raises(UserError, match="'my-model': its address must begin with http"):
        CONNECTOR.check(spec())


def test_openrouter_wants_a_key_and_a_server_of_ones_own_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="needs a key: set OPENROUTER_API_KEY"):
        CONNECTOR.check(spec("openrouter/a/b"))
    CONNECTOR.check(spec("openrouter/a/b", api_base=BASE))
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    CONNECTOR.check(spec("openrouter/a/b"))


def test_a_server_of_ones_own_is_served_without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.connectors.litellm_check.check_installed", lambda: pytest.fail("looked for it"))
    CONNECTOR.check(spec(api_base=BASE))


@pytest.mark.parametrize(
    ("base", "key", "header"),
    [
        (BASE, None, None),
        (BASE, " ", None),
        (BASE, "k-1\n", "Bearer k-1"),
        ("http://me:pw%21@h/v1", "k-1", "Basic bWU6cHch"),
        ("http://me@h/v1", None, "Basic bWU6"),
    ],
)
def test_who_asks_is_said_by_the_key_or_by_the_address(base: str, key: str | None, header: str | None) -> None:
    environment = {"OPENAI_BASE_URL": base} | ({} if key is None else {"OPENAI_API_KEY": key})
    endpoint = own_endpoint(spec(), environment)
    assert endpoint is not None
    assert endpoint.authorization == header
    assert "@" not in endpoint.label
    for secret in (key or "k-1", "pw", "bWU6cHch"):
        assert secret.strip() == "" or secret.strip() not in repr(endpoint)


def test_the_providers_own_address_is_none_of_ones_own() -> None:
    assert own_base(spec(), {"OPENAI_BASE_URL": "https://api.openai.com/v1/"}) is None
    assert own_base(spec("anthropic/m", api_base=BASE), {}) == BASE
