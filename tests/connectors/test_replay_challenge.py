"""Answer files of the TEXT2SPARQL challenge as a model; the files here were made up."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.connectors.replay import CONNECTOR
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, RunFileError
from pytest_llmkg.records import Answer, Message, ModelSpec, Question, Usage

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[[Coroutine[Any, Any, Any]], Any]

IRI = "https://data.example/lifts/"


def entry(question: str, query: str, name: str = "lifts:1-en", dataset: str = IRI) -> dict[str, str]:
    return {"dataset": dataset, "question": question, "query": query, "qname": name, "endpoint": "x", "uri": "y"}


ENTRIES = [
    entry("How many lifts?", "SELECT ?a {}"),
    entry("Who?", "SELECT ?b {}", "lifts:2-en"),
    entry("Who?", "SELECT ?c {}", "lifts:3-en"),
    entry("Who?", "SELECT ?d {}", "lifts:3-en", "urn:other"),
    entry("Silent?", "", "lifts:4-en"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(ENTRIES), encoding="utf-8")
    return path


def ask(
    run: Run, path: Path, text: str, case: str, *later: Message, dataset: str | None = IRI, iteration: int = 1
) -> Answer:
    spec = ModelSpec(f"replay:{path}", str(path), "replay")
    CONNECTOR.check(spec)
    connector = CONNECTOR.make(spec)
    question = Question(text, "lifts", "en", dataset)
    key = f"Text2SparqlKgqa-lifts-en/{case}"
    answer: Answer = run(connector.ask(AskRequest((Message("user", "p"), *later), key, iteration, 5.0, question)))
    run(connector.close())
    return answer


def test_answers_are_found_by_question_dataset_and_name(run: Run, file: Path) -> None:
    answer = ask(run, file, " How many  lifts?", "77")
    assert answer.text == "```sparql\nSELECT ?a {}\n```"
    assert answer.usage == Usage()
    assert answer.notes == {"untimed": True}
    assert "?b" in ask(run, file, "Who?", "2").text
    assert "?c" in ask(run, file, "Who?", "3").text
    assert "?d" in ask(run, file, "Who?", "3", dataset="urn:other").text
    assert "?b" in ask(run, file, "Who?", "9").text  # no name fits: the first
    assert ask(run, file, "Silent?", "4").text == ""


def test_a_hint_gets_the_same_answer(run: Run, file: Path) -> None:
    assert ask(run, file, "Who?", "2", Message("assistant", "ASK {}"), Message("user", "h")).text == "ASK {}"


@pytest.mark.parametrize(
    ("text", "dataset", "iteration", "pattern"),
    [
        ("Never asked?", IRI, 1, "no recorded answer to the question of 'Text2SparqlKgqa-lifts-en/1'"),
        ("How many lifts?", "urn:third", 1, "no recorded answer to the question"),
        ("How many lifts?", IRI, 2, "no recorded answer for iteration 2"),
    ],
)
def test_what_was_not_recorded_is_an_error(
    run: Run, file: Path, text: str, dataset: str, iteration: int, pattern: str
) -> None:
    with pytest.raises(ConnectorError, match=pattern):
        ask(run, file, text, "1", dataset=dataset, iteration=iteration)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ('[{"question": "x", "query": null}]', r"answer 1: needs the texts 'question' and 'query'"),
        ('[{"question": "x", "query": ""', "not JSON"),
        ('[3, {"question": "x", "query": ""}]', "answer 1: needs the texts"),
    ],
)
def test_broken_files_are_named_before_anything_runs(tmp_path: Path, content: str, pattern: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RunFileError, match=pattern):
        CONNECTOR.check(ModelSpec("m", str(path), "replay"))


def test_what_other_tools_recorded_of_an_answer(run: Run, tmp_path: Path) -> None:
    told = {"prompt_tokens": 70, "completion_tokens": 9, "total_tokens": 79, "cost": 0.5}
    given = [
        {**entry("Which?", "SELECT ?a {}"), "usage": told, "stages": None, "seconds": True},
        {**entry("Where?", "SELECT ?b {}"), "usage": None, "seconds": 2},
    ]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    answer = ask(run, path, "Which?", "1")
    assert answer.usage == Usage(70, 9, 0.5)
    assert answer.notes == {"untimed": True}
    answer = ask(run, path, "Where?", "1")
    assert (answer.usage, answer.seconds, dict(answer.notes)) == (Usage(), 2.0, {})
