"""Where runs are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import UserError
from pytest_llmkg.options import Settings
from pytest_llmkg.session import keeping
from pytest_llmkg.session.holding import error_transcript
from pytest_llmkg.store import RunWriter
from pytest_llmkg.suite import build_suite

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path


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


def test_a_run_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    suite = build_suite(Settings(("symbolic",), run_dir=tmp_path / "run"), tmp_path)
    keeper = keeping.Keeper(suite, tmp_path)
    case = suite.cases[0]
    keeper.record(case, error_transcript(case, "symbolic", 1, "down"))
    part = RunWriter.part(tmp_path / "run", "gw0")
    part.case(case)
    part.transcript(error_transcript(case, "symbolic", 2, "down"))
    again = replace(suite, settings=replace(suite.settings, resume=tmp_path / "run"))
    with pytest.raises(UserError, match="another process is writing this run"):
        keeping.Keeper(again, tmp_path)
    other = replace(again, settings=replace(again.settings, seed=7))
    with pytest.raises(UserError, match="is another run"):
        keeping.Keeper(other, tmp_path)
    assert (tmp_path / "run" / "run.gw0.jsonl").is_file(), "its worker still writes there"
    part.close()
    assert keeper.finish(80) is not None
    assert keeping.Keeper(again, tmp_path).resumed is not None
