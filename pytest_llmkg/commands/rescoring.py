"""``llmkg rescore``: recorded answers through the scoring rules again, without calling a model."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import published_scores
from pytest_llmkg.commands import Command
from pytest_llmkg.errors import UserError
from pytest_llmkg.interchange import RecordedDialogue, differences, read_records, recorded_dialogue, with_scores
from pytest_llmkg.interchange_2023 import RECORDED_TRIPLES
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import Transcript, Turn
from pytest_llmkg.rescore import rescore_answers, rescore_transcript
from pytest_llmkg.store import RunWriter, read_run
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_llmkg.contracts import KgEngine, Task
    from pytest_llmkg.registry import Registry

__all__ = ["COMMANDS"]

_KINDS = ("scores", "info", "decisions")
_SHOWN_DIFFERENCES = 20


@dataclass(slots=True)
class _Tally:
    """Agreement with the record: numbers of equal and of different values by task label and kind."""

    dialogues: Counter[str] = field(default_factory=Counter)
    equal: Counter[tuple[str, str]] = field(default_factory=Counter)
    different: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    not_computed: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept_parses: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, label: str, place: str, kind: str, equal: int, different: list[str]) -> None:
        """Counts the values of one kind (one of `_KINDS`) of one dialogue."""
        self.equal[label, kind] += equal
        self.different[label, kind] += len(different)
        self.differences.extend(f"{place} {kind}{path}" for path in different)

    def shown(self, kind: str, label: str | None = None) -> str:
        """``equal/all`` of one kind, for one label or in total; ``-`` when nothing was compared."""
        counts = [
            sum(number for (of, what), number in counter.items() if what == kind and label in (None, of))
            for counter in (self.equal, self.different)
        ]
        return f"{counts[0]}/{sum(counts)}" if any(counts) else "-"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="run file, or LLM-KG-Bench .json, .gz, .zip"
    )
    parser.add_argument("--out", type=Path, help="write the rescored file here (one FILE only)")
    parser.add_argument(
        "--rules", choices=["published"], default="published", help="scoring rules (default: published)"
    )
    parser.add_argument("--password", help="of an encrypted .zip; better: set LLMKG_PASSWORD")
    parser.add_argument(
        "--parse-again",
        action="store_true",
        help="parse answers again even where the record holds the triples that its program read (files of 2023)",
    )
    parser.add_argument(
        "--allow-unknown", action="store_true", help="exit status 0 although unknown tasks were skipped"
    )


def _run(options: argparse.Namespace) -> int:
    if options.out and len(options.files) > 1:
        raise UserError("--out takes one FILE at a time; run the command once for each file")
    password = options.password or os.environ.get("LLMKG_PASSWORD")
    tasks, tally, clock = discover_tasks(), _Tally(), time.monotonic()
    with Sandbox() as kg:
        for path in options.files:
            if path.is_dir() or path.suffix == ".jsonl":
                _rescore_run(path, options.out, tasks, kg, tally)
            else:
                dialogues = _dialogues(read_records(path, password), parse_again=options.parse_again)
                _rescore_results(path, dialogues, options.out, tasks, kg, tally)
    _print(tally, time.monotonic() - clock)
    return 1 if tally.skipped and not options.allow_unknown else 0


def _dialogues(
    records: Iterable[Mapping[str, Json]], *, parse_again: bool
) -> Iterator[tuple[Mapping[str, Json], RecordedDialogue]]:
    for record in records:
        dialogue = recorded_dialogue(record)
        if parse_again and dialogue.case is not None:
            data = {name: value for name, value in dialogue.case.data.items() if name != RECORDED_TRIPLES}
            dialogue = dataclasses.replace(dialogue, case=dataclasses.replace(dialogue.case, data=data))
        yield record, dialogue


def _rescore_results(
    path: Path,
    dialogues: Iterable[tuple[Mapping[str, Json], RecordedDialogue]],
    out: Path | None,
    tasks: Registry[Task],
    kg: KgEngine,
    tally: _Tally,
) -> None:
    rescored: list[Json] = []
    for number, (record, dialogue) in enumerate(dialogues):
        if dialogue.case is None:
            tally.skipped[dialogue.label, dialogue.skipped or ""] += 1
            rescored.append(dict(record))
            continue
        task = tasks.get(dialogue.case.task)
        turns = rescore_answers(task, dialogue.case, dialogue.answers, kg)
        scores, info = _published(task, dialogue, turns)
        recorded = _table(record, "scores")
        kept = {name: recorded[name] for name in dialogue.not_computed if name in recorded}
        place = f"{path.name} record {number} ({dialogue.label})"
        tally.dialogues[dialogue.label] += 1
        tally.not_computed.update((dialogue.label, name) for name in kept)
        tally.kept_parses += RECORDED_TRIPLES in dialogue.case.data
        compared = {name: value for name, value in recorded.items() if name not in kept}
        for kind, before, after in (("scores", compared, scores), ("info", _table(record, "info"), info)):
            if before:  # some records hold answers that were never scored
                tally.add(dialogue.label, place, kind, *differences(before, after))
        tally.add(dialogue.label, place, "decisions", *_decisions(turns))
        # In the record's order of names, with the values that cannot be computed as they were.
        ordered = {name: {**scores, **kept}[name] for name in recorded if name in scores or name in kept}
        rescored.append(with_scores(record, {**ordered, **scores}, info))
    if out is not None:
        out.write_text(json.dumps(rescored, indent=2, ensure_ascii=False), encoding="utf-8")


def _table(record: Mapping[str, Json], name: str) -> dict[str, Json]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _published(
    task: Task, dialogue: RecordedDialogue, turns: tuple[Turn, ...]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Scores and info in the layout of the result files."""
    case = dialogue.case
    if case is None:
        raise UserError(f"{dialogue.label}: nothing to score")
    transcript = Transcript(case.id, case.label, case.task, "recorded", 1, tuple(map(_by_first_rules, turns)), "", 0.0)
    scores = {key: to_plain(value) for key, value in published_scores(transcript, task.info).items()}
    infos = [dict(turn.evaluation.info) for turn in turns]
    if task.info.max_turns == 1:
        return scores, infos[0]
    numbered: dict[str, Json] = {str(number): info for number, info in enumerate(infos)}
    return scores, {**numbered, "multiShotCount": len(infos), "last": infos[-1]}


def _by_first_rules(turn: Turn) -> Turn:
    """``turn`` with the scores of the published rules only; the files know no others."""
    evaluation = dataclasses.replace(turn.evaluation, score_sets=turn.evaluation.score_sets[:1])
    return dataclasses.replace(turn, evaluation=evaluation)


def _decisions(turns: tuple[Turn, ...]) -> tuple[int, list[str]]:
    """Where the rules would have gone on or stopped otherwise than the record did."""
    missed = []
    for number, turn in enumerate(turns):
        went_on = number + 1 < len(turns)
        if went_on != (turn.feedback is not None):
            missed.append(f".{number}={'another turn' if went_on else 'stop'}!={turn.feedback or 'stop'}")
    return len(turns) - len(missed), missed


def _rescore_run(path: Path, out: Path | None, tasks: Registry[Task], kg: KgEngine, tally: _Tally) -> None:
    run = read_run(path)
    rescored = []
    for transcript in run.transcripts:
        case = run.cases.get(f"{transcript.label}/{transcript.case}")
        if case is None or transcript.task not in tasks:
            tally.skipped[transcript.label, "its case or its task is not known"] += 1
            rescored.append(transcript)
            continue
        task = tasks.get(transcript.task)
        again = rescore_transcript(task, case, transcript, kg)
        place = f"{path} {transcript.label}/{transcript.case} {transcript.model} r{transcript.iteration:02d}"
        tally.dialogues[transcript.label] += 1
        before, after = (to_plain(published_scores(t, task.info)) for t in (transcript, again))
        tally.add(transcript.label, place, "scores", *differences(before, after))
        rescored.append(again)
    if out is not None:
        with RunWriter(out) as writer:
            writer.header(run.header)
            for case in run.cases.values():
                writer.case(case)
            for transcript in rescored:
                writer.transcript(transcript)


def _print(tally: _Tally, seconds: float) -> None:
    total = tally.dialogues.total()
    print(f"{'task':45} {'dialogues':>9}" + "".join(f" {kind + ' equal':>16}" for kind in _KINDS))
    for label, number in tally.dialogues.items():
        print(f"{label:45} {number:9}" + "".join(f" {tally.shown(kind, label):>16}" for kind in _KINDS))
    print(f"{'all':45} {total:9}" + "".join(f" {tally.shown(kind):>16}" for kind in _KINDS))
    for line in tally.differences[:_SHOWN_DIFFERENCES]:
        print(f"differs: {line}")
    if len(tally.differences) > _SHOWN_DIFFERENCES:
        print(f"... and {len(tally.differences) - _SHOWN_DIFFERENCES} further differences")
    for (label, reason), count in tally.skipped.items():
        print(f"skipped: {count} of {label}: {reason}")
    for (label, name), count in tally.not_computed.items():
        print(f"not computed: {count} values of {name} of {label}, since the record lacks what it compares with")
    if tally.kept_parses:
        print(f"{tally.kept_parses} dialogues scored by the triples of their records; --parse-again parses the answers")
    print(f"{total} dialogues in {seconds:.1f} s, {total / seconds if seconds else 0:.0f} dialogues per second")


COMMANDS = (
    Command(
        "rescore",
        "Evaluates stored answers again, without calling a model, and compares with the recorded scores.",
        "llmkg rescore reports/runs/20261130T120000Z-gpt-4o/run.jsonl",
        _arguments,
        _run,
    ),
)
