"""Writes a file so that a reader never finds half of it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str | Iterable[str]) -> None:
    """Writes ``text``, or its pieces, so that a reader finds either the old file or the whole new one.

    Raises:
        UserError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            for piece in (text,) if isinstance(text, str) else text:
                file.write(clean_text(piece).encode("utf-8"))
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # what is in the way may be what was wrong
            temporary.unlink()
        raise UserError(f"{path}: cannot write the report: {error.strerror}") from error
