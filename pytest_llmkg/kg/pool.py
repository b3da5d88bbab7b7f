"""Several sandboxes behind one door, so that one slow query does not hold up the scoring of other answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.limits import DEFAULT_LIMITS, Limits
from pytest_llmkg.kg.sandbox import Sandbox

if TYPE_CHECKING:
    from pytest_llmkg.kg.sandbox import EngineName

__all__ = ["SandboxPool"]


class SandboxPool(Sandbox):
    """A `Sandbox` with up to ``size`` worker processes, each of which takes one call at a time.

    The first call starts one process; a further one starts only when a call comes while all others are busy. They
    share one memory of verdicts: what several threads ask at the same time is computed once. Each process has the
    whole ``limits`` for itself, so memory is bounded by ``size`` times ``limits.memory_bytes``; each loads the graphs
    that it queries.

    Args:
        size: the most worker processes, at least 1.
        limits: what a text may cost.
        engine: what runs queries, as for `Sandbox`.

    Raises:
        UserError: ``size`` is below 1.
        EngineError: from any call, if a worker cannot be started or breaks the protocol; never for a text.
    """

    def __init__(self, size: int, limits: Limits = DEFAULT_LIMITS, engine: EngineName = "pyoxigraph") -> None:
        if size < 1:
            raise UserError(f"a pool of sandboxes needs at least 1 process, not {size}")
        super().__init__(limits, engine, processes=size)
        self.size = size

    @property
    def busy(self) -> int:
        """How many calls the workers are at right now."""
        return self._lanes.busy
