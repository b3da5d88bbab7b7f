"""``copy-nearest`` and ``empty``."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.copy_nearest import CONNECTOR as COPY
from pytest_llmkg.connectors.copy_nearest import without_question
from pytest_llmkg.connectors.empty import CONNECTOR as EMPTY
from pytest_llmkg.contracts import AskRequest, Connector, Example, Workbench
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.pipelines.examples import normal_query, normal_question
from pytest_llmkg.records import Answer, Message, ModelSpec, Question, Usage

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[[Coroutine[Any, Any, Any]], Any]

STOPS = "SELECT (COUNT(*) AS ?n) { <urn:tower> <urn:stop> ?s }"
POOL = (
    Example("lifts:1-en", "Which lifts did Ada build?", "SELECT ?lift { ?lift <urn:builder> <urn:Ada> }", "en"),
    Example(
        "lifts:2-en", "How many stops has the tower?", "SELECT (COUNT(*) AS ?n) { <urn:tower> <urn:stop> ?s }", "en"
    ),
    Example(
        "lifts:2-de", "Wie viele Halte hat der Turm?", "SELECT (COUNT(*) AS ?n) { <urn:tower> <urn:stop> ?s }", "de"
    ),
)


def copier(argument: str = "", pool: tuple[Example, ...] = POOL, **settings: Any) -> Connector:
    spec = ModelSpec("copy-nearest", argument, "copy-nearest", **settings)
    COPY.check(spec)
    assert COPY.wrap is not None
    bench = Workbench(EMPTY.make(ModelSpec("empty", "", "empty")), Sandbox(), lambda _: None, lambda _: pool)
    return COPY.wrap(spec, bench)


def ask(run: Run, connector: Connector, text: str | None, *later: Message) -> Answer:
    question = None if text is None else Question(text, "lifts", "en")
    answer: Answer = run(connector.ask(AskRequest((Message("user", "p"), *later), "L/c", 1, 5.0, question)))
    run(connector.close())
    return answer


def test_the_query_of_the_most_similar_question_is_copied_for_nothing(run: Run) -> None:
    answer = ask(run, copier(), "Which lifts did Bob build?")
    assert answer.text == f"```sparql\n{POOL[0].query}\n```"
    assert answer.usage == Usage(0, 0, 0.0)
    assert answer.notes["examples"] == [{"id": "lifts:1-en", "query": POOL[0].query}]
    assert set(answer.stages) == {"prepare", "retrieve"}
    assert ask(run, copier(), "Wie viele Halte hat das Haus?").notes["examples"] != answer.notes["examples"]


def test_the_question_itself_is_never_copied(run: Run) -> None:
    assert "urn:Ada" not in ask(run, copier(), "which LIFTS did Ada build").text


def test_without_a_common_word_any_example_is_as_good_and_without_examples_the_answer_is_empty(run: Run) -> None:
    assert ask(run, copier(), "Xyzzy").notes["examples"] == [{"id": POOL[0].id, "query": POOL[0].query}]
    assert ask(run, copier(pool=()), "Which lifts did Bob build?").text == ""


def test_hints_and_other_tasks(run: Run) -> None:
    again = ask(run, copier(), "Which lifts?", Message("assistant", "ASK {}"), Message("user", "h"))
    assert again.text == "ASK {}"
    with pytest.raises(ConnectorError, match="L asks none"):
        ask(run, copier(), None)


def test_a_file_is_a_pool_without_the_question_in_any_language(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    questions = [
        {
            "id": "1",
            "question": [{"language": "en", "string": "Which lifts did Ada build?"}],
            "query": {"sparql": "SELECT ?l { ?l <urn:builder> <urn:Ada> }"},
        },
        {
            "id": "2",
            "question": [
                {"language": "en", "string": "Who owns the tower?"},
                {"language": "de", "string": "Wem gehört der tower the Who?"},
            ],
            "query": {"sparql": "SELECT ?o { <urn:tower> <urn:owner> ?o }"},
        },
    ]
    path.write_text(json.dumps({"questions": questions}), encoding="utf-8")
    assert "urn:owner" in ask(run, copier(str(path)), "Who owns the house?").text
    assert "urn:owner" not in ask(run, copier(str(path)), "Who owns the tower?").text


@given(st.sampled_from(POOL))
def test_no_example_is_left_that_has_the_query_of_the_question(example: Example) -> None:
    left = without_question(POOL, example.question.upper())
    assert all(normal_question(one.question) != normal_question(example.question) for one in left)
    assert all(normal_query(one.query) != normal_query(example.query) for one in left)
    assert without_question(POOL, "something else") == POOL


def test_wrong_settings_are_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="copy-nearest has no setting 'k'"):
        copier(extra={"k": 3})
    with pytest.raises(UserError, match=r"none\.json"):
        copier(str(tmp_path / "none.json"))
    with pytest.raises(UserError, match="takes no argument"):
        EMPTY.check(ModelSpec("empty:x", "x", "empty"))


def test_empty_says_nothing_and_costs_nothing(run: Run) -> None:
    answer = ask(run, EMPTY.make(ModelSpec("empty", "", "empty")), None)
    assert answer.text == ""
    assert answer.usage == Usage(0, 0, 0.0)
