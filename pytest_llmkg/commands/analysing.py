"""``llmkg analyse``: capability scores, combined score and format preference by the published method."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.published import analyse_published
from pytest_llmkg.analysis.published_config import PublishedConfig, parse_config, shipped_config
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.interchange.recorded_scores import recorded_scores
from pytest_llmkg.plain import to_plain
from pytest_llmkg.reporting.published_text import render_published
from pytest_llmkg.result_files import is_result_file, read_records
from pytest_llmkg.store import read_run
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from pytest_llmkg.contracts import Task
    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["COMMANDS"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="run file or folder, or LLM-KG-Bench .json, .gz, .zip")
    add("--password", help="of an encrypted .zip; better: set LLMKG_PASSWORD")
    add("--config", type=Path, metavar="TOML", help="other definitions than the shipped ones (fixtures/analysis.toml)")
    add("--json", action="store_true", help="for other programs, with every p-value, note and warning")


def _run(options: argparse.Namespace) -> int:
    config = shipped_config() if options.config is None else _config(options.config)
    transcripts, infos = _read(options.files, options.password or os.environ.get("LLMKG_PASSWORD"))
    analysis = analyse_published(transcripts, infos, config)
    if options.json:
        print(json.dumps(to_plain(analysis), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        sys.stdout.write(render_published(analysis))
    return 0


def _config(path: Path) -> PublishedConfig:
    try:
        return parse_config(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _read(paths: Iterable[Path], password: str | None) -> tuple[list[Transcript], list[TaskInfo]]:
    """The dialogues of all files with the scores that they hold, and the tasks; a run's own description comes first."""
    transcripts: list[Transcript] = []
    infos: dict[str, TaskInfo] = {}
    for path in paths:
        if not path.is_dir() and is_result_file(path):
            found = recorded_scores(read_records(path, password))
            transcripts += found.transcripts
            for reason, count in found.skipped.items():
                print(f"{path}: left out {count} records {reason}", file=sys.stderr)
        else:
            run = read_run(path)
            transcripts += run.transcripts
            infos |= {info.name: info for info in run.header.tasks if info.name not in infos}
            if run.truncated:
                print(f"{path}: the last line is cut off and left out", file=sys.stderr)
    infos |= {name: task.info for name, task in _shipped_tasks() if name not in infos}
    return transcripts, list(infos.values())


def _shipped_tasks() -> Iterable[tuple[str, Task]]:
    registry = discover_tasks()
    return [(name, registry.get(name)) for name in registry.names()]


COMMANDS = (
    Command(
        "analyse",
        "Computes capabilities, combined SPARQL score and format preferences as LLM-KG-Bench 3 published them.",
        "llmkg analyse reports/runs/20261130T120000Z-gpt-4o --json",
        _arguments,
        _run,
    ),
)
