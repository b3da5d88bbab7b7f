"""One graph engine for all tests of the symbolic baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.contracts import KgEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[KgEngine]:
    with Sandbox() as sandbox:
        yield sandbox
