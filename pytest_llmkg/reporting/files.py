"""Writes all reports of a run into its directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_llmkg.reporting.dialogue_files import DialogueFiles
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.tabular import csv_lines, render_json
from pytest_llmkg.reporting.views import Report, build_report
from pytest_llmkg.reporting.writing import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from pytest_llmkg.reporting.sources import AnyRun

__all__ = ["copy_page", "write_atomically", "write_page", "write_report_files", "write_reports"]

_BASE = '<meta name="llmkg-files" content="">'


def write_reports(run: AnyRun, directory: Path, now: datetime) -> Path:
    """Writes ``leaderboard.html``, ``leaderboard.md``, ``scores.csv`` and ``report.json``; returns the page's path.

    Raises:
        UserError: a file cannot be written.
    """
    page, _ = write_report_files([run], directory, now)
    return page


def write_report_files(runs: Sequence[AnyRun], directory: Path, now: datetime) -> tuple[Path, Report]:
    """Like `write_reports`, and gives back the report, so that nobody needs to count again.

    Raises:
        UserError: a file cannot be written.
    """
    page = directory / "leaderboard.html"
    report = write_page(runs, page, now)
    write_atomically(directory / "leaderboard.md", render_markdown(report, now))
    write_atomically(directory / "scores.csv", csv_lines(report))
    write_atomically(directory / "report.json", render_json(report, now))
    return page, report


def write_page(runs: Sequence[AnyRun], page: Path, now: datetime) -> Report:
    """Writes the page of ``runs``, and a folder of dialogues beside it when they are many (``leaderboard_files``).

    Runs that are given as an index are read one dialogue at a time.

    Raises:
        UserError: a file cannot be written.
    """
    names = " ".join(f"{run.header.run} {run.header.started}" for run in runs)
    files = DialogueFiles(page.with_name(f"{page.stem}_files"), f"{now:%Y%m%dT%H%M%S} {names}")
    report = build_report(runs, files.add)
    write_atomically(page, render_page(report, now, files.finish()))
    return report


def copy_page(page: Path, target: Path) -> None:
    """Writes the page also to ``target``, which finds the dialogues beside the first one.

    Raises:
        UserError: the copy cannot be written.
        OSError: the page cannot be read.
    """
    way = os.path.relpath(page.parent, target.parent)
    base = "" if way == "." else f"{quote(way.replace(os.sep, '/'))}/"
    text = page.read_text(encoding="utf-8")
    write_atomically(target, text.replace(_BASE, _BASE.replace('""', f'"{base}"'), 1))
