"""What the tests of the litellm connector share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.litellm_api import LitellmConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Message, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

REQUEST = AskRequest((Message("system", "Be short."), Message("user", "Who?")), "L/c", 1, 5.0)


def spec(model: str = "openai/test", **settings: Any) -> ModelSpec:
    """A model called ``my-model``."""
    return ModelSpec("my-model", model, "litellm", **settings)


class Caller:
    """Asks models, each once and with a connector of its own."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, Answer]], Answer]) -> None:
        self._run = run

    def __call__(self, model: ModelSpec, request: AskRequest = REQUEST) -> Answer:
        return self._run(self._once(model, request))

    def refusal(self, model: ModelSpec, request: AskRequest = REQUEST) -> str:
        """The error's text."""
        with pytest.raises(ConnectorError) as caught:
            self(model, request)
        return str(caught.value)

    async def _once(self, model: ModelSpec, request: AskRequest) -> Answer:
        connector = LitellmConnector(model)
        try:
            return await connector.ask(request)
        finally:
            await connector.close()
