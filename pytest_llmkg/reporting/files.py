"""Writes all reports of a run into its directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import clean_text
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.tabular import render_csv, render_json
from pytest_llmkg.reporting.views import RunLike, build_report

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

__all__ = ["write_atomically", "write_reports"]


def write_reports(run: RunLike, directory: Path, now: datetime) -> Path:
    """Writes ``leaderboard.html``, ``leaderboard.md``, ``scores.csv`` and ``report.json``; returns the page's path.

    Raises:
        UserError: a file cannot be written.
    """
    report = build_report([run])
    page = directory / "leaderboard.html"
    write_atomically(page, render_page(report, now))
    write_atomically(directory / "leaderboard.md", render_markdown(report, now))
    write_atomically(directory / "scores.csv", render_csv(report))
    write_atomically(directory / "report.json", render_json(report, now))
    return page


def write_atomically(path: Path, text: str) -> None:
    """Writes ``text`` so that a reader finds either the old file or the whole new one.

    Raises:
        UserError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(clean_text(text).encode("utf-8"))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot write the report: {error.strerror}") from error
