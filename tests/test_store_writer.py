"""The writer under hard conditions: killed processes, full disks, many threads, two writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.records import Case, Transcript
from pytest_llmkg.store import (
    FILE_NAME,
    SYNC_SECONDS,
    DialogueKey,
    Receipt,
    RunWriter,
    absorb_parts,
    index_run,
    iter_transcripts,
    key_of,
    read_run,
    read_transcript,
)
from tests import strategies
from tests.builders import make_header, make_turn
from tests.store_steps import dialogue, write_part, write_run

ROOT = Path(__file__).parent.parent


@settings(max_examples=30, deadline=None)
@given(st.lists(strategies.cases, max_size=2), st.lists(strategies.transcripts, max_size=5), st.integers(0, 5))
def test_receipts_and_index_give_back_what_was_written(
    cases: list[Case], transcripts: list[Transcript], resumed_at: int
) -> None:
    with TemporaryDirectory() as folder:
        directory = write_run(Path(folder))
        receipts: list[Receipt] = []
        for some in (transcripts[:resumed_at], transcripts[resumed_at:]):
            with RunWriter(directory / FILE_NAME, resume=True) as writer:
                for case in {f"{case.label}/{case.id}": case for case in cases}.values():
                    writer.case(case)
                receipts += [writer.transcript(transcript) for transcript in some]
        assert [read_transcript(receipt) for receipt in receipts] == transcripts
        index, run = index_run(directory), read_run(directory)
        assert [index.read(key) for key in index.entries] == list(run.transcripts)
        assert list(iter_transcripts(directory)) == list(run.transcripts)
        assert (index.header, index.cases, index.truncated) == (run.header, run.cases, run.truncated)
        assert index.finished() == {key_of(t) for t in run.transcripts if t.outcome != "error"}


def test_an_error_never_hides_an_evaluated_dialogue(tmp_path: Path) -> None:
    good, bad, other = dialogue(1), dialogue(1, failed=True), dialogue(1, "again", second=1)
    directory = write_run(tmp_path / "run", [bad, good, bad])
    assert read_run(directory).transcripts == (good,)
    assert index_run(directory).finished() == {DialogueKey("Flat", "c1", "m", 1)} == {("Flat", "c1", "m", 1)}
    write_part(directory, "gw0", [other, bad])
    assert read_run(directory).transcripts == (other,)


def test_a_dialogue_without_turns_counts_as_an_error(tmp_path: Path) -> None:
    from dataclasses import replace

    directory = write_run(tmp_path / "run", [replace(dialogue(1), turns=())])
    assert index_run(directory).finished() == frozenset()


def test_a_receipt_of_something_else_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path, [dialogue(1)]) / FILE_NAME
    size = path.stat().st_size
    for receipt, complaint in (
        (Receipt(path, 0, path.read_bytes().index(b"\n")), "expected a transcript, found a RunHeader"),
        (Receipt(path, 5, 20), "byte 5: the line is no JSON object"),
        (Receipt(path, size - 5, 20), "ends before the line"),
        (Receipt(tmp_path / "none", 0, 5), "cannot read"),
    ):
        with pytest.raises(RunFileError, match=complaint):
            read_transcript(receipt)


def test_a_broken_transcript_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_run(tmp_path) / FILE_NAME
    with path.open("ab") as file:
        file.write(b'{"kind":"transcript","case":"c1"}\n')
    with pytest.raises(RunFileError, match=r"run\.jsonl:2: broken transcript: .* lacks the field 'label'"):
        index_run(tmp_path)


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    with RunWriter(tmp_path / FILE_NAME) as writer:
        writer.header(make_header("m"))
        case = Case("c1", "Flat", "Flat", {})

        def write(number: int) -> tuple[int, Receipt]:
            writer.case(case)
            return number, writer.transcript(dialogue(number, "ü" * number * 50))

        with ThreadPoolExecutor(8) as pool:
            receipts = dict(pool.map(write, range(1, 200)))
        assert all(writer.read(receipt) == dialogue(n, "ü" * n * 50) for n, receipt in receipts.items())
    run = read_run(tmp_path)
    assert {t.iteration for t in run.transcripts} == set(range(1, 200))
    assert (tmp_path / FILE_NAME).read_bytes().count(b'"kind":"case"') == 1


class FullDisk(FileIO):
    """A file in which a write finds room for some bytes only, and in which cutting off may fail, too."""

    room = 0
    can_cut = True

    def write(self, data: Any, /) -> int:
        if not self.room:
            raise OSError(28, os.strerror(28))
        taken = super().write(data[: self.room])
        self.room -= taken
        return taken

    def truncate(self, size: int | None = None, /) -> int:
        if not self.can_cut:
            raise OSError(28, os.strerror(28))
        return super().truncate(size)


@pytest.mark.parametrize("room", [0, 1, 100])
@pytest.mark.parametrize("can_cut", [True, False])
def test_a_full_disk_leaves_a_valid_file_that_takes_lines_again(tmp_path: Path, room: int, can_cut: bool) -> None:
    path = tmp_path / FILE_NAME
    with RunWriter(path) as writer:
        writer.header(make_header("m"))
        writer.transcript(dialogue(1))
        before, file = path.read_bytes(), writer._file
        full = FullDisk(os.dup(file.fileno()), "r+b")  # with the position and the flags of the writer's own
        full.room, full.can_cut, writer._file = room, can_cut, full
        for _ in range(2):
            with pytest.raises(RunFileError, match=r"run\.jsonl: cannot write the run file: No space left on device"):
                writer.transcript(dialogue(2))
        if can_cut:
            assert path.read_bytes() == before
        assert read_run(path).transcripts == (dialogue(1),)
        full.close()
        writer._file = file
        assert writer.read(writer.transcript(dialogue(3))) == dialogue(3)
    assert read_run(path).transcripts == (dialogue(1), dialogue(3))
    assert not read_run(path).truncated


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, [dialogue(1)]) / FILE_NAME
    with RunWriter(path, resume=True) as one:
        with pytest.raises(RunFileError, match="another process is writing this run"):
            RunWriter(path, resume=True)
        one.transcript(dialogue(2))
    with RunWriter(path, resume=True) as later:
        later.transcript(dialogue(3))
    assert read_run(path).transcripts == (dialogue(1), dialogue(2), dialogue(3))


def test_a_change_by_somebody_else_is_noticed(tmp_path: Path) -> None:
    path = write_run(tmp_path, [dialogue(1)]) / FILE_NAME
    with RunWriter(path, resume=True) as writer:
        path.write_bytes(path.read_bytes() + b"\n")
        with pytest.raises(RunFileError, match="another process changed the run file"):
            writer.transcript(dialogue(2))
    assert read_run(path).transcripts == (dialogue(1),)


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / FILE_NAME)
    writer.header(make_header("m"))
    writer.close()
    writer.close()
    with pytest.raises(RunFileError, match="is closed"):
        writer.transcript(dialogue(1))


def test_lines_reach_the_disk_every_few_seconds_and_at_the_end(tmp_path: Path) -> None:
    clock = [100.0]
    with mock.patch.object(os, "fsync") as sync, mock.patch.object(time, "monotonic", side_effect=lambda: clock[0]):
        writer = RunWriter(tmp_path / FILE_NAME)
        writer.header(make_header("m"))
        counts = [sync.call_count]
        for seconds in (0.0, SYNC_SECONDS - 0.1, SYNC_SECONDS, SYNC_SECONDS, SYNC_SECONDS * 2):
            clock[0] = 100.0 + seconds
            writer.transcript(dialogue(1))
            counts.append(sync.call_count)
        writer.close()
        counts.append(sync.call_count)
    began = counts[0]
    assert began >= 1, "the header is on the disk before a dialogue is paid for"
    assert [count - began for count in counts] == [0, 0, 0, 1, 1, 2, 3]


def test_a_disk_that_cannot_sync_is_told(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / FILE_NAME)
    writer.header(make_header("m"))
    with (
        mock.patch.object(os, "fsync", side_effect=OSError(5, os.strerror(5))),
        pytest.raises(RunFileError, match="cannot write the run file: Input/output error"),
    ):
        writer.close()
    assert writer._file.closed


def test_memory_does_not_grow_with_the_transcripts(tmp_path: Path) -> None:
    import tracemalloc

    directory = write_run(tmp_path, [dialogue(number, "x" * 100_000) for number in range(100)])
    tracemalloc.start()
    try:
        index = index_run(directory)
        assert len(index.entries) == sum(1 for _ in iter_transcripts(directory)) == 100
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000, "the file has 10 MB"


KILLED = """
import sys
from pathlib import Path
from tests.store_steps import dialogue
from pytest_llmkg.store import FILE_NAME, RunWriter, absorb_parts
directory, name, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if name == "main":
    writer = RunWriter(directory / FILE_NAME, resume=True)
    absorb_parts(directory, writer)
else:
    writer = RunWriter.part(directory, name)
print("ready", flush=True)
for number in range(first, first + 100_000):
    writer.transcript(dialogue(number, "Zürich " * (number % 97) * 50))
    print(number, flush=True)
"""


@pytest.mark.parametrize("name", ["main", "gw0"])
def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path, name: str) -> None:
    directory = write_run(tmp_path / "run")
    acknowledged: set[int] = set()
    for number, seconds in enumerate((0.01, 0.2, 0.05, 0.1, 0.03)):
        command = [sys.executable, "-c", KILLED, str(directory), name, str(number * 1_000_000 + 1)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        # A last line without its end was not acknowledged.
        acknowledged |= {int(line) for line in process.stdout if line.endswith("\n")}
        timer.join()
        assert process.wait() == -signal.SIGKILL
        found = {t.iteration: t for t in read_run(directory).transcripts}
        assert acknowledged <= found.keys()
        assert len(found.keys() - acknowledged) <= number + 1, "at most the one in between, each time"
    absorb_parts(directory)
    found = {t.iteration: t for t in read_run(directory).transcripts}
    assert acknowledged <= found.keys()
    assert all(found[n].turns == (make_turn({"f1": 0.5}, text="Zürich " * (n % 97) * 50),) for n in acknowledged)
    assert acknowledged, "the processes lived long enough to write"
