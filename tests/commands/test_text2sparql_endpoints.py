"""``llmkg text2sparql``: the graph of ``--kg`` may be a file or behind an endpoint; the result is the same."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.commands.text2sparql.executing import graphs_named
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Sandbox
from tests.commands.test_text2sparql_systems import GRAPH, IRI, QUESTIONS, get
from tests.endpoints.faulty import faulty_server
from tests.endpoints.servers import oxigraph, rdflib_endpoint

if TYPE_CHECKING:
    from pathlib import Path

CALLABLES = """
ASKED = []

def model(messages):
    ASKED.append(messages[0]["content"])
    return "```sparql\\nSELECT ?x { ?x :growsIn :bay }\\n```"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shore.ttl").write_text(GRAPH, encoding="utf-8")
    (tmp_path / "q.yml").write_text(QUESTIONS, encoding="utf-8")
    (tmp_path / "counting_callables.py").write_text(CALLABLES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "counting_callables", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], verb: str, *arguments: str) -> tuple[int, Any, str]:
    status = main(["text2sparql", verb, *arguments])
    told = capsys.readouterr()
    return status, json.loads(told.out) if told.out.strip() else None, told.err


@pytest.mark.parametrize("server", [oxigraph, pytest.param(rdflib_endpoint, marks=pytest.mark.slow)])
def test_the_pipeline_asks_an_endpoint_as_it_asks_a_file(
    server: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = "rag:python:counting_callables:model"
    status, embedded, _ = run(capsys, "ask", "q.yml", model, "--kg", "shore=shore.ttl")
    assert status == 0
    with Sandbox() as sandbox, server(GRAPH, folder / "server", sandbox.check_rdf) as endpoint:
        place = f"shore={endpoint.url}"
        status, remote, errors = run(capsys, "ask", "q.yml", model, "--kg", place)
        assert (status, errors) == (0, "")
        assert run(capsys, "ask", "q.yml", "python:counting_callables:model", "--kg", place)[0] == 0
        results = run(capsys, "query", "q.yml", "--kg", place)
    assert [entry["query"] for entry in remote] == [entry["query"] for entry in embedded]
    assert results[:2] == run(capsys, "query", "q.yml", "--kg", "shore=shore.ttl")[:2]
    prompt = sys.modules["counting_callables"].ASKED[-1]
    assert "growsIn" in prompt  # the schema was asked for at the endpoint
    assert endpoint.url not in prompt


@pytest.mark.slow
def test_a_served_pipeline_reaches_the_endpoint(folder: Path) -> None:
    with Sandbox() as sandbox, oxigraph(GRAPH, folder / "server", sandbox.check_rdf) as endpoint:
        command = [sys.executable, "-m", "pytest_llmkg", "text2sparql", "serve", "rag:python:counting_callables:model"]
        command += ["--questions", "q.yml", "--kg", f"shore={endpoint.url}", "--port", "0"]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split(" at ")[1].split()[0]
            status, body = asyncio.run(get(url, dataset=IRI, question="What grows in the bay?"))
        finally:
            process.terminate()
            assert process.wait(20) == 0
    assert status == 200
    assert ":growsIn" in body["query"]
    assert body["timings"]["execute"] > 0


def test_an_endpoint_that_gives_nothing_is_known_before_a_model_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    model = "python:counting_callables:model"
    with faulty_server() as server:
        status, found, errors = run(capsys, "ask", "q.yml", model, "--kg", f"shore={server.url('html')}")
    assert (status, found) == (1, None)
    assert errors.startswith("llmkg: failed: the endpoint ")
    assert sys.modules["counting_callables"].ASKED == []


def test_settings_of_the_endpoint_hold_here_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with faulty_server() as server:
        url = server.url("html")
        (folder / "llmkg.toml").write_text(f'[endpoints."{url}"]\ntoken_env = "SHORE_TOKEN"\n', encoding="utf-8")
        for arguments in (["query", "q.yml", "-e", url], ["ask", "q.yml", "empty", "--kg", f"shore={url}"]):
            status, _, errors = run(capsys, *arguments)
            assert status == 2
            assert "needs the environment variable SHORE_TOKEN" in errors


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["shore"], "--kg takes NAME=FILE, e.g. ck25=prod-inst.ttl, or NAME=http://HOST/PATH, found 'shore'"),
        (["shore=shore.ttl", "shore=http://h/sparql"], "the graph 'shore' is given twice"),
        (["shore=http://me:hunter2@h/sparql"], "holds a user or a password"),
        (["shore=q.yml"], "a graph file ends in .ttl"),
        (["shore=none.ttl"], "none.ttl: cannot be read: No such file or directory"),
    ],
)
def test_other_graphs_are_refused(options: list[str], complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        graphs_named(options)
    assert complaint in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("verb", [["ask", "q.yml", "python:counting_callables:model"], ["query", "q.yml"]])
def test_a_graph_that_does_not_parse_is_named_before_anything_is_asked(
    verb: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shore.ttl").write_text("{", encoding="utf-8")
    status, found, errors = run(capsys, *verb, "--kg", "shore=shore.ttl")
    assert (status, found) == (2, None)
    assert errors.startswith("llmkg: error: --kg shore=...: the graph is no Turtle")
    assert getattr(sys.modules.get("counting_callables"), "ASKED", []) == []


def test_a_file_that_cannot_be_written_is_named_before_anything_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, errors = run(capsys, "ask", "q.yml", "python:counting_callables:model", "-o", "none/such/a.json")
    assert status == 2
    assert "none/such/a.json: cannot be written: none/such is no folder that can be written to" in errors
    assert "counting_callables" not in sys.modules


@pytest.mark.parametrize(
    ("option", "value"), [("--timeout", "nan"), ("--timeout", "0"), ("--retries", "-1"), ("--concurrency", "0")]
)
def test_numbers_that_make_no_sense_are_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["text2sparql", "ask", "q.yml", "empty", option, value])
    assert caught.value.code == 2
    assert f"argument {option}: '{value}' is no" in capsys.readouterr().err
    assert main(["text2sparql", "serve", "empty", "--dataset", f"shore={IRI}", "--port", "65536"]) == 2
    assert "--port 65536: a port is a number from 0 to 65535" in capsys.readouterr().err


def test_a_name_that_is_too_long_is_an_error_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text2sparql", "check", "x" * 300]) == 2
    assert "xxx: File name too long" in capsys.readouterr().err
