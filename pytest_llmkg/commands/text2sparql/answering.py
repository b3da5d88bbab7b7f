"""Asks a model questions on graphs outside of a test session, for the verbs that need its queries."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.answer_cache import AnswerCache
from pytest_llmkg.commands.text2sparql.executing import check_graph, configured_endpoints
from pytest_llmkg.connectors import discover
from pytest_llmkg.contracts import AskRequest, Connector, ConnectorFactory, Example, GraphText, Workbench
from pytest_llmkg.endpoints import ENDPOINT_FORMAT
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import SandboxPool
from pytest_llmkg.models import load_model_table, model_table_paths, resolve_models
from pytest_llmkg.pipelines.studying import StudyingEngine
from pytest_llmkg.records import Case, ModelSpec, Question
from pytest_llmkg.registry import Registry
from pytest_llmkg.scheduling.asking import Patience, PatientConnector
from pytest_llmkg.scheduling.desk import LocalDesk, ModelLimits
from pytest_llmkg.tasks.text2sparql_kgqa import TASK
from pytest_llmkg.wrapping import wrapped_models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Answer, Prompt

__all__ = ["Respondent", "Subject", "Terms", "language_list", "open_respondent"]

_UNKNOWN_LANGUAGE = "und"  # ISO 639-2


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about.

    Attributes:
        name: of the graph, e.g. ``ck25``.
        dataset: IRI by which systems know it, None when it has none.
        prefixes: that queries may use undeclared.
        graph: the graph or what stands for its endpoint, None when only the system knows it.
    """

    name: str
    dataset: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    graph: GraphText | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which terms a model is asked.

    Attributes:
        timeout: seconds for one call.
        retries: repeated calls after one that failed.
        concurrency: calls at once.
        cache: folder of paid answers, None for none.
        examples: what a system may be shown for a request, by the system's own choice.
    """

    timeout: float = 180.0
    retries: int = 5
    concurrency: int = 4
    cache: Path | None = None
    examples: Callable[[AskRequest], tuple[Example, ...]] = lambda _request: ()


class Respondent:
    """A model that answers questions on graphs.

    Args:
        model: its id.
        connector: the way to it.
        engine: for the prompt, which shows the graph's schema.
        timeout: seconds for one call.
    """

    def __init__(self, model: str, connector: Connector, engine: KgEngine, timeout: float) -> None:
        self.model = model
        self._connector = connector
        self._engine = engine
        self._timeout = timeout

    async def answer(self, subject: Subject, question: str, language: str | None = None, key: str = "") -> Answer:
        """The model's answer to the first prompt of `Text2SparqlKgqa`; there is no second one.

        Raises:
            ConnectorError: it gave none.
            LlmkgError: the graph cannot be read.
        """
        prompt = await self._prompt(subject, question, language)
        asked = Question(question, subject.name, language, subject.dataset, subject.prefixes)
        return await self._connector.ask(AskRequest(prompt.messages, key, 1, self._timeout, asked))

    async def check(self, subject: Subject) -> None:
        """Looks at the graph of ``subject`` once, so that one that cannot be asked is known before a model is called.

        Raises:
            UserError: the graph does not parse.
            EndpointError: its endpoint gives nothing.
        """
        if subject.graph is not None:
            await asyncio.to_thread(check_graph, subject.name, subject.graph, self._engine)
        await self._prompt(subject, "", None)

    async def _prompt(self, subject: Subject, question: str, language: str | None) -> Prompt:
        return await asyncio.to_thread(TASK.prompt, _case(subject, question, language), self._engine)


@asynccontextmanager
async def open_respondent(name: str, subjects: Mapping[str, Subject], terms: Terms) -> AsyncIterator[Respondent]:
    """The model called ``name`` in ``--models``, ready to be asked about ``subjects`` (by their names).

    Raises:
        UserError: no such model, one that can never answer, or a pipeline without a graph.
    """
    factories = discover()
    table = load_model_table(model_table_paths(Path.cwd()))
    models, wrapped = wrapped_models(resolve_models([name], table, factories.names()), table, factories)
    if len(models) != 1:
        raise UserError(f"{name!r} names {len(models)} models; name one")
    for spec in (*models, *wrapped.values()):
        factories.get(spec.connector).check(spec)
    without = [subject.name for subject in subjects.values() if subject.graph is None]
    factory = factories.get(models[0].connector)
    if factory.wrap is not None and factory.inner is None and without:
        raise UserError(f"{name}: works with the graph itself; give --kg {without[0]}=FILE or =URL")
    with SandboxPool(2) as sandbox:
        endpoints = configured_endpoints()
        engine = StudyingEngine(sandbox, endpoints)

        def bench(inner: Connector) -> Workbench:
            return Workbench(inner, engine, lambda request: _graph(request, subjects), terms.examples)

        connector = _Making(factories, wrapped, terms, bench).made(models[0])
        try:
            yield Respondent(models[0].id, connector, engine, terms.timeout)
        finally:
            await connector.close()
            endpoints.close()


@dataclass(frozen=True, slots=True)
class _Making:
    """What connectors are made of."""

    factories: Registry[ConnectorFactory]
    wrapped: Mapping[str, ModelSpec]
    terms: Terms
    bench: Callable[[Connector], Workbench]

    def made(self, spec: ModelSpec) -> Connector:
        """The connector of ``spec``, which repeats calls that fail, or one around such a one."""
        factory, terms = self.factories.get(spec.connector), self.terms
        if factory.wrap is not None:
            return factory.wrap(spec, self.bench(self.made(self.wrapped[spec.id])))
        most = min(terms.concurrency, spec.max_concurrency or terms.concurrency, factory.at_once or terms.concurrency)
        cache = None if terms.cache is None or factory.is_free else AnswerCache(terms.cache)
        return PatientConnector(
            replace(spec, api_base=factory.address(spec)),
            factory.make(spec),
            LocalDesk({spec.id: ModelLimits(most, spec.rpm, factory.is_free)}),
            Patience(terms.retries),
            cache,
            lambda _problem: None,
        )


def _graph(request: AskRequest, subjects: Mapping[str, Subject]) -> GraphText | None:
    subject = subjects.get(request.question.kg) if request.question is not None else None
    return None if subject is None else subject.graph


def _case(subject: Subject, question: str, language: str | None) -> Case:
    """The case for the prompt, whose reference tells nothing, since none is known or needed."""
    graph = subject.graph or GraphText("", "turtle")
    place: dict[str, Json] = {"graph": graph.text, "format": graph.format}
    if graph.format == ENDPOINT_FORMAT:
        place = {"endpoint": graph.text}
    prefixes: dict[str, Json] = dict(subject.prefixes)
    data: dict[str, Json] = {
        "kg": subject.name,
        **place,
        "prefixes": prefixes,
        "language": language or _UNKNOWN_LANGUAGE,
        "query": "ASK {}",
        "question": question,
        "context": "none" if subject.graph is None else "schema",
    }
    return Case("question", TASK.info.name, f"{TASK.info.name}-{subject.name}", data)


def language_list(text: str) -> tuple[str, ...]:
    """The languages in ``text``: ``en,de``, or a list as the challenge's client takes it."""
    return tuple(dict.fromkeys(re.findall(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*", text)))
