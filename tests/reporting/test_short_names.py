"""Names are shortened so that those of one family stay apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.reporting.short_names import short_name


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("gpt-4o", 6, "gpt-4o"),
        ("rag:good/examples=5", 18, "rag:go..examples=5"),
        ("rag:good/examples=15", 18, "rag:g..examples=15"),
        ("rag:good/validation=off", 18, "rag:good..tion=off"),
        ("meta-llama/llama-3.3-70b-instruct", 20, "meta-l..70b-instruct"),
        ("abcdefghijkl", 8, "abc..jkl"),
        ("abcdefghijkl", 1, "."),
        ("abcdefghijkl", 0, ""),
    ],
)
def test_the_end_is_a_whole_word_where_there_is_room(name: str, room: int, shown: str) -> None:
    assert short_name(name, room) == shown


@given(st.text(max_size=60), st.integers(0, 70))
def test_it_fits_and_both_ends_are_those_of_the_name(name: str, room: int) -> None:
    shown = short_name(name, room)
    assert len(shown) <= room
    if len(name) > room >= 4:
        start, _, end = shown.rpartition("..")
        assert name.startswith(start.rstrip("."))
        assert name.endswith(end)
