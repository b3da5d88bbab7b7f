"""What a connector around another one is given, and whether its examples gave the answer away."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import resolve_graph
from pytest_llmkg.cases.graph_files import is_reference
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.contracts import Example, GraphText, Workbench
from pytest_llmkg.endpoints import Endpoints, endpoint_graph
from pytest_llmkg.errors import LlmkgError
from pytest_llmkg.kg.terms import RDF_TYPE
from pytest_llmkg.pipelines.examples import normal_query, shipped_examples, with_prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.cases.graph_files import GraphFile
    from pytest_llmkg.contracts import AskRequest, Connector, KgEngine, QueryResult
    from pytest_llmkg.kg import QueryPatterns, Sandbox
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Answer, Case

__all__ = ["FOLDS", "Workshop"]

FOLDS = 5
"""Parts of a question set; a question's examples come from the other parts (5-fold cross-validation)."""


class Workshop:
    """Gives connectors around others their `Workbench`, from the cases of a session.

    Args:
        cases: all cases, whatever shard is run, so that the parts of a set do not depend on it.
        graphs: graphs that cases hold by reference.
        kg: where pipelines study graphs and run queries.
        seed: of the parts.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        graphs: Mapping[str, GraphFile],
        kg: Sandbox,
        seed: int,
        endpoints: Endpoints | None = None,
    ) -> None:
        self._cases = {f"{case.label}/{case.id}": case for case in cases}
        self._graphs = {file.reference: file.graph for file in graphs.values()}
        self._kg = kg
        self._endpoints = endpoints
        self._engine: KgEngine | None = None
        self._questions: dict[str, _Asked] | None = None
        self._pools: dict[str, dict[str, int]] = {}
        self._seed = seed
        self._examples: dict[tuple[str, int, bool], tuple[Example, ...]] = {}

    def bench(self, inner: Connector) -> Workbench:
        """The workbench around ``inner``."""
        return Workbench(inner, self._studying(), self.graph, self.examples)

    def _studying(self) -> KgEngine:
        if self._engine is None:
            from pytest_llmkg.pipelines.studying import StudyingEngine  # only where a pipeline is under test

            self._engine = StudyingEngine(self._kg, self._endpoints)
        return self._engine

    def watched(self, connector: Connector) -> Connector:
        """``connector``, whose answers tell which of its examples give the question away."""
        return _Watched(connector, self)

    def graph(self, request: AskRequest) -> GraphText | None:
        """The graph that the request's case asks about, None when it names none."""
        case = self._cases.get(request.case_key)
        address = case.data.get("endpoint") if case else None
        if isinstance(address, str):
            return endpoint_graph(address)
        text, form = (case.data.get("graph"), case.data.get("format")) if case else (None, None)
        if not isinstance(text, str) or not isinstance(form, str):
            return None
        if is_reference(text):
            return self._graphs.get(text)
        return GraphText(resolve_graph(text), form)

    def examples(self, request: AskRequest) -> tuple[Example, ...]:
        """The examples that come with the graph, and the questions on it in other parts; none of sealed cases."""
        asked = self._asked().get(request.case_key)
        if asked is None:
            return ()
        part, graph = self._parts(asked.pool)[asked.group], self._cases[request.case_key].data.get("graph")
        shipped = shipped_examples(graph) if isinstance(graph, str) else ()
        key = (asked.pool, part, bool(shipped))
        if key not in self._examples:
            others = tuple(
                other.example
                for name, other in self._asked().items()
                if other.pool == asked.pool
                if self._parts(asked.pool)[other.group] != part and not self._cases[name].sealed
            )
            # The very same tuple for all parts of a sealed set, so that it is indexed once.
            self._examples[key] = (*shipped, *others) if others else shipped
        return self._examples[key]

    def _asked(self) -> dict[str, _Asked]:
        """What can be an example or have some, by key; looked at once, since reading queries takes its time."""
        if self._questions is None:
            found = {key: _asked_by(case) for key, case in self._cases.items()}
            self._questions = {key: one for key, one in found.items() if one is not None}
        return self._questions

    def _parts(self, pool: str) -> dict[str, int]:
        """The part of each group of questions with the same query, e.g. one question in several languages."""
        if pool not in self._pools:
            groups = sorted({one.group for one in self._asked().values() if one.pool == pool})
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
        prefixes = {**WELL_KNOWN, **_prefixes(case)}
        wanted = normal_query(reference, prefixes)
        same = [name for name, query in examples if normal_query(query, prefixes) == wanted]
        engine = self._studying()
        expected = _content(engine.run_query(graph, reference, prefixes))
        alike = [
            name
            for name, query in examples
            if name not in same and expected and _content(engine.run_query(graph, query, prefixes)) == expected
        ]
        return {"same_query": [*same], "same_result": [*alike]}

    def recall(self, request: AskRequest, shown: Sequence[str], examples: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """The share of the reference's classes and properties that the prompt showed: in the schema, and in all.

        What retrieval is worth can so be told without any model. Empty when the reference names none.
        """
        case = self._cases.get(request.case_key)
        reference = case.data.get("query") if case else None
        if case is None or not isinstance(reference, str):
            return {}
        prefixes = {**WELL_KNOWN, **_prefixes(case)}
        wanted = _names(self._kg.read_patterns(reference, prefixes))
        if not wanted:
            return {}
        by_example = {name for _, query in examples for name in _names(self._kg.read_patterns(query, prefixes))}
        schema = wanted & set(shown)
        return {
            "schema": round(len(schema) / len(wanted), 4),
            "prompt": round(len(schema | wanted & by_example) / len(wanted), 4),
        }


class _Watched:
    """A connector whose notes on what it looked up are compared with the reference, which it never sees itself."""

    def __init__(self, inner: Connector, workshop: Workshop) -> None:
        self._inner = inner
        self._workshop = workshop

    async def ask(self, request: AskRequest) -> Answer:
        """The answer, with the ids of its examples and the notes ``leak`` and ``recall``."""
        answer = await self._inner.ask(request)
        noted = answer.notes.get("examples")
        if not isinstance(noted, list):
            return answer
        examples = [(str(one["id"]), str(one["query"])) for one in noted if isinstance(one, dict)]
        names: list[Json] = [name for name, _ in examples]
        notes: dict[str, Json] = {**answer.notes, "examples": names}
        shown = [str(name) for key in ("classes", "shown") for name in _list(notes.get(key))]
        notes.pop("shown", None)
        try:
            notes["leak"] = await asyncio.to_thread(self._workshop.leaks, request, examples)
            notes["recall"] = await asyncio.to_thread(self._workshop.recall, request, shown, examples)
        except LlmkgError as error:  # the answer was paid for and is none the worse
            notes["leak"] = {"error": str(error)}
        return replace(answer, notes=notes)

    async def close(self) -> None:
        """Closes the connector."""
        await self._inner.close()


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its query: as an example, the pool that it belongs to, and what is equal for equal queries."""

    example: Example
    pool: str
    group: str


def _asked_by(case: Case) -> _Asked | None:
    """None for a case that has no question or query."""
    query, question, language = (case.data.get(name) for name in ("query", "question", "language"))
    if not isinstance(query, str):
        return None
    if not isinstance(question, str):
        questions = case.data.get("questions")
        question = questions.get(str(language)) if isinstance(questions, dict) else None
    if not isinstance(question, str):
        return None
    name, prefixes = case.data.get("qname"), {**WELL_KNOWN, **_prefixes(case)}
    identifier = name if isinstance(name, str) else f"{case.label}/{case.id}"
    ready = with_prefixes(query, prefixes)
    example = Example(identifier, question, ready, language if isinstance(language, str) else None)
    return _Asked(example, _pool_of(case), normal_query(query, prefixes))


def _pool_of(case: Case) -> str:
    name = case.data.get("kg")
    return name if isinstance(name, str) else hashlib.sha256(str(case.data.get("graph")).encode()).hexdigest()


def _prefixes(case: Case) -> dict[str, str]:
    return case.mapping("prefixes") if "prefixes" in case.data else {}


def _content(result: QueryResult) -> frozenset[tuple[str, ...]]:
    """The solutions without names of variables and order; empty for an error and for yes or no."""
    return frozenset(tuple(sorted(str(term) for term in row if term is not None)) for row in result.rows)


def _names(query: QueryPatterns) -> set[str]:
    """The classes and properties that a query names, without rdf:type itself."""
    type_name = f"<{RDF_TYPE}>"
    found = {name for pattern in query.patterns for name in pattern.predicates if name != type_name}
    found |= {pattern.object for pattern in query.patterns if type_name in pattern.predicates}
    return {name[1:-1] for name in found if name.startswith("<")}
