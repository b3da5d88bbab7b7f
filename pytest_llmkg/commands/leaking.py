"""``llmkg leaks``: scores with and without the questions whose examples gave the answer away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.leakage import leak_rows
from pytest_llmkg.commands import Command
from pytest_llmkg.plain import to_plain
from pytest_llmkg.store import read_run

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMANDS"]

_HEADER = (
    "model",
    "task label",
    "dialogues",
    "same query",
    "same result",
    "mean",
    "without",
    "with",
    "recall",
    "in schema",
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_path", metavar="RUN", type=Path, help="run folder or run file")
    parser.add_argument("--json", action="store_true", help="for other programs")


def _run(options: argparse.Namespace) -> int:
    run = read_run(options.run_path)
    rows = leak_rows(run.transcripts, run.header.tasks)
    if options.json:
        print(json.dumps(to_plain(rows), indent=1, ensure_ascii=False, allow_nan=False))
        return 0
    if not rows:
        print("no model of this run tells of examples that it was shown")
        return 0
    cells = [
        (row.model, row.label, *map(str, (row.dialogues, row.same_query, row.same_result)), *map(_number, numbers))
        for row in rows
        for numbers in [(row.mean, row.mean_without, row.mean_with, row.recall, row.recall_schema)]
    ]
    widths = [max(len(row[column]) for row in (_HEADER, *cells)) for column in range(len(_HEADER))]
    for line in (_HEADER, *cells):
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


COMMANDS = (
    Command(
        "leaks",
        "Shows scores with and without the questions for which an example with the same query or result was shown to "
        "the model, and how much of the names in the reference its prompt held.",
        "llmkg leaks reports/runs/20261130T120000Z-rag_gpt_4o",
        _arguments,
        _run,
    ),
)
