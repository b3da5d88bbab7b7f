"""``llmkg export``: a run for other programs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.interchange.export import exported_record
from pytest_llmkg.reporting.files import write_atomically
from pytest_llmkg.reporting.tabular import csv_lines, write_parquet
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.rescoring.files import layout
from pytest_llmkg.result_files import is_result_file, write_records
from pytest_llmkg.store import Run, read_run

if TYPE_CHECKING:
    import argparse

    from pytest_llmkg.plain import Json

__all__ = ["COMMANDS"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_file", metavar="RUN", type=Path, help="run file or run folder")
    add("--format", choices=["csv", "parquet", "llm-kg-bench"], required=True, help="scores as a table, or results")
    add("--out", type=Path, help="file to write: .csv (default: standard output); .parquet; .json, .gz, encrypted .zip")
    add("--model", help="only the dialogues of this model")
    add("--password", help="for an encrypted .zip; better: set LLMKG_PASSWORD")
    add("--plain-sealed", action="store_true", help="write sealed cases into a file that is not encrypted")


def _run(options: argparse.Namespace) -> int:
    run = read_run(options.run_file)
    if options.model is not None:
        kept = tuple(transcript for transcript in run.transcripts if transcript.model == options.model)
        if not kept:
            raise UserError(f"{options.run_file}: the run holds no dialogue of model {options.model!r}")
        run = Run(run.header, run.cases, kept, run.truncated)
    if options.format == "csv":
        return _write_csv(run, options.out)
    if options.format == "parquet":
        return _write_parquet(run, options.out)
    if options.out is None or not is_result_file(options.out):
        raise UserError("--format llm-kg-bench needs --out FILE that ends with .json, .gz or .zip")
    records, left_out = _records(run, options)
    write_records(options.out, records, options.password or os.environ.get("LLMKG_PASSWORD"))
    print(f"wrote {len(records)} dialogues to {options.out}")
    for reason, count in left_out.items():
        print(f"left out: {count} dialogues, {reason}")
    return 0


def _write_csv(run: Run, out: Path | None) -> int:
    lines = csv_lines(build_report([run]))
    if out is None:
        sys.stdout.writelines(lines)
    else:
        write_atomically(out, lines)
        print(f"wrote {out}")
    return 0


def _write_parquet(run: Run, out: Path | None) -> int:
    if out is None:
        raise UserError("--format parquet needs --out FILE.parquet")
    rows = write_parquet(build_report([run]), out)
    print(f"wrote {rows} rows to {out}")
    return 0


def _records(run: Run, options: argparse.Namespace) -> tuple[list[dict[str, Json]], Counter[str]]:
    """The records of the finished dialogues, and how many were left out why."""
    tasks = {info.name: info for info in run.header.tasks}
    records, left_out = [], Counter[str]()
    for transcript in run.transcripts:
        case = run.cases.get(f"{transcript.label}/{transcript.case}")
        task = tasks.get(transcript.task)
        if transcript.outcome == "error":
            left_out["which ended with an error and so have no scores"] += 1
        elif case is None or task is None:
            left_out["whose case or task the run file does not hold"] += 1
        elif case.sealed and options.out.suffix != ".zip" and not options.plain_sealed:
            raise UserError(
                f"case {case.label}/{case.id} is sealed; write an encrypted archive (--out FILE.zip with "
                "LLMKG_PASSWORD set), or allow a readable file with --plain-sealed"
            )
        else:
            records.append(exported_record(transcript, case, task, *layout(transcript, task)))
    return records, left_out


COMMANDS = (
    Command(
        "export",
        "Writes a run as a table of scores (CSV, Parquet), or as results that scripts of LLM-KG-Bench 3 can read.",
        "llmkg export reports/runs/20261130T120000Z-gpt-4o --format llm-kg-bench --out gpt-4o_result.zip",
        _arguments,
        _run,
    ),
)
