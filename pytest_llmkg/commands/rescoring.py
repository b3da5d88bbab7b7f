"""``llmkg rescore``: recorded answers through the scoring rules again, without calling a model."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.agreement import Agreement
from pytest_llmkg.analysis.corrections import correction_rows
from pytest_llmkg.commands import Command
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import UnknownNameError, UserError
from pytest_llmkg.kg import format_named
from pytest_llmkg.reporting.rescoring import CORRECTION_FORMATS, render_agreement, render_corrections
from pytest_llmkg.rescoring.files import Plan
from pytest_llmkg.rescoring.output import collect
from pytest_llmkg.rescoring.shards import over_processes, shards_of, within_this_process
from pytest_llmkg.store import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_llmkg.kg.sandbox import EngineName
    from pytest_llmkg.rescoring.shards import Outcome, Shard

__all__ = ["COMMANDS"]

_LARGEST_GRAPH = 2**30
_INTERRUPTED = 130  # as shells tell Ctrl-C


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="run file, or LLM-KG-Bench .json, .gz, .zip")
    add("--out", type=Path, help="write the rescored file here; for several FILEs: a folder for them")
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
        type=_engine,
        default=("pyoxigraph",),
        metavar="ENGINE",
        help="of queries: pyoxigraph (default; rdflib where both may differ) or rdflib; "
        "ray: share the files over a Ray cluster (RAY_ADDRESS, else this machine); ray,rdflib: both",
    )
    add(
        "--keep-timeouts",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="take recorded time-outs as they are (default), or run their queries",
    )
    add("--parse-again", action="store_true", help="parse answers although the record holds their triples (2023)")
    add("--jobs", metavar="N", type=_positive, help="processes that share the work (default: 1; ray: twice its CPUs)")
    add("--allow-unknown", action="store_true", help="exit status 0 although unknown tasks were skipped")


def _named_file(text: str) -> tuple[str, Path]:
    name, sign, path = text.partition("=")
    if not sign or not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE, e.g. Beastiary=graph.ttl")
    return name, Path(path)


def _engine(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not set(names) <= {"pyoxigraph", "rdflib", "ray"} or not len({*names} - {"ray"}) <= 1 or len(names) > 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of: pyoxigraph, rdflib, ray, ray,rdflib")
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 256")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    targets = _targets(options.files, options.out)
    graphs = {name: _graph(path) for name, path in options.kg}
    corrected = options.rules == "corrected"
    engine: EngineName = "rdflib" if "rdflib" in options.engine else "pyoxigraph"
    plan = Plan(corrected, engine, options.keep_timeouts, graphs, options.parse_again)
    agreement, clock, failed = Agreement(), time.monotonic(), []
    try:
        with _outcomes(options, plan) as outcomes:
            for error in collect(outcomes, agreement, targets):
                failed.append(error)
                print(f"llmkg: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("llmkg: stopped; what is not finished was not written", file=sys.stderr)
        return _INTERRUPTED
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
    if failed:
        return 2 if all(isinstance(error, UserError) for error in failed) else 1
    return 1 if agreement.skipped and not options.allow_unknown else 0


@contextmanager
def _outcomes(options: argparse.Namespace, plan: Plan) -> Iterator[Iterator[tuple[Shard, Outcome]]]:
    """The outcomes of all shards, in order: of this process, of several, or of a Ray cluster."""
    password = options.password or os.environ.get("LLMKG_PASSWORD")
    wanted, jobs = options.out is not None, options.jobs or 1
    with ExitStack() as stack:
        if "ray" in options.engine:
            from pytest_llmkg.rescoring.on_ray import over_ray, ray_cluster

            ray = stack.enter_context(ray_cluster())
            workers = options.jobs or int(ray.cluster_resources().get("CPU", 1))
            shards = shards_of(options.files, password, workers, wanted=wanted)
            found = over_ray(ray, shards, plan, options.jobs or 2 * workers)
        else:
            shards = shards_of(options.files, password, jobs, wanted=wanted)
            progress = _progress(len(shards))
            found = within_this_process(shards, plan, progress) if jobs == 1 else over_processes(shards, plan, jobs)
        # Closed before the cluster is left, or what still runs could not be cancelled.
        stack.enter_context(closing(found))
        yield found


def _targets(files: Sequence[Path], out: Path | None) -> dict[Path, Path]:
    """Where each file's new scores go: to ``out``, or for several files below it."""
    if out is None:
        return {}
    if len(files) == 1:
        return {files[0]: out}
    targets = {path: out / _name(path) for path in files}
    if len(set(targets.values())) < len(files):
        raise UserError("--out: several of the FILEs have the same name; run the command once for each of them")
    return targets


def _name(path: Path) -> Path:
    """A file's own name; a run file is called by the directory that it stands in."""
    whole = path.resolve()
    if whole.is_dir():
        return Path(whole.name, FILE_NAME)
    return Path(whole.parent.name, FILE_NAME) if whole.name == FILE_NAME else Path(whole.name)


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


def _progress(shards: int) -> Callable[[int], None]:
    """Tells on a terminal how far the work is; elsewhere nothing."""
    done, clock = 0, time.monotonic()

    def show(finished: int) -> None:
        nonlocal done, clock
        done += finished
        if not sys.stderr.isatty() or time.monotonic() - clock < 0.2:
            return
        clock = time.monotonic()
        print(f"\r{done} dialogues of {shards} files\033[K\r", end="", file=sys.stderr, flush=True)

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
