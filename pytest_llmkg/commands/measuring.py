"""``llmkg metrics``: what the scores mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.commands import Command
from pytest_llmkg.commands.listing import add_json_option, show_rows
from pytest_llmkg.metrics.catalogue import REDUCERS, score_entries
from pytest_llmkg.registry import unknown_name
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse

    from pytest_llmkg.metrics.catalogue import ScoreEntry
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import TaskInfo

__all__ = ["COMMANDS"]

_COLUMNS = ("name", "rules", "range", "tasks", "source", "meaning")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", metavar="NAME", help="only the scores of this task")
    add_json_option(parser)


def _run(options: argparse.Namespace) -> int:
    infos = {task.info.name: task.info for task in discover_tasks()}
    if options.task is not None and options.task not in infos:
        raise unknown_name("task", options.task, infos)
    entries = [entry for entry in score_entries() if options.task is None or options.task in entry.tasks]
    if options.json:
        show_rows([_row(entry, infos) for entry in entries], (), as_json=True)
        return 0
    show_rows([_line(entry) for entry in entries], _COLUMNS, as_json=False)
    print("\nOf a dialogue with several answers, each is also told as:")
    for prefix, meaning in REDUCERS.items():
        print(f"  {prefix}NAME".ljust(16) + meaning)
    return 0


def _row(entry: ScoreEntry, infos: dict[str, TaskInfo]) -> dict[str, Json]:
    names = {prefix + entry.name for prefix in ("", *REDUCERS)}
    reduced: list[Json] = [*REDUCERS] if any(infos[name].max_turns > 1 for name in entry.tasks) else []
    return {
        "name": entry.name,
        "meaning": entry.meaning,
        "range": [*entry.bounds],
        "best": entry.best,
        "rules": entry.rules,
        "source": entry.source,
        "tasks": [*entry.tasks],
        "headline_of": [name for name in entry.tasks if infos[name].headline in names],
        "dialogue_prefixes": reduced,
    }


def _line(entry: ScoreEntry) -> dict[str, Json]:
    low, high = ("-" if bound is None else f"{bound:g}" for bound in entry.bounds)
    return {
        "name": entry.name,
        "rules": entry.rules,
        "range": f"{low}..{high}",
        "tasks": ", ".join(entry.tasks),
        "source": entry.source.partition(" (")[0],
        "meaning": entry.meaning,
    }


COMMANDS = (
    Command(
        "metrics",
        "Lists the scores: what each means, its range, published or corrected rules, and their source.",
        "llmkg metrics --task Text2SparqlKgqa --json",
        _arguments,
        _run,
    ),
)
