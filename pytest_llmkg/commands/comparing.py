"""``llmkg compare``: two runs, or two models, on the same cases."""

from __future__ import annotations

import math
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_llmkg.analysis.comparability import Side, same_models
from pytest_llmkg.baselines import find_baseline, read_slim
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.gatekeeper import side_of
from pytest_llmkg.registry import unknown_name
from pytest_llmkg.reporting.comparison import ComparisonView, build_comparison
from pytest_llmkg.reporting.comparison_page import render_comparison
from pytest_llmkg.reporting.comparison_text import comparison_json, comparison_markdown
from pytest_llmkg.reporting.files import write_atomically

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["COMMANDS"]

_FORMATS: Mapping[str, Callable[[ComparisonView, datetime], str]] = {
    "md": lambda view, _now: comparison_markdown(view),
    "html": render_comparison,
    "json": lambda view, _now: comparison_json(view),
}


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("before", metavar="RUN", help="the older run: folder, run file or name of a baseline")
    add("now", metavar="RUN", help="the newer run, likewise; may be the same, with --models")
    add(
        "--models",
        metavar="OLD=NEW,..",
        help="models to compare, of the first and of the second run (default: those of both runs)",
    )
    add(
        "--threshold",
        metavar="X",
        type=float,
        default=1.0,
        help="score of a good answer; a case is solved when more than half of its answers are good (default: 1)",
    )
    add("--out", type=Path, help="file to write (default: standard output)")
    add("--format", choices=_FORMATS, help="default: by the ending of --out, else md")
    add("--links", action="store_true", help="on standard output, too, link each score to its dialogue (--out: always)")
    add("--json", action="store_const", const="json", dest="format", help="the same as --format json")


def _run(options: argparse.Namespace) -> int:
    ending = options.out.suffix.lstrip(".").lower() if options.out else "md"
    form = options.format or ending
    if form not in _FORMATS:
        raise UserError(f"{options.out}: unknown ending; use {', '.join(f'.{name}' for name in _FORMATS)}, or --format")
    if not math.isfinite(options.threshold):
        raise UserError(f"--threshold must be a number, found {options.threshold}")
    here = Path.cwd()
    paths = [find_baseline(text, here, here) for text in (options.before, options.now)]
    before, now = (side_of(run, f"run {run.header.run!r}") for run in map(read_slim, paths))
    base = options.out.parent if options.out else here
    has_links = options.links or options.out is not None or form != "md"
    view = build_comparison(
        before,
        now,
        _pairs(options.models, before, now),
        threshold=options.threshold,
        pages=(_page(paths[0], base), _page(paths[1], base)) if has_links else (None, None),
        all_models=options.models is None,
    )
    text = _FORMATS[form](view, datetime.now(UTC))
    if options.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(options.out, text)
        print(f"wrote {options.out}")
    return 0


def _pairs(text: str | None, before: Side, now: Side) -> tuple[tuple[str, str], ...]:
    if text is None:
        pairs = same_models(before, now)
        if not pairs:
            raise UserError(
                f"the runs have no model in common ({_listed(before.models)}; {_listed(now.models)}); "
                "say which to compare by --models OLD=NEW"
            )
        return pairs
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        old, equals, new = part.partition("=")
        pair = (old, new if equals else old)
        for model, side in zip(pair, (before, now), strict=True):
            if model not in side.models:
                raise unknown_name(f"model of {side.name}", model, side.models)
        found.append(pair)
    if not found:
        raise UserError("--models names none; leave it out to compare all models of both runs")
    return tuple(dict.fromkeys(found))


def _listed(models: Sequence[str]) -> str:
    """The names on one line, with escapes for what could steer a terminal or a CI system."""
    return ", ".join(map(repr, models)) or "none"


def _page(path: Path, base: Path) -> str | None:
    """The address of a run's leaderboard page as seen from ``base``, None when there is no page."""
    page = (path if path.is_dir() else path.parent) / "leaderboard.html"
    # Everything but slashes is encoded, so that no folder's name is taken for a scheme.
    return quote(os.path.relpath(page, base), safe="/") if page.is_file() else None


COMMANDS = (
    Command(
        "compare",
        "Compares two runs on the same cases: differences with intervals and p-values by model, task variant and case, "
        "and which cases broke or were mended. Differences are the second run minus the first.",
        "llmkg compare main reports/runs/20261130T120000Z-gpt-4o --out comparison.html",
        _arguments,
        _run,
    ),
)
