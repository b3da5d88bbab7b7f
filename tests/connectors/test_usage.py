from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.usage import own_price, read_tokens, told_cost
from pytest_llmkg.records import ModelSpec, Usage


def priced(price_in: float | None, price_out: float | None) -> ModelSpec:
    return ModelSpec("m", "openai/m", "litellm", price_in=price_in, price_out=price_out)


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        (None, Usage()),
        ([], Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage()),
        ({"prompt_tokens": 7, "completion_tokens": 0}, Usage(7, 0)),
        ({"prompt_tokens": 7}, Usage(7)),
        ({"completion_tokens": 3}, Usage(None, 3)),
        ({"prompt_tokens": "7", "completion_tokens": True}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": 2.5}, Usage()),
        ({"prompt_tokens": 10**400, "completion_tokens": 10**15}, Usage()),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 50,
                "total_tokens": 140,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 32},
            },
            Usage(90, 50, None, 64, 32),
        ),
        ({"prompt_tokens": 90, "completion_tokens": 5, "cache_read_input_tokens": 80}, Usage(90, 5, None, 80)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "cache_read_input_tokens": 80}, Usage(9, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": None}, Usage(9, 5)),
        (  # reasoning counted beside the output, which only the total tells
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 115,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            Usage(10, 105, None, None, 100),
        ),
    ],
)
def test_tokens_are_what_the_endpoint_tells_and_nothing_else(told: Any, tokens: Usage) -> None:
    assert read_tokens(told) == tokens


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "cached_tokens", "prompt_tokens_details", "cost"]), inner
    ),
)


@given(json_values)
def test_anything_can_be_read_and_parts_are_never_larger_than_their_whole(told: object) -> None:
    usage = read_tokens(told)
    assert usage.cached_tokens is None or usage.cached_tokens <= (usage.input_tokens or 0)
    cost = told_cost(told)
    assert cost is None or 0 <= cost < float("inf")


@pytest.mark.parametrize(
    ("prices", "tokens", "cost"),
    [
        ((3.0, 10.0), Usage(2_000, 500), 0.011),
        ((0.1, 0.2), Usage(1, 1), 3e-07),  # in floats 0.1 + 0.2 is a little more than 0.3
        ((0, 0), Usage(), 0.0),
        ((0, 0), Usage(5, 5), 0.0),
        ((0, 2), Usage(None, 500_000), 1.0),
        ((1, 2), Usage(None, 5), None),
        ((1, 2), Usage(5, None), None),
        ((1, 2), Usage(5, 0), 5e-06),
        ((None, None), Usage(5, 5), None),
        ((1, None), Usage(5, 5), None),
    ],
)
def test_the_table_s_prices_are_exact_and_unknown_is_not_zero(prices: Any, tokens: Usage, cost: float | None) -> None:
    assert own_price(priced(*prices), tokens) == cost


@pytest.mark.parametrize(
    ("told", "cost"),
    [
        ({"cost": 0.25}, 0.25),
        ({"cost": 0}, 0.0),
        ({"cost": "0.25"}, None),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": float("inf")}, None),
        ({"cost": 10**400}, None),
        ({"cost": 0.5, "is_byok": True, "cost_details": {"upstream_inference_cost": 10**400}}, None),
        ({}, None),
        ({"cost": 0, "is_byok": True}, None),
        ({"cost": 0.5, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.25}}, 0.75),
    ],
)
def test_the_price_that_openrouter_tells(told: Any, cost: float | None) -> None:
    assert told_cost(told) == cost
