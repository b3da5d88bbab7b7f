"""Shards of ``llmkg rescore``: a file, or a range of its dialogues, that any process can score by itself."""

from __future__ import annotations

import dataclasses
import functools
import math
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pytest_llmkg.analysis.agreement import Comparison
from pytest_llmkg.errors import EngineError, LlmkgError, RunFileError
from pytest_llmkg.kg import Limits, Sandbox
from pytest_llmkg.plain import Json
from pytest_llmkg.records import Transcript
from pytest_llmkg.rescoring.files import Plan, Progress, RecordedRun, Work, limits_for, rescore_all
from pytest_llmkg.result_files import is_result_file, read_records
from pytest_llmkg.store import FILE_NAME, Run, read_run

__all__ = [
    "LARGEST_PART",
    "Outcome",
    "Shard",
    "ShardScores",
    "file_of",
    "in_order",
    "over_processes",
    "score_shard",
    "score_shard_here",
    "shards_of",
    "size_of",
    "within_this_process",
]

LARGEST_PART = 32 * 2**20
"""Bytes of a file that one shard stands for; every shard of a larger file reads it and scores a range of it."""

_SMALLEST_CUT = 2**18  # bytes; below, reading a file twice costs more than its scoring saves
_SHARDS_PER_WORKER = 2

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of the dialogues of a file.

    Attributes:
        path: the file, or the directory of a run file, as it was named.
        password: of an encrypted archive.
        part: which range, from 0.
        parts: into how many ranges of equal length the dialogues are divided.
        wanted: whether the records are needed with their new scores, not only the comparison.
    """

    path: Path
    password: str | None = field(default=None, repr=False)
    part: int = 0
    parts: int = 1
    wanted: bool = False

    @property
    def is_last(self) -> bool:
        """Whether the file ends with this range."""
        return self.part == self.parts - 1

    def __str__(self) -> str:
        return str(self.path) if self.parts == 1 else f"{self.path} (part {self.part + 1} of {self.parts})"


@dataclass(frozen=True, slots=True)
class ShardScores:
    """What came of a shard.

    Attributes:
        comparisons: one for each dialogue, in order.
        items: the records or transcripts with their new scores, if they were wanted.
        head: header and cases of a run file, with its first shard, if they were wanted.
    """

    comparisons: tuple[Comparison, ...]
    items: tuple[Mapping[str, Json] | Transcript, ...] = ()
    head: Run | None = None


Outcome = ShardScores | LlmkgError
"""A shard's scores, or why it has none while others go on."""

EngineFor = Callable[[Limits], Sandbox]


def file_of(path: Path) -> Path:
    """The file that ``path`` means: itself, or the run file in a directory."""
    return path / FILE_NAME if path.is_dir() else path


def size_of(path: Path) -> int:
    """Bytes of the file that ``path`` means; 0 for one that cannot be read, which is told when it is read."""
    try:
        return file_of(path).stat().st_size
    except OSError:
        return 0


def shards_of(
    paths: Sequence[Path], password: str | None, workers: int, *, wanted: bool, most: int = LARGEST_PART
) -> list[Shard]:
    """One shard for each file; several for large files, and where there are fewer files than ``workers`` need."""
    found = []
    for path in paths:
        size = size_of(path)
        few = math.ceil(_SHARDS_PER_WORKER * workers / len(paths)) if workers > 1 and size >= _SMALLEST_CUT else 1
        parts = max(few, math.ceil(size / most)) if workers > 1 else 1
        found += [Shard(path, password, part, parts, wanted) for part in range(parts)]
    return found


def score_shard(
    shard: Shard, plan: Plan, engine_for: EngineFor, progress: Progress | None = None, content: bytes | None = None
) -> ShardScores:
    """Reads the file of ``shard`` (or takes its ``content``, where the file itself is out of reach) and scores it.

    Raises:
        RunFileError: the file cannot be read.
        EngineError: the graph engine failed.
    """
    works, head = _read(shard, content)
    first, end = (len(works) * number // shard.parts for number in (shard.part, shard.part + 1))
    done = rescore_all(works[first:end], plan, engine_for(limits_for(works)), progress)
    comparisons = tuple(one.comparison for one in done)
    if not shard.wanted:
        return ShardScores(comparisons)
    return ShardScores(comparisons, tuple(one.item for one in done), None if shard.part else head)


def _read(shard: Shard, content: bytes | None) -> tuple[list[Work], Run | None]:
    if content is None:
        return _works(shard, file_of(shard.path))
    with tempfile.TemporaryDirectory(prefix="llmkg-") as directory:
        # The readers go by the ending; what was encrypted stays so on this disk, too.
        name = shard.path.name if is_result_file(shard.path) else FILE_NAME
        copy = Path(directory) / name
        copy.write_bytes(content)
        try:
            return _works(shard, copy)
        except RunFileError as error:
            raise RunFileError(str(error).replace(str(copy), str(shard.path))) from error


def _works(shard: Shard, file: Path) -> tuple[list[Work], Run | None]:
    """The dialogues of ``file`` and, of a run file, the rest."""
    path = shard.path
    if is_result_file(file):
        records = read_records(file, shard.password)
        return [Work(record, f"{path.name} record {number}") for number, record in enumerate(records)], None
    run = read_run(file)
    return [
        Work(
            RecordedRun(transcript, run.cases.get(f"{transcript.label}/{transcript.case}")),
            f"{path} {transcript.label}/{transcript.case} {transcript.model} r{transcript.iteration:02d}",
        )
        for transcript in run.transcripts
    ], dataclasses.replace(run, transcripts=())


@contextmanager
def _engines() -> Iterator[EngineFor]:
    """Starts a graph engine when first needed and ends it: its start costs as much as some hundred dialogues."""
    held: dict[Limits, Sandbox] = {}
    with ExitStack() as stack:

        def engine_for(limits: Limits) -> Sandbox:
            if limits not in held:
                held[limits] = stack.enter_context(Sandbox(limits))
            return held[limits]

        yield engine_for


def within_this_process(
    shards: Sequence[Shard], plan: Plan, progress: Progress
) -> Generator[tuple[Shard, Outcome], None, None]:
    """Scores one shard after the other.

    Raises:
        LlmkgError: as `score_shard`.
    """
    with _engines() as engine_for:
        for shard in shards:
            yield shard, score_shard(shard, plan, engine_for, progress)


@functools.lru_cache(maxsize=2)
def _engine_of_this_process(limits: Limits) -> Sandbox:
    # Kept from shard to shard; it ends with this process.
    return Sandbox(limits)


def score_shard_here(shard: Shard, plan: Plan, content: bytes | None = None) -> ShardScores:
    """`score_shard` for a process that does nothing else: the graph engine stays for its next shard."""
    return score_shard(shard, plan, _engine_of_this_process, None, content)


def in_order(
    shards: Sequence[Shard],
    start: Callable[[Shard], Kept],
    outcome: Callable[[Shard, Kept], Outcome],
    most: int,
) -> Generator[tuple[Shard, Outcome], None, None]:
    """Starts shards, at most ``most`` ahead of the one that is waited for, and gives their outcomes in order.

    What is finished early waits here, so memory holds at most ``most`` shards' results whatever their number is.
    """
    begun: deque[tuple[Shard, Kept]] = deque()
    for shard in shards:
        if len(begun) >= most:
            first, kept = begun.popleft()
            yield first, outcome(first, kept)
        begun.append((shard, start(shard)))
    while begun:
        first, kept = begun.popleft()
        yield first, outcome(first, kept)


def over_processes(shards: Sequence[Shard], plan: Plan, jobs: int) -> Generator[tuple[Shard, Outcome], None, None]:
    """Scores shards in ``jobs`` processes, which live for all of them.

    Raises:
        LlmkgError: as `score_shard`, or a process was killed.
    """
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # A fresh interpreter for each process: this one has threads, which a fork would leave behind half done.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_by_interrupt)

    def outcome(shard: Shard, scored: Future[ShardScores]) -> Outcome:
        try:
            return scored.result()
        except BrokenProcessPool as error:
            raise EngineError(f"{shard}: a process was killed while it was scored; use fewer --jobs") from error

    try:
        yield from in_order(shards, lambda shard: pool.submit(score_shard_here, shard, plan), outcome, 2 * jobs)
    finally:
        pool.shutdown(cancel_futures=True)


def _end_by_interrupt() -> None:
    """Ctrl-C ends a process at once and without a word; the first process tells."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
