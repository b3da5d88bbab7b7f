from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.kg import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box
