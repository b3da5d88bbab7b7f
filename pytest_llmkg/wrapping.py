"""Models inside models: what a connector around another one is given, and what it looked at that it should not have."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import resolve_graph
from pytest_llmkg.cases.graph_files import is_reference
from pytest_llmkg.contracts import Example, GraphText, Workbench
from pytest_llmkg.endpoints import ENDPOINT_FORMAT, EndpointEngine, Endpoints
from pytest_llmkg.errors import LlmkgError, UserError
from pytest_llmkg.kg.profile import profile_by_queries
from pytest_llmkg.models import resolve_models
from pytest_llmkg.pipelines.examples import normal_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.cases.graph_files import GraphFile
    from pytest_llmkg.contracts import (
        AskRequest,
        Connector,
        ConnectorFactory,
        QueryResult,
    )
    from pytest_llmkg.kg import GraphProfile, QueryPatterns, Sandbox
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Answer, Case, ModelSpec
    from pytest_llmkg.registry import Registry

__all__ = ["FOLDS", "Workshop", "wrapped_models"]

FOLDS = 5
"""Parts of a question set; a question's examples come from the other parts (5-fold cross-validation)."""

_PASSED_ON = ("api_base", "temperature", "max_tokens", "top_p", "seed", "price_in", "price_out")
_TOLD = ("family", "parameters", "context")


def wrapped_models(
    models: Sequence[ModelSpec], table: Mapping[str, ModelSpec], factories: Registry[ConnectorFactory]
) -> tuple[tuple[ModelSpec, ...], dict[str, ModelSpec]]:
    """``models`` with what is known of the ones that they wrap, and these by the id of the wrapping one.

    Settings that a wrapping model's own entry names (a temperature, prices) hold for the calls that it makes.

    Raises:
        UserError: the argument names no model, or one that wraps another.
    """
    told: list[ModelSpec] = []
    inner: dict[str, ModelSpec] = {}
    for model in models:
        factory = factories.get(model.connector)
        if factory.wrap is not None:
            found = resolve_models(factory.inner or model.model, table, factories.names())
            if len(found) > 1 or factories.get(found[0].connector).wrap is not None:
                raise UserError(f"model {model.id!r} must wrap one model that wraps none itself, found {model.model!r}")
            own = {name: value for name in _PASSED_ON if (value := getattr(model, name)) is not None}
            inner[model.id] = replace(found[0], **own)
            model = replace(  # noqa: PLW2901  (the same model, better known)
                model, **{name: getattr(model, name) or getattr(found[0], name) for name in _TOLD}
            )
        told.append(model)
    return tuple(told), inner


class Workshop:
    """Gives connectors around others their `Workbench`, from the cases of a session.

    Args:
        cases: all cases, whatever shard is run, so that the parts of a set do not depend on it.
        graphs: graphs that cases hold by reference.
        kg: where pipelines study graphs and run queries.
        seed: of the parts.
    """

    def __init__(self, cases: Iterable[Case], graphs: Mapping[str, GraphFile], kg: Sandbox, seed: int) -> None:
        self._cases = {f"{case.label}/{case.id}": case for case in cases}
        self._graphs = {file.reference: file.graph for file in graphs.values()}
        self._kg = kg
        self._engine = StudyingEngine(kg, Endpoints())
        self._pools: dict[str, dict[str, int]] = {}
        self._seed = seed
        self._examples: dict[tuple[str, int], tuple[Example, ...]] = {}

    def bench(self, inner: Connector) -> Workbench:
        """The workbench around ``inner``."""
        return Workbench(inner, self._engine, self.graph, self.examples)

    def watched(self, connector: Connector) -> Connector:
        """``connector``, whose answers tell which of its examples give the question away."""
        return _Watched(connector, self)

    def graph(self, request: AskRequest) -> GraphText | None:
        """The graph that the request's case asks about, None when it names none."""
        case = self._cases.get(request.case_key)
        text, form = (case.data.get("graph"), case.data.get("format")) if case else (None, None)
        if not isinstance(text, str) or not isinstance(form, str):
            return None
        if is_reference(text):
            return self._graphs.get(text)
        return GraphText(resolve_graph(text), form)

    def examples(self, request: AskRequest) -> tuple[Example, ...]:
        """The questions on the same graph that are in other parts than the request's; none of sealed cases."""
        case = self._cases.get(request.case_key)
        if case is None or _example(case) is None:
            return ()
        pool = _pool_of(case)
        part = self._parts(pool)[_group(case)]
        if (pool, part) not in self._examples:
            self._examples[pool, part] = tuple(
                example
                for other in self._cases.values()
                if not other.sealed and (example := _example(other)) is not None and _pool_of(other) == pool
                if self._parts(pool)[_group(other)] != part
            )
        return self._examples[pool, part]

    def _parts(self, pool: str) -> dict[str, int]:
        """The part of each group of questions with the same query, e.g. one question in several languages."""
        if pool not in self._pools:
            cases = [case for case in self._cases.values() if _example(case) is not None and _pool_of(case) == pool]
            groups = sorted({_group(case) for case in cases})
            random.Random(f"{self._seed} {pool}").shuffle(groups)  # noqa: S311 (no secret)
            self._pools[pool] = {group: number % FOLDS for number, group in enumerate(groups)}
        return self._pools[pool]

    def leaks(self, request: AskRequest, examples: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """Which of ``examples`` (id and query) have the reference's query, and which only its result.

        A result counts when it holds something; that two questions are both answered by yes is no leak.
        """
        case, graph = self._cases.get(request.case_key), self.graph(request)
        reference = case.data.get("query") if case else None
        if case is None or graph is None or not isinstance(reference, str):
            return {}
        prefixes = case.mapping("prefixes") if "prefixes" in case.data else {}
        wanted = normal_query(reference, prefixes)
        same = [name for name, query in examples if normal_query(query, prefixes) == wanted]
        expected = _content(self._engine.run_query(graph, reference, prefixes))
        alike = [
            name
            for name, query in examples
            if name not in same and expected and _content(self._engine.run_query(graph, query, prefixes)) == expected
        ]
        return {"same_query": [*same], "same_result": [*alike]}


class _Watched:
    """A connector whose notes on examples are compared with the reference, which it never sees itself."""

    def __init__(self, inner: Connector, workshop: Workshop) -> None:
        self._inner = inner
        self._workshop = workshop

    async def ask(self, request: AskRequest) -> Answer:
        """The answer, with the ids of its examples and the note ``leak``."""
        answer = await self._inner.ask(request)
        noted = answer.notes.get("examples")
        if not isinstance(noted, list):
            return answer
        examples = [(str(one["id"]), str(one["query"])) for one in noted if isinstance(one, dict)]
        names: list[Json] = [name for name, _ in examples]
        notes: dict[str, Json] = {**answer.notes, "examples": names}
        try:
            notes["leak"] = await asyncio.to_thread(self._workshop.leaks, request, examples)
        except LlmkgError as error:  # the answer was paid for and is none the worse
            notes["leak"] = {"error": str(error)}
        return replace(answer, notes=notes)

    async def close(self) -> None:
        """Closes the connector."""
        await self._inner.close()


class StudyingEngine(EndpointEngine):
    """A graph engine that tells what graphs and queries are made of, wherever the graphs are."""

    def __init__(self, sandbox: Sandbox, endpoints: Endpoints) -> None:
        super().__init__(sandbox, endpoints)
        self._sandbox = sandbox

    def profile(self, graph: GraphText, *, ranges: bool = True) -> GraphProfile:
        """The classes and properties of ``graph``; an endpoint is asked to count its own."""
        if graph.format != ENDPOINT_FORMAT:
            return self._sandbox.profile(graph, ranges=ranges)
        return profile_by_queries(self, graph, ranges=ranges)

    def read_patterns(self, query: str, prefixes: Mapping[str, str]) -> QueryPatterns:
        """The triple patterns of ``query``."""
        return self._sandbox.read_patterns(query, prefixes)


def _example(case: Case) -> Example | None:
    """The case as an example; None for a case that has no question or query."""
    query, question, language = (case.data.get(name) for name in ("query", "question", "language"))
    if not isinstance(query, str):
        return None
    if not isinstance(question, str):
        questions = case.data.get("questions")
        question = questions.get(str(language)) if isinstance(questions, dict) else None
    if not isinstance(question, str):
        return None
    name = case.data.get("qname")
    identifier = name if isinstance(name, str) else f"{case.label}/{case.id}"
    return Example(identifier, question, query, language if isinstance(language, str) else None)


def _pool_of(case: Case) -> str:
    name = case.data.get("kg")
    return name if isinstance(name, str) else hashlib.sha256(str(case.data.get("graph")).encode()).hexdigest()


def _group(case: Case) -> str:
    return normal_query(case.text("query"), case.mapping("prefixes") if "prefixes" in case.data else {})


def _content(result: QueryResult) -> frozenset[tuple[str, ...]]:
    """The solutions without names of variables and order; empty for an error and for yes or no."""
    return frozenset(tuple(sorted(str(term) for term in row if term is not None)) for row in result.rows)
