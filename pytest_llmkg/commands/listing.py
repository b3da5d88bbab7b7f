"""``llmkg tasks``, ``llmkg models`` and ``llmkg cases``: what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.cases.files import check_case_folders, load_case_files
from pytest_llmkg.cases.graph_files import graph_at, parse_place_option
from pytest_llmkg.commands import Command
from pytest_llmkg.connectors import discover
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.models import load_model_table, model_table_paths
from pytest_llmkg.options import DEFAULT_SEED
from pytest_llmkg.plain import to_plain
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Case

__all__ = ["COMMANDS", "add_json_option", "show_rows"]


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _case_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)
    parser.add_argument(
        "--llmkg-cases", metavar="PATH", action="append", type=Path, default=[], help="further case files"
    )
    parser.add_argument(
        "--kg",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="graph that a question file asks about, or NAME=URL",
    )
    parser.add_argument("--llmkg-seed", metavar="N", type=int, default=DEFAULT_SEED, help="seed of generated cases")


def _cases(options: argparse.Namespace) -> tuple[Case, ...]:
    data = fixtures_root()
    check_case_folders(options.llmkg_cases)
    return load_case_files(
        (data / "cases", *options.llmkg_cases),
        data / "graphs",
        discover_tasks(),
        options.llmkg_seed,
        named_graphs={name: graph_at(name, place) for name, place in map(parse_place_option, options.kg)},
    )


def _tasks(options: argparse.Namespace) -> int:
    cases = _cases(options)
    rows: list[dict[str, Json]] = []
    for task in discover_tasks():
        labels = list(dict.fromkeys(case.label for case in cases if case.task == task.info.name))
        rows.extend(
            {
                "label": label,
                "task": task.info.name,
                **{name: value for name, value in _plain(task.info).items() if name != "name"},
                "cases": sum(case.label == label for case in cases),
            }
            for label in labels
        )
    show_rows(rows, ("label", "task", "cases", "headline", "max_turns", "summary"), as_json=options.json)
    return 0


def _models(options: argparse.Namespace) -> int:
    rows: list[dict[str, Json]] = []
    for alias, spec in load_model_table(model_table_paths(Path.cwd())).items():
        rows.append({"kind": "alias", "alias": alias, **_plain(spec)})
    rows.extend(
        {"kind": "connector", "alias": factory.scheme, "connector": factory.scheme, "model": factory.summary}
        for factory in discover()
    )
    show_rows(rows, ("alias", "connector", "model", "family", "parameters", "context"), as_json=options.json)
    return 0


def _list_cases(options: argparse.Namespace) -> int:
    rows = [_plain(case) for case in _cases(options)]
    show_rows(rows, ("label", "id", "task"), as_json=options.json)
    return 0


def _plain(record: object) -> dict[str, Json]:
    plain = to_plain(record)
    return plain if isinstance(plain, dict) else {}


def show_rows(rows: Sequence[dict[str, Json]], columns: Sequence[str], *, as_json: bool) -> None:
    """Prints ``rows``: as JSON with all they hold, or ``columns`` of them as a table."""
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    cells = [list(columns), *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: Json) -> str:
    return "" if value is None else str(value)


COMMANDS = (
    Command(
        "tasks", "Lists the task variants with their number of cases.", "llmkg tasks --json", _case_arguments, _tasks
    ),
    Command("models", "Lists the model aliases and the kinds of models.", "llmkg models", add_json_option, _models),
    Command("cases", "Lists the cases.", "llmkg cases --llmkg-cases my_cases.toml", _case_arguments, _list_cases),
)
