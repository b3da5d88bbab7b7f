"""Cost and time of every call: failed ones, and those of attempts that a resumed run replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.records import Answer, Case, FailedCall, RunHeader, Transcript, Usage
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.overview import total_facts
from pytest_llmkg.reporting.tabular import render_json
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import Report, build_report
from pytest_llmkg.store import Run
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Iterable

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Silent:
    """A run that does not know which attempts do not count."""

    header: RunHeader
    cases: Mapping[str, Case]
    transcripts: tuple[Transcript, ...]
    truncated: bool = False


@dataclass(frozen=True)
class Resumed(Silent):
    """A run that knows."""

    before: tuple[Transcript, ...] = ()

    def replaced(self) -> Iterable[Transcript]:
        return iter(self.before)


def answered(
    cost: float | None, *, seconds: float = 1.0, failed: tuple[FailedCall, ...] = (), **more: Any
) -> Transcript:
    answer = Answer("text", usage=Usage(1, 1, cost), seconds=seconds, failed_calls=failed)
    return make_transcript(replace(make_turn({"f1": 1.0}), answer=answer), seconds=100.0, **more)


def facts(report: Report) -> dict[str, str]:
    return dict(total_facts(report))


def test_every_call_of_a_resumed_run_is_paid_for() -> None:
    lost = FailedCall("too many", 429, Usage(cost=0.25), 2.0)
    before = (
        answered(0.5, error="the line was lost"),
        replace(make_transcript(error="down", case="c2"), failed_calls=(FailedCall("down", None, Usage(cost=0.125)),)),
    )
    held = (answered(1.0, failed=(lost,)), answered(2.0, case="c2"))
    report = build_report([Resumed(make_header("m"), {}, held, before=before)])
    found = facts(report)
    assert found["cost of all calls"] == "$3.88"  # 1 + 2 of answers, 0.25 + 0.125 of failed calls, 0.5 replaced
    assert found["of it for failed calls"] == "$0.2500"
    assert found["of it for replaced attempts"] == "$0.6250"
    assert found["time of all calls"] == "4.0 s"  # without the 100 s that a dialogue took with its waiting
    (note,) = report.notes
    assert "2 attempts were replaced by a later one of the same dialogue (m 2)" in note
    assert "$0.6250" in note
    page = render_page(report, NOW)
    assert "as when a run is resumed" in page
    assert "those of replaced attempts included" in page
    assert "$3.88" in render_markdown(report, NOW)
    assert leaderboard_lines(report, 80)[1].endswith("$3.88")
    (row,) = json.loads(render_json(report, NOW))["ranking"]
    assert row["paid"] == {"cost": 3.875, "known": True, "answers": 3.0, "failed_calls": 0.25, "replaced": 0.625}
    assert row["replaced"] == {"attempts": 2, "seconds": 1.0, "cost": 0.625, "cost_known": True}
    assert row["calls"]["seconds"] == 4.0


def test_a_run_that_does_not_tell_of_replaced_attempts_says_what_its_cost_is_of() -> None:
    found = facts(build_report([Silent(make_header("m"), {}, (answered(1.0),))]))
    assert found["cost of the attempts that count"] == "$1.00"
    assert "of it for replaced attempts" not in found


def test_a_run_without_replaced_attempts_tells_of_none() -> None:
    report = build_report([Resumed(make_header("m"), {}, (answered(1.0),))])
    assert report.notes == ()
    assert facts(report)["cost of all calls"] == "$1.00"


def test_an_unknown_cost_of_a_replaced_attempt_makes_the_sum_a_lower_bound() -> None:
    report = build_report([Resumed(make_header("m"), {}, (answered(1.0),), before=(answered(None, error="lost"),))])
    assert facts(report)["cost of all calls"] == "≥ $1.00"


@pytest.mark.parametrize("costs", [(0.0, None), (None, None)])
def test_nothing_known_is_unknown_and_no_lower_bound_of_zero(costs: tuple[float | None, ...]) -> None:
    held = tuple(answered(cost, case=f"c{place}") for place, cost in enumerate(costs))
    report = build_report([Run(make_header("m"), {}, held)])
    assert facts(report)["cost"] == "unknown"
    everything = render_page(report, NOW) + render_markdown(report, NOW) + "\n".join(leaderboard_lines(report, 80))
    assert "≥ $0" not in everything
    assert ">=$0" not in everything


def test_cost_plots_are_left_out_with_a_reason() -> None:
    def page(*costs: float | None) -> str:
        held = tuple(answered(cost, model=f"m{place}") for place, cost in enumerate(costs))
        return render_page(build_report([Run(make_header(*(one.model for one in held)), {}, held)]), NOW)

    assert "only one model has both a known price and a score" in page(1.0)
    assert "only one model has both a known time and a score" in page(1.0)
    assert "all models with a known price are free" in page(0.0, 0.0)
    assert "no model has both a known price and a score" in page(None, None)
    assert "No plot of “Cost against score”" not in page(1.0, 2.0)


def test_a_single_replaced_attempt_is_told_in_the_singular() -> None:
    report = build_report([Resumed(make_header("m"), {}, (answered(1.0),), before=(answered(0.5, error="lost"),))])
    (note,) = report.notes
    assert note == (
        "1 attempt was replaced by a later one of the same dialogue (m 1), as when a run is resumed; it counts in no "
        "score, and its cost ($0.5000) is part of the cost of all calls."
    )
