"""The plugin's hooks in a worker process of pytest-xdist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.session.wire import DIALOGUES, INPUT, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_llmkg.session.state import SessionState

__all__ = ["Worker"]


class Worker:
    """Hooks of a worker process."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        if INPUT in getattr(state.config, "workerinput", {}):
            from pytest_llmkg.session.workers import read_input

            state.given = read_input(state.config)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Ends what is held ahead when the tests end, in whatever way."""
        try:
            return (yield)
        finally:
            self._state.stop("the session ends")

    def pytest_sessionfinish(self) -> None:
        """Sends the controller what no test reported, if it could not find it itself."""
        part = self._state.part
        if part is not None:
            from pytest_llmkg.plain import to_plain

            output: dict[str, Any] = self._state.config.workeroutput  # type: ignore[attr-defined]
            output[DIALOGUES] = to_plain(part.unreported())
            output[PROBLEMS] = list(self._state.problems)
