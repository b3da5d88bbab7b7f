"""What a session measures: the chosen models and cases, and the ids of their tests."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.connectors import discover
from pytest_llmkg.contracts import ConnectorFactory, Task
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.models import load_model_table, model_table_paths, resolve_models
from pytest_llmkg.options import Settings
from pytest_llmkg.records import Case, ModelSpec
from pytest_llmkg.registry import Registry, unknown_name
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["PlannedTest", "Suite", "build_suite"]


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """One test: a case asked of a model for the nth time, with its id; None for what the test does not tell apart."""

    id: str
    case: Case | None
    model: ModelSpec | None
    iteration: int | None


@dataclass(frozen=True, slots=True)
class Suite:
    """All that a session may run: tasks, connectors, models and the chosen cases, in a fixed order."""

    settings: Settings
    tasks: Registry[Task]
    connectors: Registry[ConnectorFactory]
    models: tuple[ModelSpec, ...]
    cases: tuple[Case, ...]

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
        slugs = _unique_slugs([model.id for model in self.models])
        return tuple(
            PlannedTest(_test_id(case, slugs[model.id] if model else None, iteration), case, model, iteration)
            for case in (cases if "case" in parameters else (None,))
            for model in (self.models if "model" in parameters else (None,))
            for iteration in (range(1, self.settings.iterations + 1) if "iteration" in parameters else (None,))
        )

    def find(self, test_id: str) -> PlannedTest | None:
        """The test of any task with this id, None if there is none."""
        return next((test for test in self.plan((), ("case", "model", "iteration")) if test.id == test_id), None)

    def header_lines(self) -> list[str]:
        """What this session runs, for the head of the terminal output."""
        labels = len({case.label for case in self.cases})
        times = "once" if self.settings.iterations == 1 else f"{self.settings.iterations} times"
        return [
            f"models {', '.join(model.id for model in self.models)}",
            f"{len(self.cases)} cases of {labels} tasks, each asked {times}; seed {self.settings.seed}",
        ]


def build_suite(
    settings: Settings,
    root: Path,
    tasks: Iterable[Task] = (),
    connectors: Iterable[ConnectorFactory] = (),
) -> Suite:
    """The suite for ``settings``; complains about everything that can be known to fail before a model is called.

    Args:
        settings: what was asked for.
        root: folder of the user's own model tables.
        tasks: further tasks, from hooks.
        connectors: further connectors, from hooks.

    Raises:
        UserError: an unknown task, model or setting, a broken case file, a model that can never answer.
    """
    task_registry, connector_registry = discover_tasks(), discover()
    for task in tasks:
        task_registry.add(task.info.name, task)
    for factory in connectors:
        connector_registry.add(factory.scheme, factory)
    table = load_model_table(model_table_paths(root))
    models = resolve_models(settings.models, table, connector_registry.names())
    for model in models:
        connector_registry.get(model.connector).check(model)
    data = fixtures_root()
    paths = (data / "cases", *settings.case_files)
    cases = load_case_files(paths, data / "graphs", task_registry, settings.seed)
    return Suite(settings, task_registry, connector_registry, models, _chosen(cases, settings.tasks))


def _chosen(cases: tuple[Case, ...], globs: tuple[str, ...]) -> tuple[Case, ...]:
    if not globs:
        return cases
    for glob in globs:
        if not any(_matches(case, glob) for case in cases):
            names = dict.fromkeys(name for case in cases for name in (case.label, case.task))
            raise unknown_name("task", glob, names)
    return tuple(case for case in cases if any(_matches(case, glob) for glob in globs))


def _matches(case: Case, glob: str) -> bool:
    return fnmatch.fnmatchcase(case.label, glob) or fnmatch.fnmatchcase(case.task, glob)


def _test_id(case: Case | None, model: str | None, iteration: int | None) -> str:
    parts = [
        f"{_slug(case.label)}-{case.id}" if case else "",
        model or "",
        f"r{iteration:02d}" if iteration else "",
    ]
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
