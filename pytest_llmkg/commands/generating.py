"""``llmkg generate``: case files of tasks whose cases are generated."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.drawing import LEVELS, case_file_text, drawn_entries, drawn_tasks
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.options import DEFAULT_SEED
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse

    from pytest_llmkg.contracts import Task
    from pytest_llmkg.plain import Json

__all__ = ["COMMANDS"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", metavar="TASK", help=f"a task that generates its cases: {', '.join(drawn_tasks())}")
    add("--n", type=int, default=10, metavar="N", help="number of cases (default: 10)")
    add("--seed", type=int, default=DEFAULT_SEED, metavar="S", help=f"seed of the choice (default: {DEFAULT_SEED})")
    levels = f"size of the graphs, from {LEVELS[0]} to {LEVELS[-1]} (default: 1)"
    add("--level", type=int, default=LEVELS[0], metavar="L", help=levels)
    add("--format", metavar="FORMAT", help="serialization format of the shown graphs, e.g. nt (default: turtle)")
    add("--out", type=Path, metavar="FILE", help=".toml file to write; never overwrites (default: standard output)")
    add("--json", action="store_true", help="print the complete cases, with graphs and right answers, as JSON")


def _run(options: argparse.Namespace) -> int:
    tasks = discover_tasks()
    task = tasks.get(options.task)
    if task.info.name not in drawn_tasks():
        raise UserError(f"task {task.info.name!r} does not generate its cases; these do: {', '.join(drawn_tasks())}")
    if options.json and options.out is not None:
        raise UserError("give --out or --json, not both")
    entries = drawn_entries(task.info.name, options.n, options.seed, options.level, options.format)
    label = "-".join([task.info.name, f"level{options.level}", f"seed{options.seed}"])
    if options.format:
        label += f"-{entries[0]['format']}"
    if options.json:
        cases = [_case(entry, task, label, options.seed) for entry in entries]
        print(json.dumps(to_plain(cases), indent=2, ensure_ascii=False))
        return 0
    remark = f"llmkg generate {task.info.name} --n {options.n} --seed {options.seed} --level {options.level}"
    text = case_file_text(task.info.name, label, entries, remark)
    if options.out is None:
        sys.stdout.write(text)
        return 0
    _write_new(options.out, text)
    print(f"wrote {len(entries)} cases of {label} to {options.out}; ask them by --llmkg-cases={options.out}")
    return 0


def _case(entry: dict[str, Json], task: Task, label: str, seed: int) -> Case:
    fields = {name: value for name, value in entry.items() if name != "id"}
    data = fields if task.generate is None else dict(task.generate(fields, seed))
    return Case(str(entry["id"]), task.info.name, label, data)


def _write_new(path: Path, text: str) -> None:
    if path.suffix != ".toml":
        raise UserError(f"--out {path}: a case file ends in .toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(f"{path}: exists already; delete it first or give another --out") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


COMMANDS = (
    Command(
        "generate",
        "Writes a case file with generated cases of a task, for --llmkg-cases.",
        "llmkg generate RdfFriendCount --n 20 --seed 7 --level 3 --out friends.toml",
        _arguments,
        _run,
    ),
)
