"""Hooks through which a conftest or another plugin adds tasks and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.contracts import ConnectorFactory, Task

__all__ = ["pytest_llmkg_connectors", "pytest_llmkg_tasks"]


@pytest.hookspec
def pytest_llmkg_tasks(config: pytest.Config) -> Sequence[Task]:  # type: ignore[empty-body]
    """Further tasks.

    Example::

        def pytest_llmkg_tasks(config):
            return [my_package.TASK]
    """


@pytest.hookspec
def pytest_llmkg_connectors(config: pytest.Config) -> Sequence[ConnectorFactory]:  # type: ignore[empty-body]
    """Further kinds of models.

    Example::

        def pytest_llmkg_connectors(config):
            return [ConnectorFactory("echo", "Repeats the prompt.", make=EchoConnector)]
    """
