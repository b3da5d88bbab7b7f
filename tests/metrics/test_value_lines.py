"""Values that an answer lists, as a person would read them."""

from __future__ import annotations

import pytest

from pytest_llmkg.metrics.value_lines import match_values

PREFIXES = {"": "https://ex.example/"}


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("```\n:a\n:b\n```", [":a", ":b"]),
        ("~~~text\n:a\n:b\n~~~", [":a", ":b"]),
        ("`:a`\n`<https://ex.example/b>`", [":a", ":b"]),
        ("1. `:a`\n2. `:b`", [":a", ":b"]),
        ("12. Street", ["12. Street"]),
        ("- 12. Street", ["12. Street"]),
        ("`2.0`", ["2"]),
        ("~~~\nEMPTY\n~~~", []),
    ],
)
def test_right_answers(text: str, reference: list[str]) -> None:
    assert match_values(text, reference, PREFIXES, ordered=True).f1 == 1


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("9783161484101", ["9783161484100"]),
        ("٣", ["4"]),
        ("`:c`", [":a"]),
        ("3. Street", ["12. Street"]),
    ],
)
def test_wrong_answers(text: str, reference: list[str]) -> None:
    assert match_values(text, reference, PREFIXES, ordered=False).f1 == 0
