"""Text2SparqlAgent: tried queries reach what the final one reaches, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.analysis.dialogue import headline
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.endpoints import Endpoint, EndpointLimits, Endpoints, with_endpoints
from pytest_llmkg.records import Answer, Case, Transcript
from pytest_llmkg.tasks.text2sparql_agent import INFO, TASK
from tests.endpoints.graphs import BOOKS, LOANS
from tests.endpoints.servers import oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.kg import Sandbox
    from pytest_llmkg.plain import Json
    from tests.endpoints.faulty import Faulty

DAYS = "SELECT ?d { ?x b:year 2005 SERVICE <loans> { ?l l:of ?x ; l:days ?d } }"
COMMON: dict[str, Json] = {
    "kg": "books",
    "prefixes": {"b": "https://books.example/", "l": "https://loans.example/"},
    "language": "en",
    "question": "For how many days was the novel of 2005 lent?",
    "query": DAYS,
}
LOCAL: dict[str, Json] = {"graph": BOOKS, "format": "turtle", "services": {"loans": LOANS}}


class Script:
    """A model that gives these answers, and keeps what it heard."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.heard: list[str] = []

    async def ask(self, request: AskRequest) -> Answer:
        self.heard.append(request.messages[-1].text)
        return Answer(self.answers[len(self.heard) - 1])

    async def close(self) -> None:
        pass


def tried(query: str) -> str:
    return f"```try\n{query}\n```"


def hold(sandbox: Sandbox, data: dict[str, Json], *answers: str, limit: float = 20) -> tuple[Transcript, list[str]]:
    place = data.get("endpoint")
    settings = {}
    if isinstance(place, str):
        settings = {place: Endpoint(place, limits=EndpointLimits(seconds=limit, tries=1, total_seconds=limit))}
    endpoints, script = Endpoints(settings), Script(*answers)
    case = Case("c1", "Text2SparqlAgent", "Text2SparqlAgent-books", {**COMMON, **data})
    dialogue = Dialogue(case, with_endpoints(TASK, endpoints), "m", script)
    transcript = asyncio.run(hold_dialogue(dialogue, sandbox))
    endpoints.close()
    return transcript, script.heard


@pytest.fixture(scope="module")
def server(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with oxigraph(BOOKS, tmp_path_factory.mktemp("agent") / "server", sandbox.check_rdf) as endpoint:
        yield endpoint


def test_tries_on_two_local_stores(sandbox: Sandbox) -> None:
    found, heard = hold(
        sandbox, LOCAL, tried(DAYS), tried("SELECT ?n { ?l l:days ?n }"), f"```sparql\n{DAYS} ORDER BY ?d\n```"
    )
    assert found.error is None
    assert "by SERVICE <loans> { ... }." in heard[0]
    assert heard[1].startswith("The result has 2 rows:\n```\n?d\n")
    assert heard[2].startswith("The query runs, but its result is empty.")  # what is lent stands in the other store
    assert headline(found, INFO) == 1.0


def test_tries_reach_no_further_than_the_named_stores(sandbox: Sandbox, faulty: Faulty) -> None:
    elsewhere = f"SELECT ?x {{ SERVICE <{faulty.url('fine')}> {{ ?s ?p ?x }} }}"
    _, heard = hold(
        sandbox,
        LOCAL,
        tried(elsewhere),
        tried("INSERT DATA { b:n1 b:year 1 }"),
        tried("SELECT ?y { b:n1 b:year ?y }"),
        "ASK {}",
    )
    assert "is not allowed; allowed are <https://base.invalid/loans>" in heard[1]
    assert heard[2].startswith("The query does not run to its end: ")
    assert '"1999"' in heard[3]
    assert faulty.asked == []


def test_tries_on_an_endpoint(sandbox: Sandbox, server: Endpoint, faulty: Faulty) -> None:
    found, heard = hold(
        sandbox,
        {"endpoint": server.url, "query": "SELECT ?x { ?x a b:Crime }"},
        tried("SELECT ?x { ?x a b:Crime }"),
        tried("DELETE WHERE { ?s ?p ?o }"),
        tried(f"SELECT ?x {{ SERVICE <{faulty.url('fine')}> {{ ?s ?p ?x }} }}"),
        "```sparql\nSELECT ?x { ?x a b:Crime }\n```",
    )
    assert found.error is None
    assert heard[1].startswith("The result has 3 rows:")
    assert "are allowed, found 'DELETE'" in heard[2]
    assert "not allowed" in heard[3]
    assert headline(found, INFO) == 1.0
    assert faulty.asked == []


def test_tries_on_two_endpoints(sandbox: Sandbox, server: Endpoint, tmp_path: Path) -> None:
    with oxigraph(LOANS, tmp_path / "server", sandbox.check_rdf) as loans:
        data: dict[str, Json] = {"endpoint": server.url, "services": {"loans": loans.url}}
        found, heard = hold(sandbox, data, tried(DAYS), f"```sparql\n{DAYS}\n```")
    assert found.error is None
    assert heard[1].startswith("The result has 2 rows:")
    assert headline(found, INFO) == 1.0


def test_a_try_that_is_too_slow_is_an_observation_and_a_dead_endpoint_an_error(
    sandbox: Sandbox, faulty: Faulty
) -> None:
    data: dict[str, Json] = {"context": "none", "query": "ASK { }"}
    slow, heard = hold(
        sandbox, {**data, "endpoint": faulty.url("query-slow")}, tried("SELECT ?x { ?s ?p ?x }"), "ASK { }", limit=0.5
    )
    assert slow.error is None
    assert heard[1].startswith("The query does not run to its end: ")
    page, _ = hold(sandbox, {**data, "endpoint": faulty.url("query-html")}, tried("SELECT ?x { ?s ?p ?x }"))
    assert page.error is not None
    assert page.error.startswith("the endpoint ")
    assert page.unevaluated is not None
