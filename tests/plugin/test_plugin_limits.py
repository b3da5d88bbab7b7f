"""Limits hold for all workers together: calls at once, calls a minute, money; paid answers are not paid again."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.openai_server import Fault, OpenAIServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.conftest import Project


def table(project: Project, server: OpenAIServer, **settings: object) -> str:
    """Writes the model ``mine``, which goes to ``server``, and gives its name."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    head = ["[models.mine]", 'model = "openai/any"', f'api_base = "{server.url}"']
    (project.path / "llmkg.toml").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
    return "--models=mine"


def test_max_concurrency_holds_for_all_processes(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    server.latency = 0.2
    args = (table(project, server, max_concurrency=2), "--iterations=6", "--llmkg-run-dir=run")
    project.run(*spread, *args).assert_outcomes(passed=18)
    assert server.peak == 2


@pytest.mark.parametrize(("mode", "most"), [((), 3), (("-n", "2"), 6)], ids=["plain", "n2"])
def test_concurrency_is_for_each_process(
    project: Project, server: OpenAIServer, mode: tuple[str, ...], most: int
) -> None:
    server.latency = 0.4
    args = ("--models=openai/any", "--iterations=12", "--llmkg-concurrency=3", "--llmkg-run-dir=run")
    project.run(*mode, *args).assert_outcomes(passed=36)
    assert 3 <= server.peak <= most


class Clocked(OpenAIServer):
    """Notes when requests come."""

    def enter(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Fault | None:
        self.__dict__.setdefault("times", []).append(time.monotonic())
        return super().enter(path, headers, body)


def test_requests_a_minute_hold_for_all_processes(
    project: Project, spread: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 240 a minute 24 requests take 5.75 seconds, but the first of each process may set out late."""
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    with Clocked(reply=":bob") as server:
        args = (table(project, server, rpm=240), "--iterations=8", "--llmkg-run-dir=run")
        project.run(*spread, *args).assert_outcomes(passed=24)
    times: list[float] = server.__dict__["times"]
    assert len(times) == 24
    assert times[-1] - times[0] > 3


# Each answer costs one dollar.
PRICED = {"price_in": 0, "price_out": 1_000_000}


def test_max_cost_stops_all_processes_in_time_and_the_run_can_be_resumed(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    server.usage, server.latency = (10, 1), 0.05
    args = (table(project, server, **PRICED), "--iterations=4", *spread)
    result = project.run(*args, "--llmkg-max-cost=5", "--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert server.count == 5
    result.assert_outcomes(passed=5, skipped=7)
    result.stdout.fnmatch_lines(["llmkg: 7 dialogue(s) were not run, since --llmkg-max-cost=5 *--llmkg-resume=run"])
    assert result.outlines[-1] == "llmkg: 7 of 12 dialogues not run; resume with --llmkg-resume=run"
    assert (project.path / "run" / "leaderboard.html").is_file()
    assert len(project.scores()) == 5
    assert project.errors() == {}
    # What was spent counts when the run is resumed.
    assert project.run(*args, "--llmkg-max-cost=7", "--llmkg-resume=run").ret == pytest.ExitCode.TESTS_FAILED
    assert server.count == 7
    again = project.run(*args, "--llmkg-resume=run")
    assert again.ret == 0
    assert server.count == 12
    assert len(project.scores()) == 12


class Metered(OpenAIServer):
    """Counts a token for four characters of the prompt and ten for each answer, and adds up what all of it costs."""

    def completion(self, body: dict[str, Any], content: str | None) -> dict[str, Any]:
        done = super().completion(body, content)
        tokens = sum(len(message["content"]) for message in body["messages"]) // 4
        done["usage"] = {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}
        self.__dict__.setdefault("bill", []).append(tokens + 10)
        return done


def test_max_cost_holds_when_prompts_grow_and_failed_calls_are_paid_for(
    project: Project, spread: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dollar a token; every ninth call is charged and gives no answer, so that it is made again."""
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    head = (project.path / "tiny.toml").read_text(encoding="utf-8").partition("[[case]]")[0]
    lines = "@prefix : <http://example.org/> .\\n:ada :knows :bob ."
    cases = []
    for number in range(24):
        lines += "".join(f"\\n:person{number}x{other} :knows :ada ." for other in range(4))
        cases.append(f'[[case]]\nid = "c{number:02}"\ngraph = "{lines}"\n')
    (project.path / "tiny.toml").write_text(head + "\n".join(cases), encoding="utf-8")
    with Metered(reply=":bob", latency=0.05, every=(9, Fault("no_choices"))) as server:
        name = table(project, server, price_in=1_000_000, price_out=1_000_000)
        result = project.run(name, "--iterations=2", "--llmkg-max-cost=10000", "--llmkg-run-dir=run", *spread)
        bill: list[int] = server.__dict__["bill"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["llmkg: * dialogue(s) were not run, since --llmkg-max-cost=10000 would be passed*"])
    assert any(turn.answer.failed_calls for stored in project.stored().transcripts for turn in stored.turns)
    assert 8000 < sum(bill) < 10_000 + 2 * max(bill)  # the dearest dialogue, whose first call may have been in vain


def test_a_price_that_nobody_knows_cannot_be_limited(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    args = (table(project, server), "--iterations=4", "--llmkg-max-cost=5", "--llmkg-run-dir=run")
    result = project.run(*spread, *args)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["llmkg: * since the price of mine is unknown*price_in and price_out*"])
    assert server.count == 1, "the first answer tells that the price is unknown"


@pytest.mark.usefixtures("distinct")
def test_a_cached_answer_is_not_asked_for_again(
    project: Project, server: OpenAIServer, spread: tuple[str, ...]
) -> None:
    server.usage = (10, 1)
    args = (table(project, server, **PRICED), "--iterations=4", "--llmkg-cache=kept", *spread)
    assert project.run(*args, "--llmkg-run-dir=first").ret == 0
    assert server.count == 12
    # What is not paid for is not counted against a limit.
    assert project.run(*args, "--llmkg-max-cost=0.5", "--llmkg-run-dir=second").ret == 0
    assert server.count == 12
    first, second = (
        sorted((project.path / run / "scores.csv").read_bytes().splitlines()) for run in ("first", "second")
    )
    assert first == second
    assert all(turn.answer.from_cache for t in project.stored("second").transcripts for turn in t.turns)


@pytest.mark.usefixtures("distinct")
def test_errors_are_not_cached(project: Project, server: OpenAIServer) -> None:
    server.faults.extend([Fault("status", status=400)] * 3)
    args = ("--models=openai/any", "--llmkg-cache=kept")
    project.run(*args, "--llmkg-run-dir=first").assert_outcomes(failed=3)
    assert not cached(project.path / "kept")
    project.run(*args, "--llmkg-run-dir=second").assert_outcomes(passed=3)
    assert server.count == 6
    assert len(cached(project.path / "kept")) == 3


def cached(directory: Path) -> list[Path]:
    return list(directory.rglob("*.json"))
