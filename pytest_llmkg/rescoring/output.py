"""Gathers what comes of shards: comparisons into one agreement, records with new scores into files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.errors import LlmkgError, RunFileError
from pytest_llmkg.records import Transcript
from pytest_llmkg.result_files import write_records
from pytest_llmkg.store import RunWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_llmkg.analysis.agreement import Agreement
    from pytest_llmkg.plain import Json
    from pytest_llmkg.rescoring.shards import Outcome, Shard, ShardScores

__all__ = ["collect"]


def collect(
    outcomes: Iterable[tuple[Shard, Outcome]], agreement: Agreement, targets: Mapping[Path, Path]
) -> Iterator[LlmkgError]:
    """Counts and writes ``outcomes`` as they come, and gives the errors of those that have none.

    Args:
        outcomes: of the shards of one file after another, each file's in order.
        agreement: counts the comparisons.
        targets: where the records of a file are written in its own layout; nowhere if it is not named. A file of which
            a shard failed is not written.

    Raises:
        RunFileError: a target exists (of a run file) or cannot be written.
    """
    writer: _Writer | None = None
    try:
        for shard, outcome in outcomes:
            if shard.part == 0:
                target = targets.get(shard.path)
                writer = None if target is None else _Writer(target, shard.password)
            if isinstance(outcome, LlmkgError):
                if writer is not None:
                    writer.give_up()
                yield outcome
                continue
            for comparison in outcome.comparisons:
                agreement.add(comparison)
            if writer is not None:
                writer.add(outcome)
                if shard.is_last:
                    writer.finish()
    finally:
        if writer is not None:
            writer.give_up()


class _Writer:
    """One rescored file; it gets its name when it is whole."""

    def __init__(self, target: Path, password: str | None) -> None:
        self._target = target
        self._password = password
        self._unfinished = target.with_name(f"{target.name}.part")
        self._records: list[Mapping[str, Json]] = []
        self._run: RunWriter | None = None
        self._open = True

    def add(self, found: ShardScores) -> None:
        """Appends dialogues: to disk if they are of a run file; a result file is one value, written as a whole."""
        if not self._open:
            return
        if found.head is not None:
            self._begin_run(found)
        for item in found.items:
            if not isinstance(item, Transcript):
                self._records.append(item)
            elif self._run is not None:
                self._run.transcript(item)

    def _begin_run(self, found: ShardScores) -> None:
        if self._target.exists():
            raise RunFileError(f"{self._target}: the run file exists already; choose another name")
        self._unfinished.unlink(missing_ok=True)
        self._run = RunWriter(self._unfinished)
        if found.head is not None:
            self._run.header(found.head.header)
            for case in found.head.cases.values():
                self._run.case(case)

    def finish(self) -> None:
        """Gives the file its name."""
        if not self._open:
            return
        self._open = False
        if self._run is None:
            write_records(self._target, self._records, self._password)
            return
        self._run.close()
        self._unfinished.replace(self._target)

    def give_up(self) -> None:
        """Leaves nothing of an unfinished file; a finished one stays."""
        if self._open and self._run is not None:
            self._run.close()
            self._unfinished.unlink(missing_ok=True)
        self._open = False
