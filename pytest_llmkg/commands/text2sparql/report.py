"""``llmkg text2sparql report``: seconds and money per question and per solved question, for all systems."""

from __future__ import annotations

import fnmatch
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.effort import asks_question, effort_rows
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.reporting.effort_table import effort_markdown
from pytest_llmkg.store import read_run

if TYPE_CHECKING:
    import argparse

    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["VERB"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", type=Path, help="run file or run folder")
    add("--tasks", metavar="GLOB", help="only task variants that match (default: those that ask questions of graphs)")
    add("--by-label", action="store_true", help="a row for each task variant, so for each language")
    add("--json", action="store_true", help="for other programs")


def _run(options: argparse.Namespace) -> int:
    transcripts: list[Transcript] = []
    infos: dict[str, TaskInfo] = {}
    for path in options.runs:
        run = read_run(path)
        transcripts += run.transcripts
        infos |= {info.name: info for info in run.header.tasks if info.name not in infos}
    labels = {transcript.label for transcript in transcripts if _is_wanted(transcript, options.tasks)}
    # Dialogues that broke off before their first answer have no prompt to be known by, but took time, too.
    chosen = [transcript for transcript in transcripts if transcript.label in labels]
    if not chosen:
        raise UserError(f"{options.runs[0]}: holds no dialogue on a question of a graph; --tasks chooses others")
    rows = effort_rows(chosen, infos, "label" if options.by_label else "model")
    if options.json:
        print(json.dumps(to_plain(rows), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        sys.stdout.write(effort_markdown(rows))
    return 0


def _is_wanted(transcript: Transcript, glob: str | None) -> bool:
    if glob is None:
        return asks_question(transcript)
    return any(fnmatch.fnmatchcase(name, glob) for name in (transcript.label, transcript.task))


VERB = Command(
    name="report",
    summary="Tells seconds and money per question and per solved question of one or more runs.",
    example="llmkg text2sparql report reports/runs/*",
    arguments=_arguments,
    run=_run,
)
