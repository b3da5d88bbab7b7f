"""Which task labels and scores make the capability scores, the combined score and the format preference table.

The shipped configuration is ``fixtures/analysis.toml``; one's own has the same shape. Source of the published
definitions: the article on LLM-KG-Bench 3, section 4.2, and what reproduces its printed tables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import RecordError, UserError
from pytest_llmkg.plain import from_plain

__all__ = [
    "Capability",
    "Definition",
    "Part",
    "PreferenceColumn",
    "Preferences",
    "PublishedConfig",
    "PublishedFigure",
    "parse_config",
    "shipped_config",
]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Part:
    """What one task type gives to a capability.

    Attributes:
        type: the task type, e.g. ``T2S``.
        score: score of a dialogue by its published name, e.g. ``max_combined``.
        tasks: names of `PublishedConfig.tasks`, each with the same weight.
    """

    type: str
    score: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability, e.g. ``Sem-W-1``: its parts, each with the same weight."""

    name: str
    summary: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A set of capabilities, and perhaps a score that combines them.

    Attributes:
        name: e.g. ``as-printed``.
        title, summary: for readers, the summary in sentences.
        capabilities: its capabilities.
        combined: whether they are combined into one score with a leader group.
        weights: ``nested``: equal per capability, inside it per task type, per task and per value; ``pooled``: every
            value the same.
        counted: how often each value enters the test for the leader group.
    """

    name: str
    title: str
    summary: str
    capabilities: tuple[Capability, ...]
    combined: bool = True
    weights: Literal["nested", "pooled"] = "nested"
    counted: int = 1


@dataclass(frozen=True, slots=True)
class PreferenceColumn:
    """A column of the format preference table: the labels of both formats, the score that is compared."""

    name: str
    score: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Preferences:
    """The format preference table.

    Attributes:
        first, second: short names of the two formats.
        pooled: name of the column of all columns together.
        alpha, strong: p-values below which a preference is marked, and marked as strong.
        columns: the columns.
    """

    first: str
    second: str
    pooled: str
    columns: tuple[PreferenceColumn, ...]
    alpha: float = 0.05
    strong: float = 0.01


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """What the article prints of a model: combined score and deviation, and whether it is in the leader group.

    Attributes:
        name: as printed.
        models: patterns of recorded model ids (``*`` for anything).
        score, deviation: as printed, with two decimals.
        leader: whether it has a star.
    """

    name: str
    models: tuple[str, ...]
    score: str
    deviation: str
    leader: bool = False


@dataclass(frozen=True, slots=True)
class PublishedConfig:
    """All definitions.

    Attributes:
        schema: number of the file's layout.
        tasks: by a short name the labels of a task, the published one first; those after it stand for it in runs
            that have other cases. Of several with values the first counts.
        definitions, preferences: what is computed.
        alpha: p-value above which a model belongs to the leader group.
        source: where the published definitions and figures come from.
        published: figures to set beside.
    """

    schema: int
    source: str
    tasks: Mapping[str, tuple[str, ...]]
    definitions: tuple[Definition, ...]
    preferences: Preferences | None = None
    alpha: float = 0.05
    published: tuple[PublishedFigure, ...] = field(default=())

    def labels(self) -> frozenset[str]:
        """Every label that a definition or the format preference table may use."""
        used = {task for d in self.definitions for c in d.capabilities for p in c.parts for task in p.tasks}
        found = {label for task in used for label in self.tasks[task]}
        columns = self.preferences.columns if self.preferences else ()
        return frozenset(found | {label for column in columns for label in (column.first, column.second)})


def shipped_config() -> PublishedConfig:
    """The configuration that comes with this package."""
    path = fixtures_root() / "analysis.toml"
    try:
        return parse_config(path.read_text(encoding="utf-8"), path.name)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; install the package again") from error


def parse_config(text: str, place: str) -> PublishedConfig:
    """The configuration in the TOML ``text``; ``place`` names it in messages.

    Raises:
        UserError: no TOML, an unknown or missing field, a task name that is not described, no label for a task, or
            a level outside of 0 to 1.
    """
    try:
        config = from_plain(PublishedConfig, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecordError) as error:
        raise UserError(f"{place}: {error}") from error
    if config.schema != SCHEMA:
        raise UserError(f"{place}: layout {config.schema} is not known; this version reads {SCHEMA}")
    for problem in _problems(config):
        raise UserError(f"{place}: {problem}")
    return config


def _problems(config: PublishedConfig) -> list[str]:
    found = [f"task {name!r} has no label" for name, labels in config.tasks.items() if not labels]
    names = [definition.name for definition in config.definitions]
    found += [f"definition {name!r} stands twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for definition in config.definitions:
        where = f"definition {definition.name!r}"
        if definition.counted < 1:
            found.append(f"{where}: 'counted' must be at least 1, found {definition.counted}")
        if not definition.capabilities:
            found.append(f"{where} has no capability")
        for capability in definition.capabilities:
            found += _capability_problems(capability, f"{where}, capability {capability.name!r}", config)
    levels = {"alpha": config.alpha}
    if config.preferences:
        levels |= {"preferences.alpha": config.preferences.alpha, "preferences.strong": config.preferences.strong}
    return found + [f"{name} must lie between 0 and 1, found {value}" for name, value in levels.items() if _off(value)]


def _off(level: float) -> bool:
    return not 0 < level < 1


def _capability_problems(capability: Capability, where: str, config: PublishedConfig) -> list[str]:
    found = [] if capability.parts else [f"{where} has no part"]
    for part in capability.parts:
        found += [] if part.tasks else [f"{where}: part {part.type!r} names no task"]
        found += [f"{where}: task {t!r} is not described under [tasks]" for t in part.tasks if t not in config.tasks]
    return found
