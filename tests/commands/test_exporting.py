"""Runs as result files of LLM-KG-Bench, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.records import Answer, Case, Message, Prompt, RunHeader, Transcript, Turn
from pytest_llmkg.result_files import read_records
from pytest_llmkg.store import RunWriter
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = "@prefix : <https://kg.example/shore/> .\n:kelp :growsIn :bay .\n:wrack :growsIn :bay .\n"
QUERY = Case(
    "bay",
    "Text2SparqlList",
    "Text2SparqlExecEvalListShore",
    {
        "format": "turtle",
        "graph": GRAPH,
        "prefixes": {"": "https://kg.example/shore/"},
        "query": "SELECT ?p { ?p :growsIn :bay }",
        "result": [":kelp", ":wrack"],
        "question": "What grows in the bay?",
    },
)
LINES = Case("bay", "Text2AnswerList", "Text2AnswerListShore-turtle", dict(QUERY.data), sealed=True)
ANSWERS = {
    QUERY.label: [
        "no query",
        "```sparql\nSELECT ?p { ?p :growsIn :sea }\n```",
        "```sparql\nSELECT * { ?p ?q :bay }\n```",
    ],
    LINES.label: [":kelp\n:stone"],
}
CASES = (QUERY, LINES)


def transcript(case: Case, iteration: int = 1, error: str | None = None) -> Transcript:
    task, turns = discover_tasks().get(case.task), []
    with Sandbox() as kg:
        for number, text in enumerate(ANSWERS[case.label]):
            messages = (Message("system", "Be brief."), Message("user", f"Question {number}"))
            prompt = Prompt(messages if number == 0 else messages[1:])
            answer = Answer(text, seconds=1.5)
            turn = Turn(prompt, answer, task.evaluate(case, answer, kg))
            hint = task.feedback(case, turn) if number + 1 < len(ANSWERS[case.label]) else None
            if hint is not None:
                turn = Turn(turn.prompt, turn.answer, turn.evaluation, hint.kind)
            turns.append(turn)
    return Transcript(
        case.id, case.label, case.task, "maker/m", iteration, tuple(turns), "2026-02-03T04:05:06Z", 4.5, error
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    tasks = tuple(discover_tasks().get(case.task).info for case in CASES)
    with RunWriter(path) as writer:
        writer.header(RunHeader(1, "r", "2026-02-03T04:05:06Z", {}, (), tasks, 0, 1))
        for case in CASES:
            writer.case(case)
        for case in CASES:
            writer.transcript(transcript(case))
        writer.transcript(transcript(QUERY, 2, error="the endpoint is down"))
        writer.transcript(Transcript("gone", "L", QUERY.task, "maker/m", 1, transcript(QUERY).turns, "", 0.0))
    return path


def exported(run: Path, out: Path, *more: str) -> list[dict[str, Any]]:
    assert main(["export", str(run), "--format", "llm-kg-bench", "--out", str(out), *more]) == 0
    return [dict(record) for record in read_records(out, "a long password")]


def test_records_have_the_layout(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = exported(run, tmp_path / "out.json", "--plain-sealed")
    output = capsys.readouterr().out
    assert "left out: 1 dialogues, which ended with an error" in output
    assert "left out: 1 dialogues, whose case or task the run file does not hold" in output
    query, lines = records
    assert [key for key in query if key not in {"scores", "info", "taskData", "interactions", "taskInfo"}] == [
        "startTime",
        "reevalOriginalTime",
        "modelId",
        "taskSizeInfo",
        "duration",
    ]
    assert query["startTime"] == "2026-02-03T04:05:06.000000"
    assert query["duration"] == "0:00:04.500000"
    assert query["modelId"] == "maker/m"
    assert query["taskInfo"]["taskId"] == "Text2SparqlList"
    assert query["taskInfo"]["taskParameter"] == {"graphFormat": "turtle"}
    assert query["taskData"] == {"uid": "bay", **QUERY.data} == query["taskInfo"]["condensedTaskData"]
    assert [entry[0] for entry in query["interactions"]] == ["prompt", "response"] * 3
    assert query["interactions"][0][2] == "Be brief.\n\nQuestion 0"
    assert query["interactions"][3][1] == "2026-02-03T04:05:09.000000"  # after two answers of 1.5 s
    assert query["taskSizeInfo"]["actualSize"] == sum(len(entry[2]) for entry in query["interactions"])
    assert set(query["scores"]) == {"0", "1", "2", "mean", "max", "meanExt", "last"}
    assert query["info"]["multiShotCount"] == 3
    assert lines["scores"]["f1"] == 0.5
    assert not any("@" in name for name in (*lines["scores"], *query["scores"]["max"]))  # published rules only


@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "out.zip"])
def test_exported_runs_rescore_to_the_same_values(
    name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMKG_PASSWORD", "a long password")
    out = tmp_path / name
    exported(run, out, "--plain-sealed")
    assert main(["rescore", str(out)]) == 0
    output = capsys.readouterr().out
    assert "differs" not in output
    for row in (line.split() for line in output.splitlines() if line.startswith("all ")):
        assert row[1] == "2"
        assert all(int(equal) == int(all_) > 0 for equal, all_ in (cell.split("/") for cell in row[2:5]))


def test_sealed_cases_need_an_encrypted_file(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMKG_PASSWORD", raising=False)
    arguments = ["export", str(run), "--format", "llm-kg-bench", "--out"]
    assert main([*arguments, str(tmp_path / "out.json")]) == 2
    assert "is sealed; write an encrypted archive" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "out.zip")]) == 2
    assert "needs a password" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([*arguments, str(tmp_path / "out.zip"), "--password", "a long password"]) == 0
    assert b"What grows" not in (tmp_path / "out.zip").read_bytes()
    assert len(read_records(tmp_path / "out.zip", "a long password")) == 2


def test_scores_as_a_table(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--format", "csv"]) == 0
    shown = capsys.readouterr().out
    assert "max_combined" in shown
    assert main(["export", str(run), "--format", "csv", "--out", str(tmp_path / "a.csv")]) == 0
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--format", "llm-kg-bench"], "needs --out FILE"),
        (["--format", "llm-kg-bench", "--out", "a.txt"], "needs --out FILE"),
        (["--format", "csv", "--model", "other"], "holds no dialogue of model 'other'"),
    ],
)
def test_complaints(arguments: list[str], complaint: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_exported_run_answers_as_a_model(run: Path, tmp_path: Path) -> None:
    import asyncio

    from pytest_llmkg.connectors.replay import ReplayConnector
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import ModelSpec

    exported(run, tmp_path / "out.json", "--plain-sealed")
    connector = ReplayConnector(ModelSpec("r", str(tmp_path / "out.json"), "replay"))
    request = AskRequest((Message("user", "Another prompt"),), f"{LINES.label}/bay", 1)
    assert asyncio.run(connector.ask(request)).text == ":kelp\n:stone"
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
