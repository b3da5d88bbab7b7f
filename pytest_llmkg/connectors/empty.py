"""``empty`` gives the empty answer to everything: the dummy that shows what a score is worth that nobody worked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.asked_questions import free
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import UserError
from pytest_llmkg.records import Answer

if TYPE_CHECKING:
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR", "EmptyConnector"]


class EmptyConnector:
    """Answers nothing."""

    def __init__(self, _spec: ModelSpec) -> None:
        pass

    async def ask(self, _request: AskRequest) -> Answer:
        """The empty answer."""
        started = time.perf_counter()
        # Seconds are told, however few: else the wait for leave to ask would be taken for them.
        return Answer("", "stop", free(), time.perf_counter() - started, "empty", notes={"calls": 0})

    async def close(self) -> None:
        """Nothing to free."""


def _check(spec: ModelSpec) -> None:
    if spec.model not in {"", "empty"}:
        raise UserError(f"the model 'empty' takes no argument, found {spec.model!r}; write just 'empty'")


CONNECTOR = ConnectorFactory(
    scheme="empty",
    summary="Dummy: the empty answer to everything.",
    make=EmptyConnector,
    check=_check,
    is_free=True,
)
