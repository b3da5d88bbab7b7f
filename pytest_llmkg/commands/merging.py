"""``llmkg merge``: joins the shards of one run, and says what is missing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.merging import MergePlan, plan_merge, write_merge
from pytest_llmkg.plain import Json, clean_text, to_plain
from pytest_llmkg.reporting.files import write_reports
from pytest_llmkg.store import FILE_NAME, RunWriter, index_run, part_paths, read_run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pytest_llmkg.merging import Gap

__all__ = ["COMMANDS"]

_SHOWN = 10
"""Dialogues that are named one by one; all of them with ``--json``."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run folder or run file, e.g. of a shard")
    parser.add_argument("--out", metavar="RUN", required=True, type=Path, help="new folder for the joined run")
    parser.add_argument("--json", action="store_true", help="tell what was found as JSON, with every dialogue named")


def _run(options: argparse.Namespace) -> int:
    out: Path = options.out
    if (out / FILE_NAME).exists() or part_paths(out) or out.is_file():
        raise UserError(f"{out} exists already; choose another --out")
    plan = plan_merge([index_run(path) for path in options.runs], out.name or "merged")
    _write(plan, out)
    write_reports(read_run(out), out, datetime.now(UTC))
    if options.json:
        print(json.dumps(_told(plan, options.runs, out), indent=2, ensure_ascii=False))
    else:
        print(
            f"joined {_number(len(options.runs), 'run')} to {out / FILE_NAME}: {_number(len(plan.sources), 'dialogue')}"
        )
        for line in _lines(plan):
            print(clean_text(line))
    return 0 if plan.is_complete else 1


def _write(plan: MergePlan, out: Path) -> None:
    # Under another name first, so that what a killed merge leaves is not taken for a run.
    unfinished = out / ".unfinished-merge.jsonl"
    try:
        unfinished.unlink(missing_ok=True)
        with RunWriter(unfinished) as writer:
            write_merge(plan, writer)
        unfinished.replace(out / FILE_NAME)
    except OSError as error:
        raise UserError(f"{out}: cannot write the joined run: {error.strerror}") from error


def _lines(plan: MergePlan) -> Iterator[str]:
    for shard in plan.missing_shards:
        yield f"missing: shard {shard}"
    for gap in plan.gaps:
        least = "at least " if plan.missing_shards else ""
        of = "" if gap.planned is None else f" of {gap.planned}"
        named = f": {_named(gap)}" if gap.named else ""
        yield (
            f"missing: {least}{gap.missing}{of} dialogues of model {gap.model!r} on task variant {gap.label!r}{named}"
        )
    for duplicate in plan.duplicates[:_SHOWN]:
        key = duplicate.key
        yield (
            f"held by several runs: {key.label}/{key.case} of model {key.model!r}, iteration {key.iteration}: in "
            f"{', '.join(duplicate.runs)}; taken from {duplicate.taken}"
        )
    if len(plan.duplicates) > _SHOWN:
        yield f"held by several runs: {len(plan.duplicates) - _SHOWN} more; all of them with --json"
    for finding in plan.findings:
        yield f"note: {finding}"
    yield "complete" if plan.is_complete else "not complete; run what is missing and join again"


def _named(gap: Gap) -> str:
    rounds: dict[str, list[str]] = {}
    for case, iteration in gap.named:
        rounds.setdefault(case, []).append(str(iteration))
    shown = [f"{case} (iteration {', '.join(numbers)})" for case, numbers in rounds.items()]
    more = [] if len(shown) <= _SHOWN else [f"and {len(shown) - _SHOWN} more cases"]
    return ", ".join(shown[:_SHOWN] + more)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _told(plan: MergePlan, runs: Sequence[Path], out: Path) -> dict[str, Json]:
    gaps = [
        {
            "model": gap.model,
            "label": gap.label,
            "planned": gap.planned,
            "missing": gap.missing,
            "dialogues": [{"case": case, "iteration": iteration} for case, iteration in gap.named],
        }
        for gap in plan.gaps
    ]
    duplicates = [
        {**duplicate.key._asdict(), "runs": duplicate.runs, "taken": duplicate.taken} for duplicate in plan.duplicates
    ]
    told: dict[str, object] = {
        "out": str(out),
        "runs": [str(path) for path in runs],
        "dialogues": len(plan.sources),
        "errors": plan.errors,
        "complete": plan.is_complete,
        "missing_shards": plan.missing_shards,
        "gaps": gaps,
        "duplicates": duplicates,
        "findings": plan.findings,
    }
    return {name: to_plain(value) for name, value in told.items()}


COMMANDS = (
    Command(
        "merge",
        "Joins the runs of one suite, e.g. the shards of a CI matrix; names what is missing and what is doubled. "
        "Exit status: 0 complete; 1 dialogues are missing (the joined run is written all the same); 2 not one suite.",
        "llmkg merge shard-1 shard-2 shard-3 shard-4 --out joined",
        _arguments,
        _run,
    ),
)
