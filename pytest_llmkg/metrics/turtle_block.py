"""The Turtle inside an answer by the words it begins and ends with, and how much else the answer says.

Rules as published with LLM-KG-Bench (TurtleErrorsStatic, 2023).
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

__all__ = ["TurtleBlock", "find_block", "only_block"]

_FENCE = "```"
# Patterns come from case files; an answer of this length is far beyond any that holds a repaired case.
_LONGEST_ANSWER = 200_000


@dataclass(frozen=True, slots=True)
class TurtleBlock:
    """An answer cut in three; all of it is ``before`` when there is no block."""

    before: str
    text: str = ""
    after: str = ""


def find_block(answer: str, start: str, end: str) -> TurtleBlock:
    """The text from the first match of ``start`` to the last match of ``end`` behind it.

    The same as one search for ``start.*end`` over all lines, but in linear time. Answers of more than 200,000
    characters have no block.

    Args:
        answer: the answer of a model.
        start: regular expression of the block's first words, from a case file.
        end: regular expression of its last words, from a case file.
    """
    first = re.search(start, answer) if len(answer) <= _LONGEST_ANSWER else None
    if first is None:
        return TurtleBlock(answer)
    last = deque(re.compile(end).finditer(answer, first.end()), maxlen=1)
    if not last:
        return TurtleBlock(answer)
    stop = last[0].end()
    return TurtleBlock(answer[: first.start()], answer[first.start() : stop], answer[stop:])


def only_block(block: TurtleBlock) -> float:
    """``onlyTurtle``: 1 / (1 + characters around the block).

    Both sides are stripped; line breaks and a closing fence right behind the block do not count.
    """
    before, after = block.before.strip(), block.after.strip()
    if block.text:
        after = after.removeprefix(_FENCE).strip()
    return 1 / (1 + len(before.replace("\n", "")) + len(after.replace("\n", "")))
