"""A dialogue on a graph behind an endpoint: only what the model's query does wrong is scored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import AskRequest, KgEngine, Task
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.endpoints import Endpoint, EndpointLimits, Endpoints, store_graph, with_endpoints
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, ScoreSet, TaskInfo, Transcript

if TYPE_CHECKING:
    from pytest_llmkg.kg import Sandbox
    from tests.endpoints.faulty import Faulty

INFO = TaskInfo(name="Rows", version="1.0", family="SPARQL", summary="Writes a query.", headline="rows")


def prompt(case: Case, kg: KgEngine) -> Prompt:
    return Prompt.user("Write a query.")


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    result = kg.run_query(store_graph(case.text("endpoint"), "turtle"), answer.text, {})
    return Evaluation(
        "unparsable" if result.error else "scored",
        (ScoreSet("rows|1.0", {"rows": len(result.rows)}),),
        {"error": result.error},
    )


class Speaker:
    def __init__(self, text: str) -> None:
        self.text = text

    async def ask(self, request: AskRequest) -> Answer:
        return Answer(self.text, "stop")

    async def close(self) -> None:
        pass


def hold(sandbox: Sandbox, url: str, answer: str) -> Transcript:
    limits = EndpointLimits(seconds=0.5, tries=2, pause=0.01, total_seconds=5)
    endpoints = Endpoints({url: Endpoint(url, limits=limits)})
    task = with_endpoints(Task(INFO, {"endpoint": "text"}, prompt, evaluate), endpoints)
    case = Case("c1", "Rows", "Rows", {"endpoint": url})
    transcript = asyncio.run(hold_dialogue(Dialogue(case, task, "m", Speaker(answer)), sandbox))
    endpoints.close()
    return transcript


SELECT = "SELECT ?x { ?s ?p ?x }"


def test_rows_are_scored(sandbox: Sandbox, faulty: Faulty) -> None:
    transcript = hold(sandbox, faulty.url("fine"), SELECT)
    assert transcript.error is None
    assert [turn.evaluation.score_sets[0].values for turn in transcript.turns] == [{"rows": 1}]


@pytest.mark.parametrize(
    ("path", "query"), [("query-status.400", SELECT), ("query-slow", SELECT), ("fine", "DROP ALL")]
)
def test_the_querys_own_faults_are_scored(sandbox: Sandbox, faulty: Faulty, path: str, query: str) -> None:
    transcript = hold(sandbox, faulty.url(path), query)
    assert transcript.error is None
    assert [turn.evaluation.outcome for turn in transcript.turns] == ["unparsable"]


@pytest.mark.parametrize("path", ["html", "truncated-json", "slow", "huge", "elsewhere", "busy", "reset", "status.404"])
def test_faults_of_the_endpoint_are_errors_and_keep_the_answer(sandbox: Sandbox, faulty: Faulty, path: str) -> None:
    transcript = hold(sandbox, faulty.url(path), SELECT)
    assert transcript.turns == ()
    assert transcript.unevaluated is not None
    assert transcript.unevaluated.text == SELECT
    assert transcript.error is not None
    assert transcript.error.startswith(f"the endpoint {faulty.url(path)}: ")
