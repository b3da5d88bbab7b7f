"""The connector itself: reads the messages, hands them to the part for the job, runs it off the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.answering import answer_question
from pytest_llmkg.connectors.symbolic.counting import answer_count
from pytest_llmkg.connectors.symbolic.drafting import answer_draft
from pytest_llmkg.connectors.symbolic.evaluating import answer_result
from pytest_llmkg.connectors.symbolic.extracting import answer_extraction
from pytest_llmkg.connectors.symbolic.inventing import answer_sample
from pytest_llmkg.connectors.symbolic.querying import answer_query
from pytest_llmkg.connectors.symbolic.reading import read_request
from pytest_llmkg.connectors.symbolic.repairing import answer_repair
from pytest_llmkg.connectors.symbolic.walking import answer_walk
from pytest_llmkg.errors import ConnectorError, EngineError
from pytest_llmkg.records import Answer, Message, ModelSpec, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.request import Job, Request
    from pytest_llmkg.contracts import AskRequest, KgEngine
    from pytest_llmkg.kg import Sandbox

__all__ = ["CANNOT", "SymbolicConnector", "answer_messages"]

CANNOT = "I cannot answer this."
"""The answer where no part finds one."""

_LONGEST = 4_000_000
_PARTS: Mapping[Job, Callable[[Request, KgEngine], str | None]] = {
    "answer": answer_question,
    "count": answer_count,
    "draft": answer_draft,
    "evaluate": answer_result,
    "extract": answer_extraction,
    "query": answer_query,
    "repair": answer_repair,
    "sample": answer_sample,
    "walk": answer_walk,
}


def answer_messages(messages: Sequence[Message], engine: KgEngine) -> str:
    """The baseline's answer to a dialogue; a function of the messages alone.

    Raises:
        EngineError: the graph engine cannot be started.
    """
    if sum(len(message.text) for message in messages) > _LONGEST:
        return CANNOT
    request = read_request(messages)
    part = _PARTS.get(request.job)
    return (part(request, engine) if part else None) or CANNOT


class SymbolicConnector:
    """Answers from the messages of a request; its case key and iteration are not looked at.

    It has a graph engine of its own, started at the first use and ended by `close`.
    """

    def __init__(self, _spec: ModelSpec) -> None:
        self._engine: Sandbox | None = None
        self._lock = threading.Lock()

    async def ask(self, request: AskRequest) -> Answer:
        """The baseline's answer to the last message.

        Raises:
            ConnectorError: the graph engine cannot be started.
        """
        started = time.perf_counter()
        try:
            text = await asyncio.to_thread(self._answer, request.messages)
        except EngineError as error:
            raise ConnectorError(f"symbolic: the graph engine failed: {error}") from error
        return Answer(text, "stop", Usage(cost=0.0), time.perf_counter() - started, "symbolic")

    async def close(self) -> None:
        """Ends the graph engine, if it was started."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.close)

    def _answer(self, messages: Sequence[Message]) -> str:
        with self._lock:
            if self._engine is None:
                from pytest_llmkg.kg import Sandbox

                self._engine = Sandbox()
            engine = self._engine
        return answer_messages(messages, engine)
