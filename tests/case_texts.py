"""The shipped case files as they are, sealed or plain, for tests that do not go through the loader."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pytest_llmkg.cases.sealed import case_files_in, plain_name, read_opened
from pytest_llmkg.data_files import fixtures_root

if TYPE_CHECKING:
    from pathlib import Path

CASES = fixtures_root() / "cases"


def case_paths(*names: str) -> list[Path]:
    """The files of these names without ending; ``*`` at the end of a name stands for anything."""
    return [
        path
        for name in names
        for path in sorted(case_files_in(CASES))
        if (stem := plain_name(path.name).removesuffix(".toml")) == name
        or (name.endswith("*") and stem.startswith(name[:-1]))
    ]


def case_text(name: str) -> str:
    """The text of one case file."""
    (path,) = case_paths(name)
    return read_opened(path, str(path), lambda: None).text


def case_table(name: str) -> dict[str, Any]:
    """One case file as TOML reads it."""
    return tomllib.loads(case_text(name))
