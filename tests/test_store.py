from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Case, RunHeader, Transcript
from pytest_llmkg.store import SCHEMA, SEALED_LINES, RunWriter, read_run
from tests import strategies
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

CASE = Case("c1", "Flat", "Flat", {"question": "who?\u2028ä"})


def write(path: Path, transcripts: Sequence[Transcript] = (), header: RunHeader | None = None) -> Path:
    with RunWriter(path) as writer:
        writer.header(header or make_header("m"))
        writer.case(CASE)
        for transcript in transcripts:
            writer.transcript(transcript)
    return path


def dialogue(number: int) -> Transcript:
    return make_transcript(make_turn({"f1": 0.5}, text=f"Zürich {number}"), iteration=number)


@given(strategies.records)
def test_every_record_survives_plain_json(record: object) -> None:
    plain = json.loads(json.dumps(to_plain(record), allow_nan=False))
    assert from_plain(type(record), plain) == record


# Hypothesis knows the words of this project, so that it may try a lock that is none.
unlocked_headers = strategies.headers.filter(lambda header: SEALED_LINES not in header.settings)


@settings(max_examples=40, deadline=None)
@given(unlocked_headers, st.lists(strategies.cases, max_size=3), st.lists(strategies.transcripts, max_size=3))
def test_file_gives_back_what_was_written(header: RunHeader, cases: list[Case], transcripts: list[Transcript]) -> None:
    cases = list({f"{case.label}/{case.id}": case for case in cases}.values())
    unique = {(t.case, t.label, t.model, t.iteration): t for t in transcripts}
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        with RunWriter(path) as writer:
            writer.header(header)
            for case in [*cases, *cases]:
                writer.case(case)
            for transcript in transcripts:
                writer.transcript(transcript)
        run = read_run(path)
        lines = path.read_bytes().split(b"\n")
    assert run.header == header
    assert run.cases == {f"{case.label}/{case.id}": case for case in cases}
    assert run.transcripts == tuple(unique.values())
    assert not run.truncated
    assert len(lines) == 1 + len(cases) + len(transcripts) + 1
    assert all(line.startswith(b'{"kind":"') for line in lines[:-1])


def test_text_is_stored_as_it_is_and_lines_end_with_lf(tmp_path: Path) -> None:
    data = write(tmp_path / "run.jsonl", [dialogue(1)]).read_bytes()
    assert "Zürich".encode() in data
    assert b"\r" not in data
    assert data.endswith(b"\n")


def test_lone_surrogate_becomes_the_replacement_character(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run.jsonl", [make_transcript(make_turn({}, text="a\ud800b"))]))
    assert run.transcripts[0].turns[0].answer.text == "a\ufffdb"


def test_nan_is_refused_and_leaves_no_line(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl")
    before = path.read_bytes()
    with RunWriter(path, resume=True) as writer, pytest.raises(Exception, match="JSON cannot"):
        writer.transcript(make_transcript(make_turn({"f1": float("nan")})))
    assert path.read_bytes() == before


def test_cut_at_every_byte_of_the_last_line(tmp_path: Path) -> None:
    whole = write(tmp_path / "run.jsonl", [dialogue(1), dialogue(2)]).read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    cut = tmp_path / "cut.jsonl"
    for end in range(start, len(whole) + 1):
        cut.write_bytes(whole[:end])
        run = read_run(cut)
        complete = end >= len(whole) - 1  # lacking the newline alone, the record is whole
        assert run.transcripts == ((dialogue(1), dialogue(2)) if complete else (dialogue(1),))
        assert run.truncated == (start < end < len(whole) - 1)


@pytest.mark.parametrize("lost", [0, 1, 2, 40])
def test_resuming_mends_the_end(tmp_path: Path, lost: int) -> None:
    path = write(tmp_path / "run.jsonl", [dialogue(1), dialogue(2)])
    os.truncate(path, path.stat().st_size - lost)
    with RunWriter(path, resume=True) as writer:
        writer.case(CASE)
        writer.transcript(dialogue(2))
        writer.transcript(dialogue(3))
    run = read_run(path)
    assert run.transcripts == (dialogue(1), dialogue(2), dialogue(3))
    assert not run.truncated
    assert path.read_bytes().count(b'"kind":"case"') == 1


def test_later_duplicate_replaces_an_earlier_one(tmp_path: Path) -> None:
    failed = make_transcript(error="endpoint down")
    again = make_transcript(make_turn({"f1": 1}))
    run = read_run(write(tmp_path / "run.jsonl", [failed, dialogue(2), again]))
    assert run.transcripts == (again, dialogue(2))


def test_directory_stands_for_its_run_file(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "run.jsonl", [dialogue(1)])
    assert read_run(tmp_path / "deep") == read_run(tmp_path / "deep" / "run.jsonl")


def line(kind: str, record: object) -> str:
    plain = to_plain(record)
    assert isinstance(plain, dict)
    return json.dumps({"kind": kind, **plain})


HEADER = line("header", make_header("m"))
ENTRY = line("transcript", dialogue(1))


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "run.jsonl: the run file has no header"),
        (['{"kind":"head'], "run.jsonl: the run file has no header"),
        ([ENTRY], "run.jsonl:1: expected the header first"),
        ([HEADER, HEADER], "run.jsonl:2: a second header"),
        ([HEADER, "{broken", ENTRY], "run.jsonl:2: the line is no JSON object"),
        ([HEADER, "[" * 100_000, ENTRY], "run.jsonl:2: the line is no JSON object"),
        (["[" * 100_000], "run.jsonl: the run file has no header"),
        ([HEADER, "[1]", ENTRY], "run.jsonl:2: the line is no JSON object"),
        ([HEADER, '{"kind":"case","id":NaN}', ENTRY], "run.jsonl:2: the line is no JSON object"),
        ([HEADER, ENTRY.replace('{"f1": 0.5}', '{"f1": 1e999}'), ENTRY], "run.jsonl:2: .* a number beyond all bounds"),
        ([HEADER, ENTRY.replace('{"f1": 0.5}', '{"f1": -1e999}'), ENTRY], "run.jsonl:2: .* a number beyond all bounds"),
        ([HEADER, ENTRY.replace('{"f1": 0.5}', f'{{"f1": {"9" * 400}}}'), ENTRY], "a number beyond all bounds"),
        ([HEADER, '{"kind":"sausage"}'], "run.jsonl:2: unknown kind of line 'sausage'"),
        ([HEADER, '{"a":1}'], "run.jsonl:2: unknown kind of line None"),
        ([HEADER, '{"kind":"case","id":"x"}'], "run.jsonl:2: broken case: .*lacks the field 'task'"),
        (
            [HEADER.replace('"schema": 1', f'"schema": {SCHEMA + 1}'), ENTRY],
            "schema 2, but .* up to 1; update",
        ),
        ([HEADER.replace('"schema": 1', '"schema": "1"')], "run.jsonl:1: the header has no schema number"),
    ],
)
def test_broken_files_name_file_line_and_remedy(tmp_path: Path, lines: list[str], complaint: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(RunFileError, match=complaint):
        read_run(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"run\.jsonl: no such run file"):
        read_run(tmp_path)


def test_existing_run_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", [dialogue(1)])
    before = path.read_bytes()
    with pytest.raises(RunFileError, match="exists already"):
        RunWriter(path)
    assert path.read_bytes() == before


def test_header_comes_first_and_once(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.jsonl") as writer:
        with pytest.raises(RunFileError, match="header must be written first"):
            writer.transcript(dialogue(1))
        writer.header(make_header("m"))
        with pytest.raises(RunFileError, match="has a header already"):
            writer.header(make_header("m"))


def test_case_that_changed_is_refused_on_resume(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl")
    with RunWriter(path, resume=True) as writer, pytest.raises(RunFileError, match="Flat/c1 differs"):
        writer.case(Case("c1", "Flat", "Flat", {"question": "another"}))


KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_llmkg.store import RunWriter
from tests.builders import make_header, make_transcript, make_turn
writer = RunWriter(Path(sys.argv[1]))
writer.header(make_header("m"))
for number in range(1, 8):
    writer.transcript(make_transcript(make_turn({"f1": 0.5}, text=f"Zürich {number}"), iteration=number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_process_loses_no_finished_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_run(path).transcripts == tuple(dialogue(number) for number in range(1, 8))
