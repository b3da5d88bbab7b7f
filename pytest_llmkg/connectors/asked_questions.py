"""What systems share that take a question on a graph and give a query, and know no dialogue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.records import Question

__all__ = ["as_block", "asked_question", "free", "said_before"]


def asked_question(request: AskRequest, model: str) -> Question:
    """The question of ``request``.

    Raises:
        ConnectorError: its task asks no question of a graph; says so before anything is sent or called.
    """
    if request.question is None:
        label = request.case_key.partition("/")[0] or "this task"
        raise ConnectorError(
            f"{model}: answers questions on knowledge graphs only, and {label} asks none; "
            "choose tasks that do, e.g. --tasks='Text2SparqlKgqa*'"
        )
    return request.question


def said_before(request: AskRequest, *, tells_usage: bool) -> Answer | None:
    """The answer once more when the request is a hint on it, None for a first request.

    Such a system cannot hear hints: asking it the same question again would cost time and money, and would tell
    nothing of what a dialogue brings. So it stands by what it said, in no time.

    Args:
        request: what is asked.
        tells_usage: whether the system's tokens are known; then this answer took none, else they stay unknown.
    """
    started = time.perf_counter()
    said = [message.text for message in request.messages if message.role == "assistant"]
    if not said:
        return None
    usage = free() if tells_usage else Usage()
    return Answer(said[-1], "stop", usage, time.perf_counter() - started, notes={"repeated": True})


def as_block(query: str) -> str:
    """``query`` as an answer's text: in a fenced block, unless it is blank or brings fences of its own."""
    return query if not query.strip() or "```" in query else f"```sparql\n{query.strip()}\n```"


def free() -> Usage:
    """The usage of an answer that no model was called for."""
    return Usage(0, 0, 0.0)
