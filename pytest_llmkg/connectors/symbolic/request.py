"""What a dialogue asks of the baseline, as its parts need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_llmkg.connectors.symbolic.outlines import Outline
from pytest_llmkg.contracts import GraphText

__all__ = ["Job", "Request"]

Job = Literal["answer", "count", "draft", "evaluate", "extract", "query", "repair", "sample", "walk", "unknown"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a dialogue asks for.

    Attributes:
        job: the kind of work, ``unknown`` when no part of the baseline can do it.
        graph: the shown graph with its format, None without one.
        query: the shown SPARQL query.
        table: a shown label table (CSV text).
        question: the text behind ``Question:``, empty without one.
        prose: the prompt without its fenced blocks.
        hint: the last user message when it is not the first prompt.
        given: the earlier answers, oldest first.
        fenced: whether the graph stands in a fenced block.
        examples: shown questions with a SPARQL query each.
        outline: a shown list of classes with their properties, None without one.
        can_try: whether queries may be tried before one is given as the answer, in blocks opened by ```try.
    """

    job: Job
    graph: GraphText | None = None
    query: str | None = None
    table: str | None = None
    question: str = ""
    prose: str = ""
    hint: str | None = None
    given: tuple[str, ...] = ()
    fenced: bool = True
    examples: tuple[tuple[str, str], ...] = ()
    outline: Outline | None = None
    can_try: bool = False
