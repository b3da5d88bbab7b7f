"""Moving what the workers of a run wrote into its run file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.store.index import index_run
from pytest_llmkg.store.lines import FILE_NAME, part_paths
from pytest_llmkg.store.writer import RunWriter

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["absorb_parts"]


def absorb_parts(directory: Path, writer: RunWriter | None = None) -> int:
    """Appends to the run file what its parts hold and it lacks, and then removes the parts.

    May be killed at any moment and called again: the parts are removed only when the run file is on the disk with
    all that counts in them, and a line that it holds already is not written twice. No worker may write any more.

    Args:
        directory: the run directory.
        writer: the writer of its run file, if one is open, since there must be no second one.

    Returns:
        The number of transcripts appended.

    Raises:
        RunFileError: a file cannot be read, written or removed, or a part holds a case with other data; the parts
            stay, then, and nothing is lost.
    """
    parts = part_paths(directory)
    if not parts:
        return 0
    index = index_run(directory)
    taken = [entry.receipt for entry in index.entries.values() if entry.receipt.path in parts]
    with RunWriter(directory / FILE_NAME, resume=True) if writer is None else nullcontext(writer) as target:
        for case in index.cases.values():
            target.case(case)
        for receipt in taken:
            target.copy(receipt)
        target.sync()
    for part in parts:
        try:
            part.unlink(missing_ok=True)
        except OSError as error:
            raise RunFileError(f"{part}: cannot be removed, though the run file holds it: {error.strerror}") from error
    return len(taken)
