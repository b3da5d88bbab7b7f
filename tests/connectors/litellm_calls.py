"""What the tests of the litellm connector and of the lean client share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.litellm_api import CONNECTOR, LitellmConnector
from pytest_llmkg.connectors.openai_api import OpenAIConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Message, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pytest_llmkg.contracts import Connector

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

    def failure(self, model: ModelSpec, request: AskRequest = REQUEST) -> ConnectorError:
        """The error."""
        with pytest.raises(ConnectorError) as caught:
            self(model, request)
        return caught.value

    def refusal(self, model: ModelSpec, request: AskRequest = REQUEST) -> str:
        """The error's text."""
        return str(self.failure(model, request))

    def make(self, model: ModelSpec) -> Connector:
        """The connector, to be closed by the caller."""
        return LitellmConnector(model)

    async def _once(self, model: ModelSpec, request: AskRequest) -> Answer:
        connector = self.make(model)
        try:
            return await connector.ask(request)
        finally:
            await connector.close()


class Lean(Caller):
    """Asks models by the lean client."""

    def make(self, model: ModelSpec) -> Connector:
        return lean_connector(model)


def lean_connector(model: ModelSpec) -> OpenAIConnector:
    """What the factory makes of a model with a server of its own."""
    made = CONNECTOR.make(model)
    assert isinstance(made, OpenAIConnector)
    return made
