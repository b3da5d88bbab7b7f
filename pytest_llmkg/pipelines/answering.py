"""The pipeline itself: a connector around another one that answers questions on graphs, and passes on all else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.contracts import Example, UnansweredError
from pytest_llmkg.errors import ConnectorError, LlmkgError
from pytest_llmkg.kg import ClassUse
from pytest_llmkg.pipelines.indexing import (
    ExampleIndex,
    SchemaIndex,
    StudyEngine,
    index_examples,
    index_schema,
    pool_files,
    simple_examples,
)
from pytest_llmkg.pipelines.meter import Meter
from pytest_llmkg.pipelines.prompting import (
    Outline,
    first_messages,
    interpretation_text,
    on_one_line,
    outline_messages,
    read_outline,
)
from pytest_llmkg.pipelines.refining import Attempt, Subject, best_attempt, refine
from pytest_llmkg.pipelines.shapes import schema_block
from pytest_llmkg.pipelines.validation import SchemaCheck
from pytest_llmkg.records import Answer, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pytest_llmkg.contracts import AskRequest, GraphText, Workbench
    from pytest_llmkg.pipelines.settings import PipelineSettings
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Question

__all__ = ["VERSION", "Pipeline"]

VERSION = "1.0"
"""Of prompts and rules, noted with every answer; the settings stand in the run's header."""

T = TypeVar("T")

_MANY = 3  # of so many texts to look up, each brings half as much


@dataclass(frozen=True, slots=True)
class _Indexes:
    """What is looked into for a question."""

    schema: SchemaIndex
    examples: ExampleIndex


@dataclass(frozen=True, slots=True)
class _Found:
    """What was looked up for a question."""

    examples: tuple[Example, ...]
    classes: tuple[ClassUse, ...]


class Pipeline:
    """Answers as `pytest_llmkg.contracts.Connector`; indexes are made at the first question that needs them, and kept.

    Args:
        model: id of the model, for complaints.
        settings: the knobs.
        bench: the wrapped model, the graphs and the examples.
    """

    def __init__(self, model: str, settings: PipelineSettings, bench: Workbench) -> None:
        self._model = model
        self._settings = settings
        self._bench = bench
        self._made: dict[Hashable, object] = {}
        self._lock = asyncio.Lock()

    async def ask(self, request: AskRequest) -> Answer:
        """The answer to a question on a graph: one fenced block with the best query. Other requests are passed on.

        Raises:
            ConnectorError: the model gave no answer, or the pipeline cannot work with the graph.
        """
        graph = self._bench.graph(request)
        if request.question is None or graph is None:
            return await self._bench.inner.ask(request)
        meter = Meter(self._bench.inner)
        try:
            return await self._answer(request, request.question, graph, meter)
        except ConnectorError:
            raise
        except LlmkgError as error:  # calls made so far were paid for
            raise UnansweredError(f"{self._model}: {error}", list(meter.paid())) from error

    async def _answer(self, request: AskRequest, question: Question, graph: GraphText, meter: Meter) -> Answer:
        indexes = await self._indexes(request, graph, meter)
        found = await self._look_up(request, question, indexes, meter)
        with meter.stage("retrieve"):
            opening = self._opening(question, indexes, found)
            subject = self._subject(question, graph, indexes.schema)
        tries = await refine(replace(request, messages=opening + _later(request)), subject, self._settings, meter)
        best = best_attempt(tries)
        notes: dict[str, Json] = {
            "pipeline": VERSION,
            "examples": [{"id": example.id, "query": example.query} for example in found.examples],
            "classes": [use.iri for use in found.classes],
            "shown": [*sorted({one.iri for use in found.classes for one in use.properties})],
            "tries": [attempt.note() for attempt in tries],
        }
        if self._settings.interpretation and best.kind == "ok":
            notes["interpretation"] = await self._interpreted(request, opening, best, meter)
        text = best.text if best.query is None else f"```sparql\n{best.query}\n```"
        return replace(meter.bill(text), notes={**notes, "calls": meter.calls})

    async def close(self) -> None:
        """Closes the wrapped model."""
        await self._bench.inner.close()

    async def _indexes(self, request: AskRequest, graph: GraphText, meter: Meter) -> _Indexes:
        engine, settings = self._engine(), self._settings
        schema = await self._once(("schema", graph), lambda: index_schema(engine, graph, settings), meter)
        pool = await self._once("pool", lambda: pool_files(settings), meter)
        own = self._bench.examples(request) if pool is None else pool

        def indexed() -> ExampleIndex:
            chosen = simple_examples(own, engine, settings.max_patterns) if settings.k_examples else ()
            return index_examples(chosen, settings)

        return _Indexes(schema, await self._once(("examples", own), indexed, meter))

    async def _once(self, key: Hashable, make: Callable[[], T], meter: Meter) -> T:
        """What ``make`` gives, made in a thread once for each ``key``; whose question needed it first pays the time."""
        async with self._lock:
            if key not in self._made:
                with meter.stage("prepare"):
                    self._made[key] = await asyncio.to_thread(make)
        return cast("T", self._made[key])

    def _engine(self) -> StudyEngine:
        engine = self._bench.engine
        if not isinstance(engine, StudyEngine):
            raise ConnectorError(f"{self._model}: the engine {type(engine).__name__} cannot tell a graph's schema")
        return engine

    async def _look_up(self, request: AskRequest, question: Question, indexes: _Indexes, meter: Meter) -> _Found:
        outline = Outline()
        if self._settings.decomposition:
            outline = read_outline((await meter.ask(replace(request, messages=outline_messages(question)))).text)
        with meter.stage("retrieve"):
            return await asyncio.to_thread(_found, question, indexes, outline, self._settings)

    def _opening(self, question: Question, indexes: _Indexes, found: _Found) -> tuple[Message, ...]:
        known = {**WELL_KNOWN, **question.prefixes}
        told = indexes.schema.profile.labels
        labels = {use.iri: tuple(map(on_one_line, told.get(use.iri, ()))) for use in found.classes}
        block = schema_block(found.classes, labels, known, self._settings)
        used = {name: iri for name, iri in known.items() if name in question.prefixes or f"{name}:" in block}
        return first_messages(replace(question, prefixes=used), found.examples, block)

    def _subject(self, question: Question, graph: GraphText, schema: SchemaIndex) -> Subject:
        known = {**WELL_KNOWN, **question.prefixes}
        check = None
        if self._settings.validation:
            check = SchemaCheck(schema.profile, known, self._settings.named_alternatives)
        return Subject(self._engine(), graph, check, known)

    async def _interpreted(
        self, request: AskRequest, opening: tuple[Message, ...], best: Attempt, meter: Meter
    ) -> str | None:
        if best.result is None:
            return None
        shown = interpretation_text(best.result, self._settings.result_rows)
        messages = (*opening, Message("assistant", best.text), Message("user", shown))
        return (await meter.ask(replace(request, messages=messages))).text


def _found(question: Question, indexes: _Indexes, outline: Outline, settings: PipelineSettings) -> _Found:
    """Examples by the question and its parts, classes by these and the names of classes; each once."""
    texts, kinds = (question.text, *outline.parts), outline.classes
    per_text = settings.k_examples // 2 if len(texts) > _MANY else settings.k_examples
    examples = indexes.examples.find(texts, per_text) if settings.k_examples else ()
    per_kind = settings.k_classes // 2 if len(kinds) > _MANY else settings.k_classes
    classes = indexes.schema.find((*texts, *kinds), per_kind) if settings.k_classes else ()
    return _Found(examples, classes)


def _later(request: AskRequest) -> tuple[Message, ...]:
    """The turns after the first prompt, which the pipeline's own takes the place of."""
    places = [i for i, message in enumerate(request.messages) if message.role == "assistant"]
    return request.messages[places[0] :] if places else ()
