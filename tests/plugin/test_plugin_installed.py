"""A project that has nothing to do with models notices nothing of the plugin."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

# Run inside a session: what is loaded, and which sockets are opened.
SPY = """\
import socket
import sys

OPENED = []
_plain = socket.socket.__init__

def _noted(self, *args, **kwargs):
    OPENED.append(args)
    _plain(self, *args, **kwargs)

socket.socket.__init__ = _noted

def pytest_unconfigure(config):
    heavy = "litellm rdflib pyoxigraph jinja2 pytest_llmkg.suite pytest_llmkg.session.holding pytest_llmkg.tasks"
    print("SPY", OPENED, [name for name in heavy.split() if name in sys.modules])
"""

OTHERS = """\
import pytest

@pytest.fixture
def model():
    return "a train"

@pytest.fixture
def case():
    return "for glasses"

@pytest.fixture
def dialogue(model, case):
    return f"{model} and a {case}"

@pytest.fixture
def iteration():
    return 7

def test_fixtures(model, case, dialogue, iteration):
    assert (model, case, iteration) == ("a train", "for glasses", 7)
    assert dialogue == "a train and a for glasses"

@pytest.mark.parametrize("model, dialogue", [("x", "y")])
def test_arguments(model, dialogue):
    assert (model, dialogue) == ("x", "y")
"""


@pytest.fixture
def other(project: Project) -> Project:
    """A project without benchmark tests."""
    (project.path / "test_bench.py").unlink()
    project.pytester.makepyfile(test_others=OTHERS)
    return project


def test_says_and_writes_and_loads_nothing(other: Project) -> None:
    other.pytester.makeconftest(SPY)
    before = other.files()
    with_it = other.pytester.runpytest_subprocess()
    without = other.pytester.runpytest_subprocess("-p", "no:llmkg")
    with_it.assert_outcomes(passed=2)
    assert "SPY [] []" in with_it.outlines
    texts = [[line for line in result.outlines if "plugins:" not in line][:-1] for result in (with_it, without)]
    assert [line.split(" in ")[0] for line in texts[0]] == [line.split(" in ")[0] for line in texts[1]]
    assert with_it.stderr.str() == without.stderr.str()
    assert other.files() == before


def test_says_and_writes_nothing_with_workers(other: Project) -> None:
    before = other.files()
    result = other.pytester.runpytest_subprocess("-n", "2")
    result.assert_outcomes(passed=2)
    assert "llmkg:" not in result.stdout.str()
    assert "leaderboard" not in result.stdout.str()
    assert other.files() == before


def test_a_dying_worker_of_another_project_concerns_nobody(other: Project) -> None:
    other.pytester.makepyfile(test_others="import os\n\ndef test_dies():\n    os._exit(1)\n")
    result = other.pytester.runpytest_subprocess("-n", "1", "--max-worker-restart=0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "llmkg:" not in result.stdout.str()
    assert "reports" not in other.files()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--strict-markers", "--strict-config", "-W", "error", "-p", "no:cacheprovider"),
        ("-p", "no:terminal", "-p", "no:xdist"),
        ("-p", "no:llmkg"),
    ],
    ids=" ".join,
)
def test_other_project_with(other: Project, arguments: tuple[str, ...]) -> None:
    other.pytester.makeconftest("def pytest_sessionfinish(session):\n    print('DONE', session.testscollected)\n")
    result = other.pytester.runpytest_subprocess("-s", *arguments)
    assert result.ret == 0
    assert "DONE 2" in result.stdout.str()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--strict-markers", "--strict-config", "-W", "error", "-p", "no:xdist", "-s", "-v"),
        ("-W", "error", "-n", "2"),
        ("-p", "no:terminal", "-p", "no:cacheprovider"),
        ("-p", "no:junitxml", "-p", "no:logging", "--color=yes"),
    ],
    ids=" ".join,
)
def test_benchmark_with(project: Project, arguments: tuple[str, ...]) -> None:
    result = project.run_apart("--llmkg-run-dir=run", *arguments)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert len(project.scores()) == 3
    assert (project.path / "run" / "leaderboard.html").is_file()


def test_without_the_plugin_its_options_are_unknown(project: Project) -> None:
    result = project.pytester.runpytest_subprocess("-p", "no:llmkg", "--models=symbolic")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_marked_tests_among_others(other: Project) -> None:
    """In one session, a marked test gets our model and an ordinary one its project's."""
    other.pytester.makepyfile(
        test_both=OTHERS
        + """
@pytest.mark.llmkg("Sparql2AnswerList")
def test_marked(case, model, iteration):
    assert (case.label, model.id, iteration) == ("Tiny", "symbolic", 1)
"""
    )
    other.run().assert_outcomes(passed=7)


def test_the_import_of_the_plugin_itself_is_light(other: Project) -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import pytest_llmkg.plugin; "
        "print(*sorted({n.split('.')[0] for n in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    result = other.pytester.run(sys.executable, "-c", code)
    assert result.outlines == ["pytest_llmkg"]
