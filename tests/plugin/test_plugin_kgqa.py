"""Question files on the command line: --llmkg-cases=QUESTIONS --kg NAME=FILE, in one process and in two."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """
import pytest
from pytest_llmkg.plugin import BoundDialogue

@pytest.mark.llmkg("Text2SparqlKgqa")
def test_kgqa(dialogue: BoundDialogue) -> None:
    dialogue.hold()
"""
QUESTIONS = """
dataset: {id: "https://kg.example/shore/", prefix: shore, defaultNamespace: "https://kg.example/shore/"}
questions:
  - id: 1
    question: {en: "What grows in the bay?", de: "Was wächst in der Bucht?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :bay }"}
"""
GRAPH = "<https://kg.example/shore/kelp> <https://kg.example/shore/growsIn> <https://kg.example/shore/bay> .\n"


@pytest.fixture
def shore(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_kgqa=SUITE)
    (pytester.path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (pytester.path / "shore.nt").write_text(GRAPH, encoding="utf-8")
    return pytester


def held(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "run.jsonl").read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["kind"] == "transcript"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "n2"])
def test_questions_run_on_the_named_graph(shore: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = shore.runpytest_subprocess(
        "--models=symbolic",
        "--tasks=*shore*",
        "--llmkg-cases=q.yml",
        "--kg=shore=shore.nt",
        "--llmkg-run-dir=run",
        *workers,
    )
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    text = (shore.path / "run/run.jsonl").read_text(encoding="utf-8")
    assert "kg:shore@sha256:" in text
    assert "<https://kg.example/shore/kelp>" not in text.replace("\\", "")
    assert len(held(shore.path / "run")) == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--llmkg-cases=q.yml"], "the set 'shore' needs its graph: give --kg shore=FILE"),
        (["--llmkg-cases=q.yml", "--kg=shore=absent.nt"], "absent.nt: cannot be read"),
        (["--kg=shore"], "--kg takes NAME=FILE"),
        (["--llmkg-cases=absent.yml", "--kg=shore=shore.nt"], "absent.yml: cannot be read"),
    ],
)
def test_what_cannot_run_is_a_usage_error(shore: pytest.Pytester, options: list[str], complaint: str) -> None:
    result = shore.runpytest_subprocess("--models=symbolic", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert complaint in " ".join(result.stderr.str().split())
