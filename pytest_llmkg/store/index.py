"""What a run holds and where it stands, found in one pass that keeps no transcript in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.sealing import Cipher
from pytest_llmkg.store.counting import Counting, DialogueKey, Entry
from pytest_llmkg.store.lines import (
    FILE_NAME,
    SEALED_LINES,
    Line,
    cipher_of,
    open_line,
    part_paths,
    read_transcript,
    record_of,
    scan,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.plain import Json

__all__ = [
    "RunIndex",
    "index_run",
    "iter_transcripts",
    "no_header",
    "part_cases",
    "run_lines",
]


@dataclass(frozen=True, slots=True)
class RunIndex:
    """What a run holds.

    Attributes:
        path: its run file.
        header: the run's header.
        cases: by ``label/id``.
        entries: the transcript that counts of each dialogue, in the order that the dialogues were first finished.
        truncated: whether the last line of the run file or of a part was cut off.
        others: transcripts that do not count, since another one of the same dialogue does, each once, in the order of
            the files.
    """

    path: Path
    header: RunHeader
    cases: Mapping[str, Case]
    entries: Mapping[DialogueKey, Entry]
    truncated: bool = False
    cipher: Cipher | None = field(default=None, repr=False)
    others: tuple[tuple[DialogueKey, Entry], ...] = ()

    def finished(self) -> frozenset[DialogueKey]:
        """The dialogues that did not end as an error."""
        return frozenset(key for key, entry in self.entries.items() if not entry.failed)

    def read(self, key: DialogueKey) -> Transcript:
        """The transcript that counts for ``key``, which the index must hold."""
        return self.read_entry(self.entries[key])

    def read_entry(self, entry: Entry) -> Transcript:
        """The transcript of ``entry``, one of `entries` or `others`."""
        return read_transcript(entry.receipt, self.cipher)

    def replaced(self) -> Iterator[Transcript]:
        """The attempts that do not count, one at a time: what they cost was paid for all the same."""
        for _, entry in self.others:
            yield self.read_entry(entry)


def index_run(path: Path, *, with_parts: bool = True) -> RunIndex:
    """The index of the run file ``path`` (or of ``run.jsonl`` in the directory ``path``) and of the parts beside it.

    Raises:
        RunFileError: as `pytest_llmkg.store.read_run`; records of transcripts are checked when they are read only.
    """
    path = path / FILE_NAME if path.is_dir() else path
    header: RunHeader | None = None
    cipher: Cipher | None = None
    cases: dict[str, Case] = {}
    found: Counting[None] = Counting()
    truncated = False
    for line, data, opener in run_lines(path, with_parts=with_parts):
        if data is None:
            truncated = True
            continue
        cipher = cipher or opener
        if data.get("kind") == "transcript":
            found.add(*_entry(data, line), None)
            continue
        record = record_of(data, line.place)
        if isinstance(record, RunHeader):
            header = record
        elif isinstance(record, Case):
            cases[f"{record.label}/{record.id}"] = record
    if header is None:
        raise no_header(path, with_parts=with_parts)
    entries = {key: entry for key, (entry, _) in found.all().items()}
    others = tuple((key, entry) for key, entry, _ in found.others())
    return RunIndex(path, header, cases, entries, truncated, cipher, others)


def iter_transcripts(path: Path) -> Iterator[Transcript]:
    """The transcripts that count in the run ``path``, one at a time, in the order of its index.

    Raises:
        RunFileError: as `pytest_llmkg.store.read_run`.
    """
    index = index_run(path)
    for key in index.entries:
        yield index.read(key)


def run_lines(path: Path, *, with_parts: bool) -> Iterator[tuple[Line, dict[str, Json] | None, Cipher | None]]:
    """The lines of a run file and then of its parts, opened, with the cipher once a sealed line has needed it.

    The object of a line is None when it is the last one of its file and was cut off. Only files with the name of a
    run file have parts.

    Raises:
        RunFileError: as `pytest_llmkg.store.read_run`.
    """
    parts = part_paths(path.parent) if with_parts and path.name == FILE_NAME else ()
    lock: Json = None
    cipher: Cipher | None = None
    has_header = False
    if parts and not path.exists():
        raise no_header(path, with_parts=with_parts)
    for file in (path, *parts):
        for line in scan(file):
            data = line.data
            if data is not None:
                is_header = data.get("kind") == "header"
                if not has_header or is_header:
                    _check_order(data, line.place, first=not has_header)
                    settings = data.get("settings")
                    lock = settings.get(SEALED_LINES) if isinstance(settings, dict) else None
                    has_header = True
                elif data.get("kind") == "sealed":
                    cipher = cipher or cipher_of(lock, line.place)
                    data = open_line(data, cipher, line.place)
            yield line, data, cipher
        if not has_header:
            raise no_header(path, with_parts=with_parts)


def part_cases(path: Path, cipher: Cipher | None) -> dict[str, Case]:
    """The cases of a part, by ``label/id``; none when there is no such file.

    Raises:
        RunFileError: it cannot be read, or a line that is not the last one is broken.
    """
    cases: dict[str, Case] = {}
    for line in scan(path) if path.exists() else ():
        data = line.data
        if data is not None and data.get("kind") == "sealed":
            data = open_line(data, cipher, line.place)
        record = record_of(data, line.place) if data is not None and data.get("kind") == "case" else None
        if isinstance(record, Case):
            cases[f"{record.label}/{record.id}"] = record
    return cases


def no_header(path: Path, *, with_parts: bool) -> RunFileError:
    """The complaint that a run file has no header; tells of parts whose dialogues it leaves without one."""
    parts = part_paths(path.parent) if with_parts and path.name == FILE_NAME else ()
    if parts:
        names = ", ".join(part.name for part in parts[:3]) + (", ..." if len(parts) > 3 else "")
        return RunFileError(
            f"{path}: the run file has no whole header, though parts of workers stand beside it ({names}); put the "
            "header line of a run of the same suite in its place, or start the run again elsewhere"
        )
    return RunFileError(f"{path}: the run file has no header, so it holds no results; start the run again")


def _check_order(data: Mapping[str, Json], place: str, *, first: bool) -> None:
    kind = data.get("kind")
    if first != (kind == "header"):
        expected = "expected the header first" if first else "a second header"
        raise RunFileError(f"{place}: {expected}, found a line of kind {kind!r}; is this a run file?")


def _entry(data: Mapping[str, Json], line: Line) -> tuple[DialogueKey, Entry]:
    label, case, model, iteration, started = (
        data.get(name) for name in ("label", "case", "model", "iteration", "started")
    )
    if not (
        isinstance(label, str)
        and isinstance(case, str)
        and isinstance(model, str)
        and isinstance(started, str)
        and isinstance(iteration, int)
    ):
        record_of(data, line.place)  # says which field is wrong
        raise RunFileError(f"{line.place}: broken transcript; restore the file or delete that line")
    failed = data.get("error") is not None or not data.get("turns")
    is_sealed = line.data is not None and line.data.get("kind") == "sealed"
    return DialogueKey(label, case, model, iteration), Entry(line.receipt, failed, started, is_sealed)
