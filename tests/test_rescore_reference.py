"""Acceptance: the published rules give every recorded value of LLM-KG-Bench 3 again.

The records are other people's work and are not part of this project; where they are absent, these tests are skipped.
Source: AKSW/LLM-KG-Bench-v3-0-results (CC BY 4.0).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.analysis.dialogue import published_scores
from pytest_llmkg.cli import main
from pytest_llmkg.interchange import differences, recorded_dialogue
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.records import TaskInfo, Transcript, Turn
from pytest_llmkg.rescore import rescore_answers, rescore_transcript
from pytest_llmkg.result_files import read_records
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"
ARCHIVES = sorted((REFERENCE / "llm-kg-bench-v3").glob("*.zip"))
pytestmark = pytest.mark.skipif(
    not ARCHIVES, reason=f"no recorded runs of LLM-KG-Bench 3 in {REFERENCE.name}/llm-kg-bench-v3 beside the checkout"
)
every_archive = pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)

# Dialogues of each label in every archive: 5 cases, each asked 4 times.
LABELS = {
    **{f"RdfSyntaxFixList-{form}": 20 for form in ("turtle", "jsonld", "nt")},
    **{f"RdfFriendCount-{form}-{added}": 20 for form in ("turtle", "jsonld", "xml", "nt") for added in (1, 2)},
    **{f"Sparql2AnswerListOrga-{form}": 20 for form in ("turtle", "jsonld")},
    "Text2SparqlExecEvalListOrganizational": 20,
    "Text2SparqlExecEvalListOrgaNumerical": 20,
}


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


def records_of(archive: Path) -> list[dict[str, Json]]:
    return read_records(archive, os.environ["LLMKG_PASSWORD"])


@pytest.fixture(scope="module")
def kg() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def published_info(turns: tuple[Turn, ...], max_turns: int) -> dict[str, Json]:
    infos: list[dict[str, Json]] = [dict(turn.evaluation.info) for turn in turns]
    if max_turns == 1:
        return infos[0]
    numbered: dict[str, Json] = {str(number): info for number, info in enumerate(infos)}
    return {**numbered, "multiShotCount": len(infos), "last": infos[-1]}


def scores_of(turns: tuple[Turn, ...], info: TaskInfo) -> Json:
    """By the published rules alone, which come first; no record holds values of corrected ones."""
    evaluations = [replace(turn.evaluation, score_sets=turn.evaluation.score_sets[:1]) for turn in turns]
    pairs = zip(turns, evaluations, strict=True)
    published = tuple(replace(turn, evaluation=evaluation) for turn, evaluation in pairs)
    return to_plain(published_scores(Transcript("c", "l", info.name, "m", 1, published, "", 0.0), info))


@every_archive
def test_every_recorded_value_is_met(archive: Path, kg: Sandbox) -> None:
    tasks = discover_tasks()
    dialogues, scores, infos, decisions = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    missed: list[str] = []
    for number, record in enumerate(records_of(archive)):
        recorded = recorded_dialogue(record)
        if recorded.case is None or recorded.label not in LABELS:
            continue
        label, task = recorded.label, tasks.get(recorded.case.task)
        turns = rescore_answers(task, recorded.case, recorded.answers, kg)
        transcript = Transcript(recorded.case.id, label, task.info.name, "m", 1, turns, "", 0.0)
        met, wrong = differences(record["scores"], scores_of(turns, task.info))
        told, untold = differences(record["info"], published_info(turns, task.info.max_turns))
        went_on = [place + 1 < len(turns) for place in range(len(turns))]
        hinted = [turn.feedback is not None for turn in turns]
        missed += [f"record {number} {label}{path}" for path in (*wrong, *untold)]
        missed += [f"record {number} {label}: another turn {went_on} != {hinted}"] if went_on != hinted else []
        dialogues[label] += 1
        scores[label] += met
        infos[label] += told
        decisions[label] += len(turns)
        assert rescore_transcript(task, recorded.case, transcript, kg) == transcript
    assert missed == []
    assert dialogues == LABELS
    assert min(scores[label] for label in LABELS) > 0
    assert min(infos[label] for label in LABELS) > 0
    assert min(decisions[label] for label in LABELS) >= 20


def test_command_line_finds_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescore", "--allow-unknown", *map(str, ARCHIVES)]) == 0
    output = capsys.readouterr().out
    assert "differs:" not in output
    for label, number in LABELS.items():
        row = next(line.split() for line in output.splitlines() if line.startswith(f"{label} "))
        assert int(row[1]) == number * len(ARCHIVES)
        for equal, compared in (part.split("/") for part in row[2:5]):
            assert int(equal) == int(compared) > 0
    leaked = os.environ["LLMKG_PASSWORD"] in output
    assert not leaked


def test_a_changed_answer_is_noticed(kg: Sandbox) -> None:
    """The comparison can fail: every other answer gives other values somewhere."""
    for record in records_of(ARCHIVES[0]):
        recorded = recorded_dialogue(record)
        if recorded.case is None or recorded.label not in LABELS:
            continue
        task = discover_tasks().get(recorded.case.task)
        turns = rescore_answers(task, recorded.case, ["Nobody knows."] * len(recorded.answers), kg)
        scores = differences(record["scores"], scores_of(turns, task.info))[1]
        infos = differences(record["info"], published_info(turns, task.info.max_turns))[1]
        assert scores or infos, recorded.label
