"""One graph engine for all tests of pipelines: it takes longer to start than they take together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def engine() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox
