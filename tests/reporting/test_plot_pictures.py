"""What the pictures of the report say, checked by hand-made numbers, and the parts that they are made of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.aggregates import Counts, LabelRow
from pytest_llmkg.analysis.gains import GainRow
from pytest_llmkg.analysis.intervals import Interval
from pytest_llmkg.analysis.pareto import Point, pareto_front
from pytest_llmkg.analysis.passing import PassRow
from pytest_llmkg.analysis.published_records import CapabilityScore, PreferenceCell, PreferenceRow, PreferenceTable
from pytest_llmkg.analysis.ranks import Rank, Ranking
from pytest_llmkg.analysis.values import CaseValues
from pytest_llmkg.reporting.plots import (
    OutcomeRow,
    SizeRow,
    StageRow,
    billions,
    box_plot,
    compass_plot,
    gain_plot,
    heatmap_plot,
    outcomes_plot,
    pareto_plot,
    pass_plot,
    plot_css,
    preference_plot,
    ranking_plot,
    size_plot,
    stages_plot,
)
from pytest_llmkg.reporting.plots.axes import Scale, score_scale
from pytest_llmkg.reporting.plots.drawing import render
from pytest_llmkg.reporting.plots.palette import HEAT_STEPS, SERIES, contrast, role_colours
from pytest_llmkg.reporting.plots.sheet import NARROW, WIDE, Mark, Outline, Sheet, Words
from pytest_llmkg.reporting.plots.wording import plain_number, short_names, shorten, width_of, wrapped
from tests.reporting.svg import parsed, texts

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET


def first_numbers(path: ET.Element) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path.get("d", ""))]


def tipped(svg: str, start: str) -> list[ET.Element]:
    return [p for p in parsed(svg).iter("path") if (p.findtext("title") or "").startswith(start)]


def test_a_whisker_reaches_from_limit_to_limit() -> None:
    plot = ranking_plot(
        Ranking((Rank("m", 0.5, 1, (1, 1), (1, 1), True, None),), ("lacking",), ()),
        {"m": Interval(0.5, 0.2, 0.9, 20), "lacking": Interval(0.4, None, None, 1, reason="one case only")},
    )
    line, marker = tipped(plot.svgs[0], "Rank 1: m")
    low, y, high, _ = first_numbers(line)
    middle = sum(first_numbers(marker)[0::2]) / len(first_numbers(marker)[0::2])
    assert (middle - low) / (high - low) == pytest.approx((0.5 - 0.2) / (0.9 - 0.2), abs=0.01)
    assert y == first_numbers(marker)[1] or abs(y - first_numbers(marker)[1]) < 8
    assert "0.50 [0.20, 0.90]" in texts(plot.svgs[0])
    assert plot.description == "Rank 1: m, mean 0.50 [0.20, 0.90], leader group. Not ranked: lacking, mean 0.40."
    assert plot.notes == ("lacking has no interval: one case only.",)


def test_only_rows_of_leaders_are_tinted() -> None:
    rows = tuple(
        Rank(n, 0.5, k, (1, 3), (1, 3), lead, None)
        for k, (n, lead) in enumerate([("a", True), ("b", False), ("c", True)], 1)
    )
    svg = ranking_plot(Ranking(rows, (), ()), dict.fromkeys("abc", Interval(0.5, 0.4, 0.6, 9))).svgs[0]
    assert [t for t in texts(svg) if t.startswith("leader group")]
    ground = next(p for p in parsed(svg).iter("path") if first_numbers(p)[:1] == [0])
    tops = sorted(set(first_numbers(ground)[1::2]))
    assert tops == [tops[0], tops[0] + 24, tops[0] + 48, tops[0] + 72]
    assert (ground.get("d") or "").count("z") == 2


@pytest.mark.parametrize(("score", "step"), [(0.0, 0), (0.04, 0), (0.06, 1), (0.5, 5), (1.0, 10), (-2.0, 0), (3.0, 10)])
def test_a_cell_has_the_colour_of_its_mean(score: float, step: int) -> None:
    rows = [LabelRow("m", "T", "L", "f1", Counts(20), score, None)]
    svg = heatmap_plot(rows).svgs[0]
    (cell,) = tipped(svg, "m, L")
    style = parsed(svg).findtext("style", "")
    assert re.search(rf"\.{cell.get('class')}\{{fill:var\(--plot-h{step}, ", style)


def test_cells_without_mean_are_marked_as_none() -> None:
    rows = [
        LabelRow(m, "T", x, "f1", Counts(1), 0.5 if m == "a" else None, None) for m in "ab" for x in ("L1", "L2", "L3")
    ]
    plot = heatmap_plot(rows)
    assert plot.description == "2 models, 3 task labels. a: from 0.50 (L1) to 0.50 (L3). b: no mean."
    assert len(tipped(plot.svgs[0], "a, ")) == 3
    assert not tipped(plot.svgs[0], "b, ")


def test_a_compass_breaks_its_line_at_a_missing_value_and_marks_incomplete_ones() -> None:
    means = {"N": 1.0, "E": 0.5, "S": None, "W": 0.25}
    scores = [CapabilityScore("d", k, "m", v, 4, 4, 2, (), ("lacks T",) if k == "E" else ()) for k, v in means.items()]
    plot = compass_plot(scores, ["m"])
    assert plot.description == "m: N 1.00, E 0.50 (incomplete), S no value, W 0.25."
    assert plot.notes == ("E lacks some of the tasks.",)
    (svg,) = plot.svgs
    assert len([t for t in texts(svg) if t == "no value"]) == 1
    markers = {name: tipped(svg, f"m, {name}:") for name in means}
    assert {name: len(found) for name, found in markers.items()} == {"N": 1, "E": 1, "S": 0, "W": 1}
    assert markers["E"][0].get("class") != markers["N"][0].get("class")
    lines = [
        p for p in parsed(svg).iter("path") if (p.get("d") or "").count("M") == 2 and "z" not in (p.get("d") or "")
    ]
    assert len(lines) == 1, "two of the four sides: from W to N and from N to E"


def test_a_compass_takes_the_asked_definitions_and_six_models() -> None:
    models = [f"m{k}" for k in range(8)]
    scores = [CapabilityScore(d, c, m, 0.5, 4, 4, 2, ()) for d in ("x", "y") for c in "ABC" for m in models]
    plot = compass_plot(scores, models, definitions=["x"])
    assert plot.notes == ("Only the first 6 of 8 models are drawn.",)
    assert {"A", "B", "C"} <= set(texts(plot.svgs[0]))
    assert "A (x)" in texts(compass_plot(scores, models).svgs[0])
    assert compass_plot(scores[:16], models).reason == "a compass needs three capabilities, found 2"


def test_a_box_holds_the_middle_half_and_every_value_has_its_dot() -> None:
    values = (0.0, 0.25, 0.5, 0.75, 1.0)
    plot = box_plot(CaseValues({("m", "L", "c"): values}, {"L": "T"}, {}, {}), "L", score="f1", models=["m", "gone"])
    box = tipped(plot.svgs[0], "m: 5 values")[0]
    xs = sorted(set(first_numbers(box)[0::2]))
    dots = next(p for p in parsed(plot.svgs[0]).iter("path") if (p.get("d") or "").count("M") == 5)
    places = sorted(set(first_numbers(dots)[0::2]))
    assert xs == pytest.approx([places[1], places[3]], abs=0.11)
    assert plot.description == "m: 5 values from 0.00 to 1.00, mean 0.50."
    assert plot.notes == ("gone has no value here.",)


@pytest.mark.parametrize("count", [2, 9, 20, 200])
def test_equal_values_have_as_many_dots(count: int) -> None:
    plot = box_plot(CaseValues({("m", "L", "c"): (0.5,) * count}, {"L": "T"}, {}, {}), "L", score="f1")
    dots = {p.get("d") for p in parsed(plot.svgs[0]).iter("path") if (p.get("d") or "").count("M") == count}
    assert len([d for d in dots if d and len(set(re.findall(r"M[\d.]+ [\d.]+", d))) == count]) == 1


def test_gains_are_averaged_over_labels_and_harm_is_counted() -> None:
    row = GainRow("m", "A", "combined", 10, 8, 0.2, 0.4, 0.6, 5, 2, 3, 0.1, -0.1, 4, 0, 0)
    rows = [row, replace(row, label="B", first=0.4, last=0.2, best=0.8, improved=1, harmed=6, dialogues=20)]
    plot = gain_plot(
        [*rows, replace(row, label="C", first=None, last=None, best=None, improved=0, harmed=0, dialogues=0)]
    )
    assert plot.description == "m: first 0.30, last 0.30, best 0.70; of 30 dialogues 6 improved, 8 were harmed."
    assert {"6", "8"} <= set(texts(plot.svgs[0]))


def test_a_front_of_a_wide_range_has_a_logarithmic_scale_and_a_place_for_what_costs_nothing() -> None:
    front = pareto_front(
        [Point("free", 0.0, 0.2), Point("cheap", 0.001, 0.5), Point("dear", 1.0, 0.9), Point("x", None, 0.7)]
    )
    plot = pareto_plot(front, "cost")
    written = texts(plot.svgs[0])
    assert {"0", "0.001", "0.01", "0.1", "1", "free", "cheap", "dear"} <= set(written)
    assert plot.notes == ("x is not in the picture: its price is unknown.",)
    narrow_range = pareto_plot(pareto_front([Point("a", 1.0, 0.5), Point("b", 2.0, 0.9)]), "seconds")
    assert {"0", "1", "2"} <= set(texts(narrow_range.svgs[1]))
    assert "faster" in "".join(texts(narrow_range.svgs[0]))


def test_shares_of_outcomes_add_up() -> None:
    plot = outcomes_plot([OutcomeRow("m", Counts(5, 2, 1, 1), not_run=1), OutcomeRow("empty", Counts())])
    parts = [p for p in parsed(plot.svgs[0]).iter("path") if re.match(r"\d of 10 ", p.findtext("title") or "")]
    spans = [(min(first_numbers(p)[0::2]), max(first_numbers(p)[0::2])) for p in parts]
    whole = spans[-1][1] - spans[0][0]
    assert [round((b - a) / whole, 2) for a, b in spans] == [0.5, 0.2, 0.1, 0.1, 0.1]
    assert [a for a, _ in spans[1:]] == pytest.approx([b for _, b in spans[:-1]], abs=0.11)
    assert plot.description == "m: 5 scored, 2 unparsable, 1 no answer, 1 error, 1 not run."
    assert plot.notes == ("empty has no dialogue.",)


def test_stages_are_shares_of_the_time() -> None:
    rows = [StageRow("rag", {"retrieve": 0.5, "model": 1.5}, "2.00 s"), StageRow("bare", {"model": 1.0}, "1.00 s")]
    plot = stages_plot([*rows, StageRow("silent", {}, "unknown")], ["retrieve", "model"])
    assert plot.description == "rag: 25 % retrieve, 75 % model of 2.00 s. bare: 100 % model of 1.00 s."
    assert plot.notes == ("silent tells no time.",)
    first, second = (tipped(plot.svgs[0], f"rag: {stage} ")[0] for stage in ("retrieve", "model"))
    spans = [(min(first_numbers(p)[0::2]), max(first_numbers(p)[0::2])) for p in (first, second)]
    assert (spans[0][1] - spans[0][0]) / (spans[1][1] - spans[0][0]) == pytest.approx(0.25, abs=0.01)
    assert {"25 %", "75 %", "2.00 s"} <= set(texts(plot.svgs[0]))
    assert stages_plot(rows[1:], ["model"]).reason == "no system tells more than one stage"


def test_a_front_that_would_show_nothing_is_left_out_with_the_reason() -> None:
    assert "only one model" in str(
        pareto_plot(pareto_front([Point("a", 1.0, 0.5), Point("b", None, 0.9)]), "cost").reason
    )
    assert "free" in str(pareto_plot(pareto_front([Point("a", 0.0, 0.5), Point("b", 0.0, 0.9)]), "cost").reason)
    assert "no model has both" in str(pareto_plot(pareto_front([Point("a", None, 0.5)]), "seconds").reason)


def test_a_preference_points_to_the_better_format() -> None:
    cells = (
        PreferenceCell("A", "TTL", True, "**TTL**", 0.001, 0.9, 0.4, 20, 20),
        PreferenceCell("B", "JSON", False, "JSON", 0.03, 0.4, 0.6, 20, 20),
        PreferenceCell("C", None, False, "", None, None, None, 0, 0, "no values"),
    )
    table = PreferenceTable("TTL", "JSON", ("A", "B", "C"), 0.05, 0.01, (PreferenceRow("m", cells),), ("a warning",))
    plot = preference_plot(table)
    assert plot.description == "m: A TTL strongly (0.90 against 0.40), B JSON (0.40 against 0.60)."
    assert plot.notes == ("a warning",)
    bars = tipped(plot.svgs[0], "TTL 0.")
    left, right = (sorted(set(first_numbers(bar)[0::2])) for bar in bars)
    assert (left[1] - left[0]) / (right[1] - right[0]) == pytest.approx(0.5 / 0.2, abs=0.02)
    zeros = next(p for p in parsed(plot.svgs[0]).iter("path") if (p.get("d") or "").count("M") == 3)
    assert [left[1], right[0]] == pytest.approx(first_numbers(zeros)[0:8:4], abs=0.11)
    assert preference_plot(None).reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7B", 7.0),
        ("0.5b", 0.5),
        ("8x7B", 56.0),
        ("500M", 0.5),
        ("1.5T", 1500.0),
        ("57B (active: 14B)", 57.0),
        (" 72 B", 72.0),
        ("about 7B", None),
        ("0B", None),
        ("7Bananas", None),
        ("", None),
        (None, None),
    ],
)
def test_sizes(text: str | None, expected: float | None) -> None:
    assert billions(text) == expected


def test_models_of_unknown_size_are_named() -> None:
    rows = [
        SizeRow("a", "1B", "F", 0.2),
        SizeRow("b", "100B", "F", 0.8),
        SizeRow("c", None, "F", 0.5),
        SizeRow("d", "7B", "G", None),
    ]
    plot = size_plot(rows)
    assert plot.notes == ("Size not published or not given: c.",)
    assert plot.description == "a: 1 billion parameters, score 0.20. b: 100 billion parameters, score 0.80."


def test_of_many_models_of_unknown_size_the_first_are_named() -> None:
    plot = size_plot([SizeRow(f"m{number}", None, "F", 0.5) for number in range(30)])
    (note,) = plot.notes
    assert note.startswith("Size not published or not given: m0, m1, ")
    assert note.endswith("m19 and 10 others.")


def test_curves_break_where_other_cases_count() -> None:
    rows = [PassRow("m", None, k, 1.0, 0.5, 0.4, cases, 0, 3) for k, cases in ((1, 30), (2, 30), (5, 10), (10, 10))]
    plot = pass_plot(rows)
    assert "Curves are broken where fewer cases were asked that often." in plot.notes
    lines = [p for p in parsed(plot.svgs[0]).iter("path") if p.findtext("title") == "m"]
    assert [(p.get("d") or "").count("M") for p in lines] == [2, 2]


# Parts.


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_contrast_by_the_web_content_accessibility_guidelines(side: int) -> None:
    colours = {role: pair[side] for role, pair in role_colours().items()}
    assert all(contrast(colours[role], colours["card"]) >= 4.5 for role in ("ink", "muted"))
    assert all(contrast(colours[role], colours["card"]) >= 3 for role in SERIES)
    assert all(contrast(colours[role], colours["wash"]) >= 4.5 for role in ("ink", "muted"))
    assert all(contrast(colours[f"t{step}"], colours[f"h{step}"]) >= 4.5 for step in range(HEAT_STEPS))


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_every_colour_of_the_plots_is_in_the_style_sheet() -> None:
    assert {f"--plot-{role}:" for role in role_colours() if role != "ink"} <= set(plot_css().split())


@given(st.lists(st.text(max_size=40), max_size=8), st.floats(60, 300))
def test_short_names_fit_and_keep_their_order(names: list[str], width: float) -> None:
    found = short_names(names, width, 12)
    assert len(found) == len(names)
    assert all(width_of(text, 12) <= width for text in found)
    assert all(
        (a == b) <= (x == y) for a, x in zip(names, found, strict=True) for b, y in zip(names, found, strict=True)
    )


def test_names_that_differ_at_one_place_differ_when_they_are_short() -> None:
    names = [f"hosted_vllm/Qwen2.5-{size}B-Instruct" for size in ("0.5", "1.5", "3", "7", "14", "32", "72")]
    assert len(set(short_names(names, 120, 12))) == len(names)
    assert short_names(names, 170, 12)[0] == "…Qwen2.5-0.5B-Instruct"
    assert short_names(["openai/gpt", "azure/gpt"], 300, 12) == ["openai/gpt", "azure/gpt"]


def test_shortening_keeps_both_ends() -> None:
    assert shorten("abc", 100, 12) == "abc"
    short = shorten("beginning-of-a-very-long-name-and-its-end", 120, 12)
    assert short.startswith("beg")
    assert short.endswith("nd")
    assert "…" in short


def test_wrapping_breaks_before_capitals() -> None:
    assert wrapped("RdfConnectionExplainStatic", 110, 12) == ["RdfConnection", "ExplainStatic"]
    assert len(wrapped("x" * 500, 80, 12)) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00012, "0.00012"),
        (1200, "1,200"),
        (0.5, "0.5"),
        (12.345, "12.3"),
        (1e-9, "1.00e-09"),
        (-2.5, "-2.5"),
    ],
)
def test_plain_numbers(value: float, text: str) -> None:
    assert plain_number(value) == text


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.booleans())
def test_scales_hold_their_values(values: list[float], zoom: bool) -> None:
    scale = score_scale(values, 10, 200, zoom=zoom)
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert all(10 <= scale.at(value) <= 200 for value in values)


def test_scales_place_values_linearly_and_by_decades() -> None:
    assert Scale(0, 2, 100, 300).at(0.5) == 150
    assert Scale(0.01, 100, 0, 400, log=True).at(1) == pytest.approx(200)
    assert score_scale([0.63, 0.88], 0, 1) == Scale(0.6, 0.9, 0, 1)
    assert score_scale([1.0], 0, 1) == Scale(0.8, 1.0, 0, 1)


def test_a_sheet_becomes_plain_svg() -> None:
    sheet = Sheet(100, 50)
    sheet.marks.append(Mark(Outline.box(10, 5, 20, 30), fill="s0", tip="a < b"))
    sheet.marks.append(Mark(Outline.dot(50, 25), line="s1", width=3))
    sheet.words.append(Words(1, 2, "$x$ & <y>", tip="whole"))
    svg = render(sheet, "p", "T & t", "d", "plot")
    root = parsed(svg)
    assert [p.get("d") for p in root.iter("path")] == ["M10 5L30 5L30 35L10 35z", "M50 25L50 25"]
    assert root.findtext("text") == "$x$ & <y>"
    assert root.get("viewBox") == "0 0 100 50"
    assert [WIDE.narrow, NARROW.narrow] == [False, True]
