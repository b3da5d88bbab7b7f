"""The generated graph is the same everywhere, has a realistic shape, and costs a case and a query little."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.cases.generated import generated_reference, resolve_graph
from pytest_llmkg.cases.large_graph import LARGE_SEED, TERMS, large_graph
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.kg.process import WorkerProcess
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = f"generated:large@{LARGE_SEED}"
PREFIXES = {"mus": TERMS}

CASE_FILE = """
schema = 1
task = "Text2SparqlList"
[defaults]
format = "turtle"
graph = {{ generated = "{name}" }}
shown = {{ file = "shown-{{id}}.txt" }}
[defaults.prefixes]
mus = "https://kg.example/museum-terms#"
[[variant]]
label = "Large"
[[case]]
id = "one"
question = "Which?"
query = "SELECT ?m {{ ?m a mus:Museum }}"
result = ["x"]
"""


@pytest.fixture(scope="module")
def triples() -> list[pyoxigraph.Triple]:
    return [quad.triple for quad in pyoxigraph.parse(large_graph().text, pyoxigraph.RdfFormat.N_TRIPLES)]


def test_bytes_are_the_same_in_every_process() -> None:
    program = "import hashlib; from pytest_llmkg.cases.large_graph import large_graph as g; "
    program += "print(hashlib.sha256(g().text.encode()).hexdigest())"
    here = hashlib.sha256(large_graph().text.encode()).hexdigest()
    for hash_seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
        )
        assert run.stdout.strip() == here


def test_seed_decides_the_holdings_but_not_the_vocabulary(triples: list[pyoxigraph.Triple]) -> None:
    other = [quad.triple for quad in pyoxigraph.parse(large_graph(1).text, pyoxigraph.RdfFormat.N_TRIPLES)]
    assert set(other) != set(triples)
    assert {t.predicate for t in other} == {t.predicate for t in triples}
    assert museums(other) == museums(triples)


def museums(triples: list[pyoxigraph.Triple]) -> set[object]:
    return {t.subject for t in triples if t.object == pyoxigraph.NamedNode(f"{TERMS}Museum")}


def test_size_and_shape(triples: list[pyoxigraph.Triple]) -> None:
    assert 95_000 <= len(triples) <= 105_000
    assert len(set(triples)) == len(triples)
    held = Counter(t.object for t in triples if t.predicate.value == f"{TERMS}heldBy")
    most, least = held.most_common()[0][1], held.most_common()[-1][1]
    assert len(held) == 22
    assert most > 10 * least  # few large collections, many small ones
    datatypes = {
        t.object.datatype.value.rpartition("#")[2] for t in triples if isinstance(t.object, pyoxigraph.Literal)
    }
    assert datatypes == {"string", "langString", "integer", "decimal", "double", "date"}
    assert any(isinstance(t.object, pyoxigraph.BlankNode) for t in triples)


def test_schema_holds_all_that_the_data_uses(triples: list[pyoxigraph.Triple]) -> None:
    described = {t.subject for t in triples if isinstance(t.subject, pyoxigraph.NamedNode)}
    used = {t.predicate for t in triples} | {t.object for t in triples if t.predicate.value.endswith("#type")}
    assert {
        term for term in used if isinstance(term, pyoxigraph.NamedNode) and term.value.startswith(TERMS)
    } <= described


def test_nobody_is_the_pupil_of_someone_younger(triples: list[pyoxigraph.Triple]) -> None:
    born: dict[object, int] = {
        t.subject: int(t.object.value)
        for t in triples
        if t.predicate.value == f"{TERMS}born" and isinstance(t.object, pyoxigraph.Literal)
    }
    pairs = [(t.subject, t.object) for t in triples if t.predicate.value == f"{TERMS}pupilOf"]
    assert len(pairs) > 100
    assert all(born[pupil] >= born[teacher] for pupil, teacher in pairs)


def test_reference_is_expanded_once_and_other_texts_are_left_alone() -> None:
    assert generated_reference("large") == REFERENCE
    assert resolve_graph(REFERENCE) == large_graph().text
    assert resolve_graph(REFERENCE) is resolve_graph(REFERENCE)
    for text in ("", "<a:a> <a:b> <a:c> .", f"{REFERENCE} .", "generated:large@", "generated:large@-1"):
        assert resolve_graph(text) is text


def test_unknown_generator_is_named_with_those_that_exist() -> None:
    with pytest.raises(CaseFileError, match="no generated graph 'huge'; known are: company, large"):
        generated_reference("huge")
    with pytest.raises(CaseFileError, match="no generated graph 'huge'; known are: company, large"):
        resolve_graph("generated:huge@1")


def test_a_case_holds_the_reference_and_the_text_shown_for_its_id(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(CASE_FILE.format(name="large"), encoding="utf-8")
    (tmp_path / "shown-one.txt").write_text("what is shown", encoding="utf-8")
    (case,) = load_case_files([tmp_path / "large.toml"], tmp_path, discover_tasks(), 1)
    assert case.text("graph") == REFERENCE
    assert case.text("shown") == "what is shown"


def test_a_wrong_generator_in_a_case_file_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(CASE_FILE.format(name="huge"), encoding="utf-8")
    (tmp_path / "shown-one.txt").write_text("", encoding="utf-8")
    with pytest.raises(
        CaseFileError, match=r"large\.toml: case 'one' \(Large\): field 'graph': no generated graph 'huge'"
    ):
        load_case_files([tmp_path / "large.toml"], tmp_path, discover_tasks(), 1)


def test_a_worker_is_sent_the_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    ask = WorkerProcess.ask

    def noted(self: WorkerProcess, request: dict[str, Any], seconds: float) -> object:
        calls.append(request.get("call", "start"))
        return ask(self, request, seconds)

    monkeypatch.setattr(WorkerProcess, "ask", noted)
    with Sandbox() as kg:
        for kind in ("Museum", "Town", "Region"):
            query = f"SELECT (COUNT(?x) AS ?n) {{ ?x a mus:{kind} }}"
            result = kg.run_query(GraphText(resolve_graph(REFERENCE), "turtle"), query, PREFIXES)
            assert result.error is None
            assert (
                int(result.rows[0][0].value if result.rows[0][0] else 0)
                == {"Museum": 22, "Town": 20, "Region": 6}[kind]
            )
    assert calls == ["start", "run_query", "load", "run_query", "run_query", "run_query"]
