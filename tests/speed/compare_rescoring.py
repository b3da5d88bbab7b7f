"""How fast recorded dialogues are scored again: this program against `plain_scorer`, side by side in one process.

    python -m tests.speed.compare_rescoring FILE... [--rounds N]

Both score each file from its records in memory, alternately, file by file; both must give the recorded scores. Times
are wall-clock; the medians over the rounds are shown, per task label and in total. Archives need LLMKG_PASSWORD.
What both need before the first record (here the start of the graph engine's process, there the import of rdflib) is a
line of its own and part of the totals.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_llmkg.interchange import Reading, differences, recorded_dialogue
from pytest_llmkg.kg import RESCORING_LIMITS, Sandbox
from pytest_llmkg.rescoring.files import Plan, Scorer, layout
from pytest_llmkg.result_files import read_records
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, Any]
Groups = dict[str, list[Record]]
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Times rescoring against a plain rdflib scorer.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    groups: dict[str, list[Record]] = defaultdict(list)
    for path in options.files:
        records: list[Record] = [dict(r) for r in read_records(path, os.environ.get("LLMKG_PASSWORD"))]
        for record in records:
            if recorded_dialogue(record).case is not None:
                groups[record["taskInfo"]["taskLabel"]].append(record)
    ours: dict[str, list[float]] = defaultdict(list)
    plain: dict[str, list[float]] = defaultdict(list)
    began = time.perf_counter()
    plain_scorer = importlib.import_module("tests.speed.plain_scorer")
    loaded = time.perf_counter() - began
    for _ in range(options.rounds):
        plain["(start)"].append(loaded)
        _round(groups, ours, plain, plain_scorer.score)
    _print(groups, ours, plain)


def _round(groups: Groups, ours: Times, plain: Times, plain_score: Callable[[Record], Record]) -> None:
    """One pass over all records; a new sandbox, so that nothing is known from the round before."""
    began = time.perf_counter()
    with Sandbox(RESCORING_LIMITS) as kg:
        scorer = Scorer(discover_tasks(), kg, Plan())
        kg.check_query("ASK { }")
        ours["(start)"].append(time.perf_counter() - began)
        for label, records in groups.items():
            for times, scored in ((plain, plain_score), (ours, lambda record: _ours(record, scorer))):
                began = time.perf_counter()
                found = [scored(record) for record in records]
                times[label].append(time.perf_counter() - began)
                wrong = sum(bool(differences(r["scores"], s)[1]) for r, s in zip(records, found, strict=True))
                if wrong:
                    who = "ours" if times is ours else "plain"
                    _say(f"{label}, {who}: {wrong} of {len(records)} dialogues differ from the record")


def _ours(record: Record, scorer: Scorer) -> dict[str, Any]:
    dialogue = recorded_dialogue(record, Reading())
    if dialogue.case is None:
        raise ValueError(dialogue.skipped)
    transcript = scorer.published(dialogue)
    return layout(transcript, scorer.tasks.get(transcript.task).info)[0]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _print(groups: Groups, ours: Times, plain: Times) -> None:
    _say(f"{'task':45} {'dialogues':>9} {'plain ms':>10} {'ours ms':>10} {'times faster':>13}")
    for label in ("(start)", *groups):
        one, other = statistics.median(plain[label]), statistics.median(ours[label])
        ratio = f"{one / other:.1f}" if one else "-"
        _say(f"{label:45} {len(groups.get(label, [])):9} {one * 1000:10.1f} {other * 1000:10.1f} {ratio:>13}")
    one, other = (statistics.median(map(sum, zip(*times.values(), strict=True))) for times in (plain, ours))
    total = sum(map(len, groups.values()))
    _say(f"{'all':45} {total:9} {one * 1000:10.1f} {other * 1000:10.1f} {one / other:>13.1f}")
    _say(f"{total / other:.0f} dialogues per second, plain {total / one:.0f}")


if __name__ == "__main__":
    main()
