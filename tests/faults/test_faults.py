"""500 dialogues with a server that fails often, is restarted, or whose run is killed: none lost, none paid twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.checking import check_calls, check_run
from tests.faults.faulty_server import FATES
from tests.faults.kill_and_resume import WAYS, Way, hold_round
from tests.faults.square_project import Server, SquareProject, wait_until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["plain", "n2"])
def test_faults_and_a_restart_cost_no_dialogue(tmp_path: Path, options: tuple[str, ...]) -> None:
    with Server(tmp_path / "server.jsonl", seed=5) as server:
        project = SquareProject(tmp_path / "project", server.port)
        try:
            process = project.start(*options)
            wait_until(lambda: server.log.came() >= 200, 60, "the 200th request")
            server.kill()
            time.sleep(1)
            server.start()
            assert process.wait(180) == 0, project.output()
        finally:
            project.end()
        figures = check_run(project.run_directory, server.log)
        check_calls(project.run_directory, server.log)
    assert figures.dialogues == figures.lines == 500
    drawn = {request.fate for request in server.log.requests()}
    assert drawn == {*FATES, "answer"}
    assert {"429", "500", "garbage", "lost"} == set(figures.failed)


@pytest.mark.parametrize("way", [way for way in WAYS if way.name != "all"], ids=lambda way: way.name)
def test_a_killed_run_is_gone_on_with(tmp_path: Path, way: Way) -> None:
    held = hold_round(tmp_path, way, seed=len(way.name))
    assert held.exit_status == 0
    assert held.asked_again == 0
    assert held.figures.dialogues == 500
