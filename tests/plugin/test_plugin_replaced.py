"""What failed attempts cost is still told when the run was resumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_llmkg.cli import main

if TYPE_CHECKING:
    import pytest

    from tests.plugin.conftest import Project

BENCHMARK = """\
import pytest

@pytest.mark.llmkg("SparqlSyntaxFixingList")
def test_answer(dialogue):
    dialogue.hold()
"""
CASES = """\
schema = 1
task = "SparqlSyntaxFixingList"

[defaults]
format = "turtle"
graph = "@prefix : <http://example.org/> .\\n:ada :knows :bob ."
prefixes = { "" = "http://example.org/" }
query = "SELECT ?who WHERE { :ada :knows ?who }"
question = "Whom does Ada know?"
broken = "SELECT ?who WHERE { :ada :knows ?who "
result = [":bob"]

[[variant]]
label = "Tiny"

[[case]]
id = "one"

[[case]]
id = "two"
"""
RIGHT = "```sparql\nSELECT ?who WHERE { :ada :knows ?who }\n```"


def priced(text: str, cost: float) -> dict[str, object]:
    return {"text": text, "usage": {"input_tokens": 10, "output_tokens": 5, "cost": cost}}


def test_the_cost_of_replaced_attempts_is_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.pytester.makepyfile(test_bench=BENCHMARK)
    project.path.joinpath("tiny.toml").write_text(CASES, encoding="utf-8")
    model = "--models=" + project.script(
        "s", [priced(RIGHT, 1.0)], two=[priced("no query", 0.25), {"error": "the endpoint is down"}]
    )
    project.run(model, "--llmkg-run-dir=run").assert_outcomes(passed=1, failed=1)
    project.script("s", [priced(RIGHT, 1.0)], two=[priced(RIGHT, 0.5)])
    project.run(model, "--llmkg-resume=run").assert_outcomes(passed=2)
    capsys.readouterr()
    assert main(["report", str(project.path / "run"), "--format", "json"]) == 0
    row = json.loads(capsys.readouterr().out)["ranking"][0]
    assert (row["replaced"]["attempts"], row["replaced"]["cost"], row["replaced"]["cost_known"]) == (1, 0.25, True)
    assert row["paid"]["cost"] == 1.75
    assert main(["report", str(project.path / "run")]) == 0
    told = capsys.readouterr().out
    assert "1 attempt was replaced by a later one" in told
    assert "1.75" in told
