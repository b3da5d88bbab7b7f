"""``llmkg report``: the leaderboard of one or more runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.reporting.files import write_atomically, write_page
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.tabular import render_csv, render_json
from pytest_llmkg.reporting.views import Report, build_report
from pytest_llmkg.store import index_run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

__all__ = ["COMMANDS"]

_FORMATS: Mapping[str, Callable[[Report, datetime], str]] = {
    "html": render_page,
    "md": render_markdown,
    "csv": lambda report, _now: render_csv(report),
    "json": render_json,
}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run file or run folder")
    parser.add_argument("--out", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--format", choices=_FORMATS, help="default: by the ending of --out, else md")


def _run(options: argparse.Namespace) -> int:
    ending = options.out.suffix.lstrip(".").lower() if options.out else "md"
    form = options.format or ending
    if form not in _FORMATS:
        raise UserError(f"{options.out}: unknown ending; use {', '.join(f'.{name}' for name in _FORMATS)}, or --format")
    runs, now = [index_run(path) for path in options.runs], datetime.now(UTC)
    if options.out is None:
        sys.stdout.write(_FORMATS[form](build_report(runs), now))
        return 0
    if form == "html":
        write_page(runs, options.out, now)
    else:
        write_atomically(options.out, _FORMATS[form](build_report(runs), now))
    print(f"wrote {options.out}")
    return 0


COMMANDS = (
    Command(
        "report",
        "Writes the leaderboard of one or more runs as a page, Markdown, CSV or JSON.",
        "llmkg report reports/runs/* --out leaderboard.html",
        _arguments,
        _run,
    ),
)
