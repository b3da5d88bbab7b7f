"""What a session measures: the chosen models and cases, and the ids of their tests."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pytest_llmkg.cases.files import check_case_folders, load_case_files
from pytest_llmkg.cases.generated import generated_contents
from pytest_llmkg.cases.graph_files import GraphFile, graph_at, with_graphs
from pytest_llmkg.connectors import discover
from pytest_llmkg.contracts import ConnectorFactory, Task
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.endpoints import Endpoint, Endpoints, with_endpoints
from pytest_llmkg.endpoints.tables import load_endpoint_table
from pytest_llmkg.errors import ConnectorError, LlmkgError, UserError
from pytest_llmkg.models import load_model_table, model_table_paths, resolve_models
from pytest_llmkg.options import Settings
from pytest_llmkg.records import Case, ModelSpec
from pytest_llmkg.registry import Registry, unknown_name
from pytest_llmkg.suite_signature import suite_signature
from pytest_llmkg.tasks import discover_tasks
from pytest_llmkg.wrapping import wrapped_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pytest_llmkg.contracts import AskRequest, Connector
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Answer

__all__ = ["PlannedTest", "Suite", "build_suite"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """One test: a case asked of a model for the nth time, with its id; None for what the test does not tell apart."""

    id: str
    case: Case | None
    model: ModelSpec | None
    iteration: int | None


@dataclass(frozen=True, slots=True)
class Suite:
    """All that a session may run: tasks, connectors, models and the chosen cases, in a fixed order.

    ``wrapped`` are the models inside others (``rag:MODEL``), by the id of the outer one; ``graphs`` those of ``--kg``;
    ``endpoints`` what this process asks graphs behind endpoints with.
    """

    settings: Settings
    tasks: Registry[Task]
    connectors: Registry[ConnectorFactory]
    models: tuple[ModelSpec, ...]
    all_cases: tuple[Case, ...]
    wrapped: Mapping[str, ModelSpec] = field(default_factory=dict)
    graphs: Mapping[str, GraphFile] = field(default_factory=dict)
    endpoints: Endpoints = field(default_factory=Endpoints, compare=False)

    def close(self) -> None:
        """Ends connections to endpoints; asking again opens new ones."""
        self.endpoints.close()

    @property
    def cases(self) -> tuple[Case, ...]:
        """The chosen cases of this session's shard, or all without one."""
        if self.settings.shard is None:
            return self.all_cases
        number, count = self.settings.shard
        return self.all_cases[number - 1 :: count]

    def signature(self) -> dict[str, Json]:
        """What is measured, the same for all shards of it; see `pytest_llmkg.suite_signature`."""
        settings, used = self.settings, {case.task for case in self.all_cases}
        infos = [task.info for task in self.tasks if task.info.name in used]
        inside = [replace(spec, id=f"{spec.id} in {name}") for name, spec in self.wrapped.items()]
        models = (*self.models, *inside)
        limits = (settings.seed, settings.iterations, settings.max_turns)
        declared = {**self.endpoints.served(), **generated_contents(self.all_cases)}
        return suite_signature(models, infos, self.all_cases, *limits, declared)

    def plan(self, task_names: Sequence[str], parameters: Sequence[str]) -> tuple[PlannedTest, ...]:
        """The tests of ``task_names`` (all tasks when empty), in the order label, case, model, iteration.

        Args:
            task_names: names of tasks.
            parameters: which of ``case``, ``model`` and ``iteration`` a test tells apart; one test for each
                combination of those.

        Raises:
            UnknownNameError: no such task.
        """
        wanted = {self.tasks.get(name).info.name for name in task_names} or set(self.tasks.names())
        cases: tuple[Case | None, ...] = tuple(case for case in self.cases if case.task in wanted)
        labels = _unique_slugs(list(dict.fromkeys(case.label for case in self.all_cases)))
        models = _unique_slugs([model.id for model in self.models])
        return tuple(
            PlannedTest(
                _test_id(
                    f"{labels[case.label]}-{case.id}" if case else None, models[model.id] if model else None, iteration
                ),
                case,
                model,
                iteration,
            )
            for case in (cases if "case" in parameters else (None,))
            for model in (self.models if "model" in parameters else (None,))
            for iteration in (range(1, self.settings.iterations + 1) if "iteration" in parameters else (None,))
        )

    def find(self, node_ids: Iterable[str]) -> dict[str, PlannedTest]:
        """The tests of any task by those of pytest's ``node_ids`` that they belong to; pytest-xdist adds ``@group``."""
        tests = {test.id: test for test in self.plan((), ("case", "model", "iteration"))}
        found = {node_id: re.search(r"\[([^\[\]]*)\](?:@[^\[\]]*)?$", node_id) for node_id in node_ids}
        return {node_id: tests[match[1]] for node_id, match in found.items() if match and match[1] in tests}

    def check_models(self) -> None:
        """Complains about a model that can never answer: no key, no file, no endpoint, no question that it understands.

        Raises:
            UserError: says which one and what to do.
        """
        for model in (*self.models, *self.wrapped.values()):
            factory = self.connectors.get(model.connector)
            factory.check(model)
            if factory.only_questions(model) and not any(self.tasks.get(c.task).asks_question for c in self.all_cases):
                raise UserError(
                    f"model {model.id!r} answers questions on knowledge graphs only, and none of the chosen tasks asks "
                    "any; choose e.g. --tasks='Text2SparqlKgqa*'"
                )

    def header_lines(self) -> list[str]:
        """What this session runs, for the head of the terminal output."""
        labels = len({case.label for case in self.cases})
        times = "once" if self.settings.iterations == 1 else f"{self.settings.iterations} times"
        shard = "" if self.settings.shard is None else f"shard {self.settings.shard[0]} of {self.settings.shard[1]}: "
        return [
            f"models {', '.join(model.id for model in self.models)}",
            f"{shard}cases {len(self.cases)} to choose from, of {labels} task variants; each asked {times}",
            f"seed {self.settings.seed}",
        ]


def build_suite(
    settings: Settings,
    root: Path,
    tasks: Iterable[object] = (),
    connectors: Iterable[object] = (),
) -> Suite:
    """The suite for ``settings``; complains about everything that can be known to fail before a model is called.

    Args:
        settings: what was asked for.
        root: folder of the user's own model tables.
        tasks: what the hook ``pytest_llmkg_tasks`` returned, one list of tasks for each of its implementations.
        connectors: what the hook ``pytest_llmkg_connectors`` returned, likewise.

    Raises:
        UserError: an unknown task, model or setting, a broken case file, a model that can never answer, a hook that
            returned something else than it should.
    """
    graphs = {name: graph_at(name, place) for name, place in settings.graphs}
    endpoints = Endpoints(load_endpoint_table(model_table_paths(root)))
    task_registry: Registry[Task] = Registry("task")
    for task in (*discover_tasks(), *_checked(tasks, Task, "pytest_llmkg_tasks")):
        task_registry.add(task.info.name, _contained(with_endpoints(with_graphs(task, graphs), endpoints)))
    connector_registry: Registry[ConnectorFactory] = Registry("connector")
    for factory in (*discover(), *_checked(connectors, ConnectorFactory, "pytest_llmkg_connectors")):
        connector_registry.add(factory.scheme, _with_contained(factory))
    table = load_model_table(model_table_paths(root))
    named = resolve_models(settings.models, table, connector_registry.names())
    models, wrapped = wrapped_models(named, table, connector_registry)
    check_case_folders(settings.case_files)
    data = fixtures_root()
    paths = (data / "cases", *settings.case_files)
    choice = _Choice(settings.tasks)
    cases = load_case_files(paths, data / "graphs", task_registry, settings.seed, choice.wants, graphs)
    choice.check()
    for case in cases:
        _check_address(case)
    return Suite(settings, task_registry, connector_registry, models, cases, wrapped, graphs, endpoints)


def _check_address(case: Case) -> None:
    """Complains about an endpoint that is none, or whose address holds a secret, before it stands in a run file."""
    address = case.data.get("endpoint")
    if not isinstance(address, str):
        return
    try:
        Endpoint(address)
    except UserError as error:
        raise UserError(f"case {case.label}/{case.id}: {error}") from error


def _checked(lists: Iterable[object], kind: type[T], hook: str) -> Iterator[T]:
    """The items of what hooks returned; these are written by users, so that a slip needs a sentence, no traceback."""
    for items in lists:
        for item in items if isinstance(items, list | tuple) else [items]:
            if not isinstance(item, kind):
                raise UserError(f"the hook {hook} must return a list of {kind.__name__}, found {item!r:.60}")
            yield item


class _Contained:
    """A connector whose ``sys.exit`` ends one dialogue, not the event loop that all others wait for."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def ask(self, request: AskRequest) -> Answer:
        try:
            return await self._connector.ask(request)
        except SystemExit as error:
            raise ConnectorError(f"the connector called sys.exit({error.code!r})") from error
        except KeyboardInterrupt as error:  # none of the user's, which arrives in the main thread
            raise ConnectorError("the connector raised KeyboardInterrupt") from error

    async def close(self) -> None:
        await self._connector.close()


def _with_contained(factory: ConnectorFactory) -> ConnectorFactory:
    wrap = factory.wrap
    return replace(
        factory,
        make=lambda spec: _Contained(factory.make(spec)),
        wrap=None if wrap is None else lambda spec, bench: _Contained(wrap(spec, bench)),
    )


def _contained(task: Task) -> Task:
    """``task`` with functions whose ``sys.exit`` ends one dialogue, likewise."""

    def guard(function: Callable[P, T]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except SystemExit as error:
                raise LlmkgError(f"task {task.info.name!r} called sys.exit({error.code!r})") from error

        return call

    return replace(task, prompt=guard(task.prompt), evaluate=guard(task.evaluate), feedback=guard(task.feedback))


class _Choice:
    """What ``--tasks`` chooses, and whether each of its globs chose something."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        self._globs = globs
        self._used: set[str] = set()
        self._names: dict[str, None] = {}

    def wants(self, label: str, task: str) -> bool:
        """Whether cases of ``label`` and ``task`` are chosen."""
        self._names |= dict.fromkeys((label, task))
        matching = [glob for glob in self._globs if any(fnmatch.fnmatchcase(name, glob) for name in (label, task))]
        self._used.update(matching)
        return bool(matching) or not self._globs

    def check(self) -> None:
        """Complains about a glob that chose nothing, once all files were read."""
        for glob in self._globs:
            if glob not in self._used:
                raise unknown_name("task", glob, self._names)


def _test_id(case: str | None, model: str | None, iteration: int | None) -> str:
    parts = (case, model, f"r{iteration:02d}" if iteration else None)
    return "-".join(part for part in parts if part)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_").lower() or "x"


def _unique_slugs(names: Sequence[str]) -> dict[str, str]:
    """A slug for each name; equal slugs are told apart by a number, since test ids must be unique."""
    slugs: dict[str, str] = {}
    for name in names:
        slug, number = _slug(name), 1
        while slug in slugs.values():
            number += 1
            slug = f"{_slug(name)}.{number}"
        slugs[name] = slug
    return slugs
