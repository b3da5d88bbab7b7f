"""What the plugin costs pytest itself: installed but unused, collecting many tests, reporting many dialogues.

    python -m tests.speed.plugin_overhead [--quick] [--parts unused collection reporting] [--markdown]

- ``unused``: ``pytest -q`` on one empty test with and without the plugin, in turns: CPU, memory, output, modules, and
  what an audit hook of the interpreter sees: files written, sockets, processes. The plugins that ours requires
  (pytest-xdist, pytest-json-report with pytest-metadata) are a line of their own.
- ``collection``: ``--collect-only -q`` of as many dialogues as bare pytest collects parametrised empty tests.
- ``reporting``: recorded dialogues given again (``replay:``), and the same with a scripted model that keeps nothing,
  beside bare pytest on as many empty tests: seconds for each 1,000, and peak memory at several sizes. Memory that does
  not grow with the number of dialogues shows that transcripts are not kept once they are written.

CPU is of the command and its children; memory is the peak of its largest process, as the operating system has it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.speed.measuring import Cost, alternated, median_cost, run
from tests.speed.project import CASES, Project, bare_command, bare_tests, project, replicated_run, user_environment
from tests.speed.tables import figure, say, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PARTS = ("unused", "collection", "reporting")
_WITHOUT = "-pno:llmkg"
_REQUIRED = ("-pno:xdist", "-pno:xdist.looponfail", "-pno:pytest_jsonreport", "-pno:metadata")

_RANDOM_NAME = re.compile(r"/(tmp)?[a-z0-9_]{8}$")

# Runs in the measured interpreter before anything else; writes what it saw when that ends.
_AUDIT = """\
import atexit, json, os, sys

seen = []
WATCHED = {"os.mkdir", "os.rename", "os.remove", "subprocess.Popen", "os.fork", "os.posix_spawn"}

def watch(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        seen.append(f"open {args[0]}")
    elif event in WATCHED or event.startswith("socket."):
        seen.append(event if event.startswith("socket.") else f"{event} {args[0]}")

def tell():
    events, modules = list(seen), sorted(sys.modules)
    with open(os.environ["LLMKG_SPEED_AUDIT"], "w") as file:
        json.dump({"events": events, "modules": modules}, file)

sys.addaudithook(watch)
atexit.register(tell)
"""


class Overhead:
    """Measures in the folder ``work``."""

    def __init__(self, work: Path, cache: Path, *, markdown: bool) -> None:
        self._work = work
        self._markdown = markdown
        self._environment = user_environment(cache)
        self._projects = 0

    def unused(self, repeats: int) -> None:
        """Prints the cost of a plugin that nobody uses."""
        folder = bare_tests(self._work / "unused", 1)
        with_it = [part for part in bare_command() if part != _WITHOUT]
        commands = {
            "with the plugin": with_it,
            "without it": [*with_it, _WITHOUT],
            "without it and what it requires": [*with_it, _WITHOUT, *_REQUIRED],
        }
        costs = self._costs(commands, folder, repeats)
        base = costs["without it"]
        rows = [
            [
                name,
                *(figure(cost.cpu * 1000, 1), figure((cost.cpu - base.cpu) * 1000, 1)),
                *(figure(cost.largest), figure(cost.largest - base.largest)),
            ]
            for name, cost in costs.items()
        ]
        say(f"\nInstalled but unused: pytest -q on one empty test, medians of {repeats}\n")
        self._print(("command", "CPU ms", "difference", "MiB", "difference"), rows)
        self._print_audit(commands["with the plugin"], commands["without it"], folder)

    def collection(self, tests: int, repeats: int) -> None:
        """Prints the cost of collecting ``tests`` dialogues."""
        ours = self._project()
        bare = bare_tests(self._work / f"collect-{tests}", tests)
        commands = {
            "bare pytest": (bare_command("--collect-only"), bare),
            "dialogues": (ours.command("scripted:script.json", tests, ["--collect-only"]), ours.path),
        }
        costs = self._costs_apart(commands, repeats)
        first = costs["bare pytest"]
        rows = [
            [
                name,
                *(figure(cost.wall), figure(cost.cpu), figure(cost.cpu / tests * 1e6, 0)),
                *(figure(cost.largest, 0), figure(cost.cpu / first.cpu)),
            ]
            for name, cost in costs.items()
        ]
        say(f"\nCollection of {tests} tests, --collect-only -q, medians of {repeats}\n")
        self._print(("command", "wall s", "CPU s", "CPU ms per 1,000", "MiB", "CPU / bare"), rows)

    def reporting(self, sizes: Sequence[int], repeats: int) -> None:
        """Prints the cost of running, writing and reporting dialogues that are asked of nobody, at several sizes."""
        ours, rows = self._project(), []
        run(ours.command("scripted:script.json", CASES), ours.path, self._environment)
        source = ours.last_run / "run.jsonl"
        for size in sizes:
            recording = ours.path / f"recorded-{size}" / "run.jsonl"
            replicated_run(source, recording, size // CASES)
            for name, cost in self._reporting(ours, size, recording, repeats).items():
                seconds = (figure(cost.wall), figure(cost.wall / size * 1000), figure(cost.cpu / size * 1000))
                memory = (figure(cost.largest, 0), figure(cost.largest * 1024 / size))
                rows.append([f"{name}, {size}", *seconds, *memory])
        say(f"\nDialogues without any model, whole command with run file and reports, medians of {repeats}\n")
        self._print(("command", "wall s", "s per 1,000", "CPU s per 1,000", "MiB", "KiB per test"), rows)

    def _reporting(self, ours: Project, size: int, recording: Path, repeats: int) -> dict[str, Cost]:
        bare = bare_tests(self._work / f"report-{size}", size)
        models = {"scripted": "scripted:script.json", "replay": f"replay:{recording}"}
        costs: dict[str, list[Cost]] = defaultdict(list)

        def measure(name: str) -> None:
            model = models.get(name)
            if model is None:
                costs[name].append(run(bare_command(), bare, self._environment))
                return
            costs[name].append(run(ours.command(model, size), ours.path, self._environment))
            if (found := ours.summary().scored) != size:
                raise SystemExit(f"{name}: {found} of {size} dialogues were scored")

        alternated(["bare pytest", *models], repeats, measure)
        return {name: median_cost(found) for name, found in costs.items()}

    def _project(self) -> Project:
        self._projects += 1
        return project(self._work / f"project-{self._projects}")

    def _costs(self, commands: Mapping[str, Sequence[str]], folder: Path, repeats: int) -> dict[str, Cost]:
        return self._costs_apart({name: (command, folder) for name, command in commands.items()}, repeats)

    def _costs_apart(self, commands: Mapping[str, tuple[Sequence[str], Path]], repeats: int) -> dict[str, Cost]:
        found: dict[str, list[Cost]] = defaultdict(list)
        for command, folder in commands.values():  # compiles bytecode
            run(command, folder, self._environment)
        alternated(list(commands), repeats, lambda name: found[name].append(run(*commands[name], self._environment)))
        return {name: median_cost(found[name]) for name in commands}

    def _print_audit(self, with_it: Sequence[str], without: Sequence[str], folder: Path) -> None:
        ours, bare = (self._audit(command, folder) for command in (with_it, without))
        events = further_events(ours["events"], bare["events"], self._environment["PYTHONPYCACHEPREFIX"])
        modules = sorted(set(ours["modules"]) - set(bare["modules"]))
        say(f"\nFiles written, sockets, processes beyond those of bare pytest: {', '.join(events) or 'none'}")
        say(f"Output: {'the same' if ours['output'] == bare['output'] else 'DIFFERENT'}")
        say(f"Further modules ({len(modules)}): {', '.join(modules)}")

    def _audit(self, command: Sequence[str], folder: Path) -> dict[str, Any]:
        (self._work / "audit").mkdir(exist_ok=True)
        (self._work / "audit" / "sitecustomize.py").write_text(_AUDIT, encoding="utf-8")
        result = self._work / "audit.json"
        path = f"{self._work / 'audit'}:{self._environment['PYTHONPATH']}"
        more = {"PYTHONPATH": path, "LLMKG_SPEED_AUDIT": str(result)}
        for _ in range(2):  # the first one compiles bytecode, which writes files
            run(command, folder, self._environment | more)
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        output = (folder / "output.txt").read_text(encoding="utf-8")
        found["output"] = without_times(output)
        return found

    def _print(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        say(table(header, rows, markdown=self._markdown))


def further_events(ours: Sequence[str], bare: Sequence[str], bytecode: str) -> list[str]:
    """What only ``ours`` did, without compiled bytecode (which every module has) and the random names of tempfile."""
    counts = Counter(_RANDOM_NAME.sub("/RANDOM", event) for event in ours if bytecode not in event)
    counts.subtract(Counter(_RANDOM_NAME.sub("/RANDOM", event) for event in bare))
    return list(counts.elements())


def without_times(output: str) -> str:
    """``output`` of pytest without the seconds that differ from run to run."""
    return re.sub(r"\bin [0-9.]+s\b", "in Ns", output)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the plugin costs pytest itself.")
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=list(_PARTS))
    parser.add_argument("--repeats", type=int, default=20, help="of the empty test (default: 20)")
    parser.add_argument("--large-repeats", type=int, default=1, help="of collection and reporting (default: 1)")
    parser.add_argument("--tests", type=int, default=20_000, help="to collect (default: 20000)")
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 10_000, 20_000], help="dialogues to report")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "llmkg-speed-cache")
    parser.add_argument("--quick", action="store_true", help="5 repeats, 1,000 tests, 500 and 1,000 dialogues")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    repeats, tests, sizes = options.repeats, options.tests, options.sizes
    if options.quick:
        repeats, tests, sizes = 5, 1_000, [500, 1_000]
    say(f"Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as work:
        overhead = Overhead(Path(work), options.cache, markdown=options.markdown)
        if "unused" in options.parts:
            overhead.unused(repeats)
        if "collection" in options.parts:
            overhead.collection(tests, options.large_repeats)
        if "reporting" in options.parts:
            overhead.reporting(sizes, options.large_repeats)


if __name__ == "__main__":
    main()
