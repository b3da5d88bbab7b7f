"""The commands of `compare_dialogues`, the server that they ask, and how each command is measured once."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.speed.dialogue_figures import BASES, Results, Seen, Size
from tests.speed.measuring import output_of, run
from tests.speed.project import (
    ANSWER,
    CASES,
    REPO,
    Project,
    bare_command,
    bare_tests,
    first_prompt,
    project,
    user_environment,
)
from tests.speed.tables import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Bench", "inspect_python", "running_server"]

_CONCURRENCY = "--llmkg-concurrency"


class Server:
    """The mock server, seen from here."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}"
        self.url = f"{self._root}/v1"

    def reset(self) -> None:
        """Sets its counts back."""
        self._get("/reset")

    def stats(self) -> dict[str, Any]:
        """Its counts."""
        return self._get("/stats")

    def _get(self, path: str) -> dict[str, Any]:
        # Without the environment's proxies, and one connection for each question.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self._root + path, timeout=30) as response:
            found: dict[str, Any] = json.load(response)
            return found


@contextmanager
def running_server(latency_ms: float) -> Iterator[Server]:
    """The mock server in a process of its own."""
    command = [sys.executable, "-m", "tests.speed.mock_server", f"--latency-ms={latency_ms}", f"--answer={ANSWER}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPO, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield Server(int(line))
        finally:
            process.terminate()


class Bench:
    """All commands, and how each is measured."""

    def __init__(self, server: Server, work: Path, cache: Path, inspect_python: Path | None) -> None:
        self._server = server
        self._inspect = inspect_python
        self._work = work
        self._project: Project = project(work / "project")
        self._prompt = work / "prompt.txt"
        self.agents: dict[str, str] = {}
        self._concurrent = False
        self._environment = {
            **user_environment(cache),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none-needed",
            "MOCK_BASE_URL": server.url,
            "MOCK_API_KEY": "none-needed",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "NO_PROXY": "127.0.0.1",
        }

    def prepare(self, peers: Sequence[str]) -> None:
        """Makes the common prompt, and runs everything once so that files are cached and bytecode is compiled."""
        run(self._project.command("scripted:script.json", CASES), self._project.path, self._environment)
        prompt = first_prompt(self._project.last_run / "run.jsonl")
        self._prompt.write_text(prompt, encoding="utf-8")
        say(f"prompt: {len(prompt.encode())} bytes")
        run([sys.executable, "-m", "pytest", "--help"], self._project.path, self._environment)
        self._concurrent = _CONCURRENCY in output_of(self._project.path)
        if not self._concurrent:
            say(f"ours knows no {_CONCURRENCY} and holds one dialogue at a time")
        for name in (*BASES, *peers):
            self.measure(name, Size(CASES, CASES), Results())

    def command(self, name: str, size: Size) -> tuple[list[str], Path]:
        """The command ``name`` and where it runs."""
        loop = ["--calls", str(size.calls), "--in-flight", str(size.in_flight), "--prompt", str(self._prompt)]
        if name in ("aiohttp", "litellm"):
            bare = [sys.executable, "-m", "tests.speed.bare_clients", name, "--url", self._server.url]
            return [*bare, *loop], self._work
        if name in ("inspect", "inspect-quiet"):
            quiet = ["--no-realtime-log"] if name == "inspect-quiet" else []
            script = str(Path(__file__).with_name("inspect_peer.py"))
            return [str(self._inspect), script, "--target", ANSWER, *loop, *quiet], self._work
        more = [f"{_CONCURRENCY}={size.in_flight}"] if self._concurrent else []
        model = "openai/mock" if name == "ours" else "through-litellm:openai/mock"
        return self._project.command(model, size.calls, more), self._project.path

    def base(self, name: str, size: Size) -> tuple[list[str], Path]:
        """A command that holds no dialogue at all, and where it runs."""
        if name == "python":
            return [sys.executable, "-c", "pass"], self._work
        if name == "aiohttp-start":
            return self.command("aiohttp", Size(0, 1))
        folder = self._work / f"bare-{1 if name == 'pytest-1' else size.calls}"
        if not folder.exists():
            bare_tests(folder, 1 if name == "pytest-1" else size.calls)
        return bare_command(), folder

    def measure(self, name: str, size: Size, results: Results) -> None:
        """Runs the command once and keeps what it cost; complains when it did not do its work."""
        self._server.reset()
        is_base = name in BASES
        command, place = self.base(name, size) if is_base else self.command(name, size)
        results.costs[name].append(run(command, place, self._environment))
        stats = self._server.stats()
        expected = 0 if is_base else size.calls
        if stats["requests"] != expected:
            raise SystemExit(f"{name}: the server saw {stats['requests']} requests, expected {expected}")
        if is_base:
            return
        results.seen[name].append(Seen(stats["span"], stats["most_in_flight"], stats["cpu"]))
        if name.startswith("ours"):
            self._check_run(name, size)
            self.agents[name] = ", ".join(stats["agents"])

    def _check_run(self, name: str, size: Size) -> None:
        summary = self._project.summary()
        complaint = None
        if len(summary.dialogues) != size.calls or summary.scored != size.calls:
            complaint = f"{len(summary.dialogues)} dialogues, {summary.scored} scored, not {size.calls}"
        elif not (self._project.last_run / "leaderboard.html").is_file():
            complaint = "no leaderboard was written"
        if complaint is not None:
            raise SystemExit(f"{name}: {complaint}; its output ends with\n{output_of(self._project.path)[-3000:]}")


def inspect_python(cache: Path) -> Path:
    """The Python of a virtual environment with inspect_ai, which is made when it is not there."""
    python = cache / "inspect-ai" / "bin" / "python"
    if not python.exists():
        sys.stderr.write(f"installing inspect_ai into {cache / 'inspect-ai'}\n")
        venv.create(cache / "inspect-ai", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "inspect-ai", "openai"], check=True)
    return python
