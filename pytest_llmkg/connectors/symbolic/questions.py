"""What a question asks for, read from its words against the lexicon of the shown graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.lexicon import Mention, find_mentions
from pytest_llmkg.connectors.symbolic.words import FILLERS, Comparison, comparisons_in, is_phrase, stem

if TYPE_CHECKING:
    from pytest_llmkg.connectors.symbolic.lexicon import Lexicon

__all__ = ["Question", "read_question"]

_LOWEST = r"fewest|least|lowest|smallest|shortest|earliest|oldest|first|minimum"
_HIGHEST = r"most|highest|largest|greatest|biggest|longest|latest|newest|youngest|last|maximum"
_NEGATION = r"nobody|no one|no-one|none|without|not|no|never|lacks?|lacking|nothing"
_TRANSITIVE = r"directly or|indirectly|transitively|through (?:others?|another)|any level|chain of"


@dataclass(frozen=True, slots=True)
class Question:
    """A question's words and cues.

    Attributes:
        words: its words in lower case.
        asked: the stems outside the names of nodes and of the first class, with the place of their first use.
        nodes, classes: what it names, in order.
        aggregate: ``COUNT``, ``SUM`` or ``AVG``, None for a list.
        order: ``ASC`` or ``DESC`` for a superlative.
        comparisons: with a number or a date; more than one if it can be read so.
        negation: place of the first negation, None without one.
        transitive: whether chains of a relation count.
        either: whether two named nodes are alternatives.
    """

    words: tuple[str, ...]
    asked: dict[str, int]
    nodes: tuple[Mention, ...]
    classes: tuple[Mention, ...]
    aggregate: str | None
    order: str | None
    comparisons: tuple[Comparison, ...]
    negation: int | None
    transitive: bool
    either: bool


def read_question(text: str, lexicon: Lexicon) -> Question:
    """The cues of ``text``; never raises."""
    text = text[:2000]
    words = tuple(word.lower() for word in re.findall(r"[^\W_]+", text))
    nodes, classes = find_mentions(words, lexicon)
    # "the town Dry Ford" asks for no towns.
    named_at = {node.start for node in nodes}
    classes = [c for c in classes if c.end not in named_at]
    # The words that name nodes or the things asked for speak of no relation.
    covered = {i for m in (*nodes, *classes[:1]) for i in range(m.start, m.end)}
    asked: dict[str, int] = {}
    for place, word in enumerate(words):
        if place not in covered and word not in FILLERS:
            asked.setdefault(stem(word), place)
    comparisons = comparisons_in(text)
    rest = text[: comparisons[0].start] + text[comparisons[0].end :] if comparisons else text
    order = "ASC" if is_phrase(rest, _LOWEST) else "DESC" if is_phrase(rest, _HIGHEST) else None
    return Question(
        words=words,
        asked=asked,
        nodes=tuple(nodes),
        classes=tuple(classes),
        aggregate=_aggregate(text),
        order=order,
        comparisons=comparisons,
        negation=_negation(rest),
        transitive=is_phrase(text, _TRANSITIVE),
        either=any("or" in words[a.end : b.start] for a, b in pairwise(nodes)),
    )


def _aggregate(text: str) -> str | None:
    if is_phrase(text, "in total", "sum of", "altogether", "total number of", "combined"):
        return "SUM"
    if is_phrase(text, "average", "mean") and not is_phrase(text, "than (?:the )?(?:average|mean)"):
        return "AVG"
    return "COUNT" if is_phrase(text, "how many", "^(?:give |count )?(?:the )?number of") else None


def _negation(text: str) -> int | None:
    found = re.search(rf"\b(?:{_NEGATION})\b", text, re.IGNORECASE)
    return None if found is None else len(re.findall(r"[^\W_]+", text[: found.start()]))
