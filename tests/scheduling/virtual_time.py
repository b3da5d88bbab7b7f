"""An event loop whose clock jumps to the next timer instead of waiting for it, so that no test waits or measures."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

__all__ = ["VirtualLoop", "run"]

R = TypeVar("R")
_MOMENT = 0.002


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at second 1000 of its own time; `time` may be used as anybody's clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Virtual seconds."""
        return self.now


class _JumpingSelector(selectors.DefaultSelector):
    """Looks at its files without waiting; when nothing came, the time of waiting is over at once."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # there is no timer, so another thread or process is awaited
            return super().select(None)
        # What was sent over loopback, or comes from a thread, may be on its way for a moment.
        moment = _MOMENT if timeout > 0 and len(self.get_map()) > 1 else 0.0
        found: list[tuple[selectors.SelectorKey, int]] = super().select(moment)
        if not found and timeout > 0:
            self._loop.now += timeout
        return found


def run(work: Coroutine[Any, Any, R]) -> R:
    """Runs ``work`` on a loop of its own to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
