from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import Sandbox
from tests.endpoints.faulty import Faulty, faulty_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    with faulty_server() as server:
        yield server
