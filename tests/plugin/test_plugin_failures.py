"""What goes wrong around a dialogue is told in one line, recorded, and costs no other dialogue."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.openai_server import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.openai_server import OpenAIServer
    from tests.plugin.conftest import Project


ONCE = ("--llmkg-run-dir=run", "--llmkg-retries=0")


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


def test_a_model_that_is_down_fails_alone(
    project: Project, spread: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", unused_address())
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    good = project.script("right", [":bob"])
    result = project.run(*spread, f"--models={good},openai/down", *ONCE, "-k", "one or two")
    result.assert_outcomes(passed=2, failed=2, deselected=None)
    output = result.stdout.str()
    assert "Traceback" not in output
    errors = project.errors()
    assert set(errors) == {("one", "openai/down"), ("two", "openai/down")}
    assert all("\n" not in error and "openai/down" in error for error in errors.values())
    report = json.loads((project.path / "run" / "report.json").read_text())
    assert report, "reports are written"
    row = next(line.split() for line in result.outlines if "openai/down" in line and line.strip()[0] in "-12")
    assert row[-6:-1] == ["-", "-", "0", "0", "2"], "no mean, no interval, two errors: no zero was counted"


def test_a_server_that_hangs(project: Project, server: OpenAIServer) -> None:
    server.every = (1, Fault("hang", seconds=60))
    result = project.run("--models=openai/slow", "--llmkg-timeout=1", *ONCE, "-k", "one")
    result.assert_outcomes(failed=1, deselected=2)
    (error,) = project.errors().values()
    assert "1 s" in error
    assert "openai/slow" in error


def test_a_scripted_model_that_hangs(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("slow", [{"delay": 50, "text": ":bob"}], two=[":bob"])
    result = project.run(*spread, f"--models={model}", "--llmkg-timeout=0.2", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=1, failed=2)
    assert {case for case, _ in project.errors()} == {"one", "three"}


FENCE = "```turtle\n:a :b :c .\n```\n"
ANSWERS = {
    "surrogate": ":bob \ud800",
    "nul": ":bob\n\x00",
    "ansi": "\x1b[31m:bob\x1b[0m",
    "large": "x" * 1_000_000,
    "empty": "",
    "blank": " \n\t\n",
    "binary": "".join(map(chr, range(256))) * 20,
    "fences": FENCE * 10,
    "markup": "<script>alert(1)</script></textarea>",
    "long line": ":bob " * 50_000,
    "nested": "{" * 20_000,
}


@pytest.mark.parametrize("task", ["Sparql2AnswerList", "RdfSyntaxFixList", "RdfFriendCount", "Text2SparqlList"])
def test_any_answer_is_scored_by_rule(project: Project, task: str) -> None:
    """Every task takes every answer, with workers, since only these send it between processes."""
    bench = project.path / "test_bench.py"
    bench.write_text(bench.read_text().replace("Sparql2AnswerList", task))
    models = ",".join(project.script(name.replace(" ", ""), [text] * 3) for name, text in ANSWERS.items())
    collected = project.pytester.runpytest_inprocess("--co", "-q", f"--models={models}", f"--tasks={task}")
    ids = [line for line in collected.outlines if "::" in line][: len(ANSWERS)]
    args = ("-n", "2", f"--models={models}", f"--tasks={task}", "--llmkg-run-dir=run", *ids)
    result = project.pytester.runpytest_inprocess(*args)
    result.assert_outcomes(passed=len(ANSWERS))
    run = project.stored()
    assert len(run.transcripts) == len(ANSWERS)
    outcomes = {t.model.removeprefix("scripted:").removesuffix(".json"): t.outcome for t in run.transcripts}
    assert outcomes["empty"] == outcomes["blank"] == "no_answer"
    assert set(outcomes.values()) <= {"scored", "unparsable", "no_answer"}
    stored = {t.model: t.turns[0].answer.text for t in run.transcripts}
    assert stored["scripted:surrogate.json"] == ":bob \ufffd"
    assert stored["scripted:nul.json"] == ANSWERS["nul"]
    page = (project.path / "run" / "leaderboard.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\x1b" not in "".join(result.outlines)


TASK = """\
import dataclasses
from pytest_llmkg.records import Evaluation, ScoreSet
from pytest_llmkg.tasks.sparql2answer import TASK

def evaluate(case, answer, kg):
    if case.id == "two":
        {fault}
    return TASK.evaluate(case, answer, kg)

def pytest_llmkg_tasks(config):
    return [dataclasses.replace(TASK, info=dataclasses.replace(TASK.info, name="Mine"), evaluate=evaluate)]
"""
FAULTS = {
    "raises": ("raise ValueError('no such column')", "ValueError: no such column"),
    "exits": ("raise SystemExit(3)", "called sys.exit(3)"),
    "returns nothing": ("return None", "expected an object for Evaluation"),
    "NaN": ("return Evaluation('scored', (ScoreSet('s', {'combinedF1': float('nan')}),))", "the number nan"),
    "a set": ("return Evaluation('scored', (ScoreSet('s', {'combinedF1': 1}),), {'seen': {1}})", "holds a set"),
}


@pytest.mark.parametrize(("fault", "spread"), [*((fault, ()) for fault in FAULTS), ("NaN", ("-n", "2"))])
def test_a_faulty_scorer_costs_one_dialogue_and_no_answer(
    project: Project, spread: tuple[str, ...], fault: str
) -> None:
    code, expected = FAULTS[fault]
    project.pytester.makeconftest(TASK.format(fault=code))
    for name in ("test_bench.py", "tiny.toml"):
        path = project.path / name
        path.write_text(path.read_text().replace("Sparql2AnswerList", "Mine"))
    model = project.script("right", [{"text": ":bob", "usage": {"input_tokens": 5, "output_tokens": 3, "cost": 0.5}}])
    result = project.run(*spread, f"--models={model}", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=2, failed=1)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    (broken,) = [t for t in project.stored().transcripts if t.error]
    assert broken.case == "two"
    assert expected in str(broken.error)
    assert broken.unevaluated is not None
    assert (broken.unevaluated.text, broken.unevaluated.usage.cost) == (":bob", 0.5)


CONNECTOR = """\
import os, signal
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.records import Answer

class Deadly:
    def __init__(self, spec):
        pass

    async def ask(self, request):
        if request.case_key == "Tiny/two":
            {fault}
        return Answer(":bob")

    async def close(self):
        {closing}

def pytest_llmkg_connectors(config):
    return [ConnectorFactory("deadly", "Ends its process.", make=Deadly)]
"""


@pytest.mark.parametrize("fault", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_dialogue_whose_worker_dies_is_an_error(project: Project, fault: str) -> None:
    project.pytester.makeconftest(CONNECTOR.format(fault=fault, closing="pass"))
    result = project.run("-n", "2", "--models=deadly", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=2, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert list(project.errors()) == [("two", "deadly")]
    assert "crashed" in project.errors()["two", "deadly"]
    assert (project.path / "run" / "leaderboard.html").is_file()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("raise SystemExit(3)", "the connector called sys.exit(3)"),
        ("raise KeyError('choices')", "KeyError"),
        ("return ':bob'", "gave a str, which is no Answer"),
        ("return Answer(None)", "Error"),
    ],
)
def test_a_faulty_connector_is_an_error_of_that_dialogue(project: Project, fault: str, expected: str) -> None:
    project.pytester.makeconftest(CONNECTOR.format(fault=fault, closing="raise OSError('gone')"))
    result = project.run("--models=deadly", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=2, failed=1)
    assert expected in project.errors()["two", "deadly"]


def test_a_connector_that_cannot_be_made(project: Project, spread: tuple[str, ...]) -> None:
    project.pytester.makeconftest(
        CONNECTOR.format(fault="pass", closing="pass").replace(
            "pass\n\n    async def ask", "raise RuntimeError('no licence')\n\n    async def ask"
        )
    )
    good = project.script("right", [":bob"])
    result = project.run(*spread, f"--models=deadly,{good}", "--llmkg-run-dir=run")
    result.assert_outcomes(passed=3, failed=3)
    assert set(project.errors().values()) == {"the connector of deadly cannot be made: RuntimeError: no licence"}


def test_a_test_that_fails_after_its_dialogue_keeps_the_score(project: Project, spread: tuple[str, ...]) -> None:
    bench = project.path / "test_bench.py"
    bench.write_text(bench.read_text() + '\n    assert dialogue.case.id != "two"\n')
    project.run(*spread, "--llmkg-run-dir=run").assert_outcomes(passed=2, failed=1)
    assert project.errors() == {}
    assert len(project.scores()) == 3


def test_a_dialogue_held_by_a_fixture_survives_the_failure_of_its_test(project: Project) -> None:
    project.pytester.makepyfile(
        test_bench="""\
        import pytest

        @pytest.fixture
        def transcript(dialogue):
            return dialogue.hold()

        @pytest.mark.llmkg("Sparql2AnswerList")
        def test_answer(transcript):
            assert transcript.case != "two"
        """
    )
    project.run("--llmkg-run-dir=run").assert_outcomes(passed=2, failed=1)
    assert project.errors() == {}
    assert len(project.scores()) == 3


FAILS_FIRST = "    1 / (dialogue.case.id != 'two')\n    dialogue.hold()"


def test_a_test_that_fails_before_its_dialogue_is_an_error(project: Project, spread: tuple[str, ...]) -> None:
    bench = project.path / "test_bench.py"
    text = bench.read_text().replace("    dialogue.hold()", FAILS_FIRST)
    bench.write_text(text.replace('("Sparql2AnswerList")', '("Sparql2AnswerList", ahead=False)'))
    project.run(*spread, "--llmkg-run-dir=run").assert_outcomes(passed=2, failed=1)
    assert project.errors() == {("two", "symbolic"): "ZeroDivisionError: division by zero"}


def test_a_dialogue_held_ahead_survives_a_test_that_fails_before_it(project: Project) -> None:
    bench = project.path / "test_bench.py"
    bench.write_text(bench.read_text().replace("    dialogue.hold()", FAILS_FIRST))
    result = project.run("--llmkg-run-dir=run")
    result.assert_outcomes(passed=2, failed=1)
    assert project.errors() == {}
    lines = (project.path / "run" / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum('"kind":"transcript"' in line for line in lines) == 3


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the run ended too early"
        assert time.monotonic() < limit, "the run does not get on"
        time.sleep(0.05)


def start_half_way(project: Project, *args: str) -> subprocess.Popen[bytes]:
    """A run that has finished one dialogue and will not finish the others."""
    model = project.script("half", [{"delay": 100, "text": ":bob"}], one=[":bob"])
    command = [sys.executable, "-m", "pytest", "--llmkg-cases=tiny.toml", "--tasks=Tiny", "--llmkg-run-dir=run"]
    process = subprocess.Popen(
        [*command, f"--models={model}", "--llmkg-timeout=500", *args],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    file = project.path / "run" / "run.jsonl"
    wait_for(lambda: file.is_file() and b'"kind":"transcript"' in file.read_bytes(), process)
    return process


def test_a_killed_run_leaves_every_finished_dialogue(project: Project, spread: tuple[str, ...]) -> None:
    process = start_half_way(project, *spread)
    try:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    finally:
        os.killpg(process.pid, signal.SIGKILL) if _group_lives(process.pid) else None
    (transcript,) = project.stored().transcripts
    assert (transcript.case, transcript.outcome) == ("one", "scored")


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("spread", "whole_group"),
    [((), False), (("-n", "2"), False), (("-n", "2"), True)],
    ids=["plain", "controller only", "with workers"],
)
def test_ctrl_c_still_writes_the_reports(project: Project, spread: tuple[str, ...], *, whole_group: bool) -> None:
    process = start_half_way(project, *spread)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    text = output.decode()
    assert "llmkg leaderboard" in text
    assert "INTERNALERROR" not in text
    assert (project.path / "run" / "leaderboard.html").is_file()
    assert {t.case for t in project.stored().transcripts if t.error is None} == {"one"}


FULL_DISK = """\
from pytest_llmkg.store import RunWriter

plain, failed = RunWriter._append, []

def append(self, line):
    fits = b'"kind":"transcript"' not in line or b'"case":"one"' in line
    if fits or self.path.parent.name != "run" or self.path.name != "run.jsonl" or len(failed) >= {times}:
        return plain(self, line)
    failed.append(line)
    whole, self._file = self._file, Full(self._file)
    try:
        plain(self, line)
    finally:
        self._file = whole

class Full:
    # Takes twenty bytes and then has no room for more.
    def __init__(self, file):
        self.file, self.taken = file, False
        self.truncate = file.truncate

    def write(self, part):
        if self.taken:
            raise OSError(28, "No space left on device")
        self.taken = True
        return self.file.write(part[:20])

RunWriter._append = append
"""


def test_a_full_disk_ends_the_run_with_one_sentence(project: Project, spread: tuple[str, ...]) -> None:
    """The first dialogue finds room for it, the second none; at the end of the session there is room again."""
    project.pytester.makeconftest(FULL_DISK.format(times=1))
    result = project.run_apart(*spread, "--iterations=30", "--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    output = result.stdout.str() + result.stderr.str()
    assert "no dialogue was recorded from here on" in output
    assert "No space left on device" in output
    assert "INTERNALERROR" not in output
    run = project.stored()
    assert not run.truncated
    assert {t.case for t in run.transcripts} > {"one"}, "what found no room was written at the end"
    assert (project.path / "run" / "leaderboard.html").is_file()


def test_a_disk_that_stays_full_loses_no_dialogue(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.pytester.makeconftest(FULL_DISK.format(times=10_000))
    project.pytester.mkdir("elsewhere")
    monkeypatch.setenv("TMPDIR", str(project.path / "elsewhere"))
    result = project.run_apart("--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*dialogue(s) that it lacks were saved to*llmkg-rescue-*llmkg merge*"])
    (rescued,) = (project.path / "elsewhere").glob("llmkg-rescue-*")
    assert {t.case for t in project.stored().transcripts} == {"one"}
    assert {t.case for t in project.stored(str(rescued)).transcripts} == {"two", "three"}


def test_reports_that_cannot_be_written_fail_the_session(project: Project) -> None:
    (project.path / "reports" / "leaderboard.html").mkdir(parents=True)
    result = project.run("--llmkg-run-dir=run")
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*llmkg leaderboard*", "llmkg: not every report was written: *leaderboard.html*"])
    assert "Traceback" not in result.stdout.str()
