"""Result files of LLM-KG-Bench as a model, with small records in their layout that were invented here."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.replay import CONNECTOR, ReplayConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, RunFileError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec
from pytest_llmkg.result_files import write_records

if TYPE_CHECKING:
    from pathlib import Path


def record(*answers: object, uid: str = "Reef_01", model: str = "m", label: str = "Label-x") -> dict[str, Any]:
    talk: list[list[object]] = []
    for number, answer in enumerate(answers):
        talk += [["prompt", f"2026-01-01T00:00:0{2 * number}", "?"]]
        talk += [["response", f"2026-01-01T00:00:0{2 * number + 1}.500000", answer]]
    return {
        "modelId": model,
        "taskInfo": {"taskId": "T", "taskLabel": label, "version": "1"},
        "taskData": {"uid": uid},
        "interactions": talk,
    }


RECORDS = [record("A1", "A2"), record("B1", uid="other"), record("C1"), record("D1", label="Label-y")]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    return path


def ask(path: object, *answers: str, case: str = "Label-x/reef-01", iteration: int = 1) -> Answer:
    messages = [Message("user", "Any prompt of ours")]
    for answer in answers:
        messages += [Message("assistant", answer), Message("user", "Again")]
    connector = ReplayConnector(ModelSpec("replay:x", str(path), "replay"))
    return asyncio.run(connector.ask(AskRequest(tuple(messages), case, iteration)))


def test_answers_are_found_by_case_iteration_and_turn(results: Path) -> None:
    assert ask(results) == Answer("A1", seconds=1.5)
    assert ask(results, "A1").text == "A2"
    assert ask(results, iteration=2).text == "C1"
    assert ask(results, case="Label-x/other").text == "B1"
    assert ask(results, case="Label-y/reef-01").text == "D1"


@pytest.mark.parametrize(
    ("answers", "case", "iteration", "reason"),
    [
        ([], "Label-x/reef-02", 1, "'Label-x/reef-02', iteration 1, turn 1: it holds 2 other cases of this label"),
        ([], "Label-z/reef-01", 1, "it holds no case of this label"),
        ([], "Label-x/reef-01", 3, "the case was recorded 2 times"),
        (["A1", "A2"], "Label-x/reef-01", 1, "turn 3: the recorded dialogue has 2 answers"),
        (["A9"], "Label-x/reef-01", 1, "its dialogue is another one than the recorded"),
    ],
)
def test_what_was_not_recorded_is_no_answer(
    answers: list[str], case: str, iteration: int, reason: str, results: Path
) -> None:
    with pytest.raises(ConnectorError, match=reason) as caught:
        ask(results, *answers, case=case, iteration=iteration)
    assert str(caught.value).startswith("replay:x: no recorded answer for ")


def test_archives_are_opened_with_the_password_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, sealed = tmp_path / "r.json.gz", tmp_path / "r.zip"
    packed.write_bytes(gzip.compress(json.dumps(RECORDS).encode()))
    write_records(sealed, RECORDS, "a long password")
    assert ask(packed).text == "A1"
    monkeypatch.delenv("LLMKG_PASSWORD", raising=False)
    with pytest.raises(RunFileError, match="set LLMKG_PASSWORD"):
        CONNECTOR.check(ModelSpec("r", str(sealed), "replay"))
    monkeypatch.setenv("LLMKG_PASSWORD", "a long password")
    CONNECTOR.check(ModelSpec("r", str(sealed), "replay"))
    assert ask(sealed).text == "A1"


def test_one_of_several_models_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([record("A1"), record("N1", model="n")]), encoding="utf-8")
    with pytest.raises(UserError, match="answers of 2 models"):
        CONNECTOR.check(ModelSpec("r", str(path), "replay"))
    assert ask(f"{path}#n").text == "N1"
    with pytest.raises(UserError, match="unknown recorded model 'o'"):
        CONNECTOR.check(ModelSpec("r", f"{path}#o", "replay"))


@pytest.mark.parametrize(
    "broken",
    [
        [],
        [record()],
        [record(None)],
        [{**record("A"), "interactions": "text"}],
        [{**record("A"), "interactions": [["response"]]}],
        [{**record("A"), "taskInfo": None}],
        [{**record("A"), "taskInfo": {}, "taskData": None}],
    ],
)
def test_files_without_any_usable_answer_are_refused(broken: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(UserError, match=r"r\.json: "):
        CONNECTOR.check(ModelSpec("r", str(path), "replay"))


def test_missing_times_are_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps([{**record("A1"), "interactions": [["response", "?", "A1"]]}]), encoding="utf-8")
    assert ask(path) == Answer("A1", seconds=0.0)
