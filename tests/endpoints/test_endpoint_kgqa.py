"""Text2SparqlKgqa on graphs behind endpoints and on several stores: the same scores as on an embedded graph."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.cases.graph_files import graph_at, graph_file, parse_place_option, with_graphs
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.endpoints import Endpoint, EndpointLimits, Endpoints, with_endpoints
from pytest_llmkg.endpoints.tables import load_endpoint_table
from pytest_llmkg.errors import CaseFileError, ModelFileError, UserError
from pytest_llmkg.models import load_model_table
from pytest_llmkg.records import Answer, Case, Transcript
from pytest_llmkg.registry import Registry
from pytest_llmkg.tasks.text2sparql_kgqa import TASK
from tests.endpoints.graphs import BOOKS, LOANS, PEOPLE, QUERIES
from tests.endpoints.servers import oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest, Task
    from pytest_llmkg.kg import Sandbox
    from pytest_llmkg.plain import Json
    from tests.endpoints.faulty import Faulty

COMMON: dict[str, Json] = {
    "kg": "books",
    "prefixes": {"b": "https://books.example/", "l": "https://loans.example/", "p": "https://people.example/"},
    "language": "en",
    "question": "Which crime novels are there?",
    "query": "SELECT ?x { ?x a b:Crime }",
    "feedback": "none",
}
EMBEDDED: dict[str, Json] = {"graph": BOOKS, "format": "turtle"}
ANSWERS = (
    "SELECT ?x { ?x a b:Crime }",
    "SELECT ?x { ?x a b:Crime } LIMIT 2",
    "SELECT ?x ?y { ?x a b:Crime ; b:year ?y }",
    "SELECT ?t { ?x a b:Crime ; b:title ?t }",
    "SELECT ?x { ?x a b:Nothing }",
    "SELECT ?x { ?x a b:Crime",
    "DROP ALL",
    "ASK { ?x a b:Crime }",
    *QUERIES[:12],
)


class Speaker:
    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0

    async def ask(self, request: AskRequest) -> Answer:
        self.asked += 1
        return Answer(self.text, "stop")

    async def close(self) -> None:
        pass


def case(**data: Json) -> Case:
    return Case("c1", "Text2SparqlKgqa", "Text2SparqlKgqa-books-en", {**COMMON, **data})


def hold(sandbox: Sandbox, asked: Case, speaker: Speaker, endpoints: Endpoints | None = None) -> Transcript:
    task = with_endpoints(with_graphs(TASK, {}), endpoints or Endpoints())
    return asyncio.run(hold_dialogue(Dialogue(asked, task, "m", speaker), sandbox))


def scores(transcript: Transcript) -> list[Mapping[str, object]]:
    assert transcript.error is None, transcript.error
    return [turn.evaluation.scores() for turn in transcript.turns]


@pytest.fixture(scope="module")
def server(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with oxigraph(BOOKS, tmp_path_factory.mktemp("books") / "server", sandbox.check_rdf) as endpoint:
        yield endpoint


@pytest.mark.parametrize("query", ANSWERS)
def test_scores_are_those_of_the_embedded_graph(sandbox: Sandbox, server: Endpoint, query: str) -> None:
    text, endpoints = f"```sparql\n{query}\n```", Endpoints()
    remote = hold(sandbox, case(endpoint=server.url), Speaker(text), endpoints)
    local = hold(sandbox, case(**EMBEDDED), Speaker(text))
    endpoints.close()
    assert scores(remote) == scores(local)
    assert [t.evaluation.outcome for t in remote.turns] == [t.evaluation.outcome for t in local.turns]
    assert [t.evaluation.info["failure"] for t in remote.turns] == [t.evaluation.info["failure"] for t in local.turns]
    assert remote.turns[0].prompt == local.turns[0].prompt  # the schema, too


def test_an_endpoint_that_is_down_is_an_error_before_any_model_is_asked(sandbox: Sandbox) -> None:
    speaker = Speaker("```sparql\nASK { }\n```")
    url = "http://127.0.0.1:9/sparql"
    quick = Endpoints({url: Endpoint(url, limits=EndpointLimits(tries=1))})
    transcript = hold(sandbox, case(endpoint=url), speaker, quick)
    assert transcript.error is not None
    assert transcript.error.startswith(f"the endpoint {url}: ")
    assert (transcript.turns, transcript.unevaluated, speaker.asked) == ((), None, 0)


def test_an_endpoint_that_goes_down_later_leaves_the_answer_without_a_score(sandbox: Sandbox, faulty: Faulty) -> None:
    url, answer = faulty.url("fine"), "```sparql\nSELECT ?y { ?s ?p ?y }\n```"
    endpoints = Endpoints({url: Endpoint(url, limits=EndpointLimits(tries=1, seconds=2))})

    class Last(Speaker):
        async def ask(self, request: AskRequest) -> Answer:
            faulty.shutdown()
            faulty.server_close()
            endpoints.close()
            return await super().ask(request)

    transcript = hold(sandbox, case(endpoint=url, context="none"), Last(answer), endpoints)
    assert transcript.error is not None
    assert transcript.error.startswith(f"the endpoint {url}: ")
    assert transcript.turns == ()
    assert transcript.unevaluated is not None
    assert transcript.unevaluated.text == answer


WHO = (
    "SELECT ?n { ?x a b:Crime SERVICE <loans> { ?l l:of ?x ; l:to ?k } SERVICE <people> { ?k p:name ?n } }",
    "SELECT ?n { ?x b:by b:otto SERVICE <people> { ?k p:name ?n } SERVICE <loans> { [] l:of ?x; l:to ?k } }",
)


def test_a_federated_question_on_three_local_stores(sandbox: Sandbox) -> None:
    asked = case(**EMBEDDED, query=WHO[0], services={"loans": LOANS, "people": PEOPLE})
    (right,) = scores(hold(sandbox, asked, Speaker(f"```sparql\n{WHO[1]}\n```")))
    assert (right["set_F"], right["set_F@2"]) == (1.0, 1.0)  # Kim and Lee
    (half,) = scores(hold(sandbox, asked, Speaker('```sparql\nSELECT ?n { VALUES ?n { "Kim" } }\n```')))
    assert half["set_F@2"] == pytest.approx(2 / 3)
    elsewhere = hold(
        sandbox, asked, Speaker("```sparql\nSELECT ?n { SERVICE <https://else.example/> { ?s ?p ?n } }\n```")
    )
    assert scores(elsewhere)[0]["set_F@2"] == 0.0
    assert "is not allowed; allowed are" in str(elsewhere.turns[0].evaluation.info["error"])
    (message,) = elsewhere.turns[0].prompt.messages
    assert "by SERVICE <loans> { ... }. It has" not in message.text  # nothing in it has a class
    assert "by SERVICE <loans> { ... }.\n" in message.text
    days = "SELECT ?n { ?x a b:Crime SERVICE <loans> { ?l l:of ?x ; l:days ?n ; l:hours ?h } }"
    missed = hold(sandbox, asked, Speaker(f"```sparql\n{days}\n```"))
    assert missed.turns[0].evaluation.info["unknownNames"] == ["https://loans.example/hours"]


def test_a_prompt_shows_the_schema_of_each_store(sandbox: Sandbox) -> None:
    asked = case(graph=LOANS, format="turtle", query="SELECT ?x { ?x l:days 7 }", services={"books": BOOKS})
    (message,) = TASK.prompt(asked, sandbox).messages
    assert "by SERVICE <books> { ... }. It has these classes:\n```\nb:Crime: " in message.text


def test_a_case_file_may_name_files_for_its_services(tmp_path: Path) -> None:
    (tmp_path / "loans.ttl").write_text(LOANS, encoding="utf-8")
    (tmp_path / "cases.toml").write_text(
        'schema = 1\ntask = "Text2SparqlKgqa"\n[defaults]\nkg = "k"\ngraph = "<a:a> <a:b> 1 ."\nformat = "turtle"\n'
        'prefixes = {}\nlanguage = "en"\n[defaults.services]\nloans = { file = "loans.ttl" }\n'
        'small = "<a:d> <a:e> 1 ."\n'
        '[[variant]]\nlabel = "K"\n[[case]]\nid = "c"\nquestion = "?"\nquery = "ASK { }"\n',
        encoding="utf-8",
    )
    tasks: Registry[Task] = Registry("task")
    tasks.add("Text2SparqlKgqa", TASK)
    (loaded,) = load_case_files([tmp_path / "cases.toml"], tmp_path, tasks, 1)
    assert loaded.data["services"] == {"loans": LOANS, "small": "<a:d> <a:e> 1 ."}
    (tmp_path / "loans.ttl").unlink()
    with pytest.raises(CaseFileError, match=r"case 'c' \(K\): field 'services': 'loans': no file 'loans.ttl' in "):
        load_case_files([tmp_path / "cases.toml"], tmp_path, tasks, 1)


def test_services_may_be_named_graphs_and_endpoints(sandbox: Sandbox, server: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "loans.ttl").write_text(LOANS, encoding="utf-8")
    (tmp_path / "books.ttl").write_text(BOOKS, encoding="utf-8")
    graphs = {name: graph_file(name, tmp_path / f"{name}.ttl") for name in ("books", "loans")}
    query = "SELECT ?d { ?x b:year 2005 SERVICE <loans> { ?l l:of ?x ; l:days ?d } }"
    asked = case(
        graph=graphs["books"].reference, format="turtle", query=query, services={"loans": graphs["loans"].reference}
    )
    task = with_endpoints(with_graphs(TASK, graphs), Endpoints())
    held = asyncio.run(hold_dialogue(Dialogue(asked, task, "m", Speaker(f"```sparql\n{query}\n```")), sandbox))
    assert scores(held)[0]["set_F@2"] == 1.0
    with oxigraph(LOANS, tmp_path / "server", sandbox.check_rdf) as loans:
        remote, endpoints = case(endpoint=server.url, query=query, services={"loans": loans.url}), Endpoints()
        found = hold(sandbox, remote, Speaker("```sparql\nSELECT ?d { VALUES ?d { 30 } }\n```"), endpoints)
        endpoints.close()
    assert scores(found)[0]["set_F@2"] == pytest.approx(2 / 3)
    mixed = hold(sandbox, case(**EMBEDDED, services={"loans": server.url}), Speaker(""))
    assert mixed.error is not None
    assert "all its graphs embedded or all of them behind endpoints" in mixed.error


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "either the field 'graph' or the field 'endpoint', found neither"),
        ({**EMBEDDED, "endpoint": "http://localhost/sparql"}, "the field 'endpoint', found both"),
        ({"graph": BOOKS}, "the field 'format' is missing"),
        ({"endpoint": "localhost:7878"}, "is no address"),
        ({**EMBEDDED, "services": {"two words": LOANS}}, "a service is named by an IRI or a word"),
    ],
)
def test_a_faulty_place_is_an_error_before_any_model_is_asked(
    sandbox: Sandbox, data: dict[str, Json], complaint: str
) -> None:
    speaker = Speaker("")
    transcript = hold(sandbox, case(**data), speaker)
    assert complaint in str(transcript.error)
    assert speaker.asked == 0


def test_a_graph_may_be_named_by_an_address() -> None:
    graph = graph_at("books", "http://localhost:7878/query")
    assert (graph.is_remote, graph.reference, graph.graph.text) == (
        True,
        "http://localhost:7878/query",
        "http://localhost:7878/query",
    )


@pytest.mark.parametrize(
    "option", ["http://me:t0p@kg.example/q", "=http://me:t0p@kg.example/q", "kg=http://me:t0p/x@kg.example/q"]
)
def test_a_password_in_an_option_is_not_shown(option: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_place_option(option)
    assert "t0p" not in str(caught.value)


def test_tables_of_endpoints(tmp_path: Path) -> None:
    first, second = tmp_path / "llmkg.toml", tmp_path / "pyproject.toml"
    first.write_text(
        '[endpoints."http://localhost:1/q"]\nseconds = 3\nconcurrency = 2\n[models.m]\nmodel = "openai/x"\n',
        encoding="utf-8",
    )
    second.write_text(
        '[tool.other]\na = 1\n[tool.pytest_llmkg.endpoints."http://localhost:1/q"]\nseconds = 4.5\n', encoding="utf-8"
    )
    (endpoint,) = load_endpoint_table([first, second]).values()
    assert (endpoint.url, endpoint.limits.seconds, endpoint.limits.concurrency) == ("http://localhost:1/q", 4.5, 2)
    assert list(load_model_table([first, second])) == ["m"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[endpoints."http://h/q"]\nsecond = 3\n', "unknown setting of the endpoint http://h/q 'second'"),
        ('[endpoints."http://h/q"]\nseconds = 0\n', "the limit 'seconds' of an endpoint must be above 0"),
        ("[endpoints.h]\nseconds = 1\n", "is no address"),
        ("[endpoints]\nx = 1\n", "must be a table of settings"),
        ("endpoints = 1\n", "'endpoints' must be a table"),
        ('[endpoint."http://h/q"]\nseconds = 1\n', "did you mean 'endpoints'"),
    ],
)
def test_wrong_tables_of_endpoints(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "llmkg.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        load_endpoint_table([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


QUESTIONS = """
dataset: {id: "https://books.example/", prefix: books, defaultNamespace: "https://books.example/"}
questions:
  - id: 1
    question: {en: "Which crime novels are there?"}
    query: {sparql: "PREFIX b: <https://books.example/> SELECT ?x { ?x a b:Crime }"}
"""
SUITE = """
import pytest

@pytest.mark.llmkg("Text2SparqlKgqa")
def test_kgqa(dialogue):
    dialogue.hold()
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "n2"])
def test_a_question_file_on_an_endpoint(pytester: pytest.Pytester, server: Endpoint, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(test_kgqa=SUITE)
    (pytester.path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (pytester.path / "llmkg.toml").write_text(f'[endpoints."{server.url}"]\nmethod = "POST"\n', encoding="utf-8")
    options = ("--models=symbolic", "--tasks=*books*", "--llmkg-cases=q.yml", "--llmkg-run-dir=run")
    result = pytester.runpytest_subprocess(*options, f"--kg=books={server.url}", *workers)
    result.assert_outcomes(passed=1)
    lines = (pytester.path / "run/run.jsonl").read_text(encoding="utf-8").splitlines()
    (held,) = (line for line in map(json.loads, lines) if line["kind"] == "transcript")
    assert held["error"] is None
    assert server.url in "\n".join(lines)
