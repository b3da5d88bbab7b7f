"""``llmkg tasks``, ``models``, ``cases``, ``metrics`` and ``generate``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.tasks import discover_tasks
from tests.commands.test_text2sparql_systems import GRAPH, QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_tasks_cases_models_and_metrics_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    names = set(discover_tasks().names())
    tasks, cases = listed(capsys, "tasks"), listed(capsys, "cases")
    assert {row["task"] for row in tasks} == names
    assert sum(row["cases"] for row in tasks) == len(cases)
    assert {case["label"] for case in cases} == {row["label"] for row in tasks}
    models = listed(capsys, "models")
    assert {"symbolic", "rag", "http", "python", "replay", "scripted", "gpt-4o"} <= {row["alias"] for row in models}
    metrics = listed(capsys, "metrics")
    assert {task for row in metrics for task in row["tasks"]} == names
    assert {task for row in metrics for task in row["headline_of"]} == names
    assert {"name", "meaning", "range", "rules", "source"} <= metrics[0].keys()


def test_the_metrics_of_one_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["name"] for row in listed(capsys, "metrics", "--task", "TurtleSampleGeneration")] == [
        "parsable",
        "persons_relative_error",
        "min_friends_ok",
        "max_friends_ok",
        "parsable@2",
        "persons_relative_error@2",
        "persons_accuracy@2",
        "min_friends_ok@2",
        "max_friends_ok@2",
    ]
    error = listed(capsys, "metrics", "--task", "TurtleSampleGeneration")[1]
    assert (error["range"], error["best"], error["rules"]) == ([-1.0, None], 0.0, "published")
    assert main(["metrics", "--task", "TurtleSampleGeneration"]) == 0
    assert "-1..-  TurtleSampleGeneration" in capsys.readouterr().out
    assert main(["metrics", "--task", "Tortoise"]) == 2
    assert "unknown task 'Tortoise'" in capsys.readouterr().err


def test_cases_of_a_graph_behind_an_endpoint_are_listed_without_asking_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (tmp_path / "shore.ttl").write_text(GRAPH, encoding="utf-8")
    arguments = ["cases", "--llmkg-cases", str(tmp_path / "q.yml"), "--kg"]
    remote = [case for case in listed(capsys, *arguments, "shore=http://127.0.0.1:9/") if "shore" in case["label"]]
    local = [case for case in listed(capsys, *arguments, f"shore={tmp_path}/shore.ttl") if "shore" in case["label"]]
    assert [case["id"] for case in remote] == [case["id"] for case in local] == ["1", "2", "3", "1"]
    assert remote[0]["data"]["endpoint"] == "http://127.0.0.1:9/"


def test_generated_cases_are_written_once_and_can_be_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "friends.toml"
    arguments = ["generate", "RdfFriendCount", "--n", "6", "--seed", "3", "--level", "2", "--format", "xml"]
    assert main([*arguments, "--out", str(out)]) == 0
    assert "wrote 6 cases of RdfFriendCount-level2-seed3-xml" in capsys.readouterr().out
    assert main(arguments) == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")
    found = listed(capsys, "cases", "--llmkg-cases", str(out), "--llmkg-seed", "3")
    assert [case for case in found if "level2" in case["label"]] == listed(capsys, *arguments)
    assert main([*arguments, "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["Tortoise"], "unknown task 'Tortoise'"),
        (["Text2SparqlList"], "does not generate its cases; these do: RdfFriendCount"),
        (["RdfFriendCount", "--out", "cases.txt"], "a case file ends in .toml"),
        (["RdfFriendCount", "--out", "none/such/cases.toml"], "cannot be written: No such file or directory"),
        (["RdfFriendCount", "--json", "--out", "cases.toml"], "not both"),
    ],
)
def test_what_cannot_be_generated_is_named(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", *arguments]) == 2
    assert complaint in capsys.readouterr().err
