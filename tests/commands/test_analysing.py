"""``llmkg analyse`` on run files and result files made here."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.analysis.published import analyse_published
from pytest_llmkg.analysis.published_config import shipped_config
from pytest_llmkg.cli import main
from pytest_llmkg.reporting.published_text import render_published
from pytest_llmkg.result_files import write_records
from pytest_llmkg.store import RunWriter
from pytest_llmkg.tasks import discover_tasks
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_llmkg.records import Transcript

PREFIXES = {
    "Sparql2Answer": "Sparql2AnswerList",
    "SparqlSyntax": "SparqlSyntaxFixingList",
    "Text2Sparql": "Text2SparqlList",
}
OWN_SPARQL = (
    "SparqlSyntaxFixingListOrga",
    "Sparql2AnswerListOrga-turtle",
    "Text2SparqlExecEvalListOrganizational",
    "Text2SparqlExecEvalListOrgaNumerical",
    "Text2SparqlExecEvalListGardenMini",
    "Text2SparqlExecEvalListMuseums-turtle-subgraph",
)


def dialogues(model: str, value: float) -> Iterator[Transcript]:
    """Two dialogues on each SPARQL label that the score as printed needs, in this project's variants."""
    tasks = discover_tasks()
    for label in OWN_SPARQL:
        info = tasks.get(next(task for start, task in PREFIXES.items() if label.startswith(start))).info
        for case, score in (("c1", value), ("c2", 1.0)):
            turn = make_turn({"combined": score, "answerParse": 1, "combinedF1": score, "f1": score})
            yield make_transcript(turn, info=info, model=model, label=label, case=case)


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "run.jsonl"
    tasks = discover_tasks()
    header = make_header("good", "bad", tasks=tuple(tasks.get(name).info for name in tasks.names()))
    with RunWriter(path) as writer:
        writer.header(header)
        for model, value in (("good", 1.0), ("bad", 0.0)):
            for transcript in dialogues(model, value):
                writer.transcript(transcript)
    return path


def test_own_run_is_analysed_with_its_own_labels(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", str(run_file.parent), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    printed = found["combined"][0]
    assert printed["definition"] == "as-printed"
    assert [(row["model"], row["text"], row["published"]) for row in printed["rows"]] == [
        ("good", "1.00 (0.00)", None),
        # By fifths: Syn-1 and Syn-Max (1/2 + 1) / 2, the others 1/2.
        ("bad", "0.60 (0.49)", None),
    ]
    written = found["combined"][1]["rows"]
    assert all(row["mean"] is None and "Sparql2AnswerListOrga-jsonld" in row["notes"][0] for row in written)


def test_text_says_what_is_missing(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", str(run_file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:4] == ["good", "-", "1.00", "(0.00)*"] for line in lines)
    assert any("No combined score: no dialogue of" in line for line in lines)
    assert any(line.split() == ["bad", "-", "-", "-", "-"] for line in lines)  # the RDF capabilities
    assert any(line.split() == ["good", *["n/a"] * 7] for line in lines)
    assert any(line.split()[:4] == ["bad", "-", "0.60", "(0.49)"] for line in lines)
    # What both models lack is told once, with the first of many tasks.
    (note,) = [line for line in lines if "No combined score" in line]
    assert re.fullmatch(
        r"  (good, bad|bad, good): No combined score: no dialogue of .* \(and \d+ more tasks?\)\.", note
    )
    assert sum("no dialogue of" in line for line in lines) <= 6, "one line for each table and what it lacks"
    (formats,) = [line for line in lines if "a format has no dialogue" in line]
    assert re.match(r"  (good, bad|bad, good): \S+", formats)


def test_result_file_and_run_file_together(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMKG_PASSWORD", raising=False)
    record = {
        "modelId": "x--y--y",
        "taskInfo": {"taskId": "RdfFriendCount", "taskLabel": "RdfFriendCount-turtle-1"},
        "scores": {"f1": 0.5},
    }
    other = {"taskInfo": {"taskId": "Odd"}, "scores": {"f1": 0.5}}
    archive = tmp_path / "x_result.zip"
    write_records(archive, [record, other, {"taskInfo": {}}], "secret")
    assert main(["analyse", str(archive)]) == 2
    assert "LLMKG_PASSWORD" in capsys.readouterr().err
    assert main(["analyse", str(archive), str(run_file), "--password", "secret"]) == 0
    told = capsys.readouterr()
    assert told.err == f"{archive}: left out 1 records which do not name their task\n"
    assert re.search(r"(?m)^  .*x--y.*: (all capabilities|.*Rdf-Ana.*): no dialogue of \S+", told.out)
    assert "note: No definition uses the label 'Odd'; dialogues left out: 1." in told.out


def test_empty_run_and_own_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer:
        writer.header(make_header("m"))
    assert main(["analyse", str(path)]) == 0
    assert "note: There is no dialogue to analyse." in capsys.readouterr().out
    config = tmp_path / "own.toml"
    config.write_text('schema = 1\nsource = "own"\ntasks = {}\ndefinitions = []\n', encoding="utf-8")
    assert main(["analyse", str(path), "--config", str(config)]) == 0
    assert "By the method of: own" in capsys.readouterr().out
    config.write_text("schema = 2\n", encoding="utf-8")
    assert main(["analyse", str(path), "--config", str(config)]) == 2
    assert str(config) in capsys.readouterr().err
    assert main(["analyse", str(path), "--config", str(tmp_path / "none.toml")]) == 2


def test_model_names_cannot_steer_the_terminal() -> None:
    name = "m\x1b[31m\n" + "long" * 40
    infos = [discover_tasks().get(task).info for task in PREFIXES.values()]
    text = render_published(analyse_published(dialogues(name, 0.5), infos, shipped_config()))
    assert set(text) <= {"\n", *map(chr, range(32, 127))}
    assert r"m\x1b[31m\n" in text


@pytest.mark.parametrize("name", ["::error::boo", "##[error]x"])
def test_model_names_are_no_commands_to_a_build_system(name: str) -> None:
    infos = [discover_tasks().get(task).info for task in PREFIXES.values()]
    text = render_published(analyse_published(dialogues(name, 0.5), infos, shipped_config()))
    assert name[2:] in text
    assert not re.search(r"(?m)^\s*::|##\w*\[", text)
