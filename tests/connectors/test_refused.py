from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.failures import Refusal
from pytest_llmkg.connectors.refused import SentSettings, Settings, refused_setting
from pytest_llmkg.records import ModelSpec

NAMES = ("temperature", "top_p", "seed", "max_tokens", "stop", "reasoning_effort")


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        (
            Refusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.",
                400,
                "unsupported_parameter",
                "max_tokens",
            ),
            "max_tokens",
        ),
        (
            Refusal(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
                "supported.",
                400,
                "unsupported_value",
                "temperature",
            ),
            "temperature",
        ),
        (Refusal("temperature does not support 0", 400), "temperature"),
        (Refusal("`top_p` is not supported by this model", 400), "top_p"),
        (Refusal("`temperature` and `top_p` cannot both be specified for this model.", 400), "top_p"),
        (Refusal("`temperature` is deprecated for this model.", 400), "temperature"),
        (Refusal("Unrecognized request argument supplied: reasoning_effort", 400), "reasoning_effort"),
        (Refusal("level is bad", 400, "unsupported_value", "reasoning_effort.level"), "reasoning_effort"),
        (Refusal("seed: Extra inputs are not permitted", 422, parameter="seed"), "seed"),
        (Refusal("O-series models don't support temperature=0.5. Only temperature=1 is supported."), "temperature"),
        (Refusal("groq does not support parameters: ['seed'], for model=x."), "seed"),
        (Refusal("'stop' is not supported with this model", 400), "stop"),
        # Not ours, not a refusal of the setting as such, or not a refusal at all:
        (Refusal("the model will stop: images are not supported", 400), None),
        (Refusal("Unsupported parameter: 'logprobs'", 400, "unsupported_parameter", "logprobs"), None),
        (Refusal("temperature must be between 0 and 2", 400, "invalid_value", "temperature"), None),
        (Refusal("max_tokens is too large: 9999. This model supports at most 4096", 400, "", "max_tokens"), None),
        (Refusal("max_tokens_to_sample is not supported", 400), None),
        (Refusal("temperature is not supported", 500), None),
        (Refusal("temperature is not supported", 401), None),
    ],
)  # fmt: skip
def test_which_setting_an_endpoint_does_not_take(refusal: Refusal, name: str | None) -> None:
    assert refused_setting(refusal, NAMES) == name


def settings() -> Settings:
    spec = ModelSpec("m", "openai/m", "litellm", temperature=0, max_tokens=9, seed=0)
    return Settings(spec, {"stop": ["#"]})


def test_only_what_the_model_table_says_is_sent() -> None:
    assert settings().current == SentSettings({"stop": ["#"], "temperature": 0, "max_tokens": 9, "seed": 0})


def test_the_limit_of_tokens_is_first_tried_by_its_newer_name_which_drops_nothing() -> None:
    ours = settings()
    assert ours.give_up(Refusal("'max_tokens' is not supported", 400), ours.current)
    assert (ours.current.values["max_completion_tokens"], ours.current.dropped) == (9, ())
    assert "max_tokens" not in ours.current.values
    assert ours.give_up(Refusal("'max_completion_tokens' is not supported", 400), ours.current)
    assert ours.current == SentSettings({"stop": ["#"], "temperature": 0, "seed": 0}, ("max_tokens",))


def test_calls_that_are_refused_at_the_same_time_drop_a_setting_once() -> None:
    ours = settings()
    sent, refusal = ours.current, Refusal("'max_tokens' is not supported", 400)
    assert [ours.give_up(refusal, sent) for _ in range(3)] == [True] * 3
    assert ours.current.values["max_completion_tokens"] == 9
    assert ours.give_up(Refusal("seed is not supported", 400), sent)
    assert ours.current.dropped == ("seed",)


def test_any_other_refusal_changes_nothing() -> None:
    ours = settings()
    before = ours.current
    assert not ours.give_up(Refusal("no", 400), before)
    assert ours.current is before


@given(st.lists(st.sampled_from([*NAMES, "max_completion_tokens"]), max_size=12))
def test_what_is_not_sent_is_named(refused: list[str]) -> None:
    ours = settings()
    given_names = set(ours.current.values)
    for name in refused:
        ours.give_up(Refusal(f"'{name}' is not supported", 400), ours.current)
    sent = {"max_tokens" if name == "max_completion_tokens" else name for name in ours.current.values}
    assert sent | set(ours.current.dropped) == given_names
    assert not sent & set(ours.current.dropped)
