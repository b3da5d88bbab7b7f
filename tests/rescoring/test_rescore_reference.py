"""Acceptance: the published rules give every recorded value of LLM-KG-Bench 3 again.

The records are other people's work and are not part of this project; where they are absent, these tests are skipped.
Source: AKSW/LLM-KG-Bench-v3-0-results (CC BY 4.0).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_llmkg.analysis.agreement import KINDS, Agreement
from pytest_llmkg.cli import main
from pytest_llmkg.rescoring.files import Plan, Rescored, Work, rescore_all
from pytest_llmkg.result_files import read_records

Record = dict[str, Any]

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"
ARCHIVES = sorted((REFERENCE / "llm-kg-bench-v3").glob("*.zip"))
pytestmark = pytest.mark.skipif(
    not ARCHIVES, reason=f"no recorded runs of LLM-KG-Bench 3 in {REFERENCE.name}/llm-kg-bench-v3 beside the checkout"
)
every_archive = pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)

FORMATS = ("turtle", "jsonld", "xml", "nt")
# The labels of every archive, 20 dialogues each: 5 cases, each asked 4 times. Those of the Beastiary need a graph that
# is not handed out; `test_rescoring` has small ones of their kind.
LABELS = [
    *(f"RdfConnectionExplainStatic-{form}" for form in FORMATS),
    *(f"RdfSyntaxFixList-{form}" for form in ("turtle", "jsonld", "nt")),
    *(f"RdfFriendCount-{form}-{added}" for form in FORMATS for added in (1, 2)),
    *(f"{task}2AnswerListOrga-{form}" for task in ("Sparql", "Text") for form in ("turtle", "jsonld")),
    *(f"Text2SparqlExecEvalList{graph}" for graph in ("Organizational", "OrgaNumerical", "CoypuMini")),
    "SparqlSyntaxFixingListLcQuad",
]
SKIPPED = [f"Text2SparqlExecEvalListBeastiary-turtle-{shown}" for shown in ("subgraph", "schema", "subschema")]


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets LLMKG_PASSWORD; never handed to a test, since pytest shows arguments when a test fails."""
    if os.environ.get("LLMKG_PASSWORD"):
        return
    readme = REFERENCE / "README.md"
    found = re.search(r"password[^`]*`([^`]+)`", readme.read_text(encoding="utf-8")) if readme.is_file() else None
    if found is None:
        pytest.skip("the password of the recorded runs is neither in LLMKG_PASSWORD nor in the README beside them")
    monkeypatch.setenv("LLMKG_PASSWORD", found[1])


def records_of(archive: Path) -> list[Record]:
    return [dict(record) for record in read_records(archive, os.environ["LLMKG_PASSWORD"])]


def rescored(records: list[Record], **plan: Any) -> list[Rescored]:
    return rescore_all([Work(r, str(n)) for n, r in enumerate(records)], Plan(**plan))


@pytest.mark.parametrize("engine", ["pyoxigraph", "rdflib"])
@every_archive
def test_every_recorded_value_is_met(archive: Path, engine: str) -> None:
    found = Agreement()
    for one in rescored(records_of(archive), engine=engine):
        found.add(one.comparison)
    assert found.differences == []
    assert found.dialogues == dict.fromkeys(LABELS, 20)
    assert {label for label, _ in found.skipped} == set(SKIPPED)
    for label in LABELS:
        for kind in KINDS:
            equal, compared = found.count(kind, label)
            assert equal == compared >= 20, (label, kind)
    assert found.taken == {("SparqlSyntaxFixingListLcQuad", "results"): 20}


@every_archive
def test_published_column_of_corrected_rules_is_the_recorded_one(archive: Path) -> None:
    records = records_of(archive)
    for record, one in zip(records, rescored(records, corrected=True), strict=True):
        for change in one.comparison.changes:
            turn, _, name = change.score.rpartition("_")
            scores = record["scores"][turn] if turn else record["scores"]
            assert change.published == pytest.approx(scores[name], abs=1e-9)
            assert 0 <= change.corrected <= 1
            assert change.causes or not change.moved


def test_command_line_finds_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescore", str(ARCHIVES[0])]) == 1  # the graph of three labels is missing
    assert main(["rescore", "--allow-unknown", "--jobs", "2", str(ARCHIVES[0])]) == 0
    output = capsys.readouterr().out
    assert "differs:" not in output
    assert os.environ["LLMKG_PASSWORD"] not in output
    assert sum(line.startswith("all ") for line in output.splitlines()) == 2


def test_a_changed_answer_is_noticed() -> None:
    """The comparison can fail: another answer gives other values somewhere."""
    changed = records_of(ARCHIVES[0])
    for record in changed:
        for entry in record["interactions"]:
            entry[2] = "Nobody knows." if entry[0] == "response" else entry[2]
    for one in rescored(changed):
        if one.comparison.skipped is None:
            assert any(missed for _, missed in one.comparison.values.values()), one.comparison.place
