"""A small project of somebody else: one benchmark test, one case file, models that answer from a script."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

# Not used here: numpy can be loaded only once in a process, and sessions that pytester runs in this one forget it.
import numpy  # noqa: F401, ICN001
import pytest
import scipy.optimize
import scipy.special  # noqa: F401

from pytest_llmkg.store import read_run
from tests.openai_server import OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_llmkg.store import Run

BENCHMARK = """\
import pytest

@pytest.mark.llmkg("Sparql2AnswerList")
def test_answer(dialogue):
    dialogue.hold()
"""

CASES = """\
schema = 1
task = "Sparql2AnswerList"

[defaults]
format = "turtle"
graph = "@prefix : <http://example.org/> .\\n:ada :knows :bob ."
prefixes = { "" = "http://example.org/" }
query = "SELECT ?who WHERE { :ada :knows ?who }"
result = [":bob"]

[[variant]]
label = "Tiny"

[[case]]
id = "one"

[[case]]
id = "two"

[[case]]
id = "three"
"""


@dataclass
class Project:
    """The project, with short ways to run pytest in it and to read what it left."""

    pytester: pytest.Pytester

    @property
    def path(self) -> Path:
        return self.pytester.path

    def run(self, *args: str) -> pytest.RunResult:
        """Runs pytest in this process (its workers, if any, in others) on the cases of the project only."""
        return self.pytester.runpytest_inprocess("--llmkg-cases=tiny.toml", "--tasks=Tiny", *args)

    def run_apart(self, *args: str) -> pytest.RunResult:
        """Like `run`, in a process of its own."""
        return self.pytester.runpytest_subprocess("--llmkg-cases=tiny.toml", "--tasks=Tiny", *args, timeout=120)

    def script(self, name: str, answers: object = None, **cases: object) -> str:
        """Writes a script and returns its model; ``cases`` are the answers by id, ``answers`` those of the others."""
        script: dict[str, Any] = {"cases": {f"Tiny/{case}": value for case, value in cases.items()}}
        if answers is not None:
            script["answers"] = answers
        (self.path / f"{name}.json").write_text(json.dumps(script), encoding="utf-8")
        return f"scripted:{name}.json"

    def stored(self, directory: str = "run") -> Run:
        """The run in ``directory``."""
        return read_run(self.path / directory)

    def scores(self, directory: str = "run") -> dict[tuple[str, str, int], dict[str, float]]:
        """Scores of the last turn by case, model and iteration."""
        return {
            (t.case, t.model, t.iteration): dict(t.turns[-1].evaluation.scores()) if t.turns else {}
            for t in self.stored(directory).transcripts
        }

    def errors(self, directory: str = "run") -> dict[tuple[str, str], str]:
        """Errors by case and model."""
        return {(t.case, t.model): t.error for t in self.stored(directory).transcripts if t.error is not None}

    def files(self) -> list[str]:
        """Everything in the project but caches and what pytester itself writes."""
        found = (path.relative_to(self.path).as_posix() for path in self.path.rglob("*"))
        return sorted(
            name for name in found if not re.match(r"(.*__pycache__|\.pytest_cache|runpytest-|stdout$|stderr$)", name)
        )


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a benchmark test and a case file."""
    for name in list(os.environ):
        if name.upper().endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_PROXY")):
            monkeypatch.delenv(name)
    pytester.makepyfile(test_bench=BENCHMARK)
    pytester.path.joinpath("tiny.toml").write_text(CASES, encoding="utf-8")
    pytester.makeini("[pytest]\n")
    return Project(pytester)


@pytest.fixture
def distinct(project: Project) -> None:
    """Gives each case another prompt, since equal ones are one answer for the cache."""
    cases = project.path / "tiny.toml"
    text = cases.read_text()
    for name in ("one", "two", "three"):
        text = text.replace(
            f'id = "{name}"', f'id = "{name}"\nquery = "SELECT ?{name} WHERE {{ :ada :knows ?{name} }}"'
        )
    cases.write_text(text)


@pytest.fixture(params=[(), ("-n", "0"), ("-n", "2")], ids=["plain", "n0", "n2"])
def mode(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The arguments for a session without pytest-xdist's workers and with them."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture(params=[(), ("-n", "2")], ids=["plain", "n2"])
def spread(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Like `mode`, without the one in between, for tests that start many processes."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """An OpenAI-compatible server, to which ``openai/...`` models go."""
    with OpenAIServer(reply=":bob") as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        yield running
