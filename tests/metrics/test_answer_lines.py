"""Answers given as lines in four readings, with the published oddities."""

from __future__ import annotations

import pytest

from pytest_llmkg.metrics.answer_lines import READINGS, match_lines, relaxed_set

BASE = "https://kg.example/inst/"


def f1s(lines: list[str], reference: list[str], base: str = BASE) -> list[float]:
    matches = match_lines(lines, reference, base)
    return [matches[reading].f1 for reading in READINGS]


@pytest.mark.parametrize(
    ("lines", "reference", "expected"),
    [
        # plain, trim, fixed, relaxed
        ([":anna"], [":anna"], [1, 1, 1, 1]),
        ([":emil", ":anna"], [":anna", ":emil"], [1, 1, 1, 1]),  # order does not count
        ([":anna", ":anna"], [":anna"], [1, 1, 1, 1]),  # doubles neither
        ([" :anna  "], [":anna"], [0, 1, 1, 1]),
        ([f"<{BASE}anna>"], [":anna"], [0, 0, 1, 1]),
        ([f"{BASE}anna"], [":anna"], [0, 0, 1, 1]),
        (['"Anna"'], ["Anna"], [0, 0, 1, 1]),
        (["0:anna"], [":anna"], [0, 0, 1, 1]),
        ([":0:anna"], [":anna"], [0, 0, 0, 1]),  # fixed "::anna", relaxed "anna"
        (["anna"], [":anna"], [0, 0, 0, 1]),
        ([":ANNA"], [":anna"], [0, 0, 0, 1]),
        ([":anna", ":emil"], ["Anna", "Emil"], [0, 0, 0, 1]),
        ([": anna"], [":anna"], [0, 0, 0, 0]),  # relaxed " anna": not stripped again
        (["org:anna"], [":anna"], [0, 0, 0, 0]),  # relaxed "organna"
        (["'Anna'"], ["Anna"], [0, 0, 0, 0]),
        # Fences are lines: P = 1/3 (both fences differ), R = 1, F1 = 0.5; "```" twice is one line: P = 1/2, F1 = 2/3
        (["```text", ":anna", "```"], [":anna"], [0.5] * 4),
        (["```", ":anna", "```"], [":anna"], [2 / 3] * 4),
        # 1 of 2 given, 1 of 3 right: 2 * (1/6) / (5/6) = 0.4
        ([":anna", ":otto"], [":anna", ":emil", ":runa"], [0.4] * 4),
        ([], [":anna"], [0, 0, 0, 0]),
        ([""], [":anna"], [0, 0, 0, 0]),
    ],
)
def test_readings(lines: list[str], reference: list[str], expected: list[float]) -> None:
    assert f1s(lines, reference) == pytest.approx(expected, abs=1e-15)


def test_quotes_inside_a_line_go_too() -> None:
    # One " in the middle; fixed drops every one of ", < and >.
    assert f1s(['the "blue" tape'], ["the blue tape"]) == [0, 0, 1, 1]


def test_a_reference_with_quotes_is_never_met_in_the_fixed_reading() -> None:
    # The published rule mends the answer alone, so cases should have no such values.
    assert f1s(['the "blue" tape'], ['the "blue" tape']) == [1, 1, 0, 1]


def test_precision_and_recall_of_a_reading() -> None:
    match = match_lines([":anna", ":otto"], [":anna", ":emil", ":runa"], BASE)["plain"]
    assert (match.precision, match.recall) == (1 / 2, 1 / 3)


@pytest.mark.parametrize(
    ("lines", "reference", "expected"),
    [
        (["2"], ["2"], {"2"}),
        ([":2"], ["2"], {"2"}),  # a colon does not count
        # No number in the first line: the lines are counted ...
        ([":anna", ":emil"], ["2"], {"2"}),
        ([":anna", ":anna"], ["2"], {"2"}),  # ... not the distinct ones
        (["```", "2", "```"], ["2"], {"3"}),  # ... so a fence costs the right answer
        ([":anna"], ["1"], {"1"}),  # ... and one wrong line is right
        (["I cannot tell."], ["1"], {"1"}),
        # A number in the first line: further lines are not looked at.
        (["2", ":anna", ":emil"], ["2"], {"2"}),
        (["3", "2"], ["2"], {"3"}),
        (["2.0"], ["2"], {"2.0"}),
        (["-4"], ["-4"], {"-4"}),
        # Only for one number: not for a text, not for two values.
        ([":anna", ":emil"], [":anna"], {"anna", "emil"}),
        ([":anna"], ["1", "2"], {"anna"}),
        # Nothing counts as nothing, not as 0 lines.
        ([], ["0"], set()),
    ],
)
def test_count_rule(lines: list[str], reference: list[str], expected: set[str]) -> None:
    assert relaxed_set(lines, reference, BASE) == expected


def test_without_an_empty_prefix_nothing_is_shortened() -> None:
    assert f1s(["<urn:x>"], ["urn:x"], base="") == [0, 0, 1, 1]
