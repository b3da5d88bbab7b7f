"""From one answer of the model to a query that fits, runs and finds something: check, run, complain, ask again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, QueryResult
from pytest_llmkg.extraction import fenced_blocks, shortened
from pytest_llmkg.pipelines.indexing import StudyEngine
from pytest_llmkg.pipelines.prompting import complaint_text
from pytest_llmkg.pipelines.validation import SchemaCheck, check_patterns
from pytest_llmkg.records import Message

if TYPE_CHECKING:
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.pipelines.meter import Meter
    from pytest_llmkg.pipelines.settings import PipelineSettings
    from pytest_llmkg.plain import Json

__all__ = ["Attempt", "Subject", "best_attempt", "check_attempt", "query_in", "refine"]

_LONGEST_NOTE = 10_000
_MOST_NOTES = 100
_QUERY = re.compile(r"\b(?:select|ask|construct|describe)\b", re.IGNORECASE)
# How far a try came; the first of the furthest is not better than the last.
_RANKS = {"missing": 0, "syntax": 1, "execution": 2, "schema": 3, "empty": 4, "ok": 5}


@dataclass(frozen=True, slots=True)
class Subject:
    """What queries are checked against and run on.

    Attributes:
        engine, graph: where they run.
        schema: what they are checked against, None for no check.
        prefixes: known without a declaration; declared in the query when it uses them.
    """

    engine: StudyEngine
    graph: GraphText
    schema: SchemaCheck | None
    prefixes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try.

    Attributes:
        kind: ``ok``, ``missing`` (no query), ``syntax``, ``schema``, ``execution`` or ``empty``.
        text: the model's words.
        query: with missing declarations added; None when there is none.
        details: what was wrong.
        result: of running it, None when it was not run.
    """

    kind: str
    text: str
    query: str | None = None
    details: tuple[str, ...] = ()
    result: QueryResult | None = None

    def note(self) -> dict[str, Json]:
        """The try as it is kept beside the answer."""
        query = None if self.query is None else shortened(self.query, _LONGEST_NOTE)
        details = [shortened(one, _LONGEST_NOTE) for one in self.details[:_MOST_NOTES]]
        return {"kind": self.kind, "query": query, "details": [*details]}


def query_in(text: str) -> str | None:
    """The query of an answer: the last fenced block tagged ``sparql``, else the last that looks like one.

    A block that the model did not close ends with the answer.
    """
    blocks = fenced_blocks(text) or fenced_blocks(f"{text}\n```")
    tagged = [block.content for block in blocks if block.tag.lower().split()[:1] in (["sparql"], ["rq"])]
    found = tagged or [block.content for block in blocks if _QUERY.search(block.content)]
    return found[-1] if found and found[-1] else None


async def refine(
    request: AskRequest, subject: Subject, settings: PipelineSettings, meter: Meter
) -> tuple[Attempt, ...]:
    """Asks until a query fits, or all tries are used up; the conversation is kept. Gives all tries back.

    A query that finds nothing is taken as meant when it is sent a second time.

    Raises:
        UnansweredError: the model gave no answer.
    """
    tries: list[Attempt] = []
    messages = request.messages
    for _ in range(settings.tries):
        answer = await meter.ask(replace(request, messages=messages))
        attempt = await check_attempt(answer.text, subject, settings, meter)
        if attempt.kind == "empty" and any(attempt.query == one.query for one in tries):
            attempt = replace(attempt, kind="ok")
        tries.append(attempt)
        if attempt.kind == "ok":
            break
        complaint = complaint_text(attempt.kind, attempt.details)
        messages = (*messages, Message("assistant", answer.text), Message("user", complaint))
    return tuple(tries)


async def check_attempt(text: str, subject: Subject, settings: PipelineSettings, meter: Meter) -> Attempt:
    """What became of one answer."""
    query = query_in(text)
    if query is None:
        return Attempt("missing", text)
    with meter.stage("validate"):
        attempt = await asyncio.to_thread(_validated, Attempt("ok", text, query), subject, query, settings)
    if attempt.kind != "ok" or not settings.execution:
        return attempt
    with meter.stage("execute"):
        result = await asyncio.to_thread(
            subject.engine.run_query, subject.graph, attempt.query or query, subject.prefixes
        )
    if result.error is not None:
        return replace(attempt, kind="execution", details=(result.error,), result=result)
    return replace(attempt, kind="empty" if _is_empty(result) else "ok", result=result)


def _validated(attempt: Attempt, subject: Subject, query: str, settings: PipelineSettings) -> Attempt:
    """Missing declarations of known prefixes are added always; the rest is the check that can be switched off."""
    found = subject.engine.read_patterns(query, subject.prefixes)
    if found.error is not None:
        return replace(attempt, kind="syntax", details=(found.error,)) if settings.validation else attempt
    lines = [f"PREFIX {name}: <{subject.prefixes[name]}>\n" for name in found.undeclared if name in subject.prefixes]
    attempt = replace(attempt, query="".join(lines) + query)
    if not settings.validation:
        return attempt
    if found.unknown_prefixes:
        names = ", ".join(f"{name}:" for name in found.unknown_prefixes)
        known = ", ".join(f"{name}: <{iri}>" for name, iri in subject.prefixes.items()) or "none"
        return replace(attempt, kind="syntax", details=(f"the prefixes {names} are not declared; known are {known}",))
    details = () if subject.schema is None else check_patterns(found, subject.schema)
    return replace(attempt, kind="schema", details=details) if details else attempt


def _is_empty(result: QueryResult) -> bool:
    """Whether nothing was found; the answer no is something."""
    if result.boolean is not None:
        return False
    return not any(term is not None for row in result.rows for term in row)


def best_attempt(tries: tuple[Attempt, ...]) -> Attempt:
    """The last of those that came furthest."""
    return max(enumerate(tries), key=lambda item: (_RANKS[item[1].kind], item[0]))[1]
