"""``llmkg text2sparql ask``, ``query`` and ``serve``: systems and models at both ends of the challenge's API."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.commands.text2sparql.answering import Respondent, Subject, Terms
from pytest_llmkg.commands.text2sparql.serving import Service, start_server
from pytest_llmkg.connectors.text2sparql_http import Text2SparqlConnector
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.records import Answer, Message, ModelSpec, Question, Usage
from tests.endpoints.faulty import faulty_server
from tests.endpoints.servers import oxigraph
from tests.text2sparql_server import Text2SparqlServer

if TYPE_CHECKING:
    from pathlib import Path

IRI = "https://kg.example/2025/shore/"
GRAPH = """\
@prefix s: <https://kg.example/shore/> .
s:kelp a s:Weed ; s:growsIn s:bay ; s:metres 40 . s:dulse a s:Weed ; s:growsIn s:cove ; s:metres 2 .
"""
QUESTIONS = """\
dataset: {id: "https://kg.example/2025/shore/", prefix: shore, defaultNamespace: "https://kg.example/shore/"}
questions:
  - id: 1
    question: {en: "What grows in the bay?", de: "Was wächst in der Bucht?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :bay }"}
  - id: 2
    question: {en: "What grows in the cove?"}
    features: [RESULT_ORDER_MATTERS]
    query: {sparql: "SELECT ?x { ?x :growsIn :cove }"}
  - id: 3
    question: {en: "Is there any weed?"}
    query: {sparql: "ASK { ?x a :Weed }"}
"""
CALLABLES = """
from pytest_llmkg.records import Answer, Usage

def system(question, dataset):
    if "cove" in question:
        raise ValueError("no idea")
    return f"SELECT ?x {{ ?x :growsIn :bay }} # {dataset}"

def hanging(question, dataset):
    import time
    time.sleep(3600)

def priced(question, dataset):
    return Answer("ASK {}", usage=Usage(10, 5, 0.5), seconds=2.0, stages={"model": 1.5})

def model(messages):
    return "I think\\n```sparql\\nSELECT ?x { ?x ?p \\"" + str("growsIn" in messages[0]["content"]) + "\\" }\\n```"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shore.ttl").write_text(GRAPH, encoding="utf-8")
    (tmp_path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (tmp_path / "shore_callables.py").write_text(CALLABLES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shore_callables", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    status = main(["text2sparql", "ask", "q.yml", *arguments])
    told = capsys.readouterr()
    return status, json.loads(told.out if told.out.startswith("[") else "[]"), told.err


@pytest.mark.usefixtures("folder")
def test_a_served_system_is_asked_every_question_in_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    with Text2SparqlServer(query=lambda question: f"ASK {{}} # {question}") as server:
        status, found, errors = ask(capsys, f"http:{server.url}")
    assert (status, errors) == (0, "")
    assert [entry["qname"] for entry in found] == ["shore:1-en", "shore:1-de", "shore:2-en", "shore:3-en"]
    assert sorted(server.asked) == sorted((IRI, entry["question"]) for entry in found)
    first = found[1]
    assert first.pop("seconds") > 0
    assert first == {
        "dataset": IRI,
        "question": "Was wächst in der Bucht?",
        "query": "ASK {} # Was wächst in der Bucht?",
        "endpoint": f"http:{server.url}",
        "qname": "shore:1-de",
        "uri": f"{IRI}1-de",
    }


@pytest.mark.usefixtures("folder")
def test_questions_without_an_answer_are_named_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    status, found, errors = ask(capsys, "python:shore_callables:system", "-l", "en", "--retries", "0")
    assert status == 1
    assert [entry["qname"] for entry in found] == ["shore:1-en", "shore:3-en"]
    assert found[0]["query"] == f"SELECT ?x {{ ?x :growsIn :bay }} # {IRI}"
    assert "shore:2-en: python:shore_callables:system: ValueError: no idea" in errors
    assert "1 of 3 questions got no answer" in errors


@pytest.mark.usefixtures("folder")
def test_what_an_answer_took_is_written_and_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "python:shore_callables:priced", "-o", "answers.json")[0] == 0
    again = ask(capsys, "replay:answers.json", "-l", "en")[1]
    assert [entry["seconds"] for entry in again] == [2.0, 2.0, 2.0]
    assert again[0]["usage"]["cost"] == 0.5
    assert again[0]["stages"] == {"model": 1.5}
    assert main(["text2sparql", "ask", "q.yml", "empty", "-o", "answers.json"]) == 2  # is never overwritten


@pytest.mark.usefixtures("folder")
def test_a_model_gets_the_prompt_of_the_task_with_the_schema_where_the_graph_is_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = ask(capsys, "python:shore_callables:model", "-l", "de", "--kg", "shore=shore.ttl")[1]
    assert found[0]["query"] == 'SELECT ?x { ?x ?p "True" }'
    found = ask(capsys, "python:shore_callables:model", "-l", "de")[1]
    assert found[0]["query"] == 'SELECT ?x { ?x ?p "False" }'


@pytest.mark.usefixtures("folder")
def test_models_around_others_work_here_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "copy-nearest", "-l", "en")[1]
    assert [entry["query"] != "" for entry in found] == [True, True, True]
    assert all(":bay" not in entry["query"] for entry in found[:1])  # never its own
    status = ask(capsys, "rag:python:shore_callables:model", "-l", "en", "--kg", "shore=shore.ttl")[0]
    assert status == 0
    assert main(["text2sparql", "ask", "q.yml", "rag:symbolic"]) == 2
    assert "give --kg shore=FILE" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["empty", "-l", "fr"], "has no question in 'fr'; it has en, de"),
        (["no-such-model"], "unknown model 'no-such-model'"),
        (["empty,symbolic"], "names 2 models"),
        (["python:no_such_module:f"], "No module named"),
        (["empty", "--kg", "other=shore.ttl"], "give the graph of this set"),
    ],
)
def test_what_cannot_work_is_named_before_anything_is_asked(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["text2sparql", "ask", "q.yml", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_queries_of_an_answer_file_are_run_to_result_sets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        {"qname": "shore:1-en", "query": "SELECT ?x ?m { ?x :growsIn :bay ; :metres ?m }"},
        {"qname": "shore:2-en", "query": "SELECT ?x {"},
        {"qname": "shore:3-en", "query": ""},
    ]
    (folder / "answers.json").write_text(json.dumps(given), encoding="utf-8")
    arguments = ["text2sparql", "query", "q.yml", "-a", "answers.json", "--kg", "shore=shore.ttl"]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "shore:1-en": {"https://kg.example/shore/kelp": 1, "40": 1},
        "shore:2-en": {},
        "shore:3-en": {},
        "order_required": ["shore:2-en"],
    }
    assert "shore:2-en: the query does not run" in told.err
    assert "have no answer" not in told.err
    assert "nothing is answered in de, which is left out" in told.err
    assert main(["text2sparql", "query", "q.yml", "-l", "de", "--kg", "shore=shore.ttl"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "shore:1-de": {"https://kg.example/shore/kelp": 1},
        "order_required": [],
    }


@pytest.mark.usefixtures("folder")
def test_a_dead_endpoint_is_a_failure_and_never_an_empty_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "results.json"
    assert main(["text2sparql", "query", "q.yml", "-e", "http://127.0.0.1:9/sparql", "-o", str(out)]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert not out.exists()
    assert main(["text2sparql", "query", "q.yml", "-e", "nowhere"]) == 2
    assert main(["text2sparql", "query", "q.yml", "-e", "http://h/", "--kg", "shore=shore.ttl"]) == 2
    foreign = folder / "foreign.json"
    foreign.write_text('[{"qname": "reef:1-en", "query": ""}]', encoding="utf-8")
    assert main(["text2sparql", "query", "q.yml", "-a", str(foreign), "--kg", "shore=shore.ttl"]) == 2


class Slow:
    """A model that waits for a signal, or fails."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.now = self.most = 0

    async def ask(self, request: AskRequest) -> Answer:
        assert request.question is not None
        if "broken" in request.question.text:
            raise ConnectorError("the model is out of order")
        self.now += 1
        self.most = max(self.most, self.now)
        await self.go.wait()
        self.now -= 1
        return Answer(
            f"```sparql\nASK {{}} # {request.question.text}\n```",
            None,
            Usage(3, 2, 0.25),
            1.5,
            "m",
            stages={"model": 1.0},
        )

    async def close(self) -> None:
        pass


Reply = tuple[int, dict[str, Any]]


async def get(url: str, headers: dict[str, str] | None = None, method: str = "GET", **parameters: str) -> Reply:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, params=parameters, headers=headers) as response,
    ):
        return response.status, await response.json()


def served(work: Any, *, is_going: bool = True, concurrency: int = 2) -> Any:
    async def session() -> Any:
        model = Slow()
        if is_going:
            model.go.set()
        with Sandbox() as sandbox:
            respondent = Respondent("slow", model, sandbox, 20.0)
            service = Service(respondent, {IRI: Subject("shore", IRI)}, Terms(concurrency=concurrency))
            async with start_server(service, "127.0.0.1", 0) as url:
                return await work(url, model)

    return asyncio.run(session())


def test_a_served_model_answers_in_the_challenges_form_and_says_what_it_took() -> None:
    status, body = served(lambda url, _: get(url, dataset=IRI, question="What grows & where?"))
    assert status == 200
    assert body == {
        "dataset": IRI,
        "question": "What grows & where?",
        "query": "ASK {} # What grows & where?",
        "seconds": 1.5,
        "model": "m",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.25},
        "timings": {"model": 1.0},
    }


def test_our_client_and_our_server_understand_each_other() -> None:
    async def work(url: str, _: Slow) -> Answer:
        connector = Text2SparqlConnector(ModelSpec("m", url, "http"))
        try:
            question = Question("Who?", "shore", "en", IRI)
            return await connector.ask(AskRequest((Message("user", "p"),), question=question))
        finally:
            await connector.close()

    answer = served(work)
    assert answer.text == "```sparql\nASK {} # Who?\n```"
    assert answer.usage == Usage(3, 2, 0.25)
    assert answer.stages == {"model": 1.0}


@pytest.mark.parametrize(
    ("parameters", "headers", "status", "detail"),
    [
        ({"dataset": IRI}, {}, 422, "the parameter 'question' is missing"),
        ({"dataset": IRI, "question": " "}, {}, 422, "the parameter 'question' is missing"),
        ({"question": "Who?"}, {}, 422, "the parameter 'dataset' is missing"),
        ({"dataset": "urn:x", "question": "Who?"}, {}, 404, f"unknown dataset 'urn:x'; known: {IRI}"),
        ({"dataset": IRI, "question": "x" * 7000}, {}, None, ""),
        ({"dataset": IRI, "question": "broken"}, {}, 502, "the model is out of order"),
        ({"dataset": IRI, "question": "Who?"}, {"Sec-Fetch-Site": "cross-site"}, 403, "from web pages"),
        ({"dataset": IRI, "question": "Who?"}, {"Host": "evil.example"}, 403, "from web pages"),
    ],
)
def test_errors_are_json(parameters: dict[str, str], headers: dict[str, str], status: int | None, detail: str) -> None:
    found, body = served(lambda url, _: get(url, headers, **parameters))
    assert (status is None and found == 200) or (found == status and detail in body["detail"])


def test_other_paths_and_methods() -> None:
    status, body = served(lambda url, _: get(f"{url}elsewhere", dataset=IRI, question="Who?"))
    assert (status, "not /elsewhere" in body["detail"]) == (404, True)
    status, body = served(lambda url, _: get(url, None, "POST", dataset=IRI, question="Who?"))
    assert (status, body["detail"]) == (405, "ask by GET")


def test_no_more_questions_than_allowed_are_asked_at_once() -> None:
    async def work(url: str, model: Slow) -> tuple[int, set[int]]:
        asking = [asyncio.create_task(get(url, dataset=IRI, question=f"{n}?")) for n in range(5)]
        while model.now < 2:
            await asyncio.sleep(0.01)
        model.go.set()
        return model.most, {status for status, _ in await asyncio.gather(*asking)}

    assert served(work, is_going=False) == (2, {200})


def test_more_waiting_than_bearable_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.commands.text2sparql.serving._MOST_WAITING", 0)

    async def work(url: str, model: Slow) -> Reply:
        first = asyncio.create_task(get(url, dataset=IRI, question="1?"))
        while not model.now:
            await asyncio.sleep(0.01)
        second = await get(url, dataset=IRI, question="2?")
        model.go.set()
        assert (await first)[0] == 200
        return second

    assert served(work, is_going=False, concurrency=1)[0] == 503


@pytest.mark.usefixtures("folder")
def test_the_command_serves_until_it_is_told_to_stop(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest_llmkg", "text2sparql", "serve", "copy-nearest", "--port", "0"]
    command += ["--questions", "q.yml", "--examples", "q.yml", "--kg", "shore=shore.ttl"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving copy-nearest at http://127.0.0.1:")
        url = line.split(" at ")[1].split()[0]
        status, body = asyncio.run(get(url, dataset=IRI, question="What grows in the bay?"))
        assert status == 200
        assert ":bay" not in body["query"]  # the question is in the file, so its own query must not come
        assert body["query"] != ""
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.usefixtures("folder")
def test_a_callable_that_hangs_keeps_neither_its_client_nor_the_server(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest_llmkg", "text2sparql", "serve", "python:shore_callables:hanging"]
    command += ["--port", "0", "--dataset", f"shore={IRI}", "--timeout", "0.3", "--retries", "0"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split(" at ")[1].split()[0]
        status, body = asyncio.run(get(url, dataset=IRI, question="Who?"))
        assert (status, "no answer within 0.3 s" in body["detail"]) == (502, True)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name what is served"),
        (["--dataset", "shore"], "--dataset takes NAME=IRI"),
        (["--dataset", f"shore={IRI}", "--host", "192.0.2.1"], "only loopback addresses"),
        (["--dataset", f"shore={IRI}", "--host", "example.org"], "only loopback addresses"),
    ],
)
def test_serve_complains_before_it_listens(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["text2sparql", "serve", "empty", "--port", "0", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_queries_are_run_at_an_endpoint_in_place_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Sandbox() as sandbox, oxigraph(GRAPH, folder / "server", sandbox.check_rdf) as endpoint:
        assert main(["text2sparql", "query", "q.yml", "-l", "en", "-e", endpoint.url]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["text2sparql", "query", "q.yml", "-l", "en", "--kg", "shore=shore.ttl"]) == 0
    assert told == json.loads(capsys.readouterr().out)
    assert told["shore:3-en"] == {"true": 1}


@pytest.mark.usefixtures("folder")
def test_an_endpoint_that_sends_a_page_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    with faulty_server() as server:
        assert main(["text2sparql", "query", "q.yml", "-l", "en", "-e", server.url("html")]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "llmkg: failed: " in told.err


@pytest.mark.usefixtures("folder")
def test_questions_without_an_answer_get_empty_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [{"qname": "shore:3-en", "query": "ASK { ?x :growsIn :bay }"}]
    (folder / "answers.json").write_text(json.dumps(given), encoding="utf-8")
    arguments = ["text2sparql", "query", "q.yml", "-a", "answers.json", "--kg", "shore=shore.ttl"]
    assert main(arguments) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert list(found) == ["shore:1-en", "shore:2-en", "shore:3-en", "order_required"]
    assert (found["shore:1-en"], found["shore:2-en"]) == ({}, {})
    assert found["shore:3-en"] != {}
    assert (
        "2 questions have no answer in answers.json and get empty results, as in the challenge (first: shore:1-en)"
        in (told.err)
    )
    assert main([*arguments, "-l", "en,de"]) == 0  # a language that is asked for is not left out
    found = json.loads(capsys.readouterr().out)
    assert found["shore:1-de"] == {}
