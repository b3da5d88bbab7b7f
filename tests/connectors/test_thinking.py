from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.thinking import message_text, split_thinking


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("<think>Why?</think>42", "42", "Why?"),
        ("<think>\nWhy?\n</think>\n\n42\n", "42\n", "Why?"),
        ("\n <THINK>a</Think> 42", " 42", "a"),
        ("<thinking>a</thinking>b", "b", "a"),
        ("<reasoning>a</reasoning>b", "b", "a"),
        ("<think>\n\n</think>\n\n42", "42", None),
        ("<think>a</think>", "", "a"),
        ("<think>a</think><think>b</think>c", "<think>b</think>c", "a"),
        ("<think>a ``` b</think>```turtle\n:a a :b .\n```", "```turtle\n:a a :b .\n```", "a ``` b"),
        ("<thinking>a </think> b</thinking>c", "c", "a </think> b"),
        ("Let me see.\n</think>\n\n42", "42", "Let me see."),
        ("Let me see.</think>42", "42", "Let me see."),
        ("a\n```\nb\n```\nc</think>d", "d", "a\n```\nb\n```\nc"),
        ("</think>42", "42", None),
    ],
)
def test_thoughts_at_the_head_are_not_part_of_the_answer(text: str, answer: str, thoughts: str | None) -> None:
    assert split_thinking(text) == (answer, thoughts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "  42\n",
        "The answer:\n<think>late</think>\n42",
        "```xml\n<a></think>\n```",
        "~~~\n</think>\n~~~",
        "Close it with `</think>`.",
        "<rdf:RDF><reasoning>x</reasoning></rdf:RDF>",
        "<rdf:RDF><reasoning level='1'>x</reasoning></rdf:RDF>",
        "<thinker>a</thinker>b",
        "<think> is an opening tag.",
    ],
)
def test_tags_elsewhere_belong_to_the_answer(text: str) -> None:
    assert split_thinking(text) == (text, None)


def test_thoughts_that_the_token_limit_cut_leave_no_answer() -> None:
    assert split_thinking("<think>I wonder ", cut=True) == ("", "I wonder")
    assert split_thinking("<think>a</think>b", cut=True) == ("b", "a")
    assert split_thinking("b", cut=True) == ("b", None)


NO_TAGS = st.text().filter(lambda text: "<" not in text)
TAGS = st.sampled_from(["think", "thinking", "reasoning", "THINK"])


@given(st.text(), st.booleans())
def test_a_text_without_a_closing_tag_is_whole_unless_it_is_cut(text: str, cut: bool) -> None:
    assert split_thinking("x" + text.replace("</", "< /"), cut=cut) == ("x" + text.replace("</", "< /"), None)


@given(TAGS, NO_TAGS, st.text())
def test_nothing_is_lost_but_tags_and_white_space(tag: str, thoughts: str, answer: str) -> None:
    got, told = split_thinking(f"<{tag}>{thoughts}</{tag}>{answer}")
    assert (told or "") == thoughts.strip()
    assert answer.endswith(got)
    assert not answer.removesuffix(got).strip()


@given(st.lists(st.sampled_from(["<think>", "</think>", "```\n", "`", "\n", "a", " ", "<thinking>", "</thinking>"])))
def test_any_mixture_of_tags_splits_into_parts_of_itself(pieces: list[str]) -> None:
    text = "".join(pieces)
    for cut in (False, True):
        answer, thoughts = split_thinking(text, cut=cut)
        assert text.endswith(answer)
        assert thoughts is None or thoughts in text.removesuffix(answer)
        if thoughts is None and answer != text:
            assert (
                not text.removesuffix(answer)
                .replace("</think>", "")
                .replace("</thinking>", "")
                .replace("<think>", "")
                .replace("<thinking>", "")
                .strip()
            )


@pytest.mark.parametrize(
    ("message", "read"),
    [
        ({"content": "42"}, ("42", None)),
        ({"content": None}, ("", None)),
        ({}, ("", None)),
        ({"content": "42", "reasoning_content": "Why?"}, ("42", "Why?")),
        ({"content": "42", "reasoning": "Why?"}, ("42", "Why?")),
        ({"content": "42", "reasoning_content": "", "reasoning": None}, ("42", None)),
        ({"content": "42", "reasoning": {"effort": 1}}, ("42", None)),
        ({"content": "<think>Why?</think>42", "reasoning": "Why?"}, ("42", "Why?")),
        ({"content": "<think>b</think>42", "reasoning_content": "a"}, ("42", "a\n\nb")),
        ({"content": "42", "thinking_blocks": [{"type": "thinking", "thinking": "Why?"}]}, ("42", "Why?")),
        ({"content": "42", "thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}, ("42", None)),
        ({"content": None, "refusal": "I cannot."}, ("I cannot.", None)),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Why"}, {"type": "text", "text": "?"}]},
                    {"type": "text", "text": "4"},
                    {"type": "text", "text": "2"},
                ]
            },
            ("42", "Why?"),
        ),
        ({"content": 42}, None),
    ],
)
def test_a_message_holds_its_thoughts_in_one_of_several_ways(message: dict[str, Any], read: Any) -> None:
    assert message_text(message) == read
