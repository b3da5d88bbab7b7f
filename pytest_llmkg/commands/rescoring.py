"""``llmkg rescore``: recorded answers through the scoring rules again, without calling a model."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.agreement import Agreement
from pytest_llmkg.analysis.corrections import correction_rows
from pytest_llmkg.commands import Command
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import UnknownNameError, UserError
from pytest_llmkg.kg import format_named
from pytest_llmkg.records import Transcript
from pytest_llmkg.reporting.rescoring import CORRECTION_FORMATS, render_agreement, render_corrections
from pytest_llmkg.rescore_files import Plan, RecordedRun, Work, rescore_all
from pytest_llmkg.result_files import is_result_file, read_records, write_records
from pytest_llmkg.store import RunWriter, read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_llmkg.rescore_files import Rescored

__all__ = ["COMMANDS"]

_LARGEST_GRAPH = 2**30


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="run file, or LLM-KG-Bench .json, .gz, .zip")
    add("--out", type=Path, help="write the rescored file here (one FILE only)")
    add("--rules", choices=["published", "corrected"], default="published", help="corrected: also compare both rules")
    add("--format", choices=CORRECTION_FORMATS, default="text", help="of the table of corrected rules (default: text)")
    add("--password", help="of an encrypted .zip; better: set LLMKG_PASSWORD")
    add(
        "--kg",
        metavar="NAME=FILE",
        action="append",
        default=[],
        type=_named_file,
        help="a graph that the records do not hold, e.g. Beastiary=graph.ttl",
    )
    add(
        "--engine",
        choices=["pyoxigraph", "rdflib"],
        default="pyoxigraph",
        help="default: pyoxigraph, where both give the same result, and rdflib elsewhere",
    )
    add(
        "--keep-timeouts",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="take recorded time-outs as they are (default), or run their queries",
    )
    add("--parse-again", action="store_true", help="parse answers although the record holds their triples (2023)")
    add("--jobs", metavar="N", type=_positive, default=1, help="processes that share the work (default: 1)")
    add("--allow-unknown", action="store_true", help="exit status 0 although unknown tasks were skipped")


def _named_file(text: str) -> tuple[str, Path]:
    name, sign, path = text.partition("=")
    if not sign or not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE, e.g. Beastiary=graph.ttl")
    return name, Path(path)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 256")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    if options.out and len(options.files) > 1:
        raise UserError("--out takes one FILE at a time; run the command once for each file")
    graphs = {name: _graph(path) for name, path in options.kg}
    corrected = options.rules == "corrected"
    plan = Plan(corrected, options.engine, options.keep_timeouts, graphs, options.parse_again)
    password = options.password or os.environ.get("LLMKG_PASSWORD")
    agreement, clock = Agreement(), time.monotonic()
    for path in options.files:
        works, write = _read(path, password)
        rescored = rescore_all(works, plan, options.jobs, _progress(str(path), len(works)))
        for one in rescored:
            agreement.add(one.comparison)
        if options.out:
            write(options.out, rescored)
    seconds = time.monotonic() - clock
    # Another program reads the table on standard output; what it is based on is told beside it.
    told = sys.stderr if corrected and options.format != "text" else sys.stdout
    print(render_agreement(agreement, seconds), end="", file=told)
    if corrected:
        print(
            ("" if told is sys.stderr else "\n")
            + render_corrections(correction_rows(agreement.changes), options.format),
            end="",
        )
    return 1 if agreement.skipped and not options.allow_unknown else 0


def _read(path: Path, password: str | None) -> tuple[list[Work], Callable[[Path, Sequence[Rescored]], None]]:
    """The dialogues of a file, and what writes them back in its layout."""
    if not path.is_dir() and is_result_file(path):
        records = read_records(path, password)
        works = [Work(record, f"{path.name} record {number}") for number, record in enumerate(records)]
        return works, lambda out, done: write_records(out, [one.item for one in done], password)
    run = read_run(path)

    def write(out: Path, done: Sequence[Rescored]) -> None:
        with RunWriter(out) as writer:
            writer.header(run.header)
            for case in run.cases.values():
                writer.case(case)
            for one in done:
                if isinstance(one.item, Transcript):
                    writer.transcript(one.item)

    return [
        Work(
            RecordedRun(transcript, run.cases.get(f"{transcript.label}/{transcript.case}")),
            f"{path} {transcript.label}/{transcript.case} {transcript.model} r{transcript.iteration:02d}",
        )
        for transcript in run.transcripts
    ], write


def _graph(path: Path) -> GraphText:
    try:
        form = format_named(path.suffix.lstrip(".") or path.name)
        if path.stat().st_size > _LARGEST_GRAPH:
            raise UserError(f"{path}: larger than {_LARGEST_GRAPH // 2**20} MiB")
        return GraphText(path.read_text(encoding="utf-8"), form.name)
    except UnknownNameError as error:
        raise UserError(f"{path}: the ending tells no RDF format ({error})") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the graph cannot be read: {error}") from error


def _progress(name: str, total: int) -> Callable[[int], None]:
    """Tells on a terminal how far the work is; elsewhere nothing."""
    done, clock = 0, time.monotonic()

    def show(finished: int) -> None:
        nonlocal done, clock
        done += finished
        if not sys.stderr.isatty() or (time.monotonic() - clock < 0.2 and done < total):
            return
        clock = time.monotonic()
        print(f"\r{name}: {done}/{total}", end="" if done < total else "\r\033[K", file=sys.stderr, flush=True)

    return show


COMMANDS = (
    Command(
        "rescore",
        "Evaluates stored answers again, without calling a model, and compares with the recorded scores.",
        "llmkg rescore reports/runs/20261130T120000Z-gpt-4o/run.jsonl",
        _arguments,
        _run,
    ),
)
