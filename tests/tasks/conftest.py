"""The real sandbox and the shipped cases, once for all tests of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def kg() -> Iterator[Sandbox]:
    """One worker process for all tests."""
    with Sandbox() as sandbox:
        yield sandbox
