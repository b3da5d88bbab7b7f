"""Tokens of queries: what a token is, and that no text makes reading it take more than its length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.kg.sparql_text import placed_tokens, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""a""""', [("string", '"""a"""'), ("other", '"')]),
        ('"""a"b""c"""', [("string", '"""a"b""c"""')]),
        ("''''a'''", [("string", "''''a'''")]),
        ('"""open', [("string", '""'), ("other", '"'), ("word", "open")]),
        ('"a\\"b" "c', [("string", '"a\\"b"'), ("other", '"'), ("word", "c")]),
        ('"a\n"b"', [("other", '"'), ("word", "a"), ("string", '"b"')]),
        ("a-b.:c", [("word", "a"), ("other", "-"), ("word", "b"), ("other", "."), ("pname", ":c")]),
        ("a.b-c:d", [("pname", "a.b-c:d")]),
        ("_a-b:c", [("word", "_a"), ("other", "-"), ("pname", "b:c")]),
    ],
)
def test_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(token.kind, token.text) for token in tokens(text)] == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"' + '""\n\\"' * 40_000, 120_001),  # each begins a long string that has no end
        ('"' + '\\"' * 100_000, 200_001),  # each begins a short one
        ("a.-" * 60_000, 180_000),  # each could begin a prefix
    ],
)
def test_what_never_ends_is_looked_for_once(text: str, count: int) -> None:
    assert sum(1 for _ in tokens(text)) == count


@given(st.text("\"'\\\n ab_:.-·<>#?@1{é", max_size=60))
def test_tokens_stand_where_they_are_said_to(text: str) -> None:
    end = 0
    for place, token in placed_tokens(text):
        assert text.startswith(token.text, place)
        assert place >= end
        end = place + len(token.text)
