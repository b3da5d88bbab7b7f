"""A run that was broken off is resumed: finished dialogues are kept, failed and missing ones held."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.store import RunWriter
from tests.openai_server import Fault

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openai_server import OpenAIServer
    from tests.plugin.conftest import Project

MODEL = "--models=openai/any"
FAILURE = Fault("status", status=400, message="no such thing")


def broken_off(project: Project, server: OpenAIServer, *more: str) -> None:
    """A run of nine dialogues, two of which failed."""
    server.faults.extend([None, FAILURE, None, FAILURE])
    result = project.run(MODEL, "--iterations=3", "--llmkg-run-dir=run", "--llmkg-concurrency=1", *more)
    result.assert_outcomes(passed=7, failed=2)
    assert server.count == 9
    assert len(project.errors()) == 2 or len(project.stored().transcripts) == 9


def lines_of(project: Project, directory: str = "run") -> Counter[bool]:
    """Lines of transcripts in the run file, by whether they tell an error."""
    lines = (project.path / directory / "run.jsonl").read_text(encoding="utf-8").splitlines()
    return Counter('"error":null' not in line for line in lines if line.startswith('{"kind":"transcript"'))


def assert_whole(project: Project) -> None:
    """All nine dialogues are there, each once as a success."""
    run = project.stored()
    assert {(t.case, t.iteration) for t in run.transcripts} == {
        (case, n) for case in ("one", "two", "three") for n in (1, 2, 3)
    }
    assert all(t.outcome == "scored" for t in run.transcripts)
    assert lines_of(project)[False] == 9
    assert not list((project.path / "run").glob("run.*.jsonl"))


def test_finished_dialogues_are_kept_and_failed_ones_held_again(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    broken_off(project, server)
    result = project.run(MODEL, "--iterations=3", "--llmkg-resume=run", *spread)
    assert result.ret == 0
    result.assert_outcomes(passed=9)
    assert server.count == 9 + 2
    assert_whole(project)
    # Nothing is left to do; the tests pass on what is stored, and the reports are there.
    (project.path / "run" / "leaderboard.html").unlink()
    assert project.run(MODEL, "--iterations=3", "--llmkg-resume=run", *spread).ret == 0
    assert server.count == 11
    assert_whole(project)
    assert (project.path / "run" / "leaderboard.html").is_file()


def test_a_last_line_that_was_cut_off_is_held_again(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    broken_off(project, server)
    file = project.path / "run" / "run.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    assert project.run(MODEL, "--iterations=3", "--llmkg-resume=run", *spread).ret == 0
    assert server.count == 9 + 3
    assert_whole(project)


def test_what_dead_workers_left_is_kept(project: Project, server: OpenAIServer, spread: tuple[str, ...]) -> None:
    """Five lines of the run file are moved to the parts of two workers, the last one is cut off."""
    broken_off(project, server)
    run, file = project.stored(), project.path / "run" / "run.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    transcripts = [line for line in lines if line.startswith(b'{"kind":"transcript"')]
    good = [line for line in transcripts if b'"error":null' in line]
    file.write_bytes(b"".join(line for line in lines if line not in good[2:]))
    for number, name in enumerate(("gw0", "gw1")):
        with RunWriter.part(project.path / "run", name) as part:
            for case in run.cases.values():
                part.case(case)
        with (project.path / "run" / f"run.{name}.jsonl").open("ab") as left:
            left.write(b"".join(good[2 + number : 7 : 2]))
    with (project.path / "run" / "run.gw1.jsonl").open("r+b") as left:
        left.truncate(left.seek(0, 2) - 30)
    assert project.run(MODEL, "--iterations=3", "--llmkg-resume=run", *spread).ret == 0
    assert server.count == 9 + 2 + 1
    assert_whole(project)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--iterations=4",), "iterations is 4, was 3"),
        (("--iterations=3", "--llmkg-seed=5"), "seed is 5, was 20261130"),
        (("--iterations=3", "--llmkg-max-turns=1"), "max_turns is 1, was not set"),
        (("--iterations=3", "--models=openai/any,openai/more"), "model 'openai/more' is new"),
        (("--iterations=3", "--llmkg-shard=1/2"), "the shard is 1/2"),
    ],
    ids=["iterations", "seed", "turns", "models", "shard"],
)
def test_another_suite_is_refused_before_anything_is_asked(
    project: Project, server: OpenAIServer, args: tuple[str, ...], said: str
) -> None:
    broken_off(project, server)
    before = (project.path / "run" / "run.jsonl").read_bytes()
    result = project.run(MODEL, "--llmkg-resume=run", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is another run, so it cannot be resumed:*"])
    assert said in result.stderr.str()
    assert server.count == 9
    assert (project.path / "run" / "run.jsonl").read_bytes() == before


def test_changed_cases_are_refused(project: Project, server: OpenAIServer) -> None:
    broken_off(project, server)
    cases = project.path / "tiny.toml"
    cases.write_text(cases.read_text().replace('result = [":bob"]', 'result = [":eve"]'))
    result = project.run(MODEL, "--iterations=3", "--llmkg-resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*task variant 'Tiny' has other cases*"])


def test_no_run_to_go_on_with(project: Project, server: OpenAIServer) -> None:
    result = project.run(MODEL, "--llmkg-resume=nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere holds no run to go on with*"])
    assert not (project.path / "nowhere").exists()


def test_a_run_is_not_overwritten(project: Project, server: OpenAIServer) -> None:
    broken_off(project, server)
    result = project.run(MODEL, "--iterations=3", "--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*holds a run already*--llmkg-resume=*"])
    assert server.count == 9


def llmkg(directory: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line in ``directory``."""
    command = [sys.executable, "-m", "pytest_llmkg", *args]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=120)


def test_merged_shards_are_the_whole_run(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("some", [":bob"], two=[":eve\n:bob"], three=["nobody"])
    args = (f"--models={model},symbolic", "--iterations=2")
    assert project.run(*args, "--llmkg-run-dir=whole").ret == 0
    for shard in (1, 2):
        part = (f"--llmkg-shard={shard}/2", f"--llmkg-run-dir=s{shard}", *spread)
        project.run(*args, *part).assert_outcomes(passed=8 if shard == 1 else 4)
    merged = llmkg(project.path, "merge", "s1", "s2", "--out", "merged")
    assert merged.returncode == 0, merged.stderr
    tables = []
    for run in ("whole", "merged"):
        report = llmkg(project.path, "report", run, "--format", "csv", "--out", f"{run}.csv")
        assert report.returncode == 0, report.stderr
        tables.append(sorted((project.path / f"{run}.csv").read_bytes().splitlines()))
    assert tables[0] == tables[1]
    assert tables[0] == sorted((project.path / "whole" / "scores.csv").read_bytes().splitlines())
