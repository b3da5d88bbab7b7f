from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg import data_files
from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_shipped_data_is_found() -> None:
    assert (data_files.fixtures_root() / "models.toml").is_file()


def test_a_wheel_uses_its_own_copy_and_a_checkout_the_folder_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pytest_llmkg"
    package.mkdir()
    monkeypatch.setattr(data_files, "__file__", str(package / "data_files.py"))
    with pytest.raises(UserError, match="data files of pytest-llmkg are missing"):
        data_files.fixtures_root()
    (tmp_path / "fixtures").mkdir()
    assert data_files.fixtures_root() == tmp_path / "fixtures"
    (package / "_fixtures").mkdir()
    assert data_files.fixtures_root() == package / "_fixtures"
