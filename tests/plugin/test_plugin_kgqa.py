"""Question files on the command line: --llmkg-cases=QUESTIONS --kg NAME=FILE, in one process and in two."""

from __future__ import annotations

import json
import sys
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


BROKEN = """\
  - id: 2
    question: {en: "What grows in the cove?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :cove"}
  - id: 3
    question: {en: "Does anything grow in the cove?"}
    query: {sparql: "ASK { SERVICE <https://other.example/> { ?x :growsIn :cove } }"}
"""


def test_a_broken_reference_query_stops_its_own_question_only(shore: pytest.Pytester) -> None:
    with (shore.path / "q.yml").open("a", encoding="utf-8") as file:
        file.write(BROKEN)
    result = shore.runpytest_subprocess(
        "--models=symbolic,rag:symbolic,copy-nearest",
        "--tasks=*shore*",
        "--llmkg-cases=q.yml",
        "--kg=shore=shore.nt",
        "--llmkg-run-dir=run",
    )
    result.assert_outcomes(passed=6, failed=6)
    (header,) = (shore.path / "run/run.jsonl").read_text(encoding="utf-8").splitlines()[:1]
    assert json.loads(header)["settings"]["wrapped"]["rag:symbolic"]["connector"] == "symbolic"
    transcripts = held(shore.path / "run")
    errors = {(line["case"], str(line["error"])) for line in transcripts if line["error"] is not None}
    assert [name for name, _ in sorted(errors)] == ["2", "3"]  # the same sentence for all three models
    first, second = (text for _, text in sorted(errors))
    assert first.startswith("case Text2SparqlKgqa-shore-en/2 (q.yml:7): the reference query does not run: ")
    assert second.startswith("case Text2SparqlKgqa-shore-en/3 (q.yml:10): the reference query does not run: SERVICE")
    assert all(line["turns"] == [] for line in transcripts if line["error"] is not None)
    listed = shore.run(sys.executable, "-m", "pytest_llmkg", "text2sparql", "check", "q.yml", "--kg", "shore=shore.nt")
    assert listed.ret == 1
    listed.stdout.fnmatch_lines(
        ["q.yml:7: question '2': does not run: *", "q.yml:10: question '3': does not run: *", "shore: 1 of 3 *"]
    )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--llmkg-cases=q.yml"], "the set 'shore' needs its graph: give --kg shore=FILE"),
        (["--llmkg-cases=q.yml", "--kg=shore=absent.nt"], "absent.nt: cannot be read"),
        (["--kg=shore"], "--kg takes NAME=FILE"),
        (["--kg=shore=http://me:secret@localhost/q"], "name the environment variables that hold them instead"),
        (["--llmkg-cases=absent.yml", "--kg=shore=shore.nt"], "absent.yml: cannot be read"),
    ],
)
def test_what_cannot_run_is_a_usage_error(shore: pytest.Pytester, options: list[str], complaint: str) -> None:
    result = shore.runpytest_subprocess("--models=symbolic", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert complaint in " ".join(result.stderr.str().split())
