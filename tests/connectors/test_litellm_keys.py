"""Models whose provider wants a key are refused before anything runs when there is none."""

import pytest

from pytest_llmkg.connectors.litellm_check import check_spec
from pytest_llmkg.errors import UserError
from pytest_llmkg.records import ModelSpec


def spec(model: str, api_base: str | None = None) -> ModelSpec:
    return ModelSpec("mine", model, "litellm", api_base=api_base)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "variable"), [("openai/gpt-4o", "OPENAI_API_KEY"), ("gemini/gemini-2.0-flash", "GEMINI_API_KEY")]
)
def test_a_missing_key_is_named(model: str, variable: str) -> None:
    with pytest.raises(UserError, match=f"model 'mine' needs a key: set {variable} in the environment"):
        check_spec(spec(model))


def test_any_of_the_providers_variables_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    check_spec(spec("gemini/gemini-2.0-flash"))


def test_an_own_endpoint_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    check_spec(spec("openai/x", "http://127.0.0.1:1/v1"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    check_spec(spec("openai/x"))


def test_other_providers_are_found_out_at_the_first_call() -> None:
    check_spec(spec("ollama_chat/qwen2.5:7b"))
