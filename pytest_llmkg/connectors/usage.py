"""Tokens and prices of a call, as its endpoint tells them. What nobody told is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from pytest_llmkg.records import Usage

if TYPE_CHECKING:
    from pytest_llmkg.records import ModelSpec

__all__ = ["amount", "own_price", "read_tokens", "told_cost"]

_MILLION = Decimal(1_000_000)
_TOO_MUCH = 10**15  # tokens or dollars that nobody has; such numbers are mistakes, and larger ones leave the floats


def read_tokens(usage: object) -> Usage:
    """The tokens of a chat completion's ``usage`` object, without a price.

    ``cached_tokens`` are part of the input and ``reasoning_tokens`` part of the output. An endpoint that counts its
    reasoning beside the output (seen in its total) has both added; parts that are larger than their whole are
    dropped, because one of the two must be wrong.
    """
    if not isinstance(usage, Mapping):
        return Usage()
    # Every prompt has tokens: a zero stands for "not counted".
    into, out = _count(usage, "prompt_tokens") or None, _count(usage, "completion_tokens")
    if into is None and not out:
        return Usage()
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    if cached is None:
        cached = _count(usage, "cache_read_input_tokens")
    thought = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    if thought and into and out is not None and _count(usage, "total_tokens") == into + out + thought:
        out += thought
    return Usage(into, out, None, _within(cached, into), _within(thought, out))


def own_price(spec: ModelSpec, tokens: Usage) -> float | None:
    """What ``tokens`` cost in US dollars by the prices of the model table, None without prices or without tokens.

    Cached tokens are charged like the others, for the table holds no price of their own. A price of zero makes any
    number of tokens free, an unknown one too.
    """
    if spec.price_in is None or spec.price_out is None:
        return None
    parts = ((spec.price_in, tokens.input_tokens), (spec.price_out, tokens.output_tokens))
    if any(price and count is None for price, count in parts):
        return None
    # Decimal, so that a sum over many calls is not off by what each multiplication of floats loses.
    return float(sum(Decimal(str(price)) * (count or 0) for price, count in parts) / _MILLION)


def told_cost(usage: object) -> float | None:
    """The price that OpenRouter tells with each answer (``usage.cost``, US dollars).

    Somebody who brings a key of a provider of their own pays there, and OpenRouter's own share is only a part.
    """
    if not isinstance(usage, Mapping):
        return None
    cost = amount(usage.get("cost"))
    if cost is None or not usage.get("is_byok"):
        return cost
    details = usage.get("cost_details")
    upstream = amount(details.get("upstream_inference_cost")) if isinstance(details, Mapping) else None
    return None if upstream is None else cost + upstream


def _count(data: object, name: str) -> int | None:
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOO_MUCH else None


def amount(value: object) -> float | None:
    """A number of dollars, None where ``value`` is no such number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < _TOO_MUCH else None  # false for NaN, too


def _within(part: int | None, whole: int | None) -> int | None:
    return part if part is not None and whole is not None and part <= whole else None
