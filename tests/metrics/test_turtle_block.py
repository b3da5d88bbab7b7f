"""The block of an answer by its first and last words, and the characters around it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.turtle_block import TurtleBlock, find_block, only_block

START, END = "PREFIX", r":end\s?\]\s?\."
BLOCK = "PREFIX : <urn:>\n[ :a :end ] ."


@pytest.mark.parametrize(
    ("answer", "block"),
    [
        (BLOCK, TurtleBlock("", BLOCK, "")),
        (f"Hi!\n{BLOCK}\nBye", TurtleBlock("Hi!\n", BLOCK, "\nBye")),
        # From the first start to the last end.
        (f"{BLOCK}{BLOCK}", TurtleBlock("", BLOCK + BLOCK, "")),
        ("PREFIX :end].", TurtleBlock("", "PREFIX :end].", "")),
        # Two blanks before the bracket, another way to declare prefixes, the end before the start: no block.
        ("PREFIX :end  ] .", TurtleBlock("PREFIX :end  ] .")),
        ("@prefix : <urn:> . :end ] .", TurtleBlock("@prefix : <urn:> . :end ] .")),
        (":end ] . PREFIX", TurtleBlock(":end ] . PREFIX")),
        ("", TurtleBlock("")),
    ],
)
def test_blocks(answer: str, block: TurtleBlock) -> None:
    assert find_block(answer, START, END) == block


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (TurtleBlock("", BLOCK, ""), 1.0),
        (TurtleBlock("\n \n", BLOCK, "\n```\n"), 1.0),  # a closing fence and white space are free
        (TurtleBlock("```turtle\n", BLOCK, "\n```"), 1 / 10),  # the opening fence has 9 characters
        (TurtleBlock("Hi!\nYou\n", BLOCK, "```\nBye"), 1 / 10),  # 6 without the line break, and 3
        (TurtleBlock("```"), 1 / 4),  # without a block nothing is free
        (TurtleBlock(""), 1.0),
    ],
)
def test_only_block(block: TurtleBlock, expected: float) -> None:
    assert only_block(block) == expected


@given(st.text("PREFIX:end ].\n").map(lambda text: text.replace("I", "PREFIX").replace("d", ":end ] .")))
def test_the_same_as_one_search_over_all_lines(text: str) -> None:
    match = re.search(f"{START}.*{END}", text, re.DOTALL)
    block = find_block(text, START, END)
    assert block.text == (match.group() if match else "")
    assert block.before + block.text + block.after == text
    assert 0 < only_block(block) <= 1


def test_hostile_answers_end_soon() -> None:
    assert find_block("PREFIX " * 25_000, START, END).text == ""
    assert find_block(":end " * 39_000, START, END).text == ""
    assert find_block(BLOCK * 10_000, START, END).text == ""  # longer than any repaired case
