from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.connectors.replay import CONNECTOR, ReplayConnector, read_recording
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, RunFileError, UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Answer, Evaluation, Message, ModelSpec, Prompt, ScoreSet, Transcript, Turn, Usage

if TYPE_CHECKING:
    from pathlib import Path

EVALUATION = Evaluation("scored", (ScoreSet("rules:v1", {"f1": 0.5}),))


def turn(question: str, answer: str) -> Turn:
    return Turn(Prompt.user(question), Answer(answer, "stop", Usage(5, 2, 0.01), 1.5, "served"), EVALUATION)


def transcript(*turns: Turn, case: str = "c", model: str = "m", iteration: int = 1) -> Transcript:
    return Transcript(case, "Label", "Task", model, iteration, turns, "2026-01-01T00:00:00Z", 3.0)


TWO_TURNS = transcript(turn("Q1", "A1"), turn("Q2", "A2"))


def write(path: Path, *transcripts: Transcript) -> Path:
    lines: list[object] = [{"kind": "header", "schema": 1}, {"kind": "case", "id": "c"}]
    lines += [{"kind": "transcript", **dict(to_plain(t))} for t in transcripts]  # type: ignore[arg-type]  # a dict
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def ask(argument: object, *messages: Message, case: str = "c", iteration: int = 1) -> Answer:
    connector = ReplayConnector(ModelSpec("replay:x", str(argument), "replay"))
    return asyncio.run(connector.ask(AskRequest(messages, f"Label/{case}", iteration)))


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return write(tmp_path / "run.jsonl", TWO_TURNS)


def test_each_turn_gets_its_recorded_answer_as_it_was(run_file: Path) -> None:
    assert ask(run_file, user("Q1")) == TWO_TURNS.turns[0].answer
    assert ask(run_file, user("Q1"), assistant("A1"), user("Q2")) == TWO_TURNS.turns[1].answer


def test_a_folder_stands_for_its_run_file(run_file: Path) -> None:
    assert ask(run_file.parent, user("Q1")).text == "A1"


def test_iterations_are_kept_apart_without_falling_back(tmp_path: Path) -> None:
    again = transcript(turn("Q1", "other"), iteration=2)
    path = write(tmp_path / "run.jsonl", TWO_TURNS, again)
    assert [ask(path, user("Q1"), iteration=i).text for i in (1, 2)] == ["A1", "other"]
    with pytest.raises(ConnectorError, match="no recorded answer for 'Label/c', iteration 3, turn 1"):
        ask(path, user("Q1"), iteration=3)


def test_of_several_dialogues_for_one_case_the_last_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", TWO_TURNS, transcript(turn("Q1", "resumed")))
    assert ask(path, user("Q1")).text == "resumed"


@pytest.mark.parametrize(
    "messages",
    [
        (user("Q1"), assistant("another answer"), user("Q2")),
        (user("another question"), assistant("A1"), user("Q2")),
        (Message("system", "S"), user("Q1"), assistant("A1"), user("Q2")),
    ],
)
def test_an_answer_counts_only_for_the_dialogue_it_was_given_to(run_file: Path, messages: tuple[Message, ...]) -> None:
    with pytest.raises(ConnectorError, match="iteration 1, turn 2: its dialogue is another one than the recorded"):
        ask(run_file, *messages)


def test_what_was_not_recorded_is_no_answer(run_file: Path) -> None:
    with pytest.raises(ConnectorError, match="no recorded answer for 'Label/other', iteration 1, turn 1"):
        ask(run_file, user("Q1"), case="other")
    with pytest.raises(ConnectorError, match="no recorded answer for 'Label/c', iteration 1, turn 3"):
        ask(run_file, user("Q1"), assistant("A1"), user("Q2"), assistant("A2"), user("Q3"))


def test_a_dialogue_that_broke_off_keeps_its_answers_and_says_why_there_is_no_more(tmp_path: Path) -> None:
    broken = dataclasses.replace(transcript(turn("Q1", "A1")), error="the endpoint is down")
    path = write(tmp_path / "run.jsonl", broken)
    assert ask(path, user("Q1")).text == "A1"
    with pytest.raises(ConnectorError, match=r"turn 2 \(the recorded dialogue ended with: the endpoint is down\)"):
        ask(path, user("Q1"), assistant("A1"), user("Q2"))


def test_an_answer_that_could_not_be_evaluated_is_an_answer(tmp_path: Path) -> None:
    broken = dataclasses.replace(transcript(turn("Q1", "A1")), error="bug", unevaluated=Answer("A2"))
    path = write(tmp_path / "run.jsonl", broken)
    assert ask(path, user("Q1"), assistant("A1"), user("Q2")).text == "A2"


def test_one_of_several_models_must_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", TWO_TURNS, transcript(turn("Q1", "B1"), model="openai/b#2"))
    assert ask(f"{path}#m", user("Q1")).text == "A1"
    assert ask(f"{path}#openai/b#2", user("Q1")).text == "B1"
    with pytest.raises(UserError, match="answers of 2 models; name one of") as caught:
        CONNECTOR.check(ModelSpec("r", str(path), "replay"))
    assert f"replay:{path}#openai/b#2" in str(caught.value)
    with pytest.raises(UserError, match=r"unknown recorded model 'openai/b', did you mean 'openai/b#2'\?"):
        CONNECTOR.check(ModelSpec("r", f"{path}#openai/b", "replay"))


def test_a_file_whose_name_holds_the_sign_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "run#1.jsonl", TWO_TURNS)
    assert ask(path, user("Q1")).text == "A1"
    assert ask(f"{path}#m", user("Q1")).text == "A1"


def test_a_file_cut_anywhere_gives_the_dialogues_before_the_cut(tmp_path: Path) -> None:
    cases = [transcript(turn("Q1", f"Ä{i}"), case=f"c{i}") for i in range(3)]
    raw = write(tmp_path / "whole.jsonl", *cases).read_bytes()
    ends = [i + 1 for i, byte in enumerate(raw) if byte == ord("\n")][2:]
    path = tmp_path / "cut.jsonl"
    for cut in range(ends[0], len(raw) + 1, 7):
        path.write_bytes(raw[:cut])
        # A line that only lacks its line end is whole.
        whole = sum(end - 1 <= cut for end in ends)
        assert len(read_recording(str(path))) == whole


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no recorded dialogue"),
        ('{"kind": "header"}\n', "holds no recorded dialogue"),
        ('{"kind": "header"}\nnot json\n{"kind": "case"}\n', "line 2: not JSON"),
        ('{"kind": "header"}\nnot json\n', "line 2: not JSON"),
        ('{"model": 3}\n', "line 1: not a line of a run file"),
        ("[1, 2]\n", "line 1: not a line of a run file"),
        ('{"kind": "header"}\n{"kind": "transcript", "model": "m"}\n', r"line 2: \$: Transcript lacks the field"),
    ],
)
def test_a_file_that_is_no_run_file_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunFileError, match=complaint) as caught:
        CONNECTOR.check(ModelSpec("r", str(path), "replay"))
    assert str(path) in str(caught.value)


def test_a_missing_file_is_refused_before_and_named_while_running(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    with pytest.raises(RunFileError, match=r"none\.jsonl: there is no such run file"):
        CONNECTOR.check(ModelSpec("r", f"{path}#m", "replay"))
    with pytest.raises(UserError, match="write replay:FILE"):
        CONNECTOR.check(ModelSpec("r", "", "replay"))
    with pytest.raises(ConnectorError, match="there is no such run file"):
        ask(path, user("Q1"))
