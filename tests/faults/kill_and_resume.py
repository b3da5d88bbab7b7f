"""Kills runs at random moments and goes on with them.

    python -m tests.faults.kill_and_resume --rounds 20

Each round holds 500 dialogues with a server that fails often, kills something when a random number of requests has
come, goes on with the run by ``--llmkg-resume``, and then sets run file and server log side by side: each dialogue
once, scored, and none asked again that had been finished before. Exit status 1 when any round fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.checking import Figures, asked_again, check_run
from tests.faults.square_project import PLANNED, Server, SquareProject, kill_group, wait_until
from tests.speed.tables import say, table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WAYS", "Round", "Way", "hold_round"]

_SECONDS = 180.0


@dataclass(frozen=True)
class Way:
    """What is killed in a round.

    Attributes:
        name: says it.
        options: of pytest, in both sessions; the first one does not wait long for a server that is gone.
        kill: kills it.
        survives: whether the session is expected to go on.
    """

    name: str
    options: tuple[str, ...]
    kill: Callable[[subprocess.Popen[bytes], Server], None]
    survives: bool = False


@dataclass(frozen=True)
class Round:
    """How a round went.

    Attributes:
        way: what was killed.
        requests: had come by then.
        finished: dialogues that were in the run directory before it was gone on with.
        asked_again: those of them that the server was asked for again, which should be none.
        exit_status: of the session that went on.
        figures: of the whole run.
        seconds: of both sessions.
    """

    way: str
    requests: int
    finished: int
    asked_again: int
    exit_status: int
    figures: Figures
    seconds: float


def _kill_all(process: subprocess.Popen[bytes], _server: Server) -> None:
    kill_group(process, signal.SIGKILL)


def _kill_controller(process: subprocess.Popen[bytes], _server: Server) -> None:
    process.kill()


def _kill_worker(process: subprocess.Popen[bytes], _server: Server) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[0]), signal.SIGKILL)


def _kill_server(_process: subprocess.Popen[bytes], server: Server) -> None:
    server.kill()


WAYS = (
    Way("all", (), _kill_all),
    Way("all, -n 2", ("-n", "2"), _kill_all),
    Way("worker, -n 2", ("-n", "2"), _kill_worker, survives=True),
    Way("controller, -n 2", ("-n", "2"), _kill_controller),
    Way("server", (), _kill_server, survives=True),
)


def hold_round(directory: Path, way: Way, seed: int) -> Round:
    """One round in the new folder ``directory``; raises AssertionError when the run is not as it should be."""
    begun, moment = time.monotonic(), random.Random(seed)  # noqa: S311  (no secret)
    with Server(_log_path(directory), seed) as server:
        project = SquareProject(directory / "project", server.port)
        try:
            killed_at = _broken_off(project, server, way, moment)
            finished = project.finished()
            before = server.log.came()
            if way.name == "server":
                server.start()
            second = project.start(*way.options, resume=True)
            status = second.wait(_SECONDS)
            again = asked_again(server.log, before, finished)
            return Round(
                way.name,
                killed_at,
                len(finished),
                len(again),
                status,
                check_run(project.run_directory, server.log),
                time.monotonic() - begun,
            )
        except (AssertionError, TimeoutError) as error:
            error.add_note(f"{directory}:\n{project.output()[-2000:]}")
            raise
        finally:
            project.end()


def _broken_off(project: SquareProject, server: Server, way: Way, moment: random.Random) -> int:
    """Begins the run and kills what is to be killed; returns after how many requests."""
    wanted = moment.randint(1, len(PLANNED))
    process = project.start(*way.options, *(["--llmkg-retries=3"] if way.survives and not way.options else []))
    wait_until(lambda: server.log.came() >= wanted or process.poll() is not None, _SECONDS, f"request number {wanted}")
    assert process.poll() is None, f"the run ended before request number {wanted}"
    time.sleep(moment.uniform(0, 0.1))
    killed_at = server.log.came()
    way.kill(process, server)
    process.wait(_SECONDS if way.survives else 10)
    # The workers of a controller that died end by themselves.
    wait_until(lambda: not _group_lives(process), 30, "the end of all processes of the run")
    return killed_at


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _log_path(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory / "server.jsonl"


def _row(number: int, held: Round) -> list[str]:
    figures = held.figures
    return [
        f"{number} {held.way}",
        str(held.requests),
        str(held.finished),
        str(held.asked_again),
        str(held.exit_status),
        str(figures.dialogues),
        str(figures.requests),
        str(sum(figures.failed.values())),
        f"{held.seconds:.1f}",
    ]


_HEADER = (
    *("round", "killed after requests", "finished by then", "asked again", "exit status"),
    *("dialogues", "requests", "failed calls", "seconds"),
)


def _main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Kills runs at random moments and goes on with them.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(arguments)
    rows, wrong = [], 0
    for number in range(1, options.rounds + 1):
        way = WAYS[(number - 1) % len(WAYS)]
        with tempfile.TemporaryDirectory(prefix="llmkg-faults-") as directory:
            try:
                held = hold_round(Path(directory), way, options.seed * 1000 + number)
            except (AssertionError, TimeoutError) as error:
                wrong += 1
                say(f"round {number}, {way.name}: {error}", *getattr(error, "__notes__", ()))
                continue
        wrong += bool(held.asked_again or held.exit_status)
        rows.append(_row(number, held))
        say(" | ".join(rows[-1]))
    say("", table(_HEADER, rows, markdown=options.markdown), f"{wrong} of {options.rounds} rounds went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
