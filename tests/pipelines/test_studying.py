"""The pipeline on a graph behind an endpoint: a real server on loopback."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.endpoints import endpoint_graph
from pytest_llmkg.pipelines.answering import Pipeline
from pytest_llmkg.pipelines.settings import PipelineSettings
from pytest_llmkg.pipelines.studying import StudyingEngine
from tests.endpoints.servers import oxigraph
from tests.pipelines.harbour import GOOD, GRAPH, TURTLE, Scripted, bench, block, request

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.kg import Sandbox


def test_a_graph_behind_an_endpoint_is_counted_and_queried_there(engine: Sandbox, tmp_path: Path) -> None:
    with oxigraph(TURTLE, tmp_path / "server", engine.check_rdf) as endpoint:
        studying, graph = StudyingEngine(engine), endpoint_graph(endpoint.url)
        assert studying.profile(graph).classes == engine.profile(GRAPH).classes
        model = Scripted([block("SELECT ?s { ?s a h:Boat }"), block(GOOD)])
        work = replace(bench(model, studying), graph=lambda _request: graph)
        answer = asyncio.run(Pipeline("rag", PipelineSettings(), work).ask(request()))
    tries = answer.notes["tries"]
    assert isinstance(tries, list)
    assert [one["kind"] for one in tries if isinstance(one, dict)] == ["schema", "ok"]


def test_an_embedded_graph_stays_embedded(engine: Sandbox) -> None:
    assert StudyingEngine(engine).profile(GRAPH) == engine.profile(GRAPH)
