"""Reading a whole run into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.store.counting import Counting, Entry, key_of
from pytest_llmkg.store.index import no_header, run_lines
from pytest_llmkg.store.lines import FILE_NAME, record_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Run", "read_run"]


@dataclass(frozen=True, slots=True)
class Run:
    """What a run holds.

    Attributes:
        header: the first line of its file.
        cases: by ``label/id``.
        transcripts: in the order they were finished; of several for the same case, label, model and iteration the
            one that counts, in the place of the first: one that was evaluated before one that ended as an error, and
            else the later one.
        truncated: True when the last line of the run file or of a part was cut off, which happens when the process
            was killed while it wrote.
        others: those that do not count, since another one of the same dialogue does, each once, in the order of the
            files.
    """

    header: RunHeader
    cases: Mapping[str, Case]
    transcripts: tuple[Transcript, ...]
    truncated: bool = False
    others: tuple[Transcript, ...] = ()

    def replaced(self) -> Iterator[Transcript]:
        """The attempts that do not count, one at a time: what they cost was paid for all the same."""
        return iter(self.others)


def read_run(path: Path) -> Run:
    """The run in the file ``path``, or in ``run.jsonl`` of the directory ``path``, with the parts of its workers.

    Raises:
        RunFileError: no such file, no header, an unknown kind of line, a newer schema, or a broken line that
            is not the last one, or a sealed line whose key is missing, wrong, or that was changed; the text
            names file and line.
    """
    path = path / FILE_NAME if path.is_dir() else path
    header: RunHeader | None = None
    cases: dict[str, Case] = {}
    found: Counting[Transcript] = Counting()
    truncated = False
    for line, data, _ in run_lines(path, with_parts=True):
        if data is None:
            truncated = True
            continue
        record = record_of(data, line.place)
        if isinstance(record, RunHeader):
            header = record
        elif isinstance(record, Case):
            cases[f"{record.label}/{record.id}"] = record
        else:
            entry = Entry(line.receipt, record.outcome == "error", record.started, line.data is not data)
            found.add(key_of(record), entry, record)
    if header is None:
        raise no_header(path, with_parts=True)
    counting = tuple(transcript for _, transcript in found.all().values())
    return Run(header, cases, counting, truncated, tuple(transcript for _, _, transcript in found.others()))
