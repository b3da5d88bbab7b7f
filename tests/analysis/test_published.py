"""The published analysis on dialogues made by hand, with values worked out on paper or by other means."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.published import analyse_published
from pytest_llmkg.analysis.published_combined import published_figure
from pytest_llmkg.analysis.published_config import PublishedConfig, parse_config, shipped_config
from pytest_llmkg.analysis.published_ttest import printed, t_test
from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import TaskInfo
from tests.builders import FLAT, make_transcript, make_turn

if TYPE_CHECKING:
    from pytest_llmkg.analysis.published_records import CombinedRow, CombinedTable, PreferenceCell, PublishedAnalysis
    from pytest_llmkg.records import Transcript

CONFIG = """
schema = 1
source = "by hand"
[tasks]
a = ["A", "A-other"]
b = ["B"]
[[definitions]]
name = "nested"
title = "t"
summary = "s"
weights = "nested"
counted = 2
capabilities = [
    { name = "One", summary = "s", parts = [{ type = "X", score = "f1", tasks = ["a", "b"] }] },
    { name = "Two", summary = "s", parts = [
        { type = "X", score = "f1", tasks = ["a"] }, { type = "Y", score = "f1", tasks = ["b"] },
    ] },
]
[[definitions]]
name = "pooled"
title = "t"
summary = "s"
weights = "pooled"
capabilities = [{ name = "One", summary = "s", parts = [{ type = "X", score = "f1", tasks = ["a", "b"] }] }]
[preferences]
first = "TTL"
second = "JSON"
pooled = "All"
columns = [
    { name = "F", score = "f1", first = "A", second = "B" },
    { name = "G", score = "f1", first = "C", second = "D" },
]
[[published]]
name = "M"
models = ["*best*"]
score = "0.90"
deviation = "0.10"
leader = true
"""

TWICE = (
    "Dialogues with the same model, label, case and iteration as another one: 1. All are counted. Was a file given "
    "twice, or do runs share a model id?"
)

Scores = Mapping[str, Sequence[float]]


@pytest.fixture
def config() -> PublishedConfig:
    return parse_config(CONFIG, "by hand")


def asked(model: str, scores: Scores, cases: int = 2) -> list[Transcript]:
    """Dialogues of ``model`` with these values of f1 by label; the cases take turns."""
    return [
        make_transcript(
            make_turn({"f1": value}),
            model=model,
            label=label,
            case=f"c{number % cases}",
            iteration=number // cases + 1,
        )
        for label, values in scores.items()
        for number, value in enumerate(values)
    ]


def analysed(config: PublishedConfig, *groups: list[Transcript]) -> PublishedAnalysis:
    found = analyse_published([t for group in groups for t in group], [FLAT], config)
    json.dumps(to_plain(found), allow_nan=False)  # raises for NaN and infinities
    return found


def table(found: PublishedAnalysis, definition: str = "nested") -> CombinedTable:
    return next(t for t in found.combined if t.definition == definition)


def rows(found: PublishedAnalysis, definition: str = "nested") -> dict[str, CombinedRow]:
    return {row.model: row for row in table(found, definition).rows}


def cells(found: PublishedAnalysis, model: str) -> dict[str, PreferenceCell]:
    assert found.preferences is not None
    (row,) = (row for row in found.preferences.rows if row.model == model)
    assert tuple(cell.column for cell in row.cells) == found.preferences.columns
    return {cell.column: cell for cell in row.cells}


def test_weights_are_equal_at_every_level_whatever_the_number_of_values(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [1, 1, 1, 0], "B": [0.5]}))
    # One: (3/4 + 1/2) / 2; Two: the same by its two parts; so the combined score is 5/8.
    assert rows(found)["m"].mean == pytest.approx(5 / 8)
    # Squares about it, by halves: of A three times 3/8 and once 5/8, of B once 1/8.
    assert rows(found)["m"].deviation == pytest.approx(math.sqrt((27 / 256 + 25 / 256) / 2 + 1 / 128))
    assert rows(found, "pooled")["m"].mean == pytest.approx(3.5 / 5)
    assert rows(found, "pooled")["m"].deviation == pytest.approx(math.sqrt((3 * 0.09 + 0.49 + 0.04) / 5))
    assert (rows(found)["m"].values, rows(found)["m"].tested, rows(found)["m"].dialogues) == (10, 20, 5)
    assert rows(found)["m"].cases == 3  # two of A, one of B


_VALUES = st.lists(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=8)


@given(_VALUES, _VALUES)
def test_nested_weights_are_means_of_means(a: list[Fraction], b: list[Fraction]) -> None:
    found = analysed(parse_config(CONFIG, "by hand"), asked("m", {"A": [*map(float, a)], "B": [*map(float, b)]}))
    mean = (sum(a) / len(a) + sum(b) / len(b)) / 2
    square = (sum(x * x for x in a) / len(a) + sum(x * x for x in b) / len(b)) / 2
    row = rows(found)["m"]
    assert row.mean == pytest.approx(float(mean))
    assert row.deviation is not None
    assert row.deviation**2 == pytest.approx(float(square - mean * mean), abs=1e-9)
    means = [score.mean for score in found.capabilities if score.definition == "nested"]
    assert means == [pytest.approx(float(mean))] * 2


def test_leader_group_is_tested_with_every_value_counted_as_configured(config: PublishedConfig) -> None:
    found = analysed(
        config, asked("best", {"A": [1, 0.5], "B": [1, 0.5]}), asked("worse", {"A": [0.5, 0.5], "B": [0.5, 0]})
    )
    best, worse = rows(found)["best"], rows(found)["worse"]
    assert (best.leader, best.star, best.p, best.rank, worse.rank) == (True, True, None, 1, 2)
    # Sixteen values a model: 0.75 (squares about it: 1) against 0.375 (squares: 0.75), so t = 0.375 / s sqrt(2/16) with
    # s^2 = 1.75 / 30; its two-sided p on 30 degrees of freedom from a table of the t distribution: 0.0001 < p < 0.001.
    assert worse.p is not None
    assert 0.0001 < worse.p < 0.001
    assert worse.star is False
    # Four values: s^2 = (0.25 + 0.1875) / 6, t = 0.375 / 0.191 = 1.96 on 6 degrees, p is just below 0.1.
    pooled = rows(found, "pooled")["worse"]
    assert pooled.p is not None
    assert 0.05 < pooled.p < 0.1
    assert pooled.star is True


def test_a_missing_label_gives_no_combined_score_but_says_what_is_missing(config: PublishedConfig) -> None:
    found = analysed(config, asked("whole", {"A": [1, 0], "B": [1]}), asked("part", {"A": [1, 1]}))
    part = rows(found)["part"]
    assert (part.mean, part.text, part.rank, part.star, part.p) == (None, "-", None, None, None)
    assert part.notes == ("No combined score: no dialogue of B.",)
    one, two = (s for s in found.capabilities if (s.model, s.definition) == ("part", "nested"))
    assert (one.mean, one.complete, one.missing) == (1.0, False, ("no dialogue of B",))
    assert two.labels == ("A",)
    assert rows(found)["whole"].leader


def test_dialogues_that_broke_off_are_told_and_not_counted_as_zero(config: PublishedConfig) -> None:
    broken = make_transcript(model="m", label="A", error="no answer")
    found = analysed(config, [*asked("m", {"A": [1, 1], "B": [1]}), broken])
    assert rows(found)["m"].mean == 1.0
    assert "Dialogues that broke off, left out and not counted as 0: 1." in rows(found)["m"].notes
    assert "dialogues of A that broke off, left out: 1" in cells(found, "m")["F"].note
    found = analysed(config, [*asked("m", {"B": [1]}), broken])
    assert rows(found)["m"].mean is None
    assert "all dialogues of A broke off" in rows(found)["m"].notes[0]


def test_a_score_that_some_dialogues_lack_is_told(config: PublishedConfig) -> None:
    lacking = make_transcript(make_turn({"precision": 1.0}), model="m", label="A", case="c9")
    found = analysed(config, [*asked("m", {"A": [1, 1], "B": [1]}), lacking])
    assert rows(found)["m"].mean == 1.0
    assert "Dialogues of A without the score 'f1', left out of it: 1." in rows(found)["m"].notes
    found = analysed(config, [*asked("m", {"B": [1]}), lacking])
    assert "no score 'f1' on A" in rows(found)["m"].notes[0]


def test_models_on_other_labels_are_ranked_apart(config: PublishedConfig) -> None:
    found = analysed(
        config,
        asked("x", {"A": [1, 0], "B": [1, 0]}),
        asked("y", {"A": [1, 0], "B": [0, 0]}),
        asked("z", {"A-other": [0, 0.5], "B": [0, 0]}),
    )
    assert [(row.model, row.rank, row.leader) for row in table(found).rows] == [
        ("x", 1, True),
        ("y", 2, False),
        ("z", 1, True),
    ]
    assert any("2 different sets of labels" in warning for warning in table(found).warnings)


def test_the_published_label_goes_before_its_substitute(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [1.0], "A-other": [0.0], "B": [1.0]}))
    assert rows(found)["m"].mean == 1.0


def test_other_cases_than_the_leader_are_told(config: PublishedConfig) -> None:
    found = analysed(config, asked("x", {"A": [1, 1], "B": [1]}), asked("y", {"A": [1, 0], "B": [1]}, cases=1))
    assert "It was asked other cases than x on A." in rows(found)["y"].notes


def test_ties_and_equal_values_have_no_p_value_but_a_reason(config: PublishedConfig) -> None:
    found = analysed(config, asked("x", {"A": [1], "B": [1]}), asked("y", {"A": [1], "B": [1]}))
    x, y = rows(found)["x"], rows(found)["y"]
    assert (x.rank, y.rank, x.leader, y.leader, x.deviation) == (1, 1, True, False, 0.0)
    assert (y.p, y.star) == (None, None)
    assert y.notes == (
        "Against x: all values are equal, so the t-test is undefined.",
        "Its mean equals that of x; the leader is the first by name.",
    )


def test_one_model_and_one_value_each(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [0.5], "B": [1.0]}))
    assert rows(found)["m"].text == "0.75 (0.25)"
    assert (rows(found)["m"].leader, rows(found)["m"].star) == (True, None)
    assert rows(found)["m"].notes == ("No other model was measured on the same labels, so there is no leader group.",)
    cell = cells(found, "m")["F"]
    assert (cell.mark, cell.p, cell.note) == ("-", None, "only one value on one side, which shows no spread")


def test_nothing_to_analyse(config: PublishedConfig) -> None:
    found = analysed(config)
    assert not found.models
    assert not found.capabilities
    assert found.notes == ("There is no dialogue to analyse.",)
    assert all(not t.rows and "there is none" in t.warnings[0] for t in found.combined)
    assert found.preferences is not None
    assert found.preferences.rows == ()


def test_what_is_not_used_is_told(config: PublishedConfig) -> None:
    known = asked("m", {"A": [1], "Z": [1, 1]})
    other = make_transcript(make_turn({"f1": 1}), info=TaskInfo("Odd", "1", "RDF", "", "f1"), label="B")
    found = analysed(config, [*known, known[0], other])
    assert found.notes == (
        "No definition uses the label 'Z'; dialogues left out: 2.",
        "Task 'Odd' is not described, so the scores of its dialogues cannot be read; left out: 1.",
        TWICE,
    )


def test_numbers_beyond_any_score_are_left_out(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [1, 10**400], "B": [1, 1e300]}))
    assert rows(found)["m"].mean == 1.0


def test_the_printed_figure_stands_only_beside_the_published_labels(config: PublishedConfig) -> None:
    found = analysed(config, asked("the-best-1", {"A": [1], "B": [1]}), asked("best", {"A-other": [1], "B": [1]}))
    assert rows(found)["the-best-1"].published == "0.90 (0.10)*"
    assert rows(found)["best"].published is None


def test_every_combined_table_names_what_is_dependent(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [1, 0, 1, 0], "B": [1, 0]}))
    warning = table(found).warnings[0]
    assert "takes 24 values of a model for independent" in warning
    assert "each counted 2 times" in warning
    assert "from 6 dialogues on 4 cases" in warning
    assert "each counted" not in table(found, "pooled").warnings[0]


@pytest.mark.parametrize(
    ("first", "second", "mark"),
    [
        # Four values a side that are 0.5 apart: their spread decides.
        ([1, 1, 1, 0.9], [0.5, 0.5, 0.5, 0.4], "**TTL**"),  # t = 14.1
        ([0.5, 0.5, 0.5, 0.4], [1, 1, 1, 0.9], "**JSON**"),
        ([0.4, 0.8, 0.4, 0.8], [0, 0.4, 0, 0.4], "TTL"),  # t = 2.449, critical values on 6 degrees: 2.447 and 3.707
        ([0.4, 0.8, 0.4, 0.8], [0.01, 0.41, 0.01, 0.41], "-"),  # t = 2.388
        ([1, 1], [0, 0], "**TTL**"),  # no spread at all: scipy gives p = 0
        ([0.3, 0.3], [0.3, 0.3], "-"),
    ],
)
def test_marks_of_the_format_preference(
    config: PublishedConfig, first: list[float], second: list[float], mark: str
) -> None:
    cell = cells(analysed(config, asked("m", {"A": first, "B": second})), "m")["F"]
    assert cell.mark == mark
    assert cell.side == (mark.strip("*") if mark != "-" else None)
    assert cell.strong == mark.startswith("**")


def test_the_pooled_column_has_the_tasks_with_both_formats_and_names_the_others(config: PublishedConfig) -> None:
    found = analysed(config, asked("m", {"A": [1, 0.9], "B": [0, 0.1], "C": [0.2]}))
    pooled, last = cells(found, "m")["All"], cells(found, "m")["G"]
    assert (pooled.first_values, pooled.second_values, pooled.mark) == (2, 2, "**TTL**")
    assert pooled.note == "without G, which lack values"
    assert (last.mark, last.p, last.note) == ("", None, "no dialogue of D")
    found = analysed(config, asked("m", {"C": [0.2]}))
    assert cells(found, "m")["All"].note == "no task has values of both formats"
    assert found.preferences is not None
    assert found.preferences.warnings == ("No model has values of both formats to compare.",)


def test_pooling_counts_every_value_once(config: PublishedConfig) -> None:
    scores = {"A": [1, 0.5, 0], "B": [0.5, 0.5], "C": [0.25], "D": [0.75, 1]}
    pooled = cells(analysed(config, asked("m", scores)), "m")["All"]
    assert (pooled.first_values, pooled.second_values) == (4, 4)
    assert pooled.first_mean == pytest.approx(1.75 / 4)
    assert pooled.second_mean == pytest.approx(2.75 / 4)


@given(*[st.floats(-1, 1).map(lambda x: round(x, 3)) for _ in range(4)])
def test_t_test_of_two_and_two_values_has_a_closed_form(a: float, b: float, c: float, d: float) -> None:
    spread = (a - b) ** 2 + (c - d) ** 2
    found = t_test([a, b], [c, d])
    if spread == 0:
        assert found.p == (None if a == c else 0.0)
        assert found.reason
    else:
        # Student's t on 2 degrees of freedom: P(|T| > t) = 1 - t / sqrt(t^2 + 2), t^2 = (mean difference)^2 / (s^2 ...)
        t = abs(a + b - c - d) / 2 / math.sqrt(spread / 4)
        assert found.p == pytest.approx(1 - t / math.sqrt(t * t + 2), abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other"), [([], [1.0]), ([], []), ([1.0], []), ([0.5], [0.1, 0.9]), ([1 / 3] * 9, [1 / 3] * 5)]
)
def test_undefined_tests_give_a_reason_and_no_number(one: list[float], other: list[float]) -> None:
    found = t_test(one, other)
    assert found.p is None
    assert found.reason


@given(st.integers(0, 2000))
def test_printed_numbers_are_rounded_half_up_of_the_number_meant(thousandths: int) -> None:
    wanted = Fraction(thousandths * 100 // 1000 + (thousandths % 10 >= 5), 100)
    for value in (thousandths / 1000, math.fsum([thousandths / 7000] * 7), math.nextafter(thousandths / 1000, -1)):
        assert Fraction(printed(max(value, 0.0))) == wanted


def test_printed_numbers_have_two_decimals() -> None:
    assert [printed(x) for x in (0, 0.895, 0.8949, 1 / 3, 0.2999999999999)] == ["0.00", "0.90", "0.89", "0.33", "0.30"]


def test_shipped_configuration_uses_published_labels_first_and_only_known_tasks() -> None:
    found = shipped_config()
    published = {labels[0] for labels in found.tasks.values()}
    assert len(published) == 26
    used = {t for d in found.definitions for c in d.capabilities for p in c.parts for t in p.tasks}
    assert used == set(found.tasks)
    assert found.labels() >= published
    assert [(d.name, d.weights, d.counted, d.combined) for d in found.definitions] == [
        ("as-printed", "nested", 2, True),
        ("as-written", "pooled", 1, True),
        ("rdf", "nested", 1, False),
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("schema = 1", "schema = 9", "layout 9 is not known"),
        ("schema = 1", "schema = ", "by hand: "),
        ('tasks = ["a", "b"]', 'tasks = ["a", "q"]', "task 'q' is not described"),
        ('b = ["B"]', "b = []", "task 'b' has no label"),
        ("counted = 2", "counted = 0", "'counted' must be at least 1"),
        ('weights = "nested"', 'weights = "odd"', "expected one of nested, pooled"),
        ('name = "pooled"', 'name = "nested"', "definition 'nested' stands twice"),
        ('pooled = "All"', 'pooled = "All"\nalpha = 1.5', "preferences.alpha must lie between 0 and 1"),
        ('source = "by hand"', "", "lacks the field 'source'"),
        ('source = "by hand"', 'source = "by hand"\nsauce = 1', "unknown field 'sauce'"),
        ('parts = [{ type = "X", score = "f1", tasks = ["a", "b"] }]', "parts = []", "has no part"),
    ],
)
def test_a_broken_configuration_is_told_with_its_place(before: str, after: str, told: str) -> None:
    assert before in CONFIG
    with pytest.raises(UserError, match=r"^by hand: ") as caught:
        parse_config(CONFIG.replace(before, after, 1), "by hand")
    assert told in str(caught.value)


def test_a_label_that_broke_off_does_not_hide_the_one_that_stands_for_it(config: PublishedConfig) -> None:
    broken = make_transcript(model="m", label="A", error="down")
    found = analysed(config, asked("m", {"A-other": [0.5, 1.0], "B": [0.25]}), [broken])
    row = rows(found)["m"]
    assert row.labels == ("A-other", "B")
    assert row.mean == pytest.approx((0.75 + 0.25) / 2)


@pytest.mark.parametrize(
    ("model", "printed"),
    [
        ("GPT--gpt-4o-2024-11-20", "0.91 (0.22)*"),
        ("openai/gpt-4o-2024-11-20", "0.91 (0.22)*"),
        ("Google--models/gemini-1.5-flash-002", "0.90 (0.28)"),
        ("ft:gpt-4o-2024-11-20:acme::1", None),
        ("acme/gpt-4o-2024-11-20-sparql", None),
        ("rag:gpt-4o-2024-11-20", None),
        ("Google--gemini-1.5-pro-exp-0827", None),
        ("claude-3-5-haiku-20241022-tuned", None),
    ],
)
def test_printed_figures_belong_to_the_models_that_were_measured(model: str, printed: str | None) -> None:
    assert published_figure(model, shipped_config()) == printed
