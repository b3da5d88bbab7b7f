"""What a session says last: what the gate found, what was not run, and how to resume."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from pathlib import Path

    from pytest_llmkg.reporting.progress import ModelProgress

__all__ = ["LastWord", "NotRun", "columns_of", "shown_path", "unfinished"]

_SPENT = re.compile(r": \S+ US dollars are spent$")


class LastWord:
    """Writes lines below pytest's own last one, which tells of tests only.

    Args:
        config: pytest's, of the process that controls the run.
        lines: gives what is to be said once everything is over.
    """

    def __init__(self, config: pytest.Config, lines: Callable[[], Iterable[str]]) -> None:
        self._config = config
        self._lines = lines

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Speaks when pytest has written its summary."""
        result = yield
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            for line in self._lines():
                reporter.write_line(f"llmkg: {line}")
        return result


class NotRun:
    """Counts dialogues that tests asked for and that were not begun, by reason.

    Workers meet the end of a budget at different moments, with different sums spent; that is one reason, told with
    the latest sum.
    """

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, str]] = {}

    def add(self, reason: str) -> None:
        """Counts one dialogue."""
        name = _SPENT.sub("", reason)
        self._counts[name] = (self._counts.get(name, (0, ""))[0] + 1, reason)

    def sentences(self, directory: Path) -> list[str]:
        """One for each reason; the run in ``directory`` can be resumed."""
        return [
            f"{number} dialogue(s) were not run, since {reason}; resume with --llmkg-resume={directory}"
            for number, reason in self._counts.values()
        ]


def unfinished(models: Sequence[ModelProgress], directory: Path) -> str | None:
    """How many planned dialogues were not run and how to run them; None when nothing is missing."""
    planned = sum(model.planned for model in models)
    missing = sum(max(model.planned - model.done, 0) for model in models)
    if not missing:
        return None
    return f"{missing} of {planned} dialogues not run; resume with --llmkg-resume={directory}"


def columns_of(config: pytest.Config) -> int:
    """Columns of the terminal; pytest has none under ``-p no:terminal``."""
    has_terminal = config.pluginmanager.has_plugin("terminalreporter")
    return max(config.get_terminal_writer().fullwidth if has_terminal else 80, 60)


def shown_path(path: Path, config: pytest.Config) -> Path:
    """``path`` from where the user stands, if it is below."""
    here = config.invocation_params.dir
    return path.relative_to(here) if path.is_relative_to(here) else path
