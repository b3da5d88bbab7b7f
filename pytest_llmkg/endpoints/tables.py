"""Settings of endpoints: ``[endpoints."URL"]`` in ``llmkg.toml``, ``[tool.pytest_llmkg.endpoints."URL"]`` in
``pyproject.toml``. Secrets never stand there: the settings name environment variables.
"""  # noqa: D205  (one sentence)

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.endpoints.settings import endpoint_from_table
from pytest_llmkg.errors import ModelFileError, UserError
from pytest_llmkg.models import read_settings_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_llmkg.endpoints.settings import Endpoint

__all__ = ["load_endpoint_table"]


def load_endpoint_table(paths: Iterable[Path]) -> Mapping[str, Endpoint]:
    """The endpoints of all ``paths`` by address; a later table changes the settings that it holds.

    Raises:
        ModelFileError: a table that cannot be read, an unknown setting or a wrong value; names the place.
    """
    settings: dict[str, dict[str, object]] = {}
    found: dict[str, Endpoint] = {}
    for path in paths:
        for url, entry in read_settings_table(path, "endpoints").items():
            if not isinstance(entry, dict):
                raise ModelFileError(f"{path}: endpoint {url!r:.200}: must be a table of settings")
            settings[url] = settings.get(url, {}) | entry
            try:
                found[url] = endpoint_from_table(url, settings[url])
            except UserError as error:
                raise ModelFileError(f"{path}: {error}") from error
    return found
