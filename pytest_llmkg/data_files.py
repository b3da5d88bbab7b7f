"""Where the data files that come with this package are."""

from __future__ import annotations

from pathlib import Path

from pytest_llmkg.errors import UserError

__all__ = ["fixtures_root"]


def fixtures_root() -> Path:
    """The folder with the shipped graphs, cases and model table.

    A wheel holds it as ``_fixtures`` inside the package; in a checkout (also an editable install) it is the
    folder ``fixtures`` beside the package.

    Raises:
        UserError: neither exists, so the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_fixtures", package.parent / "fixtures"):
        if folder.is_dir():
            return folder
    raise UserError(
        "the data files of pytest-llmkg are missing from this installation (neither '_fixtures' in the "
        "package nor 'fixtures' beside it); install the package again"
    )
