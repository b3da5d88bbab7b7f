"""``copy-nearest`` answers a question on a graph with the query of the most similar example question, whatever it asks.

A dummy: what it scores is what a benchmark's examples give away, so any system that is shown examples has to beat it.
Its examples are those that come with the graph, and the questions of the run that are in other parts of the set (5-fold
cross-validation, as for ``rag:MODEL``); ``copy-nearest:FILE`` takes those of a question set instead. An example that
asks the very question, or the same in another language, is never copied. In a model table
``extra = { embedding = "use" }`` compares by something else than words.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_llmkg.connectors.asked_questions import as_block, asked_question, free, said_before
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.pipelines.examples import load_examples, normal_query, normal_question
from pytest_llmkg.pipelines.indexing import ExampleIndex, index_examples
from pytest_llmkg.pipelines.retrieval import check_embedding
from pytest_llmkg.pipelines.settings import PipelineSettings, settings_from
from pytest_llmkg.records import Answer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pytest_llmkg.contracts import AskRequest, Connector, Example, Workbench
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR", "CopyNearest", "without_question"]

_KNOBS = ("embedding",)
_MOST_INDEXES = 16


class CopyNearest:
    """Copies the query of the nearest example; an index of examples is made once for each part of a set.

    Args:
        spec: the model; its argument is a question set or empty.
        bench: tells the examples of a request.
    """

    def __init__(self, spec: ModelSpec, bench: Workbench) -> None:
        self._spec = spec
        self._bench = bench
        self._settings = _settings(spec)
        self._indexes: dict[Hashable, ExampleIndex] = {}
        self._pool: tuple[Example, ...] | None = None
        self._lock = asyncio.Lock()

    async def ask(self, request: AskRequest) -> Answer:
        """The query of the nearest example in a fenced block; an empty answer when there is no example.

        Raises:
            ConnectorError: the task asks no question, or the examples cannot be had.
        """
        question = asked_question(request, self._spec.id)
        before = said_before(request, tells_usage=True)
        if before is not None:
            return before
        try:
            async with self._lock:
                started = time.perf_counter()
                index = await asyncio.to_thread(self._index, request, question.text)
            prepared = time.perf_counter()
            found = await asyncio.to_thread(index.find, (question.text,), 1)
        except UserError as error:
            raise ConnectorError(f"{self._spec.id}: {error}") from error
        seconds = time.perf_counter() - prepared
        return Answer(
            text=as_block(found[0].query) if found else "",
            stop_reason="stop",
            usage=free(),
            seconds=seconds,
            served_model="copy-nearest",
            stages={"prepare": prepared - started, "retrieve": seconds},
            notes={"examples": [{"id": example.id, "query": example.query} for example in found], "calls": 0},
        )

    async def close(self) -> None:
        """Closes the model inside, which was never called."""
        await self._bench.inner.close()

    def _index(self, request: AskRequest, question: str) -> ExampleIndex:
        if not self._spec.model:
            examples = self._bench.examples(request)
            return self._made(examples, examples)
        if self._pool is None:
            self._pool = load_examples([Path(self._spec.model)])
        # Nearly all questions leave the pool whole, so there are few indexes.
        examples = without_question(self._pool, question)
        return self._made(tuple(example.id for example in examples), examples)

    def _made(self, key: Hashable, examples: tuple[Example, ...]) -> ExampleIndex:
        if key not in self._indexes:
            if len(self._indexes) >= _MOST_INDEXES:
                self._indexes.clear()
            self._indexes[key] = index_examples(examples, self._settings)
        return self._indexes[key]


def without_question(pool: tuple[Example, ...], question: str) -> tuple[Example, ...]:
    """``pool`` without examples that ask ``question``, and without others that have the query of one that does."""
    asked = normal_question(question)
    gone = {normal_query(example.query) for example in pool if normal_question(example.question) == asked}
    return tuple(example for example in pool if normal_query(example.query) not in gone) if gone else pool


def _settings(spec: ModelSpec) -> PipelineSettings:
    for name in spec.extra:
        if name not in _KNOBS:
            raise UserError(f"model {spec.id!r}: copy-nearest has no setting {name!r}; it has {', '.join(_KNOBS)}")
    return settings_from(spec.extra, f"model {spec.id!r}")


def _check(spec: ModelSpec) -> None:
    check_embedding(_settings(spec).embedding)
    if spec.model:
        load_examples([Path(spec.model)])


def _wrap(spec: ModelSpec, bench: Workbench) -> Connector:
    return CopyNearest(spec, bench)


def _make(spec: ModelSpec) -> NoReturn:
    raise ConnectorError(f"{spec.id}: needs the examples of a run")


CONNECTOR = ConnectorFactory(
    scheme="copy-nearest",
    summary="Dummy: copies the query of the most similar example question (copy-nearest, copy-nearest:FILE).",
    make=_make,
    check=_check,
    is_free=True,
    wrap=_wrap,
    inner="empty",
    only_questions=lambda _spec: True,
)
