"""Run files with sealed lines: sealed cases and their dialogues are readable with the key only."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case
from pytest_llmkg.sealing import PUBLIC, SealKey, new_cipher
from pytest_llmkg.store import SEALED_LINES, RunWriter, index_run, read_run
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import RunHeader

SEALED = Case("c1", "Flat", "Flat", {"question": "secret question"}, sealed=True)
OPEN = Case("c2", "Flat", "Flat", {"question": "open question"})
DIALOGUES = (
    make_transcript(make_turn({"f1": 0.5}, text="secret answer")),
    make_transcript(make_turn({"f1": 0.5}, text="open answer"), case="c2"),
)


@pytest.fixture(autouse=True)
def key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMKG_CASES_KEY", "mine")
    monkeypatch.delenv("LLMKG_CASES_KEY_FILE", raising=False)


def header(key: SealKey) -> RunHeader:
    return replace(make_header("m"), settings={SEALED_LINES: to_plain(new_cipher(key, cost=2).lock)})


def write(path: Path, key: SealKey | None = None) -> Path:
    with RunWriter(path) as writer:
        writer.header(header(key or SealKey("private", "mine", "a test")))
        for case in (SEALED, OPEN):
            writer.case(case)
        for transcript in DIALOGUES:
            writer.transcript(transcript)
    return path


def kinds(path: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("key", [PUBLIC, SealKey("private", "mine", "a test")])
def test_sealed_lines_come_back_and_the_others_stay_readable(tmp_path: Path, key: SealKey) -> None:
    path = write(tmp_path / "run.jsonl", key)
    assert kinds(path) == ["header", "sealed", "case", "sealed", "transcript"]
    assert b"secret" not in path.read_bytes()
    assert b"open answer" in path.read_bytes()
    run = read_run(path)
    assert run.cases == {"Flat/c1": SEALED, "Flat/c2": OPEN}
    assert run.transcripts == DIALOGUES


def test_without_the_setting_nothing_is_sealed(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.jsonl") as writer:
        writer.header(make_header("m"))
        writer.case(SEALED)
    assert kinds(tmp_path / "run.jsonl") == ["header", "case"]


def test_a_dialogue_of_an_unknown_case_is_sealed_to_be_safe(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.jsonl") as writer:
        writer.header(header(PUBLIC))
        writer.transcript(DIALOGUES[0])
    assert kinds(tmp_path / "run.jsonl") == ["header", "sealed"]


def test_missing_and_wrong_key_are_told_with_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "run.jsonl")
    monkeypatch.setenv("LLMKG_CASES_KEY", "other")
    with pytest.raises(RunFileError, match=r"run\.jsonl:2: is sealed with another key than the one in LLMKG_CASES_KEY"):
        read_run(path)
    monkeypatch.delenv("LLMKG_CASES_KEY")
    with pytest.raises(RunFileError, match=r"run\.jsonl:2: is sealed with a private key; set LLMKG_CASES_KEY or"):
        read_run(path)
    with pytest.raises(RunFileError, match=r"new\.jsonl:1: is sealed with a private key"):
        write(tmp_path / "new.jsonl")
    assert (tmp_path / "new.jsonl").read_bytes() == b"", "nothing may be written that could not be read again"


def test_a_sealed_run_is_resumed_under_its_own_lock(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl")
    again = replace(DIALOGUES[0], iteration=2)
    with RunWriter(path, resume=True) as writer:
        writer.case(SEALED)
        writer.transcript(again)
    assert kinds(path)[5:] == ["sealed"]
    assert read_run(path).transcripts == (*DIALOGUES, again)


def test_a_sealed_line_that_was_cut_off_is_a_killed_run(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:-20])
    run = read_run(path)
    assert run.truncated
    assert run.transcripts == ()
    with RunWriter(path, resume=True) as writer:
        writer.transcript(DIALOGUES[0])
    assert read_run(path).transcripts == DIALOGUES[:1]


def changed(line: dict[str, Json], data: Json) -> bytes:
    return json.dumps({**line, "data": data}).encode() + b"\n"


@pytest.mark.parametrize("data", ["", "AAAA", "no base64!", None, 3, ["A"], "é"])
def test_a_line_that_was_changed_is_refused(tmp_path: Path, data: Json) -> None:
    path = write(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = changed(json.loads(lines[1]), data)
    path.write_bytes(b"".join(lines))
    with pytest.raises(RunFileError, match=r"run\.jsonl:2: was changed or damaged after it was sealed"):
        read_run(path)


def test_a_line_of_another_run_is_refused(tmp_path: Path) -> None:
    path, other = write(tmp_path / "run.jsonl"), write(tmp_path / "other.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = other.read_bytes().splitlines(keepends=True)[3]
    path.write_bytes(b"".join(lines))
    with pytest.raises(RunFileError, match=r"run\.jsonl:4: was changed"):
        read_run(path)


@pytest.mark.parametrize(
    ("lock", "complaint"),
    [
        (None, r"run\.jsonl:2: the line is sealed, but the header has no setting 'sealed_lines'"),
        ({"key": "public"}, r"run\.jsonl:2: the header's setting 'sealed_lines' is broken: lock: Lock lacks"),
        ("public", r"run\.jsonl:2: the header's setting 'sealed_lines' is broken: lock: expected an object"),
    ],
)
def test_a_broken_lock_is_told(tmp_path: Path, lock: Json, complaint: str) -> None:
    path = write(tmp_path / "run.jsonl")
    first, rest = path.read_bytes().split(b"\n", 1)
    head = {**json.loads(first), "settings": {SEALED_LINES: lock}}
    path.write_bytes(json.dumps(head).encode() + b"\n" + rest)
    with pytest.raises(RunFileError, match=complaint):
        read_run(path)


def test_attempts_that_do_not_count_are_opened_as_well(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    failed = replace(DIALOGUES[0], error="down")
    with RunWriter(path) as writer:
        writer.header(header(SealKey("private", "mine", "a test")))
        writer.case(SEALED)
        for transcript in (failed, DIALOGUES[0]):
            writer.transcript(transcript)
    assert kinds(path) == ["header", "sealed", "sealed", "sealed"]
    assert list(index_run(path).replaced()) == list(read_run(path).replaced()) == [failed]
