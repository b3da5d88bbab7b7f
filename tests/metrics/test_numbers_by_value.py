"""Numbers that are the same however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.numbers_by_value import number_key


@pytest.mark.parametrize(
    "same",
    [
        ["2", "2.0", "+02", "2.", "2e0", "0.2E1"],
        ["0", "-0", "0.0", "0e5"],
        ["0.3", ".3", "0.30000000000000004"],
        ["1234567890123", "1234567890123.0001"],
        ["150000000000000000000", "1.5E20"],
        ["-4", "-4.0"],
    ],
)
def test_one_number_in_several_ways(same: list[str]) -> None:
    assert len({number_key(text) for text in same}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("9783161484100", "9783161484101"),  # a book number and its wrong check digit
        ("12345678901234567890", "12345678901234567891"),
        ("4", "-4"),
        ("0.1", "0.10001"),
        ("2", "20"),
    ],
)
def test_different_numbers(a: str, b: str) -> None:
    assert number_key(a) != number_key(b)


@given(st.integers(), st.integers())
def test_whole_numbers_are_told_apart(a: int, b: int) -> None:
    assert (number_key(str(a)) == number_key(str(b))) == (a == b)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_has_a_key(number: float) -> None:
    assert float(number_key(repr(number))) == pytest.approx(number, rel=1e-11)
