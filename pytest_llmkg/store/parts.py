"""Moving what the workers of a run wrote into its run file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.store.counting import Entry, counts_before
from pytest_llmkg.store.index import index_run
from pytest_llmkg.store.lines import FILE_NAME, part_paths
from pytest_llmkg.store.writer import RunWriter

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

__all__ = ["absorb_parts"]


def absorb_parts(directory: Path, writer: RunWriter | None = None) -> int:
    """Appends to the run file what its parts hold and it lacks, and then removes the parts.

    May be killed at any moment and called again: the parts are removed only when the run file is on the disk with
    all that counts in them, and a line that it holds already is not written twice. No worker may write any more.
    Attempts that do not count come along, since they were paid for, unless they could count if this is killed.

    Args:
        directory: the run directory.
        writer: the writer of its run file, if one is open, since there must be no second one.

    Returns:
        The number of dialogues whose transcript that counts was appended.

    Raises:
        RunFileError: a file cannot be read, written or removed, or a part holds a case with other data; the parts
            stay, then, and nothing is lost.
    """
    parts = part_paths(directory)
    if not parts:
        return 0
    index = index_run(directory)
    taken = [entry.receipt for entry in index.entries.values() if entry.receipt.path in parts]
    spent = [entry.receipt for key, entry in index.others if _may_move(entry, index.entries[key], parts)]
    with RunWriter(directory / FILE_NAME, resume=True) if writer is None else nullcontext(writer) as target:
        for case in index.cases.values():
            target.case(case)
        for receipt in (*spent, *taken):  # in this order: of one file the later line counts
            target.copy(receipt)
        target.sync()
    for part in parts:
        try:
            part.unlink(missing_ok=True)
        except OSError as error:
            raise RunFileError(f"{part}: cannot be removed, though the run file holds it: {error.strerror}") from error
    return len(taken)


def _may_move(entry: Entry, counting: Entry, parts: Collection[Path]) -> bool:
    """Whether an attempt that does not count can be appended to the run file and not count there either."""
    if entry.receipt.path not in parts:
        return False
    if entry.failed and not counting.failed:
        return True
    return counting.receipt.path in parts and counts_before(counting, entry)
