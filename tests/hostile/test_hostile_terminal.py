"""What answers and servers say reaches no terminal raw: not pytest's output, not that of any command."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.hostile.answers import ANSWERS
from tests.hostile.checks import RAW
from tests.openai_server import Fault, OpenAIServer
from tests.plugin.conftest import BENCHMARK, CASES

if TYPE_CHECKING:
    from pathlib import Path

# With what the terminal could take for its own: escapes, controls, marks that reorder.
KINDS = ("escape-", "injection-", "markup-", "encoding-", "sparql-error-echo", "sparql-result-escapes")
TEXTS = {answer.name: answer.build("http://127.0.0.1:9/") for answer in ANSWERS if answer.name.startswith(KINDS)}
QUERIES = """\
schema = 1
task = "Text2SparqlList"

[defaults]
format = "turtle"
graph = "@prefix : <http://example.org/> .\\n:ada :knows :bob ."
prefixes = { "" = "http://example.org/" }
question = "Whom does Ada know?"
query = "SELECT ?who WHERE { :ada :knows ?who }"
result = [":bob"]

[[variant]]
label = "TinyQuery"

[[case]]
id = "one"
"""
TESTS = """
def test_shown(dialogue):
    transcript = dialogue.hold()
    assert transcript.turns[-1].answer.text == "", transcript

test_shown = pytest.mark.llmkg("Sparql2AnswerList")(test_shown)

@pytest.mark.llmkg("Text2SparqlList")
def test_query(dialogue):
    dialogue.hold()
"""


def raw(text: str) -> list[str]:
    """The lines of ``text`` with a character that must not reach a terminal."""
    return [ascii(line)[:200] for line in text.split("\n") if RAW.search(line)]


def run(project: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        capture_output=True,
        check=False,
        timeout=400,
        env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8", "OPENAI_API_KEY": "none-needed", "NO_PROXY": "*"},
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return (done.stdout + done.stderr).decode("utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of models that say all of it and of servers whose errors hold it."""
    directory = tmp_path_factory.mktemp("project")
    (directory / "test_bench.py").write_text(BENCHMARK + TESTS, encoding="utf-8")
    (directory / "tiny.toml").write_text(CASES.partition('[[case]]\nid = "two"')[0], encoding="utf-8")
    (directory / "query.toml").write_text(QUERIES, encoding="utf-8")
    (directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, text in TEXTS.items():
        (directory / f"{name}.json").write_text(json.dumps({"answers": [text] * 3}), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def output(project: Path) -> str:
    shout = " ".join(text[:300] for name, text in TEXTS.items() if name.startswith("escape-"))
    faults = {"refusing": Fault("status", 400, message=shout), "failing": Fault("status", 500, message=shout)}
    servers = {name: OpenAIServer(every=(1, fault)) for name, fault in faults.items()}
    servers["speaking"] = OpenAIServer(reply=shout, message={"reasoning_content": shout}, finish_reason=shout)
    declared = "".join(
        f'[tool.pytest_llmkg.models.{name}]\nmodel = "openai/{name}"\napi_base = "{server.url}"\n'
        for name, server in servers.items()
    )
    (project / "pyproject.toml").write_text(declared, encoding="utf-8")
    models = ",".join([*servers, *(f"scripted:{name}.json" for name in TEXTS)])
    options = ["--llmkg-cases=tiny.toml", "--llmkg-cases=query.toml", "--tasks=Tiny,TinyQuery", "--llmkg-run-dir=run"]
    strict = ["--llmkg-min-score=0.99", "--llmkg-retries=0", "-vv", "-rA", "--showlocals", "--tb=long"]
    with servers["refusing"], servers["failing"], servers["speaking"]:
        return run(project, "pytest", *options, *strict, "-o", "log_cli=true", f"--models={models}")


def test_the_output_of_pytest_is_clean(output: str, project: Path) -> None:
    assert "FAILED" in output
    assert (project / "run" / "run.jsonl").stat().st_size > 100_000
    assert raw(output) == []


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run"),
        ("report", "run", "--format", "csv"),
        ("report", "run", "--format", "json"),
        ("export", "run", "--format", "csv"),
        ("rescore", "run/run.jsonl", "--rules", "corrected"),
    ],
    ids=" ".join,
)
def test_the_output_of_commands_is_clean(output: str, project: Path, command: tuple[str, ...]) -> None:
    text = run(project, "pytest_llmkg", *command)
    assert text
    assert raw(text) == []
