"""``llmkg schema`` and ``llmkg examples`` on the harbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cli import main
from pytest_llmkg.pipelines.examples import examples_as_shacl, load_examples
from pytest_llmkg.pipelines.void import profile_from_void
from tests.pipelines.harbour import EXAMPLES, TURTLE, H

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    return path


def test_a_schema_as_shapes(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", str(graph), "--prefix", f"h={H}"]) == 0
    shown = capsys.readouterr().out
    assert "h:Quay {\n  a [ h:Quay ] ;\n  h:depth xsd:decimal ;\n  h:number xsd:integer\n}" in shown
    assert "```" not in shown


def test_a_schema_as_void_can_be_read_back(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "void.ttl"
    assert main(["schema", str(graph), "--format", "void", "--dataset", f"{H}void", "--out", str(out)]) == 0
    found = profile_from_void(out.read_text(encoding="utf-8"))
    assert [use.iri for use in found.classes] == [f"{H}{name}" for name in ("Ship", "Person", "Quay", "Firm")]


def test_examples_from_one_format_to_shacl(tmp_path: Path) -> None:
    given, out = tmp_path / "given.ttl", tmp_path / "out.ttl"
    given.write_text(examples_as_shacl(EXAMPLES, f"{H}e/"), encoding="utf-8")
    assert main(["examples", str(given), "--base", f"{H}x/", "--out", str(out)]) == 0
    assert {(e.question, e.query) for e in load_examples([out])} == {(e.question, e.query) for e in EXAMPLES}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["schema", "missing.ttl"], "cannot be read"),
        (["schema", "GRAPH", "--prefix", "h"], "NAME=IRI"),
        (["examples", "missing.yml"], "missing.yml"),
    ],
)
def test_what_cannot_be_read_is_named(
    graph: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(graph) if part == "GRAPH" else part for part in arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_broken_graph_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.ttl"
    path.write_text("<a> <b> .", encoding="utf-8")
    assert main(["schema", str(path)]) == 2
    assert "broken.ttl: the graph is no Turtle" in capsys.readouterr().err
