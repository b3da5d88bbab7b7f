"""The logic of the speed programs; no figure of theirs is asserted, since machines differ."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import FILE_NAME, read_run
from tests.speed import compare_reports, dialogue_figures, measuring, plugin_overhead, project, tables
from tests.speed.dialogue_figures import Results, Seen, Size
from tests.speed.measuring import Cost

if TYPE_CHECKING:
    from pathlib import Path


def cost(wall: float, cpu: float) -> Cost:
    return Cost(wall, cpu, 100.0, 50.0)


def test_a_command_is_measured_with_its_children(tmp_path: Path) -> None:
    child = "x = bytearray(40_000_000); t = __import__('time').time; e = t() + 0.4\nwhile t() < e: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    found = measuring.run([sys.executable, "-c", parent], tmp_path, {"PYTHONDONTWRITEBYTECODE": "1"})
    assert found.wall >= 0.4
    assert found.cpu > 0.05  # of the child; how much of 0.4 s it gets is the machine's business
    assert found.largest > 40
    assert found.peak is None or found.peak > 40


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(measuring.CommandFailedError, match=r"ended with 3:\nwhy it failed"):
        measuring.run([sys.executable, "-c", "print('why it failed'); raise SystemExit(3)"], tmp_path)


def test_the_memory_of_a_process_that_is_gone_is_nothing() -> None:
    assert measuring.tree_rss(2**30) == 0


def test_medians_are_taken_figure_by_figure() -> None:
    found = measuring.median_cost([Cost(1, 30, 5, 7), Cost(2, 10, None, 8), Cost(9, 20, 7, 9)])
    assert found == Cost(2, 20, 6, 8)
    assert measuring.median_cost([Cost(1, 1, None, 1)]).peak is None


def test_the_order_alternates() -> None:
    order: list[str] = []
    measuring.alternated(["a", "b", "c"], 3, order.append)
    assert "".join(order) == "abccbaabc"


@pytest.mark.parametrize(
    ("text", "size", "ideal"),
    [("500x50", Size(500, 50), 2.0), ("500x200", Size(500, 200), 0.6), ("10x50", Size(10, 50), 0.2)],
)
def test_sizes_and_their_ideal(text: str, size: Size, ideal: float) -> None:
    assert Size.parse(text) == size
    assert size.ideal(0.2) == pytest.approx(ideal)


@pytest.mark.parametrize("text", ["500", "x50", "500x", "0x10", "505x10", "500x0", "-500x10"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        Size.parse(text)


def results() -> Results:
    found = Results()
    found.costs.update(
        {
            "python": [cost(0.1, 0.1)],
            "pytest-1": [cost(0.4, 0.4)],
            "pytest-n": [cost(0.9, 0.9)],
            "aiohttp": [cost(2.0, 0.6), cost(2.2, 0.7), cost(9.0, 0.8)],
            "inspect": [cost(22.0, 19.0)],
            "ours": [cost(3.3, 2.5)],
        }
    )
    for name in ("aiohttp", "inspect", "ours"):
        found.seen[name].append(Seen(2.5, 50, 0.1))
    return found


def test_a_row_holds_ratios_to_aiohttp_and_inspect() -> None:
    rows = dialogue_figures.rows(Size(500, 50), results(), ["aiohttp", "inspect", "ours", "litellm"], 0.2)
    assert [row[0] for row in rows] == ["ideal", "aiohttp", "inspect", "ours"]
    assert rows[3] == ["ours", "3.30", "2.50", "1.25", "50", "2.50", "5.00", "100", "1.50", "6.67"]
    assert {len(row) for row in rows} == {len(dialogue_figures.HEADER)}


def test_own_share_is_what_neither_pytest_nor_the_bare_loop_needs() -> None:
    # 2.5 - (0.7 - 0.1) is 1.9; less 0.4 or 0.9 by 500 turns.
    share = dialogue_figures.own_share(Size(500, 50), results(), "ours", "aiohttp")
    assert share == pytest.approx((3.0, 2.0))
    assert dialogue_figures.own_share(Size(500, 50), results(), "ours", "litellm") is None


def test_own_share_is_told_beside_the_loop_that_calls_likewise() -> None:
    lines = dialogue_figures.share_lines(Size(500, 50), results(), {"ours": "pytest-llmkg Python/3.11 aiohttp/3.14"})
    assert lines[0].startswith("ours: CPU of ours for each turn, start-up included: 3.00 ms = ")
    assert "bare aiohttp loop" in lines[0]
    assert lines[1] == "CPU s of what each contains: python 0.10, pytest-1 0.40, pytest-n 0.90"
    # There is no figure of a bare litellm loop to take off.
    assert len(dialogue_figures.share_lines(Size(500, 50), results(), {"ours": "AsyncOpenAI/Python 3"})) == 1


def test_further_calls_are_compared_between_sizes_of_the_same_number_in_flight() -> None:
    large = Results()
    large.costs["ours"] = [cost(20.0, 11.5)]
    found = {Size(500, 50): results(), Size(5000, 50): large, Size(500, 10): results()}
    assert dialogue_figures.marginal_lines(found, ["ours", "aiohttp"]) == [
        "CPU ms for each further call, 500 to 5000 at 50: ours 2.00"
    ]


def test_tables() -> None:
    header, rows = ("command", "s"), [["ours", "1.00"], ["a bare loop", "-"]]
    assert tables.table(header, rows, markdown=True) == (
        "| command | s |\n|---|---:|\n| ours | 1.00 |\n| a bare loop | - |"
    )
    assert tables.table(header, rows, markdown=False) == ("command         s\nours         1.00\na bare loop     -")
    assert (tables.figure(1.005, 1), tables.figure(None)) == ("1.0", "-")


def test_a_run_is_replicated_into_a_run_file(tmp_path: Path) -> None:
    ours = project.project(tmp_path / "project")
    command = ours.command("scripted:script.json", project.CASES)
    measuring.run(command, ours.path, {"PYTHONPATH": str(project.REPO)})
    summary = ours.summary()
    assert (len(summary.dialogues), summary.scored) == (10, 10)
    assert 1_800 < len(project.first_prompt(ours.last_run / "run.jsonl")) < 2_600
    copy = tmp_path / "copy" / "run.jsonl"
    project.replicated_run(ours.last_run / "run.jsonl", copy, 3)
    run = read_run(copy)
    assert run.header.iterations == 3
    assert len(run.cases) == 10
    assert sorted((t.case, t.iteration) for t in run.transcripts) == sorted(
        (case, number) for case, _ in summary.dialogues for number in (1, 2, 3)
    )
    replayed = ours.command(f"replay:{copy}", 30)
    measuring.run(replayed, ours.path, {"PYTHONPATH": str(project.REPO)})
    assert ours.summary().scored == 30


def test_dialogues_are_counted_once_and_unscored_ones_are_seen(tmp_path: Path) -> None:
    def line(case: str, outcome: str, error: str | None = None) -> str:
        turns = [{"evaluation": {"outcome": outcome}}]
        return json.dumps({"kind": "transcript", "case": case, "iteration": 1, "turns": turns, "error": error})

    header = json.dumps({"kind": "header", "models": [{"connector": "some"}]})
    lines = [
        header,
        line("a", "scored"),
        line("b", "unparsable"),
        line("c", "scored", "broke off"),
        line("a", "scored"),
    ]
    (tmp_path / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    summary = project.Summary(tmp_path / "run.jsonl")
    assert summary.dialogues == {("a", 1), ("b", 1), ("c", 1)}
    assert summary.scored == 2


def test_a_number_of_dialogues_that_the_cases_cannot_make(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="multiple of 10, found 15"):
        project.project(tmp_path / "project").command("symbolic", 15)


def test_only_further_events_are_told() -> None:
    ours = ["open /a/run.jsonl", "open /tmp/tmpab3d_f9x", "open /cache/x.pyc", "socket.connect", "socket.connect"]
    bare = ["open /tmp/tmpzz3d_f9x", "socket.connect"]
    assert plugin_overhead.further_events(ours, bare, "/cache") == ["open /a/run.jsonl", "socket.connect"]


def test_output_is_compared_without_seconds() -> None:
    assert plugin_overhead.without_times("1 passed in 0.12s") == plugin_overhead.without_times("1 passed in 9.01s")
    assert plugin_overhead.without_times("1 passed in 0.12s") != plugin_overhead.without_times("2 passed in 0.12s")


def test_the_made_up_run_of_reports_has_all_that_a_page_may_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_reports, "MODELS", 2)
    count = compare_reports.write_run(tmp_path, 2 * compare_reports.LABELS * 20)
    report = build_report([read_run(tmp_path / FILE_NAME)])
    assert len(report.transcripts) == count == 2 * compare_reports.LABELS * 20
    assert report.asking
    assert len({kind for kinds in report.mistakes.kinds.values() for kind in kinds}) > 3
    assert {name for row in report.figures.questions for name, _ in row.stages} >= {"retrieve", "model", "execute"}
