from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.baselines import read_slim, write_baseline
from pytest_llmkg.cli import main
from pytest_llmkg.store import FILE_NAME, read_run
from tests.run_pairs import one_model, stored

if TYPE_CHECKING:
    from pathlib import Path

GOOD = one_model([1.0, 0.9, 0.8, 1.0, 0.7, 0.9])
BAD = one_model([0.5, 0.4, 0.3, 0.6, 0.2, 0.1])


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, str]:
    """Two runs, good and bad."""
    return {name: str(stored(tmp_path / name, scores)) for name, scores in (("good", GOOD), ("bad", BAD))}


def test_passes_and_fails(runs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", runs["good"], "--baseline", runs["good"]]) == 0
    assert "gate passed against baseline good: 1 verdict" in capsys.readouterr().out
    assert main(["gate", runs["bad"], "--baseline", runs["good"]]) == 1
    out = capsys.readouterr().out
    assert "gate FAILED against baseline good: 1 of 1 verdict failed" in out
    assert "FAIL  significant-drop:0.05  m, all together  mean 0.3500, was 0.8833" in out
    assert main(["gate", runs["bad"], "--rule", "errors:0,min:0.3", "--rule", "min:f1:0.3"]) == 0
    assert "3 verdicts" in capsys.readouterr().out


def test_writes_junit_and_report(runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "bad" / "report.json"
    report.write_text('{"schema": 1, "notes": ["kept"]}', encoding="utf-8")
    assert main(["gate", runs["bad"], "--baseline", runs["good"], "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    told = json.loads(report.read_text(encoding="utf-8"))
    assert told == {"schema": 1, "notes": ["kept"], "gate": printed}
    assert printed["passed"] is False
    suite = ET.parse(tmp_path / "bad" / "gate.xml").find("testsuite")  # noqa: S314  (written just now)
    assert suite is not None
    assert suite.get("failures") == "1"
    # Judged again, the section takes the place of the old one.
    assert main(["gate", runs["bad"], "--rule", "min:0.1", "--junit", str(tmp_path / "deep" / "other.xml")]) == 0
    assert json.loads(report.read_text(encoding="utf-8"))["gate"]["passed"] is True
    assert (tmp_path / "deep" / "other.xml").is_file()


def test_a_run_file_alone_gets_no_files_beside_it(runs: dict[str, str], tmp_path: Path) -> None:
    assert main(["gate", f"{runs['good']}/{FILE_NAME}", "--rule", "min:0.1"]) == 0
    assert [path.name for path in (tmp_path / "good").iterdir()] == [FILE_NAME]


def test_github(
    runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["gate", runs["bad"], "--baseline", runs["good"]]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("::error title=llmkg gate%3A significant-drop%3A0.05::m, all together: mean 0.3500")
    assert summary.read_text(encoding="utf-8").startswith("before\n## ❌ gate FAILED")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "such" / "folder"))
    assert main(["gate", runs["good"], "--baseline", runs["good"]]) == 2
    told = capsys.readouterr()
    assert "gate passed" in told.out
    assert "not added to the job summary" in told.err


def test_a_job_summary_is_cut_before_github_refuses_it(
    runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setattr("pytest_llmkg.gatekeeper.MOST_SUMMARY", 200)
    assert main(["gate", runs["bad"], "--baseline", runs["good"], "--rule", "drop:0,drop:0.1,min:0.9"]) == 1
    text = summary.read_text(encoding="utf-8")
    kept, cut, rest = text.partition("\n\nCut here, since a job summary takes no more")
    assert cut
    assert "all verdicts are in gate.xml" in rest
    assert len(kept.encode()) <= 200
    assert kept.startswith("## ❌ gate FAILED")
    assert not kept.endswith("FAIL")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good"], "nothing to judge: give --baseline or --rule"),
        (["good", "--rule", "drop:0.1"], "none is given"),
        (["good", "--rule", "drap:0.1", "--baseline", "good"], "did you mean 'drop'"),
        (["good", "--baseline", "goood"], "unknown baseline 'goood'"),
        (["good", "--baseline", "none/such"], "no such run"),
        (["nowhere", "--rule", "min:1"], "no such run file"),
        (["good", "--baseline", "empty"], "holds no dialogue"),
        (["good", "--baseline", "newer"], "has schema 99"),
        (["newer", "--rule", "min:1"], "has schema 99"),
        (["good", "--baseline", "broken"], "broken/run.jsonl:2"),
        (["broken", "--rule", "min:1"], "broken/run.jsonl:2"),
    ],
)
def test_bad_input(
    runs: dict[str, str], tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (tmp_path / "good" / FILE_NAME).read_bytes().splitlines(keepends=True)
    for name, content in (
        ("empty", lines[:1]),
        ("newer", [lines[0].replace(b'"schema":1', b'"schema":99'), *lines[1:]]),
        ("broken", [lines[0], b'{"kind":\n', *lines[1:]]),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE_NAME).write_bytes(b"".join(content))
    assert main(["gate", *arguments]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1


def test_torn_line_is_a_finding(runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "good" / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"case"')])
    assert main(["gate", runs["good"], "--rule", "min:0.1"]) == 1
    assert "this run: the file ends in the middle of a line" in capsys.readouterr().out
    assert main(["gate", runs["bad"], "--baseline", runs["good"], "--rule", "drop:1"]) == 1
    out = capsys.readouterr().out
    assert "the baseline: the file ends in the middle of a line" in out
    assert "the baseline lacks 1 of 6 dialogues" in out
    assert main(["gate", runs["good"], "--rule", "min:0.1,allow:missing"]) == 0


def test_report_that_is_broken(runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in ("{", "[]"):
        (tmp_path / "good" / "report.json").write_text(content, encoding="utf-8")
        assert main(["gate", runs["good"], "--rule", "min:0.1"]) == 2
        assert "make it again by llmkg report" in capsys.readouterr().err


def test_baseline_commands(runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "list"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["baseline", "set", runs["good"]]) == 0
    assert "wrote 6 dialogues to reports/baselines/main.jsonl" in capsys.readouterr().out
    assert main(["baseline", "set", str(stored(tmp_path / "e", one_model([1.0, None]))), "--name", "other"]) == 0
    assert "1 of them ended as errors" in capsys.readouterr().err
    assert main(["baseline", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "main: run good of 2026-01-01, 6 dialogues, models m",
        "other: run e of 2026-01-01, 2 dialogues, models m",
    ]
    assert len(read_run(tmp_path / "reports" / "baselines" / "main.jsonl").transcripts) == 6
    assert main(["gate", runs["good"], "--baseline", "main"]) == 0
    capsys.readouterr()
    assert main(["gate", runs["bad"], "--baseline", "main"]) == 1
    assert "gate FAILED against baseline main (made from run good): " in capsys.readouterr().out
    assert main(["baseline", "set", runs["good"], "--name", "../x"]) == 2
    assert "no name of a baseline" in capsys.readouterr().err


def test_a_slim_run_judges_as_the_whole_one(runs: dict[str, str], tmp_path: Path) -> None:
    path = write_baseline(read_slim(tmp_path / "bad"), "bad", tmp_path)
    rules = ["--rule", "significant-drop:0.05,drop:0.1@*,min:0.5,errors:0,max-seconds:9"]
    verdicts = []
    for run in (runs["bad"], str(path)):
        main(["gate", run, "--baseline", runs["good"], *rules, "--junit", str(tmp_path / "x.xml")])
        verdicts.append((tmp_path / "x.xml").read_bytes())
    assert verdicts[0] == verdicts[1]
