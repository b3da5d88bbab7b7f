from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.analysis.pareto import Front, Point
from pytest_llmkg.records import ModelSpec, Usage
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.references import shared_sentences, without_language_model
from pytest_llmkg.reporting.report_json import render_json
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from tests.builders import DIALOGUE, make_header, make_transcript, make_turn
from tests.reporting.svg import parsed, texts

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import RunHeader, Transcript
    from pytest_llmkg.reporting.views import Report

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SCHEMES = {"symbolic": "symbolic", "nearest": "copy-nearest", "empty": "empty", "rag:symbolic": "rag"}
INSIDE: dict[str, Json] = {"rag:symbolic": {"id": "symbolic", "model": "symbolic", "connector": "symbolic"}}
MEANS = {"good": 0.75, "fair": 0.5, "symbolic": 1.0, "rag:symbolic": 0.25, "empty": 0.0}


def header(*models: str) -> RunHeader:
    specs = tuple(ModelSpec(name, name.removeprefix("rag:"), SCHEMES.get(name, "scripted")) for name in models)
    return replace(make_header(), models=specs, settings={"wrapped": INSIDE})


def report_of(means: dict[str, float], cases: int = 8, more: tuple[Transcript, ...] = ()) -> Report:
    talks = [
        make_transcript(make_turn({"f1": mean}, usage=Usage(cost=0.01)), model=model, case=f"c{number}")
        for model, mean in means.items()
        for number in range(cases)
    ]
    return build_report([Run(header(*means), {}, (*talks, *more))])


@pytest.mark.parametrize(
    ("spec", "wrapped", "without"),
    [
        (ModelSpec("symbolic", "symbolic", "symbolic"), None, True),
        (ModelSpec("mine", "", "copy-nearest"), None, True),
        (ModelSpec("empty", "", "empty"), None, True),
        (ModelSpec("empty", "empty", "litellm"), None, False),
        (ModelSpec("http:symbolic", "symbolic", "http"), None, False),
        (ModelSpec("p", "symbolic", "rag"), {"p": {"id": "symbolic", "connector": "symbolic"}}, True),
        (ModelSpec("p", "empty", "rag"), {"p": {"id": "empty", "connector": "litellm"}}, False),
        (ModelSpec("p", "q", "rag"), {"p": {"id": "q", "connector": "rag"}, "q": {"connector": "empty"}}, True),
        (ModelSpec("p", "p", "rag"), {"p": {"id": "p", "connector": "rag"}}, False),
        (ModelSpec("w", "symbolic", "outsider"), {"w": {"id": "symbolic", "connector": "symbolic"}}, True),
        (ModelSpec("rag:symbolic", "symbolic", "rag"), None, True),
        (ModelSpec("rag:rag:symbolic", "rag:symbolic", "rag"), {}, True),
        (ModelSpec("rag:gpt-4o", "gpt-4o", "rag"), None, False),
        (ModelSpec("rag:x", "x", "rag"), {"rag:x": "torn"}, False),
    ],
)
def test_who_asks_no_language_model(spec: ModelSpec, wrapped: Json, without: bool) -> None:
    head = replace(make_header(), models=(spec,), settings={} if wrapped is None else {"wrapped": wrapped})
    assert without_language_model([head]) == ({spec.id} if without else set())


def test_references_stand_below_the_models_without_rank_or_test() -> None:
    report = report_of(MEANS)
    assert [(view.row.rank, view.row.model, view.reference) for view in report.models] == [
        (1, "good", False),
        (2, "fair", False),
        (None, "symbolic", True),
        (None, "rag:symbolic", True),
        (None, "empty", True),
    ]
    assert {view.note for view in report.models} == {None, "reference: no language model"}
    figures = report.figures
    assert figures.ranking.leaders == ("good",)
    assert [(one.first, one.second) for one in figures.ranking.comparisons] == [("fair", "good")]
    for front in (figures.costs, figures.seconds):
        assert [point.model for point in front.best] == ["good"]
        assert [point.model for point in front.dominated] == ["fair"]
        assert {point.model for point in front.references} == {"symbolic", "rag:symbolic", "empty"}
    alone = report_of({name: mean for name, mean in MEANS.items() if name in {"good", "fair"}}).figures
    assert figures.ranking.rows == alone.ranking.rows


def test_every_view_marks_references() -> None:
    report = report_of(MEANS)
    lines = leaderboard_lines(report, 100)
    assert [line.split()[:2] for line in lines[1:6]] == [
        ["1*", "good"],
        ["2", "fair"],
        ["-", "symbolic"],
        ["-", "rag:symbolic"],
        ["-", "empty"],
    ]
    assert "      rag:symbolic: reference: no language model" in lines
    markdown = render_markdown(report, NOW)
    assert "References ask no language model: they have no rank" in markdown
    assert "| \N{EN DASH} | symbolic (reference: no language model) | 1.000 |" in markdown
    data = json.loads(render_json(report, NOW))
    assert [row["reference"] for row in data["ranking"]] == [False, False, True, True, True]
    assert [(row["rank"], row["leader"]) for row in data["ranking"][1:3]] == [(2, False), (None, None)]
    assert [point["model"] for point in data["fronts"]["cost"]["best"]] == ["good"]
    page = render_page(report, NOW)
    assert "2 models, best first, then 3 references." in page
    assert "<b>References</b> ask no language model." in page


def test_references_alone_are_ranked_among_themselves() -> None:
    report = report_of({"symbolic": 1.0, "empty": 0.0})
    assert [(view.row.rank, view.row.model, view.note) for view in report.models] == [
        (1, "symbolic", "no language model"),
        (2, "empty", "no language model"),
    ]
    assert not any(view.reference for view in report.models)
    assert report.figures.ranking.leaders == ("symbolic",)
    assert report.figures.costs.references == ()


def test_a_model_that_only_failed_leaves_the_ranking_to_the_references() -> None:
    failed = make_transcript(model="good", error="down")
    report = build_report(
        [Run(header("good", "symbolic"), {}, (failed, make_transcript(make_turn({"f1": 1.0}), model="symbolic")))]
    )
    assert [(view.row.rank, view.row.model) for view in report.models] == [(1, "symbolic"), (None, "good")]


def test_a_model_is_not_unranked_by_labels_that_only_a_reference_has() -> None:
    more = make_transcript(make_turn({"combined": 0.0}), model="symbolic", info=DIALOGUE)
    report = report_of({"good": 0.75, "symbolic": 1.0, "empty": 0.0}, more=(more,))
    assert [(view.row.rank, view.row.model) for view in report.models] == [
        (1, "good"),
        (None, "symbolic"),
        (None, "empty"),
    ]
    assert (
        report.models[1].note
        == "reference: no language model; its mean is over 2 task labels, those of the ranked over 1"
    )
    sentence = "On the 1 task label that all of them have: symbolic 1.000, good 0.750, empty 0.000."
    assert shared_sentences(report.shared, report.figures.ranks) == (sentence,)
    assert sentence in leaderboard_lines(report, 100)
    assert sentence in render_markdown(report, NOW)
    assert sentence in render_page(report, NOW)
    assert json.loads(render_json(report, NOW))["shared_labels"] == [
        {
            "labels": ["Flat"],
            "means": [
                {"model": "symbolic", "mean": 1.0},
                {"model": "good", "mean": 0.75},
                {"model": "empty", "mean": 0.0},
            ],
        }
    ]


def test_a_sentence_on_shared_labels_has_room_for_those_without_rank() -> None:
    talks = [make_transcript(make_turn({"f1": 1 - k / 100}), model=f"m{k:02}") for k in range(20)]
    talks += [make_transcript(make_turn({"combined": 1.0}), model=f"m{k:02}", info=DIALOGUE) for k in range(19)]
    report = build_report([Run(header(*(f"m{k:02}" for k in range(20))), {}, tuple(talks))])
    (sentence,) = shared_sentences(report.shared, report.figures.ranks)
    assert sentence.endswith("m06 0.940, m19 0.810 and 12 more.")


def test_too_few_cases_are_told_in_every_view() -> None:
    report = report_of({"good": 0.75, "fair": 0.5, "bad": 0.0}, cases=6)
    told = "6 independent values are too few for any difference to be significant"
    assert any(line.startswith(f"no leader group: {told}") for line in leaderboard_lines(report, 100))
    assert "*" not in leaderboard_lines(report, 100)[1]
    assert f"There is no leader group: {told}" in render_markdown(report, NOW)
    page = render_page(report, NOW)
    assert f"There is no leader group: {told}" in page
    assert '<span class="tag">leader group</span>' not in page
    assert json.loads(render_json(report, NOW))["ranking_untested"].startswith(told)


def test_plots_show_references_beside_the_others() -> None:
    pytest.importorskip("matplotlib")
    from pytest_llmkg.reporting.plots import pareto_plot, ranking_plot

    figures = report_of(MEANS).figures
    ranking = ranking_plot(figures.ranking, figures.intervals.models)
    assert "Rank 1: good, mean 0.75, leader group." in ranking.description
    assert "Reference: symbolic, mean 1.00." in ranking.description
    assert "reference: no language model" in texts(ranking.svgs[0])
    costs = pareto_plot(figures.costs, "cost")
    assert "reference: no language model" in texts(costs.svgs[0])
    assert costs.description.startswith("On the front: good: 0.01 US dollars a dialogue, score 0.75.")
    assert "References: " in costs.description


def test_the_name_of_a_free_model_does_not_lie_on_the_axis() -> None:
    pytest.importorskip("matplotlib")
    from pytest_llmkg.reporting.plots import pareto_plot

    svg = pareto_plot(Front((Point("symbolic", 0.0, 0.8), Point("b", 0.05, 0.9)), (), ()), "cost").svgs[0]
    words = {element.text: float(element.get("x") or "nan") for element in parsed(svg).iter("text")}
    assert words["symbolic"] > words["0.8"] + 6  # ticks end at their x, names begin at theirs
