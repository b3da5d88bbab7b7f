"""Systems that take questions, through pytest: served ones, callables, recorded ones and dummies, side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.text2sparql_server import Text2SparqlServer

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """
import pytest
from pytest_llmkg.plugin import BoundDialogue

@pytest.mark.llmkg("Text2SparqlKgqa", "RdfFriendCount")
def test_kgqa(dialogue: BoundDialogue) -> None:
    dialogue.hold()
"""
QUESTIONS = """
dataset: {id: "https://kg.example/2025/shore/", prefix: shore, defaultNamespace: "https://kg.example/shore/"}
questions:
  - id: 1
    question: {en: "What grows in the bay?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :bay }"}
  - id: 2
    question: {en: "What grows in the cove?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :cove }"}
"""
GRAPH = """\
@prefix : <https://kg.example/shore/> .
:kelp :growsIn :bay . :dulse :growsIn :cove .
"""
SYSTEM = """
def answer(question, dataset):
    return "SELECT ?x { ?x :growsIn :bay }"
"""


@pytest.fixture
def shore(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_kgqa=SUITE, shore_system=SYSTEM)
    pytester.makeini("[pytest]\npythonpath = .\n")
    (pytester.path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (pytester.path / "shore.ttl").write_text(GRAPH, encoding="utf-8")
    recorded = [{"question": "What grows in the cove?", "query": "SELECT ?x { ?x :growsIn :cove }"}]
    (pytester.path / "answers.json").write_text(json.dumps(recorded), encoding="utf-8")
    return pytester


def transcripts(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    lines = map(json.loads, (folder / "run.jsonl").read_text(encoding="utf-8").splitlines())
    return {(line["model"], line["case"]): line for line in lines if line["kind"] == "transcript"}


def score(transcript: dict[str, Any]) -> float | None:
    found: dict[str, float] = {}
    for turn in transcript["turns"]:
        for scores in turn["evaluation"]["score_sets"]:
            found |= scores["values"]
    return found.get("set_F@2")


def test_all_systems_stand_side_by_side(shore: pytest.Pytester) -> None:
    with Text2SparqlServer(query=lambda q: f"SELECT ?x {{ ?x :growsIn :{q.split()[-1][:-1]} }}") as server:
        names = (f"http:{server.url}", "python:shore_system:answer", "replay:answers.json", "copy-nearest", "empty")
        result = shore.runpytest_subprocess(
            f"--models={','.join(names)}",
            "--tasks=*shore*",
            "--llmkg-cases=q.yml",
            "--kg=shore=shore.ttl",
            "--llmkg-run-dir=run",
        )
    found = transcripts(shore.path / "run")
    result.assert_outcomes(passed=9, failed=1)  # of the recorded system's answers one is missing
    scores = {name: [score(found[name, case]) for case in ("1", "2")] for name in names}
    assert scores[f"http:{server.url}"] == [1.0, 1.0]
    assert scores["python:shore_system:answer"] == [1.0, 0.0]
    assert scores["replay:answers.json"] == [None, 1.0]
    assert scores["empty"] == [0.0, 0.0]
    assert "no recorded answer" in found["replay:answers.json", "1"]["error"]
    assert len(server.asked) == 2  # hints on answers are not sent
    copied = found["copy-nearest", "1"]["turns"][0]["answer"]["notes"]
    assert copied["examples"] in ([], ["shore:2-en"])  # never its own question; none if both are in one part
    for name in names[:2]:
        assert found[name, "1"]["turns"][0]["answer"]["usage"]["cost"] is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--models=python:no_such_system:answer"], "No module named 'no_such_system'"),
        (["--models=http:nowhere"], "give the system's address"),
        (
            ["--models=http:http://127.0.0.1:9/", "--tasks=RdfFriendCount*"],
            "answers questions on knowledge graphs only",
        ),
        (["--models=copy-nearest", "--tasks=RdfFriendCount*"], "answers questions on knowledge graphs only"),
        (["--models=python:shore_system:answer", "--tasks=RdfFriendCount*"], "none of the chosen tasks asks any"),
        (["--models=replay:answers.json", "--tasks=RdfFriendCount*"], "none of the chosen tasks asks any"),
        (["--models=copy-nearest:absent.yml"], "absent.yml"),
    ],
)
def test_what_cannot_answer_is_a_usage_error(shore: pytest.Pytester, options: list[str], complaint: str) -> None:
    result = shore.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert complaint in " ".join(result.stderr.str().split())
