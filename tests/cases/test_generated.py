"""Generated graphs and their examples by content, as the signature of a suite tells them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pytest_llmkg.cases import generated
from pytest_llmkg.cases.company_graph import COMPANY_SEED, company_graph
from pytest_llmkg.cases.generated import examples_file, generated_contents
from pytest_llmkg.records import Case

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_llmkg.plain import Json

COMPANY = f"generated:company@{COMPANY_SEED}"


def case(**data: Json) -> Case:
    return Case("c", "T", "L", data)


def hashed(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_the_graph_and_its_examples_are_told_by_content() -> None:
    examples = examples_file(COMPANY)
    assert examples is not None
    expected = {
        COMPANY: hashed(company_graph(COMPANY_SEED).text.encode()),
        f"{COMPANY}: examples": hashed(examples.read_bytes()),
    }
    assert generated_contents([case(graph=COMPANY), case(graph=COMPANY)]) == expected
    assert generated_contents([case(graph="", services={"s": COMPANY, "t": "http://h/"})]) == expected


def test_other_graphs_are_none_of_them() -> None:
    cases = [
        case(),
        case(graph="<a:a> <a:b> <a:c> ."),
        case(graph=3),
        case(graph="generated:huge@1", services=[COMPANY]),
    ]
    assert generated_contents(cases) == {}


def test_a_changed_generator_and_changed_examples_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "generated:company@4243"
    made: list[int] = []

    def make(seed: int) -> str:
        made.append(seed)
        return f"graph {seed}"

    def generator(_name: str) -> tuple[object, int]:
        return make, 1

    monkeypatch.setattr(generated, "_generator", generator)
    monkeypatch.setattr(generated, "fixtures_root", lambda: tmp_path)
    assert generated_contents([case(graph=name)]) == {name: hashed(b"graph 4243"), f"{name}: examples": "none"}
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "company-4243.ttl").write_bytes(b"one")
    assert generated_contents([case(graph=name)])[f"{name}: examples"] == hashed(b"one")
    assert made == [4243], "it is made once"
