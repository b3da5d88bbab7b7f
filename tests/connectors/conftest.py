"""A server with faults on demand, one event loop as in a session, and no settings of the machine itself."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.connectors.litellm_calls import Caller, Lean
from tests.openai_server import OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

R = TypeVar("R")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """An OpenAI-compatible server of this test alone."""
    with OpenAIServer() as running:
        yield running


@pytest.fixture(scope="session")
def run() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs a coroutine on the one loop of this session, as the program does."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def ask(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> Caller:
    """Asks a model behind litellm."""
    return Caller(run)


@pytest.fixture
def lean(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> Lean:
    """Asks a model on a server of its own, as the factory makes it."""
    return Lean(run)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_PROXY")):
            monkeypatch.delenv(name)
