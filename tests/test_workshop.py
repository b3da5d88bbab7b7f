"""What connectors around others are given: graphs, examples of other parts only, and whether these gave it away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cases.generated import generated_reference
from pytest_llmkg.connectors import discover
from pytest_llmkg.contracts import AskRequest, Example
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.options import Settings
from pytest_llmkg.pipelines.examples import normal_query, shipped_examples
from pytest_llmkg.records import Answer, Case, Message, ModelSpec, Question
from pytest_llmkg.suite import build_suite
from pytest_llmkg.workshop import FOLDS, Workshop
from pytest_llmkg.wrapping import wrapped_models
from tests.pipelines.harbour import PREFIXES, TURTLE, H

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUERIES = [f"SELECT ?n {{ ?s a h:Ship ; h:name ?n ; h:length ?l FILTER(?l > {number}) }}" for number in range(40)]


def case(number: int, language: str = "en", *, sealed: bool = False, **more: Any) -> Case:
    data = {
        "kg": "harbour",
        "graph": TURTLE,
        "format": "turtle",
        "prefixes": PREFIXES,
        "question": f"Question {number} in {language}?",
        "language": language,
        "query": QUERIES[number],
        **more,
    }
    return Case(f"c{number}", "Task", f"Task-{language}", data, sealed)


CASES = [case(number, language) for language in ("en", "de") for number in range(40)]


@pytest.fixture(scope="module")
def engine() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def asked(label: str, identifier: str) -> AskRequest:
    question = Question("?", "harbour", "en", None, PREFIXES)
    return AskRequest((Message("user", "?"),), f"{label}/{identifier}", question=question)


def test_no_question_sees_its_own_query_in_any_language(engine: Sandbox) -> None:
    workshop = Workshop(CASES, {}, engine, 1)
    parts = set()
    for one in CASES:
        examples = workshop.examples(asked(one.label, one.id))
        parts.add(examples)
        own = normal_query(one.text("query"), PREFIXES)
        assert own not in {normal_query(example.query, PREFIXES) for example in examples}
        assert len(examples) == 2 * 40 * (FOLDS - 1) / FOLDS
        assert examples is workshop.examples(asked(one.label, one.id))
    assert len(parts) == FOLDS


def test_parts_depend_on_the_seed_alone(engine: Sandbox) -> None:
    request = asked("Task-en", "c3")
    first, again, other = (Workshop(CASES, {}, engine, seed).examples(request) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_examples_declare_their_prefixes(engine: Sandbox) -> None:
    example = Workshop(CASES, {}, engine, 1).examples(asked("Task-en", "c3"))[0]
    assert example.query.startswith(f"PREFIX h: <{H}>\nSELECT")


def test_sealed_cases_and_other_graphs_give_no_examples(engine: Sandbox) -> None:
    cases = [
        case(0),
        case(1, sealed=True),
        case(2, kg="elsewhere"),
        case(3),
        Case("c4", "Other", "Other", {"query": 1}),
    ]
    workshop = Workshop(cases, {}, engine, 1)
    ids = {e.id for one in cases[:4] for e in workshop.examples(asked(one.label, one.id))}
    assert ids <= {"Task-en/c0", "Task-en/c3"}
    assert workshop.examples(asked("Other", "c4")) == ()
    assert workshop.examples(asked("No", "such")) == ()


def test_the_graph_of_a_request(engine: Sandbox) -> None:
    workshop = Workshop([case(0), Case("c1", "Other", "Other", {"text": "x"})], {}, engine, 1)
    found = workshop.graph(asked("Task-en", "c0"))
    assert found is not None
    assert (found.text, found.format) == (TURTLE, "turtle")
    assert workshop.graph(asked("Other", "c1")) is None


@dataclass
class Noting:
    """A connector that says which examples it looked at."""

    queries: dict[str, str]

    async def ask(self, _request: AskRequest) -> Answer:
        return Answer("x", notes={"examples": [{"id": name, "query": text} for name, text in self.queries.items()]})

    async def close(self) -> None:
        return None


def test_examples_that_give_the_answer_away_are_noted(engine: Sandbox) -> None:
    cases = [replace(case(0), data={**case(0).data, "query": "SELECT ?n { h:s1 h:name ?n }"})]
    queries = {
        "same": f"PREFIX x: <{H}> SELECT ?name {{ x:s1 x:name ?name }}",
        "result": "SELECT ?n { ?s h:length 120 ; h:name ?n }",
        "other": "SELECT ?n { h:s2 h:name ?n }",
        "empty": "SELECT ?n { h:s9 h:name ?n }",
        "broken": "SELECT ?n {",
    }
    watched = Workshop(cases, {}, engine, 1).watched(Noting(queries))
    answer = asyncio.run(watched.ask(asked("Task-en", "c0")))
    assert answer.notes == {
        "examples": list(queries),
        "leak": {"same_query": ["same"], "same_result": ["result"]},
        "recall": {"schema": 0.0, "prompt": 1.0},
    }


def test_how_much_of_the_reference_a_prompt_held(engine: Sandbox) -> None:
    query = "SELECT ?n { ?s a h:Ship ; h:name ?n ; h:berth/h:depth ?d FILTER(?d > 3) }"
    workshop = Workshop([replace(case(0), data={**case(0).data, "query": query})], {}, engine, 1)
    request, example = asked("Task-en", "c0"), ("e", "SELECT ?x { ?q h:depth ?x }")
    assert workshop.recall(request, [f"{H}Ship", f"{H}name", f"{H}other"], []) == {"schema": 0.5, "prompt": 0.5}
    assert workshop.recall(request, [f"{H}Ship", f"{H}name"], [example]) == {"schema": 0.5, "prompt": 0.75}
    assert workshop.recall(asked("no", "case"), [], []) == {}


@pytest.mark.parametrize("query", ["ASK { h:s1 h:name ?n }", "SELECT ?n { h:s9 h:name ?n }"])
def test_yes_and_nothing_are_no_leak(engine: Sandbox, query: str) -> None:
    cases = [replace(case(0), data={**case(0).data, "query": query})]
    watched = Workshop(cases, {}, engine, 1).watched(
        Noting({"a": "ASK { h:s2 h:name ?n }", "b": "SELECT ?x { h:s8 ?p ?x }"})
    )
    answer = asyncio.run(watched.ask(asked("Task-en", "c0")))
    assert answer.notes["leak"] == {"same_query": [], "same_result": []}


def test_a_model_around_another_is_resolved() -> None:
    table = {"mine": ModelSpec("mine", "openai/x", "litellm", temperature=0.5, family="Fam", parameters="7B")}
    outer = ModelSpec("my-rag", "mine", "rag", temperature=0.0, extra={"k": 3})
    told, inner = wrapped_models([outer, table["mine"]], table, discover())
    assert told[0] == replace(outer, family="Fam", parameters="7B")
    assert told[1] == table["mine"]
    assert inner == {"my-rag": replace(table["mine"], temperature=0.0)}


@pytest.mark.parametrize(
    ("argument", "told"), [("rag:symbolic", "must wrap one"), ("nope", "unknown model"), ("", "no model")]
)
def test_what_cannot_be_wrapped_is_told(argument: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        wrapped_models([ModelSpec("m", argument, "rag")], {}, discover())


def test_another_model_inside_makes_another_suite(tmp_path: Path) -> None:
    def signature(model: str) -> object:
        (tmp_path / "llmkg.toml").write_text(f'[models.mine]\nmodel = "{model}"\n')
        return build_suite(Settings(models=("rag:mine",), tasks=("RdfFriendCount",)), tmp_path).signature()

    assert signature("openai/a") == signature("openai/a")
    assert signature("openai/a") != signature("openai/b")


def test_the_examples_that_come_with_a_graph_are_seen_from_sealed_questions_on_it(engine: Sandbox) -> None:
    graph = generated_reference("company")
    sealed = [case(number, sealed=True, graph=graph) for number in range(10)]
    workshop = Workshop(
        [*sealed, case(20), case(21, kg="own", graph=graph), case(22, kg="own", graph=graph)], {}, engine, 1
    )
    pool = shipped_examples(graph)
    for one in sealed:
        examples = workshop.examples(asked(one.label, one.id))
        assert set(examples) - set(pool) <= {Example("Task-en/c20", "Question 20 in en?", examples[-1].query, "en")}
        assert examples[: len(pool)] == pool
    assert workshop.examples(asked("Task-en", "c20")) == ()
    own = workshop.examples(asked("Task-en", "c21"))
    assert own[: len(pool)] == pool
    assert {example.id for example in own[len(pool) :]} <= {"Task-en/c22"}
    alone = Workshop(sealed, {}, engine, 1)
    assert all(alone.examples(asked(one.label, one.id)) is pool for one in sealed)
