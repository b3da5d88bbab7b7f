"""A small project of somebody else in which this program is measured: cases, a benchmark test and a model.

The task is `RdfFriendCount`: a graph of 15 persons in Turtle, a prompt of about 2 kB, one turn, and scoring that looks
the persons up in the answer's text. It is the suite's plainest task with real scoring, and its graph engine stays out
of it, as inspect_ai and the bare loops have none.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "ANSWER",
    "CASES",
    "LABEL",
    "REPO",
    "Project",
    "Summary",
    "bare_command",
    "bare_tests",
    "first_prompt",
    "foreign_plugins",
    "project",
    "replicated_run",
    "user_environment",
]

REPO = Path(__file__).resolve().parents[2]
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
_OURS = {"pytest-llmkg", "pytest-xdist", "pytest-json-report", "pytest-metadata"}

LABEL = "SpeedFriendCount"
ANSWER = "https://kg.example/people/person-00000010"
CASES = 10

_BENCHMARK = """\
import pytest


@pytest.mark.llmkg("RdfFriendCount")
def test_friend_count(dialogue):
    dialogue.hold()
"""

# The same model by litellm, whatever serves OpenAI-compatible addresses otherwise.
_CONFTEST = """\
from pytest_llmkg.connectors.litellm_api import LitellmConnector
from pytest_llmkg.contracts import ConnectorFactory


def pytest_llmkg_connectors(config):
    return [ConnectorFactory("through-litellm", "The model after the colon, by litellm.", make=LitellmConnector)]
"""

_BARE = """\
import pytest


@pytest.mark.parametrize("number", range({tests}))
def test_nothing(number):
    pass
"""


class Project:
    """A folder with cases and a benchmark; every run goes to a folder of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._runs = 0

    def command(self, model: str, dialogues: int, more: Sequence[str] = ()) -> list[str]:
        """The command that holds ``dialogues``, a multiple of `CASES`, with ``model``."""
        if dialogues % CASES:
            raise ValueError(f"the number of dialogues must be a multiple of {CASES}, found {dialogues}")
        self._runs += 1
        return [
            *(*_PYTEST, *foreign_plugins(), "test_speed.py"),
            *("--llmkg-cases=cases.toml", f"--tasks={LABEL}", f"--iterations={dialogues // CASES}"),
            *(f"--models={model}", f"--llmkg-run-dir={self.last_run}", *more),
        ]

    @property
    def last_run(self) -> Path:
        """Where the run of the last command is written."""
        return self.path / f"run-{self._runs}"

    def summary(self) -> Summary:
        """What the last run holds."""
        return Summary(self.last_run / "run.jsonl")


class Summary:
    """What a run file holds: which dialogues, by case and iteration, and how many of them were scored."""

    def __init__(self, path: Path) -> None:
        self.scored = 0
        self.dialogues: set[tuple[str, int]] = set()
        for data in _lines(path):
            if data["kind"] == "transcript":
                self.dialogues.add((str(data["case"]), int(str(data["iteration"]))))
                turns = data["turns"]
                done = isinstance(turns, list) and turns and turns[-1]["evaluation"]["outcome"] == "scored"
                self.scored += bool(done and data.get("error") is None)


def project(path: Path) -> Project:
    """Writes the project into the new folder ``path``."""
    path.mkdir(parents=True)
    cases = "\n".join(
        f'[[case]]\nid = "s{special:02d}"\nn = 15\nknowsCount = 3\nspecialIndex = {special}\n'
        for special in range(5, 5 + CASES)
    )
    variant = f'[[variant]]\nlabel = "{LABEL}"\nformat = "turtle"\nspecialAddKnowsCount = 2\n'
    (path / "cases.toml").write_text(f'schema = 1\ntask = "RdfFriendCount"\n\n{variant}\n{cases}', encoding="utf-8")
    (path / "test_speed.py").write_text(_BENCHMARK, encoding="utf-8")
    (path / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (path / "script.json").write_text(json.dumps({"answers": [ANSWER]}), encoding="utf-8")
    return Project(path)


def foreign_plugins() -> tuple[str, ...]:
    """Options that keep out pytest plugins which a user of ours need not have, e.g. those that our own tests use."""
    points = entry_points(group="pytest11")
    foreign = sorted({point.name for point in points if point.dist is not None and point.dist.name not in _OURS})
    return tuple(f"-pno:{name}" for name in foreign)


def bare_command(*more: str) -> list[str]:
    """pytest without ours on whatever tests the folder holds."""
    return [*_PYTEST, *foreign_plugins(), "-pno:llmkg", *more]


def user_environment(cache: Path) -> dict[str, str]:
    """Variables for measured commands: this checkout, and bytecode that is kept, in ``cache``, as at a user's."""
    return {"PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}


def bare_tests(path: Path, tests: int) -> Path:
    """Writes a project with so many empty tests and nothing of ours into the new folder ``path``."""
    path.mkdir(parents=True)
    (path / "test_bare.py").write_text(_BARE.format(tests=tests), encoding="utf-8")
    (path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return path


def first_prompt(run_file: Path) -> str:
    """The prompt of the first dialogue of a run file."""
    for data in _lines(run_file):
        if data["kind"] == "transcript":
            turns = data["turns"]
            if isinstance(turns, list) and turns:
                return str(turns[0]["prompt"]["messages"][-1]["text"])
    raise ValueError(f"{run_file} holds no dialogue with a prompt")


def replicated_run(source: Path, target: Path, iterations: int) -> None:
    """Writes the run ``source``, in which every case was asked once, with ``iterations`` copies of each dialogue."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as file:
        for data in _lines(source):
            times = iterations if data["kind"] == "transcript" else 1
            changed = "iterations" if data["kind"] == "header" else "iteration"
            for number in range(1, times + 1):
                value = iterations if data["kind"] == "header" else number
                line = {**data, changed: value} if changed in data else data
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
