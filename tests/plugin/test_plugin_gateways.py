"""A session over two execnet socket servers, as over two machines: every dialogue once, scored as at home."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.plugin.conftest import Project

# The ini file goes with the project, while paths on the command line are those of the machine that reads them.
INI = "[pytest]\nllmkg_cases = tiny.toml\nllmkg_suites = .\nrsyncignore = here there .*\n"
PLANNED = {(case, iteration): 1 for case in ("one", "two", "three") for iteration in (1, 2, 3)}
MEASURED = {"started", "seconds", "duration", "latency"}


@contextmanager
def socket_server(directory: Path) -> Iterator[int]:
    """A server of execnet in an empty ``directory``, as one would start it on another machine; gives its port.

    It runs what it is told in its own process, so modules of one session are still there in the next: a fresh one for
    every session.
    """
    directory.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"],
        cwd=directory,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        port = re.search(r"'127\.0\.0\.1', (\d+)", line)
        assert port, line
        yield int(port[1])
    finally:
        server.kill()
        server.communicate()


@contextmanager
def two_servers(parent: Path) -> Iterator[tuple[int, int]]:
    with contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(socket_server(parent / name)) for name in ("a", "b"))
        yield first, second


def dialogues(project: Project, directory: str) -> dict[tuple[str, str, int], Any]:
    """Everything that was recorded but what a clock told."""
    return {
        (one.case, one.model, one.iteration): without_times(to_plain(one))
        for one in project.stored(directory).transcripts
    }


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in MEASURED}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def lines_of(project: Project, directory: str) -> Counter[tuple[str, int]]:
    """How often each dialogue stands in the run file: the reader would hide what stands there twice."""
    import json

    lines = (project.path / directory / "run.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record for record in map(json.loads, lines) if record["kind"] == "transcript"]
    return Counter((record["case"], record["iteration"]) for record in found)


@pytest.mark.parametrize("way", ["same checkout", "rsync"])
def test_two_gateways_record_every_dialogue_once(
    project: Project, way: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project.pytester.makeini(INI)
    # With a script whose first answer is wrong for one case, so that scores differ.
    model = project.script("script", [":bob"], two=[":eve"]) if way == "same checkout" else "symbolic"
    common = (f"--models={model}", "--iterations=3", "--tasks=Tiny", "-p", "no:cacheprovider")
    pytester = project.pytester
    assert pytester.runpytest_subprocess(*common, "--llmkg-run-dir=here", timeout=120).ret == 0
    with two_servers(tmp_path_factory.mktemp("hosts")) as ports:
        if way == "same checkout":
            # pytest-xdist copies pytest itself to wherever a gateway works, unless everything is ignored.
            more = ["--rsyncignore=*"]
            gateways = [f"--tx=socket=127.0.0.1:{port}//chdir={project.path}" for port in ports]
        else:
            more = [f"--rsyncdir={project.path}", str(project.path)]
            gateways = [f"--tx=socket=127.0.0.1:{port}" for port in ports]
        result = pytester.runpytest_subprocess(
            *common, "-d", *gateways, *more, "-v", "--llmkg-run-dir=there", timeout=120
        )
    assert result.ret == 0
    result.assert_outcomes(passed=9)
    workers = set(re.findall(r"^\[(gw\d)\]", result.stdout.str(), re.MULTILINE))
    assert workers == {"gw0", "gw1"}
    assert lines_of(project, "there") == PLANNED
    assert dialogues(project, "there") == dialogues(project, "here")
