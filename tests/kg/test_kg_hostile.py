from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg import FORMATS, Limits, Sandbox
from tests.hostile.graphs import DEEP, NESTED, entities
from tests.hostile.texts import ODD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EMPTY = GraphText("", "nt")


@pytest.fixture(scope="module")
def small() -> Iterator[Sandbox]:
    with Sandbox(Limits(query_seconds=3, parse_seconds=3, memory_bytes=400 * 1024**2)) as box:
        yield box


def works(box: Sandbox) -> bool:
    return box.check_query("ASK { ?a ?b ?c }").form == "ASK" and bool(box.run_query(EMPTY, "ASK {}", {}).boolean)


@pytest.mark.parametrize("text", ODD)
def test_odd_characters_give_verdicts(sandbox: Sandbox, text: str) -> None:
    for known in FORMATS:
        assert sandbox.check_rdf(GraphText(text, known.name)).error is not None
        result = sandbox.run_query(GraphText(text + "<", known.name), "ASK {}", {})
        assert result.error is not None
    assert sandbox.check_query(text).error is not None
    assert sandbox.run_query(EMPTY, text, {}).error is not None
    assert sandbox.check_query(f"ASK {{ ?s ?p '''{text}''' }}").error is None or "\\" in text or "\x89" in text
    assert works(sandbox)


@settings(max_examples=80, deadline=None)
@given(
    text=st.text(max_size=60) | st.text("<>\"'{}[]()@^#:.;,?$ \n\\ab1_-", max_size=60),
    form=st.sampled_from([f.name for f in FORMATS]),
)
def test_any_text_gives_verdicts(sandbox: Sandbox, text: str, form: str) -> None:
    verdict = sandbox.check_rdf(GraphText(text, form))
    assert verdict.error is None or not verdict.triples
    assert (sandbox.check_query(text).error is None) == (sandbox.check_query(text).form is not None)
    result = sandbox.run_query(GraphText(text, form), text, {})
    assert result.error is None or not result.rows


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in DEEP.items() for t in texts])
def test_deeply_nested_graphs(small: Sandbox, name: str, text: str) -> None:
    error = small.check_rdf(GraphText(text, name)).error
    assert error is not None
    assert "recursion" in error
    small.run_query(GraphText(text, name), "ASK {}", {})
    assert works(small)


@pytest.mark.parametrize(("left", "right"), [("(", ")"), ("!", ""), ("-", ""), ("IF(1,1,", ")")])
def test_deeply_nested_expressions(small: Sandbox, left: str, right: str) -> None:
    for depth in (25, NESTED, 20 * NESTED):
        query = f"ASK {{ FILTER({left * depth}1{right * depth}) }}"
        small.check_query(query)
        small.run_query(EMPTY, query, {})
    assert works(small)


def test_deeply_nested_groups(small: Sandbox) -> None:
    query = "ASK " + "{" * 100_000 + "}" * 100_000
    assert small.check_query(query).error is not None
    assert small.run_query(EMPTY, query, {}).error is not None
    assert works(small)


@pytest.mark.parametrize("text", ["x" * 1_000_000, '"' * 1_000_000, "a-" * 500_000, "?a<" * 333_333])
def test_a_million_characters(small: Sandbox, text: str) -> None:
    assert small.check_query(text).error is not None
    assert small.run_query(EMPTY, text, {}).error is not None
    assert small.check_rdf(GraphText(text, "turtle")).error is not None
    assert works(small)


def test_xml_entities_that_grow(small: Sandbox) -> None:
    assert small.check_rdf(GraphText(entities(12), "xml")).error is not None
    assert small.run_query(GraphText(entities(12), "xml"), "SELECT * { ?s ?p ?o }", {}).error is not None
    assert works(small)


def test_xml_entities_from_files_are_not_read(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish", encoding="utf-8")
    text = entities(1).replace('<!ENTITY e0 "ha">', f'<!ENTITY e0 SYSTEM "{secret.as_uri()}">')
    graph = GraphText(text, "xml")
    assert "swordfish" not in str(sandbox.check_rdf(graph))
    assert "swordfish" not in str(sandbox.run_query(graph, "SELECT * { ?s ?p ?o }", {}))


def test_a_prefix_that_blows_the_triples_up(small: Sandbox) -> None:
    text = f"@prefix a: <http://{'x' * 400_000}/> .\n" + "".join(f"a:s a:p a:o{i} .\n" for i in range(30_000))
    assert small.check_rdf(GraphText(text, "turtle")).error is not None
    assert small.run_query(GraphText(text, "turtle"), "SELECT * { ?s ?p ?o }", {}).error is not None
    assert works(small)
