"""Dialogues are held ahead of their tests: the same in any number of processes, and nothing lost at any end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.openai_server import Fault, OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.plugin.conftest import Project

CASES = ("one", "two", "three")


def lines_of(project: Project, directory: str = "run") -> int:
    """Lines of transcripts in the run file and in what workers left beside it."""
    files = (project.path / directory).glob("run*.jsonl")
    return sum(path.read_bytes().count(b'{"kind":"transcript"') for path in files)


def wait_for(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "the run does not get on"
        time.sleep(0.05)


def test_scores_are_the_same_in_any_number_of_processes(project: Project) -> None:
    models = (project.script("some", [":bob"], two=[":eve\n:bob"], three=["nobody"]), "symbolic")
    found = set()
    for directory, mode in (("plain", ()), ("two", ("-n", "2")), ("four", ("-n", "4"))):
        args = (f"--models={','.join(models)}", "--iterations=7", f"--llmkg-run-dir={directory}")
        assert project.run(*mode, *args).ret == 0
        table = (project.path / directory / "scores.csv").read_bytes().splitlines()
        assert len(table) > 2 * 3 * 7
        found.add(b"\n".join(sorted(table)))
    assert len(found) == 1


class Gate(OpenAIServer):
    """Answers the model ``slow`` only when the other one has been asked everything."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.opened = threading.Event()
        self.answered: list[str] = []

    def completion(self, body: dict[str, Any], content: str | None) -> dict[str, Any]:
        if body["model"] == "slow":
            self.opened.wait(60)
        self.answered.append(body["model"])
        if self.answered.count("fast") == 3 * 4:
            self.opened.set()
        return super().completion(body, content)


def test_a_slow_model_does_not_hold_up_a_fast_one(
    project: Project, spread: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gate(reply=":bob") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        args = ("--models=openai/slow,openai/fast", "--iterations=4", "--llmkg-concurrency=2", "--llmkg-run-dir=run")
        project.run(*spread, *args).assert_outcomes(passed=24)
    assert server.answered == ["fast"] * 12 + ["slow"] * 12
    assert lines_of(project) == 24


@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_after_the_last_failure_nothing_new_starts(
    project: Project, server: OpenAIServer, spread: tuple[str, ...], option: str
) -> None:
    """What was asked is in the run file, though most of it was asked ahead of tests that never ran."""
    server.every, server.latency = (1, Fault("status", status=400, message="no such thing")), 0.2
    args = (option, "--models=openai/any", "--iterations=40", "--llmkg-concurrency=3", "--llmkg-run-dir=run")
    result = project.run(*spread, *args)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    assert 1 <= server.count < 60
    assert lines_of(project) == server.count
    assert (project.path / "run" / "leaderboard.html").is_file()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


class Stuck(OpenAIServer):
    """Never answers the case ``two``, and refuses the case ``one`` as soon as it was asked for ``two``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stuck = threading.Event()
        self.hanging = 0

    def enter(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Fault | None:
        super().enter(path, headers, body)
        prompt = body["messages"][-1]["content"]
        if "?two" in prompt:
            self.hanging += 1
            self.stuck.set()
            return Fault("hang", seconds=500)
        if "?one" in prompt:
            self.stuck.wait(60)
            return Fault("status", status=400)
        return None


@pytest.mark.usefixtures("distinct")
def test_calls_that_hang_do_not_keep_a_session_that_ends(
    project: Project, spread: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first test of each process fails while a call for a later one hangs, longer than this waits for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    with Stuck(reply=":bob") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        args = ("-x", "--models=openai/any", "--iterations=2", "--llmkg-concurrency=3", "--llmkg-timeout=600")
        result = project.run_apart(*spread, *args, "--llmkg-run-dir=run")
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    assert server.hanging >= 1
    assert lines_of(project) == server.count - server.hanging


class Hanging(OpenAIServer):
    """Answers at once unless it is asked for ``:ada``'s first case, whose prompt alone holds ``hang``."""

    def completion(self, body: dict[str, Any], content: str | None) -> dict[str, Any]:
        if ":hang" in body["messages"][-1]["content"]:
            self.wait(300)
        return super().completion(body, content)


@pytest.fixture
def hanging(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    """A server that never answers the case ``one``, whose tests are the first ones."""
    cases = project.path / "tiny.toml"
    graph = 'graph = "@prefix : <http://example.org/> .\\\\n:ada :knows :bob . :ada :is :hang ."'
    cases.write_text(cases.read_text().replace('id = "one"\n', f'id = "one"\n{graph}\n'), encoding="utf-8")
    with Hanging(reply=":bob") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        yield server


@pytest.mark.parametrize("whole_group", [False, True], ids=["main process", "group"])
def test_ctrl_c_keeps_what_was_held_ahead(
    project: Project, hanging: Hanging, spread: tuple[str, ...], *, whole_group: bool
) -> None:
    """The first test waits for its dialogue, while those of later tests are finished."""
    command = [sys.executable, "-m", "pytest", "--llmkg-cases=tiny.toml", "--tasks=Tiny", "--llmkg-run-dir=run"]
    process = subprocess.Popen(
        [*command, "--models=openai/any", "--iterations=6", "--llmkg-timeout=500", *spread],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        wait_for(lambda: lines_of(project) == 12 and hanging.count == 18)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    text = output.decode()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "INTERNALERROR" not in text
    assert "llmkg leaderboard" in text
    assert (project.path / "run" / "leaderboard.html").is_file()
    run = project.stored()
    assert Counter(t.case for t in run.transcripts if t.error is None) == {"two": 6, "three": 6}
    assert hanging.count == 18, "nothing new was begun"


def test_sigterm_is_like_ctrl_c(project: Project, hanging: Hanging) -> None:
    """CI systems and batch queues end a job with it."""
    command = [sys.executable, "-m", "pytest", "--llmkg-cases=tiny.toml", "--tasks=Tiny", "--llmkg-run-dir=run"]
    process = subprocess.Popen(
        [*command, "--models=openai/any", "--llmkg-timeout=500"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_for(lambda: lines_of(project) == 2 and hanging.count == 3)
        process.terminate()
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output.decode()
    assert (project.path / "run" / "leaderboard.html").is_file()
    assert {t.case for t in project.stored().transcripts if t.error is None} == {"two", "three"}


COSTLY = """\
import pytest

@pytest.mark.skip(reason="not today")
@pytest.mark.llmkg("Sparql2AnswerList")
def test_skipped(dialogue):
    dialogue.hold()

@pytest.mark.skipif(True, reason="nor tomorrow")
@pytest.mark.llmkg("Sparql2AnswerList")
def test_skipped_by_condition(dialogue):
    dialogue.hold()

@pytest.mark.llmkg("Sparql2AnswerList", ahead=False)
def test_that_skips_most(dialogue):
    if dialogue.case.id != "two":
        pytest.skip("only two")
    dialogue.hold()
"""


def test_tests_that_skip_cost_nothing(project: Project, server: OpenAIServer, spread: tuple[str, ...]) -> None:
    (project.path / "test_bench.py").write_text(COSTLY)
    result = project.run(*spread, "--models=openai/any", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=1, skipped=8)
    assert server.count == 1
    assert set(project.scores()) == {("two", "openai/any", 1)}


SETUP = """\
import pytest

@pytest.fixture
def prepared(case):
    if case.id == "two":
        raise OSError("no room")

@pytest.mark.llmkg("Sparql2AnswerList")
def test_answer(prepared, dialogue):
    dialogue.hold()
"""


def test_a_test_that_fails_in_setup_costs_no_other_dialogue(project: Project, spread: tuple[str, ...]) -> None:
    (project.path / "test_bench.py").write_text(SETUP)
    project.run(*spread, "--llmkg-run-dir=run").assert_outcomes(passed=2, errors=1)
    run = project.stored()
    assert {t.case for t in run.transcripts} == set(CASES)
    assert {t.case for t in run.transcripts if t.error is None} >= {"one", "three"}


FLAKY = """\
import pytest

@pytest.mark.llmkg("Sparql2AnswerList")
def test_answer(dialogue):
    assert dialogue.hold().turns[0].answer.text == ":bob"
"""


def test_a_test_that_is_run_again_asks_again(project: Project, server: OpenAIServer, spread: tuple[str, ...]) -> None:
    pytest.importorskip("pytest_rerunfailures")
    (project.path / "test_bench.py").write_text(FLAKY)
    server.faults.extend([Fault("status", status=400), Fault("status", status=400)])
    result = project.run(*spread, "--reruns=2", "--models=openai/any", "--llmkg-run-dir=run")
    assert result.ret == 0
    assert server.count == 5
    assert project.errors() == {}
    assert len(project.scores()) == 3


DEADLY = """\
import asyncio, dataclasses, os
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.records import Answer
from pytest_llmkg.tasks.sparql2answer import TASK

class Plain:
    def __init__(self, spec):
        pass

    async def ask(self, request):
        await asyncio.sleep(0.05)
        deadly = request.case_key == "Tiny/two" and request.iteration == 5
        return Answer("deadly" if deadly else ":bob")

    async def close(self):
        pass

def evaluate(case, answer, kg):
    if answer.text == "deadly":
        os._exit(3)
    return TASK.evaluate(case, answer, kg)

def pytest_llmkg_connectors(config):
    return [ConnectorFactory("plain", "Answers soon.", make=Plain)]

def pytest_llmkg_tasks(config):
    return [dataclasses.replace(TASK, info=dataclasses.replace(TASK.info, name="Mine"), evaluate=evaluate)]
"""


@pytest.fixture
def deadly(project: Project) -> str:
    """A model, one answer of which ends the process that evaluates it: case two, the fifth time."""
    project.pytester.makeconftest(DEADLY)
    for name in ("test_bench.py", "tiny.toml"):
        path = project.path / name
        path.write_text(path.read_text().replace("Sparql2AnswerList", "Mine"))
    return "plain"


def test_the_dialogue_that_ended_its_process_is_named_among_others(project: Project, deadly: str) -> None:
    result = project.run("-n", "2", f"--models={deadly}", "--iterations=10", "--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    run = project.stored()
    assert [(t.case, t.iteration) for t in run.transcripts if t.error is not None] == [("two", 5)]
    assert len(run.transcripts) == 30
    assert lines_of(project) == 30
    assert "INTERNALERROR" not in result.stdout.str()


def test_without_new_workers_the_session_fails_and_can_be_gone_on_with(project: Project, deadly: str) -> None:
    args = (f"--models={deadly}", "--iterations=10", "-n", "2")
    result = project.run(*args, "--max-worker-restart=0", "--llmkg-run-dir=run")
    assert result.ret != pytest.ExitCode.OK
    finished = {(t.case, t.iteration) for t in project.stored().transcripts if t.error is None}
    assert ("two", 5) not in finished
    assert project.run(*args, "--llmkg-resume=run").ret == pytest.ExitCode.TESTS_FAILED
    run = project.stored()
    assert [(t.case, t.iteration) for t in run.transcripts if t.error is not None] == [("two", 5)]
    assert len(run.transcripts) == 30
