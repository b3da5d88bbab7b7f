"""Parts of workers: read with their run, moved into it, and never lost or doubled, whenever the process dies."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case
from pytest_llmkg.sealing import PUBLIC, new_cipher
from pytest_llmkg.store import (
    FILE_NAME,
    SEALED_LINES,
    RunWriter,
    absorb_parts,
    index_run,
    iter_transcripts,
    part_paths,
    read_run,
    read_transcript,
)
from pytest_llmkg.store.lines import encode_line
from tests.builders import make_header
from tests.store_steps import Stages, dialogue, write_part, write_run

if TYPE_CHECKING:
    from pytest_llmkg.records import Transcript

CASE = Case("c1", "Flat", "Flat", {"question": "who?"})
PARTS = ("gw0", "gw1")


def counting(files: list[list[Transcript]]) -> dict[int, Transcript]:
    """What counts by the rule, found in the simplest way: of each file the last, of those the best."""

    def rank(transcript: Transcript) -> tuple[bool, str, int, bytes]:
        line = encode_line("transcript", to_plain(transcript))
        return transcript.error is None, transcript.started, len(line), line

    best: dict[int, Transcript] = {}
    for file in files:
        own: dict[int, Transcript] = {}
        for transcript in file:
            old = own.get(transcript.iteration)
            if old is None or not (transcript.error is not None and old.error is None):
                own[transcript.iteration] = transcript
        for number, transcript in own.items():
            old = best.get(number)
            if old is None or rank(transcript) > rank(old):
                best[number] = transcript
    return best


def replaced_of(held: list[Transcript], counts: dict[int, Transcript]) -> list[Transcript]:
    """Every other attempt once, in the order of the files."""
    found: list[Transcript] = []
    for transcript in held:
        if transcript != counts[transcript.iteration] and transcript not in found:
            found.append(transcript)
    return found


transcripts = st.builds(
    dialogue,
    st.integers(1, 4),
    st.sampled_from(["a", "b\u2028", "", "ü" * 300]),
    failed=st.booleans(),
    second=st.integers(0, 3),
)
contents = st.lists(transcripts, max_size=5)


@settings(max_examples=40, deadline=None)
@given(contents, contents, contents)
def test_a_run_is_its_file_and_its_parts(main: list[Transcript], one: list[Transcript], two: list[Transcript]) -> None:
    with TemporaryDirectory() as folder:
        directory = write_run(Path(folder, "run"), main)
        write_part(directory, "gw0", one)
        write_part(directory, "gw1", two)
        expected = counting([main, one, two])
        assert {t.iteration: t for t in read_run(directory).transcripts} == expected
        assert list(iter_transcripts(directory)) == list(read_run(directory).transcripts)
        index = index_run(directory)
        assert {key.iteration for key in index.finished()} == {n for n, t in expected.items() if t.error is None}
        others = list(index.replaced())
        assert list(read_run(directory).replaced()) == others
        assert others == replaced_of([*main, *one, *two], expected)
        absorb_parts(directory)
        assert part_paths(directory) == ()
        assert {t.iteration: t for t in read_run(directory).transcripts} == expected
        assert len((directory / FILE_NAME).read_bytes().splitlines()) <= 1 + len(main) + len(expected) + len(others)
        assert all(one in others for one in index_run(directory).replaced())
        assert absorb_parts(directory) == 0


@settings(max_examples=6, deadline=None)
@given(contents, contents, contents)
def test_absorbing_may_be_killed_at_any_moment(
    main: list[Transcript], one: list[Transcript], two: list[Transcript]
) -> None:
    with TemporaryDirectory() as folder:
        directory = write_run(Path(folder, "run"), main)
        write_part(directory, "gw0", one)
        write_part(directory, "gw1", two)
        expected = {t.iteration: t for t in read_run(directory).transcripts}
        stages = Stages(directory, Path(folder))
        append = RunWriter._append

        def writing(writer: RunWriter, line: bytes) -> None:
            stages.writing(line)
            append(writer, line)
            stages.take()

        with (
            mock.patch.object(RunWriter, "_append", writing),
            mock.patch.object(Path, "unlink", stages.removing(Path.unlink)),
        ):
            absorb_parts(directory)
        whole = (directory / FILE_NAME).read_bytes()
        for copy in stages.copies:
            assert {t.iteration: t for t in read_run(copy).transcripts} == expected
            absorb_parts(copy)
            assert part_paths(copy) == ()
            assert {t.iteration: t for t in read_run(copy).transcripts} == expected
            assert sorted((copy / FILE_NAME).read_bytes().splitlines()) == sorted(whole.splitlines()), "no line twice"


def test_a_part_is_torn_at_every_byte_of_its_last_line(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [dialogue(1)])
    path = write_part(directory, "gw0", [dialogue(2), dialogue(3)])
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(start, len(whole) + 1):
        path.write_bytes(whole[:end])
        is_whole = end >= len(whole) - 1
        expected = [1, 2, 3] if is_whole else [1, 2]
        assert [t.iteration for t in read_run(directory).transcripts] == expected
        assert index_run(directory).truncated == (start < end < len(whole) - 1)
        if start + 2 < end < len(whole) - 2 and end % 10:
            continue  # closing brings a sync, which takes its time
        with RunWriter.part(directory, "gw0") as writer:
            receipt = writer.transcript(dialogue(4))
        assert read_transcript(receipt) == dialogue(4)
        assert [t.iteration for t in read_run(directory).transcripts] == [*expected, 4]


def test_a_part_torn_in_its_middle_names_the_line(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run")
    path = write_part(directory, "gw0", [dialogue(1), dialogue(2)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:-20] + b"\n" + lines[1])
    for read in (read_run, index_run, absorb_parts):
        with pytest.raises(RunFileError, match=r"run\.gw0\.jsonl:1: the line is no JSON object"):
            read(directory)
    with pytest.raises(RunFileError, match=r"run\.gw0\.jsonl:1: the line is no JSON object"):
        RunWriter.part(directory, "gw0")
    assert part_paths(directory) == (path,)


@pytest.mark.parametrize("content", [b"", b'{"kind":"head'])
def test_parts_without_a_header_are_told(tmp_path: Path, content: bytes) -> None:
    write_part(tmp_path, "gw0", [dialogue(1)])
    (tmp_path / FILE_NAME).write_bytes(content)
    for read in (read_run, index_run, absorb_parts):
        with pytest.raises(RunFileError, match=r"no whole header, though parts of workers .* \(run\.gw0\.jsonl\)"):
            read(tmp_path)
    assert part_paths(tmp_path) != ()


def test_a_part_of_a_missing_run_file_is_told(tmp_path: Path) -> None:
    write_part(tmp_path, "gw0", [dialogue(1)])
    with pytest.raises(RunFileError, match="no whole header, though parts of workers"):
        read_run(tmp_path)


def test_other_names_have_no_parts(tmp_path: Path) -> None:
    directory = write_run(tmp_path, [dialogue(1)])
    (directory / FILE_NAME).rename(directory / "mine.jsonl")
    write_part(directory, "gw0", [dialogue(2)])
    assert read_run(directory / "mine.jsonl").transcripts == (dialogue(1),)


@pytest.mark.parametrize("name", ["", "../x", "a.b", "a b"])
def test_a_part_needs_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunFileError, match="a part cannot be named"):
        RunWriter.part(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_part_takes_no_header(tmp_path: Path) -> None:
    with RunWriter.part(tmp_path, "gw0") as writer, pytest.raises(RunFileError, match="has a header already"):
        writer.header(make_header("m"))


def test_cases_come_along_and_a_changed_one_leaves_the_parts(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run")
    with RunWriter.part(directory, "gw0") as writer:
        writer.case(CASE)
        writer.case(CASE)
    with RunWriter.part(directory, "gw0") as writer:
        writer.case(CASE)
    assert writer.path.read_bytes().count(b"\n") == 1
    absorb_parts(directory)
    assert read_run(directory).cases == {"Flat/c1": CASE}
    with RunWriter.part(directory, "gw0") as writer:
        writer.case(replace(CASE, data={"question": "another"}))
        writer.transcript(dialogue(1))
    with (
        RunWriter(directory / FILE_NAME, resume=True) as main,
        pytest.raises(RunFileError, match="case Flat/c1 differs"),
    ):
        absorb_parts(directory, main)
    assert part_paths(directory) == (writer.path,)


def test_the_open_writer_absorbs(tmp_path: Path) -> None:
    with RunWriter(tmp_path / FILE_NAME) as writer:
        writer.header(make_header("m"))
        write_part(tmp_path, "gw0", [dialogue(1)])
        assert absorb_parts(tmp_path, writer) == 1
        receipt = writer.transcript(dialogue(2))
        assert writer.read(receipt) == dialogue(2)
    assert read_run(tmp_path).transcripts == (dialogue(1), dialogue(2))


def test_sealed_lines_of_parts_stay_sealed(tmp_path: Path) -> None:
    lock = to_plain(new_cipher(PUBLIC, cost=2).lock)
    directory = write_run(tmp_path / "run", header=replace(make_header("m"), settings={SEALED_LINES: lock}))
    secret = replace(CASE, sealed=True)
    with RunWriter.part(directory, "gw0", lock) as writer:
        writer.case(secret)
        receipt = writer.transcript(dialogue(1, "secret answer"))
        assert writer.read(receipt) == dialogue(1, "secret answer")
    with pytest.raises(RunFileError, match="the line is sealed"):
        read_transcript(receipt)
    with RunWriter.part(directory, "gw0", lock) as writer:
        writer.case(secret)
    assert writer.path.read_bytes().count(b"\n") == 2, "the case was known from the part itself"
    assert absorb_parts(directory) == 1
    content = (directory / FILE_NAME).read_bytes()
    assert b"secret" not in content
    assert content.count(b'"kind":"sealed"') == 2
    assert read_run(directory).transcripts == (dialogue(1, "secret answer"),)
    assert list(iter_transcripts(directory)) == [dialogue(1, "secret answer")]


def test_a_part_that_cannot_be_removed_is_told(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run")
    write_part(directory, "gw0", [dialogue(1)])

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, os.strerror(13))

    with mock.patch.object(Path, "unlink", refuse), pytest.raises(RunFileError, match=r"gw0\.jsonl: cannot be removed"):
        absorb_parts(directory)
    assert read_run(directory).transcripts == (dialogue(1),)


def test_attempts_that_do_not_count_can_be_read_and_stay(tmp_path: Path) -> None:
    early, late = dialogue(1, "first", failed=True), dialogue(2, "lost", failed=True, second=1)
    directory = write_run(tmp_path / "run", [early, dialogue(3)])
    write_part(directory, "gw0", [dialogue(1, second=2), late])
    write_part(directory, "gw1", [dialogue(2, second=2), dialogue(3)])  # the last line was absorbed, but its part stays
    assert list(index_run(directory).replaced()) == list(read_run(directory).replaced()) == [early, late]
    absorb_parts(directory)
    index = index_run(directory)
    assert list(index.replaced()) == list(read_run(directory).replaced()) == [early, late]
    assert [index.read(key) for key in index.entries] == [dialogue(n, second=s) for n, s in ((1, 2), (3, 0), (2, 2))]


def test_an_attempt_in_a_part_that_stays_behind_is_told_once(tmp_path: Path) -> None:
    failed = dialogue(1, failed=True)
    directory = write_run(tmp_path / "run", [failed])
    write_part(directory, "gw0", [failed])  # absorbed by half
    write_part(directory, "gw1", [dialogue(1, second=1)])
    assert list(index_run(directory).replaced()) == [failed]
    absorb_parts(directory)
    assert list(index_run(directory).replaced()) == [failed]


def test_a_failed_attempt_comes_along_though_the_run_file_holds_what_counts(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "run", [dialogue(1)])
    write_part(directory, "gw0", [dialogue(1, failed=True, second=1)])
    absorb_parts(directory)
    assert list(index_run(directory).replaced()) == [dialogue(1, failed=True, second=1)]
    assert list(read_run(directory).transcripts) == [dialogue(1)]
