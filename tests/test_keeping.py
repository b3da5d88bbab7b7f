"""Where runs are kept."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pytest_llmkg import keeping
from pytest_llmkg.options import Settings
from pytest_llmkg.session import error_transcript
from pytest_llmkg.suite import build_suite

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    import pytest


class StoppedClock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> StoppedClock:
        return cls(2026, 11, 30, 12, 0, 0, tzinfo=tz)


def test_runs_of_the_same_second_get_directories_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "datetime", StoppedClock)
    suite = build_suite(Settings(("symbolic",)), tmp_path)
    case = suite.cases[0]
    for _ in range(3):
        keeper = keeping.Keeper(suite, tmp_path)
        keeper.record(case, error_transcript(case, "symbolic", 1, "down"))
        assert keeper.finish(80) is not None
    runs = sorted(path.name for path in (tmp_path / "reports" / "runs").iterdir())
    assert runs == [f"20261130T120000Z-symbolic{number}" for number in ("", ".2", ".3")]
