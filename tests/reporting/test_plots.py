"""What holds for every plot of the report."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest

from pytest_llmkg.analysis.aggregates import Counts, LabelRow
from pytest_llmkg.analysis.gains import GainRow
from pytest_llmkg.analysis.intervals import Interval
from pytest_llmkg.analysis.pareto import Front, Point
from pytest_llmkg.analysis.passing import PassRow
from pytest_llmkg.analysis.published_records import CapabilityScore, PreferenceCell, PreferenceRow, PreferenceTable
from pytest_llmkg.analysis.ranks import Rank, Ranking
from pytest_llmkg.analysis.values import CaseValues
from pytest_llmkg.reporting.plots import (
    OutcomeRow,
    Plot,
    SizeRow,
    box_plot,
    compass_plot,
    gain_plot,
    heatmap_plot,
    outcomes_plot,
    pareto_plot,
    pass_plot,
    preference_plot,
    ranking_plot,
    size_plot,
)
from pytest_llmkg.reporting.plots.wording import gathered
from tests.reporting.hostile import TEXTS
from tests.reporting.svg import parsed, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = "hosted_vllm/Some-Organisation-With-A-Long-Name/a-model-of-70B-parameters-instruct-2026-11"
HOSTILE = ["</svg><script>alert(1)</script>", "$\\frac{1}{0}$", "a\\b%$_^{", "", " ", "\x00\x1b[31m\ud800", LONG]
HOSTILE += [*TEXTS, "\ufdfd" * 50, "e" + "\u0301" * 5000, "模型" * 40, "\u202eevil"]


# One plot of each kind, with given names and scores.


def ranking(names: Sequence[str], score: float | None) -> Plot:
    rows = tuple(Rank(name, score or 0.0, k + 1, (k + 1, k + 2), (1, 9), k < 2, None) for k, name in enumerate(names))
    interval = Interval(score, None if score is None else score - 0.05, None if score is None else score + 0.05, 20)
    return ranking_plot(Ranking(rows, (), ()), dict.fromkeys(names, interval))


def heatmap(names: Sequence[str], score: float | None) -> Plot:
    counts = Counts(scored=20)
    rows = [LabelRow(m, "T", label, "f1", counts, score, None) for m in names for label in ("A", names[0])]
    return heatmap_plot(rows)


def compass(names: Sequence[str], score: float | None) -> Plot:
    axes = ("Syn", "Sem", "Read", *names[:1])
    scores = [CapabilityScore("d", axis, name, score, 20, 20, 5, ("L",)) for axis in axes for name in names]
    return compass_plot(scores, names)


def card(names: Sequence[str], score: float | None) -> Plot:
    axes = ("Syn", "Sem", "Read")
    scores = (
        [CapabilityScore("d", axis, names[0], score, 9, 9, 5, ("L",), ("lacks",)) for axis in axes] if names else []
    )
    return compass_plot(scores, names[:1])


def boxes(names: Sequence[str], score: float | None) -> Plot:
    values = () if score is None else (score,) * 5
    by_case = {(name, "L", "c"): values for name in names}
    return box_plot(CaseValues(by_case, {"L": "T"}, {}, {}), "L", score=names[0] if names else "f1")


def gain(names: Sequence[str], score: float | None) -> Plot:
    numbers = (20, 9, score, score, score, 3, 1, 16, 0.1, -0.1, 1, 0, 0)
    return gain_plot([GainRow(name, "L", "combined", *numbers) for name in names])


def pareto(names: Sequence[str], score: float | None) -> Plot:
    points = tuple(Point(name, 0.01 * k, score) for k, name in enumerate(names))
    return pareto_plot(Front(points[:2], points[2:], (("left", "its price is unknown"),)), "cost")


def outcomes(names: Sequence[str], score: float | None) -> Plot:
    counts = Counts() if score is None else Counts(10, 5, 3, 2, 1)
    return outcomes_plot([OutcomeRow(name, counts) for name in names])


def preference(names: Sequence[str], score: float | None) -> Plot:
    columns = ("All", names[0] if names else "One")
    cells = (
        PreferenceCell(columns[0], "TTL", True, "**TTL**", 0.001, score, score, 20, 20),
        PreferenceCell(columns[1], None, False, "-", None, score, 0.5, 20, 20, "why not"),
    )
    return preference_plot(
        PreferenceTable("TTL", "JSON", columns, 0.05, 0.01, tuple(PreferenceRow(n, cells) for n in names))
    )


def size(names: Sequence[str], score: float | None) -> Plot:
    return size_plot([SizeRow(name, f"{k + 1}B", name, score) for k, name in enumerate(names)])


def passing(names: Sequence[str], score: float | None) -> Plot:
    return pass_plot([PassRow(n, None, k, 1.0, score, score, 20, 0, 5) for n in names for k in (1, 2, 5)])


Maker = Callable[[Sequence[str], float | None], Plot]
MAKERS: tuple[Maker, ...] = (ranking, heatmap, compass, card, boxes, gain, pareto, outcomes, preference, size, passing)
every_plot = pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])


def numbers(svg: str) -> Iterator[float]:
    for path in parsed(svg).iter("path"):
        yield from (float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path.get("d", "")))


@every_plot
def test_a_plot_tells_its_title_and_figures_without_its_picture(make: Maker) -> None:
    plot = make(["alpha", "beta", "gamma"], 0.75)
    assert plot.reason is None
    assert plot.svgs
    assert "alpha" in plot.description
    for svg in plot.svgs:
        root = parsed(svg)
        assert root.get("role") == "img"
        named = [
            next(e for e in root.iter() if e.get("id") == name) for name in root.get("aria-labelledby", "").split()
        ]
        assert [e.tag for e in named] == ["title", "desc"]
        assert [e.text for e in named] == [plot.title, plot.description]
    if make is not outcomes:
        assert "0.75" in plot.description


@every_plot
def test_ids_differ_between_plots_and_widths(make: Maker) -> None:
    one = make(["alpha", "beta"], 0.5)
    other = [re.sub(re.escape(one.ident), "other", svg) for svg in one.svgs]
    ids = [e.get("id") for svg in (*one.svgs, *other) for e in parsed(svg).iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for svg in one.svgs:
        assert all(f"url(#{one.ident}" in use for use in re.findall(r"url\([^)]*", svg))
        assert all(
            rule.startswith(f"#{one.ident}") for rule in re.findall(r"[^{}]+(?=\{)", parsed(svg).findtext("style", ""))
        )


@every_plot
def test_the_same_data_give_the_same_bytes_whatever_the_users_settings(make: Maker) -> None:
    before = make(["alpha", "beta"], 0.5).svgs
    with mpl.rc_context(
        {"svg.hashsalt": "x", "path.sketch": (1, 100, 2), "hatch.linewidth": 5, "savefig.bbox": "tight"}
    ):
        assert make(["alpha", "beta"], 0.5).svgs == before


@every_plot
def test_colours_are_variables_with_a_fallback(make: Maker) -> None:
    for svg in make(["alpha", "beta", "gamma"], 0.5).svgs:
        style = parsed(svg).findtext("style", "")
        assert "var(--plot-" in style
        assert "#" not in re.sub(r"var\(--plot-\w+, #[0-9a-f]{6}\)|url\(#[\w-]+\)|(?:^|\})#[\w-]+", "", style)
        assert not re.search(r'(?:fill|stroke|style)="', svg)


@every_plot
@pytest.mark.parametrize("start", range(0, len(HOSTILE), 5))
def test_hostile_names_stay_text(make: Maker, start: int) -> None:
    names = HOSTILE[start : start + 5]
    harmless = make([f"m{k}" for k in range(len(names))], 0.5)
    for svg, other in zip(make(names, 0.5).svgs, harmless.svgs, strict=True):
        root = parsed(svg)
        assert {e.tag for e in root.iter()} <= {e.tag for e in parsed(other).iter()} | {"title"}
        attributes = {a for e in root.iter() for a in e.attrib}
        assert attributes <= {a for e in parsed(other).iter() for a in e.attrib} | {"transform"}
        assert not re.search("[\x00-\x09\x0b-\x1f\ud800-\udfff\u202e]", svg)
        assert len(svg.encode()) < 60_000


def test_an_ident_cannot_leave_its_place() -> None:
    ident = 'x"}*{display:none}</style><script>'
    plot = outcomes_plot([OutcomeRow("m", Counts(1))], ident=ident)
    assert all("<script" not in svg and "display" not in svg.replace("display-none", "") for svg in plot.svgs)


@every_plot
def test_nothing_to_draw_has_a_reason_and_no_picture(make: Maker) -> None:
    for plot in (
        make([], 0.5),
        make(["alpha", "beta"], None),
        make(["alpha"], float("nan") if make is not outcomes else None),
    ):
        assert plot.svgs == ()
        assert plot.reason


@every_plot
@pytest.mark.parametrize("score", [0.0, 1.0, -3.0, 1e99, -1e99, 1e-300, float("inf")])
@pytest.mark.parametrize("count", [1, 7])
def test_degenerate_values_are_drawn_or_declined(make: Maker, score: float, count: int) -> None:
    plot = make([f"m{k}" for k in range(count)], score)
    assert bool(plot.svgs) != bool(plot.reason)
    for svg in plot.svgs:
        assert not re.search(r"\b(nan|inf)\b", svg, re.IGNORECASE)
        width, height = (float(n) for n in parsed(svg).get("viewBox", "").split()[2:])
        assert 0 < height < 2000
        assert all(-50 <= number <= max(width, height) + 50 for number in numbers(svg))


@every_plot
def test_plots_of_many_models_stay_small(make: Maker) -> None:
    names = [f"provider-{k % 5}/model-number-{k}-of-a-family-{k * 3}b-instruct" for k in range(41)]
    assert all(len(svg.encode()) < 60_000 for svg in make(names, 0.5).svgs)


def test_a_heat_map_of_41_models_and_40_labels_stays_below_its_limit() -> None:
    rows = [
        LabelRow(
            f"provider/model-{m}-instruct", "T", f"TaskNumber{n}-jsonld", "f1", Counts(20), (m * n % 100) / 100, 0.1
        )
        for m in range(41)
        for n in range(40)
    ]
    (svg,) = heatmap_plot(rows).svgs
    assert len(svg.encode()) < 300_000
    assert sum(re.fullmatch(r"\.\d\d|\d\.\d\d|1", text) is not None for text in texts(svg)) == 41 * 40 + 1


def test_box_plots_of_41_models_and_20_values_stay_below_their_limit() -> None:
    by_case = {
        (f"provider/model-{m}-instruct", "L", f"c{c}"): (((m * 7 + c * 13) % 50) / 49,)
        for m in range(41)
        for c in range(20)
    }
    plot = box_plot(CaseValues(by_case, {"L": "T"}, {}, {}), "L", score="f1")
    assert all(len(svg.encode()) < 60_000 for svg in plot.svgs)


def test_plots_never_load_pyplot() -> None:
    code = (
        "import sys\n"
        "from pytest_llmkg.analysis.aggregates import Counts\n"
        "from pytest_llmkg.reporting.plots import OutcomeRow, outcomes_plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "assert outcomes_plot([OutcomeRow('m', Counts(1))]).svgs\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_notes_that_say_the_same_of_many_models_are_one() -> None:
    notes = [
        "Only six are drawn.",
        *(f"m{number} has no interval: one value." for number in range(9)),
        "x has no mean.",
    ]
    assert gathered(notes) == [
        "Only six are drawn.",
        "m0 has no interval: one value. The same holds for 8 others, such as m1, m2, m3.",
        "x has no mean.",
    ]
    assert gathered(notes[:4]) == notes[:4]
    assert gathered(notes[1:5]) == ["m0 has no interval: one value. The same holds for 3 others: m1, m2, m3."]
    assert gathered(["same", "same"]) == ["same", "same"]
