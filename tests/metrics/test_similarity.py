"""Likeness of texts, to the bit where the published scores are."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.similarity import diff_ratio, similarity_gain, unified_diff


@pytest.mark.parametrize(
    ("answer", "reference", "ratio"),
    [
        # 2 * equal characters / all characters
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 2 * 3 / 8),
        ("abc", "xyz", 0.0),
        ("ab", "abcdef", 2 * 2 / 8),
        ("", "abc", 0.0),
        ("", "", 1.0),
        # Only the ends are stripped.
        ("\n\n abcd \n", "abcd", 1.0),
        ("a b", "ab", 2 * 2 / 5),
    ],
)
def test_ratio_by_hand(answer: str, reference: str, ratio: float) -> None:
    assert diff_ratio(answer, reference) == ratio


def test_the_order_of_the_arguments_matters() -> None:
    # Every longest common block is one character; the first one in the answer is taken. "t" of "tide" is the last of
    # "diet", so nothing is left to its right; "d" of "diet" stands before "e" in "tide", too.
    assert diff_ratio("tide", "diet") == 2 * 1 / 8
    assert diff_ratio("diet", "tide") == 2 * 2 / 8


def test_the_published_junk_rule_is_on() -> None:
    # In a reference of 200 characters or more, a character that makes up over 1 % of it is no anchor; here that
    # leaves none. Both sides start differently, so nothing is met by just going on from the start either.
    answer, reference = "x" + "a" * 199, "a" * 200
    assert diff_ratio(answer, reference) == 0.0
    assert difflib.SequenceMatcher(None, answer, reference, autojunk=False).ratio() == 2 * 199 / 400
    assert diff_ratio("x" + "a" * 198, "a" * 199) == 2 * 198 / 398  # one character less: no junk


def test_far_too_long_answers_are_not_compared() -> None:
    # Two characters in common; 4,000 characters are still compared with a short reference, 4,001 are not.
    assert diff_ratio("b" + "a" * 3_998 + "b", "b") == pytest.approx(2 / 4_001)
    assert diff_ratio("b" + "a" * 3_999 + "b", "b") == 0.0
    # With a reference of 200 characters and more, 20,000 are compared: "x" once in 20,200 characters of both.
    assert diff_ratio("x" + "a" * 19_999, "x" + "b" * 199) == pytest.approx(2 / 20_200)
    assert diff_ratio("x" + "a" * 20_000, "x" + "b" * 199) == 0.0
    # White space at the ends does not count as length.
    assert diff_ratio("b" + " " * 30_000, "b") == 1.0


def test_a_long_reference_allows_long_answers() -> None:
    reference = "".join(f"{n};" for n in range(400))  # 1,490 characters: 20 times it is more than 20,000
    answer = reference + "x" * 25_000
    assert diff_ratio(answer, reference) == 2 * len(reference) / (len(answer) + len(reference))


@pytest.mark.parametrize(
    ("answer", "question", "gain"),
    [
        (1.0, 0.9, 1.0),
        (0.5, 0.5, 0.2),
        (0.75, 0.5, 0.6),  # 0.2 + 0.8 * 0.25 / 0.5
        (0.25, 0.5, 0.1),  # 0.2 * 0.25 / 0.5
        (0.0, 0.5, 0.0),
        (0.0, 0.0, 0.2),  # an empty likeness of both: the unchanged question
        (1.0, 0.0, 1.0),
    ],
)
def test_gain_by_hand(answer: float, question: float, gain: float) -> None:
    assert similarity_gain(answer, question) == pytest.approx(gain, abs=1e-15)


def test_a_perfect_repair_may_exceed_1_by_one_bit_as_published() -> None:
    # 0.8 * (1 - q) / (1 - q) is rounded up to 0.8000000000000002 for such q, and nothing is cut off.
    overshooting = [q for q in (n / 1000 for n in range(1, 1000)) if similarity_gain(1.0, q) > 1]
    assert overshooting
    assert {similarity_gain(1.0, q) for q in overshooting} == {1.0000000000000002}


def test_a_question_that_is_its_own_repair() -> None:
    assert similarity_gain(1.0, 1.0) == 1.0
    assert similarity_gain(0.5, 1.0) == 0.1


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.99))
def test_a_likelier_answer_never_gains_less(one: float, other: float, question: float) -> None:
    lower, higher = sorted((one, other))
    assert similarity_gain(lower, question) <= similarity_gain(higher, question) + 1e-12


def test_difference_as_published() -> None:
    # The header lines end with a line break of their own, hence the empty lines.
    assert unified_diff("a\nb\nc", "a\nx\nc\n").split("\n") == [
        "--- optimal",
        "",
        "+++ answer",
        "",
        "@@ -1,3 +1,3 @@",
        "",
        " a",
        "-b",
        "+x",
        " c",
    ]
    assert unified_diff("a\nb", "a\nb\n") == ""
