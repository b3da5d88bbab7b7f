"""The answer to a question itself: the query that the question seems to mean, run on the shown graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.evaluating import answer_result
from pytest_llmkg.connectors.symbolic.querying import find_plan

if TYPE_CHECKING:
    from pytest_llmkg.connectors.symbolic.request import Request
    from pytest_llmkg.contracts import KgEngine

__all__ = ["answer_question"]


def answer_question(request: Request, engine: KgEngine) -> str | None:
    """The values that the best plan finds, one a line; None when the question is not understood."""
    query = find_plan(request, engine)
    return None if query is None else answer_result(replace(request, query=query), engine)
