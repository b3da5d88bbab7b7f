"""Models inside models: which one ``rag:MODEL`` and the like wrap."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.models import resolve_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.contracts import ConnectorFactory
    from pytest_llmkg.records import ModelSpec
    from pytest_llmkg.registry import Registry

__all__ = ["wrapped_models"]

_PASSED_ON = ("api_base", "temperature", "max_tokens", "top_p", "seed", "price_in", "price_out")
_TOLD = ("family", "parameters", "context")


def wrapped_models(
    models: Sequence[ModelSpec], table: Mapping[str, ModelSpec], factories: Registry[ConnectorFactory]
) -> tuple[tuple[ModelSpec, ...], dict[str, ModelSpec]]:
    """``models`` with what is known of the ones that they wrap, and these by the id of the wrapping one.

    Settings that a wrapping model's own entry names (a temperature, prices) hold for the calls that it makes.

    Raises:
        UserError: the argument names no model, or one that wraps another.
    """
    told: list[ModelSpec] = []
    inner: dict[str, ModelSpec] = {}
    for model in models:
        factory = factories.get(model.connector)
        if factory.wrap is not None:
            found = resolve_models(factory.inner or model.model, table, factories.names())
            if len(found) > 1 or factories.get(found[0].connector).wrap is not None:
                raise UserError(f"model {model.id!r} must wrap one model that wraps none itself, found {model.model!r}")
            own = {name: value for name in _PASSED_ON if (value := getattr(model, name)) is not None}
            inner[model.id] = replace(found[0], **own)
            model = replace(  # noqa: PLW2901  (the same model, better known)
                model, **{name: getattr(model, name) or getattr(found[0], name) for name in _TOLD}
            )
        told.append(model)
    return tuple(told), inner
