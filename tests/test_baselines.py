from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.baselines import baseline_names, find_baseline, read_slim, slim_transcript, write_baseline
from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, FailedCall, ModelSpec, Transcript, Usage
from pytest_llmkg.store import Run, read_run
from tests.builders import DIALOGUE
from tests.run_pairs import header_of, one_model, stored
from tests.strategies import transcripts

if TYPE_CHECKING:
    from pathlib import Path

SCORES = one_model([1.0, 0.25, None])


def test_a_baseline_is_a_run_file_with_the_same_scores(tmp_path: Path) -> None:
    run = read_run(stored(tmp_path / "run", SCORES))
    path = write_baseline(read_slim(tmp_path / "run"), "main", tmp_path)
    assert path == tmp_path / "reports" / "baselines" / "main.jsonl"
    slim = read_run(path)
    assert slim.header == replace(run.header, settings={**run.header.settings, "slim": True})
    assert [one.case for one in slim.transcripts] == [one.case for one in run.transcripts]
    for old, new in zip(run.transcripts, slim.transcripts, strict=True):
        assert (new.outcome, new.seconds) == (old.outcome, old.seconds)
        assert [t.evaluation.score_sets for t in new.turns] == [t.evaluation.score_sets for t in old.turns]
    text = path.read_text(encoding="utf-8")
    assert "secret" not in text
    assert "question" not in text
    assert [json.loads(line)["kind"] for line in text.splitlines()] == ["header", *["transcript"] * 3]


@given(transcripts)
def test_slim_dialogues_keep_numbers_and_no_word(transcript: Transcript) -> None:
    slim = slim_transcript(transcript)
    assert headline(slim, DIALOGUE) == headline(transcript, DIALOGUE)
    assert slim.outcome == transcript.outcome
    assert [turn.answer.usage for turn in slim.turns] == [turn.answer.usage for turn in transcript.turns]
    assert slim_transcript(slim) == slim
    assert all(not turn.prompt.messages and not turn.answer.text for turn in slim.turns)
    assert all(not turn.evaluation.info and turn.answer.reasoning is None for turn in slim.turns)


@given(transcripts)
def test_short_lines_are_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, transcript: Transcript
) -> None:
    folder = tmp_path_factory.mktemp("baseline")
    run = Run(header_of(SCORES), {}, (transcript,))
    read = read_run(write_baseline(run, "x", folder)).transcripts[0]
    assert to_plain(read) == to_plain(slim_transcript(transcript))


def test_failed_calls_keep_what_they_cost() -> None:
    call = FailedCall("secret", 500, Usage(cost=0.5), 2.0)
    one = Transcript("c", "L", "T", "m", 1, (), "t", 1.0, "secret", Answer("secret", failed_calls=(call,)), (call,))
    slim = slim_transcript(one)
    assert "secret" not in repr(slim)
    assert slim.failed_calls[0].usage.cost == 0.5


def test_no_user_and_no_password_in_an_address(tmp_path: Path) -> None:
    spec = ModelSpec("m", "m", "scripted", api_base="http://me:hidden@host:1/v1")
    path = write_baseline(read_slim(stored(tmp_path / "r", SCORES, models=[spec])), "main", tmp_path)
    assert read_run(path).header.models[0].api_base == "http://host:1/v1"


def test_an_update_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    write_baseline(read_slim(stored(tmp_path / "a", SCORES)), "main", tmp_path)
    path = write_baseline(read_slim(stored(tmp_path / "b", one_model([1.0]))), "main", tmp_path)
    assert len(read_run(path).transcripts) == 1
    assert [one.name for one in path.parent.iterdir()] == ["main.jsonl"]


def test_names(tmp_path: Path) -> None:
    assert baseline_names(tmp_path) == ()
    run = read_slim(stored(tmp_path / "r", SCORES))
    for name in ("main", "release-1.2", "A+b_c"):
        write_baseline(run, name, tmp_path)
        assert find_baseline(name, tmp_path, tmp_path).is_file()
    assert baseline_names(tmp_path) == ("A+b_c", "main", "release-1.2")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "run", "run.w0", ".hidden", "a b", "x" * 101])
def test_wrong_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no name of a baseline"):
        write_baseline(read_slim(stored(tmp_path / "r", SCORES)), name, tmp_path)


def test_empty_run_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no dialogue"):
        write_baseline(Run(header_of(SCORES), {}, ()), "main", tmp_path)


def test_a_path_comes_before_a_name(tmp_path: Path) -> None:
    here = tmp_path / "here"
    directory = stored(here / "main", SCORES)
    write_baseline(read_slim(directory), "main", tmp_path)
    assert find_baseline("main", here, tmp_path) == directory
    assert find_baseline("main", tmp_path, tmp_path) == tmp_path / "reports/baselines/main.jsonl"
    assert find_baseline(str(directory), tmp_path, tmp_path) == directory


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mian", "did you mean 'main'"),
        ("nothing/here", "no such run"),
        (" ", "has no name"),
        ("x" * 5000, "cannot be read|no such run"),
    ],
)
def test_a_baseline_that_is_not_there(tmp_path: Path, text: str, said: str) -> None:
    write_baseline(read_slim(stored(tmp_path / "r", SCORES)), "main", tmp_path)
    with pytest.raises(UserError, match=said):
        find_baseline(text, tmp_path, tmp_path)
