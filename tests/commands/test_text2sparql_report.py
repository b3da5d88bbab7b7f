"""``llmkg text2sparql report`` on runs written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.records import Answer, FailedCall, Prompt, Question, Transcript, Usage
from pytest_llmkg.store import RunWriter
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = Prompt.user("p", Question("Who?", "lifts"))


def transcript(model: str, seconds: float, cost: float | None, score: float, case: str = "c1") -> Transcript:
    answer = Answer("a", usage=Usage(10, 5, cost), seconds=seconds, stages={"wait": 1.0, "model": seconds})
    return make_transcript(replace(make_turn({"f1": score}), prompt=PROMPT, answer=answer), model=model, case=case)


@pytest.fixture
def run(tmp_path: Path) -> str:
    path = tmp_path / "run.jsonl"
    broken = make_transcript(model="slow|er", case="c2", error="late")
    with RunWriter(path) as writer:
        writer.header(make_header("quick", "slow|er"))
        for one in (
            transcript("quick", 1.0, 0.5, 0.25),
            transcript("slow|er", 4.0, None, 1.0),
            replace(broken, failed_calls=(FailedCall("late", seconds=2.0),)),
            make_transcript(make_turn({"f1": 1.0}), model="quick", label="Other"),
        ):
            writer.transcript(one)
    return str(path)


def test_the_table_has_what_a_question_and_a_solved_question_took(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text2sparql", "report", run]) == 0
    lines = capsys.readouterr().out.splitlines()
    known = "| slow\\|er | 2 | 1 | 1.000 | 3.000 | 3.000 | 4.000 | 6.000 |"
    assert lines[2] == known + " unknown |" * 4 + " 1.00 |"
    assert lines[3].startswith(
        "| quick | 1 | 0 | 0.250 | 1.000 | 1.000 | 1.000 | 4.000 | 0.500000 | 0.500000 | 2.000000 |"
    )
    assert lines[3].endswith("| 15 | 1.00 |")


def test_json_and_other_tasks(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text2sparql", "report", run, "--json", "--by-label"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["label"]) for row in rows] == [("quick", "Flat"), ("slow|er", "Flat")]
    assert main(["text2sparql", "report", run, "--json", "--tasks", "Other"]) == 0
    assert [row["questions"] for row in json.loads(capsys.readouterr().out)] == [1]
    assert main(["text2sparql", "report", run, "--tasks", "None*"]) == 2
    assert "holds no dialogue on a question" in capsys.readouterr().err
