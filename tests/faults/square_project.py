"""A project of somebody else with 500 one-turn dialogues, and its server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pytest_llmkg.store import DialogueKey, index_run

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CASES", "MODELS", "PLANNED", "Log", "Request", "Server", "SquareProject", "kill_group", "wait_until"]

REPO = Path(__file__).resolve().parents[2]
CASES, MODELS = 250, ("left", "right")
PLANNED = frozenset(DialogueKey("Squares", f"c{n:03d}", model, 1) for n in range(CASES) for model in MODELS)

_CONFTEST = """\
from pytest_llmkg.contracts import Task
from pytest_llmkg.records import Evaluation, Prompt, ScoreSet, TaskInfo


def prompt(case, kg):
    return Prompt.user(f"What is the square of {case.integer('n')}?")


def evaluate(case, answer, kg):
    right = answer.text.strip() == str(case.integer("n") ** 2)
    return Evaluation("scored", (ScoreSet("squares:v1", {"right": int(right)}),))


def pytest_llmkg_tasks(config):
    info = TaskInfo("Square", "1.0", "RDF", "Squares a number.", "right")
    return [Task(info=info, fields={"n": "integer"}, prompt=prompt, evaluate=evaluate)]
"""
_BENCHMARK = """\
import pytest


@pytest.mark.llmkg("Square")
def test_square(dialogue):
    dialogue.hold()
"""


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Returns when ``condition`` holds; raises TimeoutError when it does not within ``seconds``."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.02)


class Server:
    """A faulty server in a process of its own, which can be killed and started again at the same port."""

    def __init__(self, log: Path, seed: int = 0, *, faults: bool = True, latency: float = 0.05) -> None:
        self._arguments = [f"--log={log}", f"--seed={seed}", f"--latency={latency}", *(["--faults"] if faults else [])]
        self._process: subprocess.Popen[str] | None = None
        self.log = Log(log)
        self.port = 0

    def start(self) -> None:
        """Starts it, at the port that it had before."""
        command = [sys.executable, "-m", "tests.faults.faulty_server", f"--port={self.port}", *self._arguments]
        self._process = subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError("the faulty server did not start")
        self.port = int(line)

    def kill(self) -> None:
        """Ends it without any goodbye."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@dataclass(frozen=True)
class Request:
    """A line of the server's log; ``was_sent`` says whether the server lived long enough to send its response."""

    id: int
    model: str
    n: int
    fate: str
    tokens: tuple[int, int]
    was_sent: bool


class Log:
    """What a server wrote down."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def came(self) -> int:
        """Requests so far."""
        return self.path.read_bytes().count(b'"came"') if self.path.exists() else 0

    def requests(self) -> list[Request]:
        """All requests in the order that they came."""
        lines = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        sent = {line["id"] for line in lines if line["event"] == "sent"}
        return [
            Request(
                line["id"],
                line["model"],
                line["n"],
                line["fate"],
                (line["prompt_tokens"], line["completion_tokens"]),
                line["id"] in sent,
            )
            for line in lines
            if line["event"] == "came"
        ]


@dataclass
class SquareProject:
    """The project, in a new folder, with models at the server that listens at ``port``."""

    path: Path
    port: int
    concurrency: int = 50
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        cases = "".join(f'[[case]]\nid = "c{n:03d}"\nn = {n}\n\n' for n in range(CASES))
        models = "".join(
            f'[models.{name}]\nmodel = "openai/{name}"\napi_base = "http://127.0.0.1:{self.port}/v1"\n'
            "price_in = 1.0\nprice_out = 2.0\n\n"
            for name in MODELS
        )
        head = 'schema = 1\ntask = "Square"\n\n[[variant]]\nlabel = "Squares"\n\n'
        for name, text in {
            "conftest.py": _CONFTEST,
            "test_squares.py": _BENCHMARK,
            "squares.toml": head + cases,
            "llmkg.toml": models,
            "pytest.ini": "[pytest]\n",
        }.items():
            (self.path / name).write_text(text, encoding="utf-8")

    @property
    def run_directory(self) -> Path:
        return self.path / "run"

    def start(self, *more: str, resume: bool = False) -> subprocess.Popen[bytes]:
        """Starts pytest as the leader of a process group of its own; its output goes to ``output.txt``."""
        where = "--llmkg-resume=run" if resume else "--llmkg-run-dir=run"
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"),
            *("--llmkg-cases=squares.toml", "--tasks=Squares", f"--models={','.join(MODELS)}"),
            # With 5 repetitions one of 500 dialogues would meet 6 faults in a row once in 18 runs.
            *(f"--llmkg-concurrency={self.concurrency}", "--llmkg-retries=10", where, *more),
        ]
        keep = {k: v for k, v in os.environ.items() if not k.upper().endswith(("_PROXY", "_BASE_URL", "_API_BASE"))}
        with (self.path / "output.txt").open("ab") as output:
            process = subprocess.Popen(
                command,
                cwd=self.path,
                env={**keep, "OPENAI_API_KEY": "none-needed", "PYTHONPATH": str(REPO)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def output(self) -> str:
        """What all sessions printed."""
        return (self.path / "output.txt").read_text(encoding="utf-8", errors="replace")

    def finished(self) -> frozenset[DialogueKey]:
        """The dialogues that are in the run file or in a worker's part, and are no errors."""
        return index_run(self.run_directory).finished() if (self.run_directory / "run.jsonl").exists() else frozenset()

    def end(self) -> None:
        """Kills what may still be there of the processes that were started."""
        for process in self.started:
            kill_group(process, signal.SIGKILL)
            process.wait()


def kill_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to the whole group of ``process``, if there is anything left of it."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
