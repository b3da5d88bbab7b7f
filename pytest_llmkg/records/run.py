"""Records of a run: its tasks, models and header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_llmkg.plain import Json

__all__ = ["ModelSpec", "RunHeader", "TaskInfo"]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a report must know of a task, so that a stored run can be shown without the task's code.

    Attributes:
        name: task class, e.g. ``RdfSyntaxFixList``.
        version: version of prompt and rules of this project's task.
        family: ``RDF``, ``SPARQL`` or ``KG construction``.
        summary: one sentence on what the task measures.
        headline: the score that stands for a dialogue, e.g. ``max_combined``; by published name.
        max_turns: the most answers that one dialogue asks for.
        aggregated: the turn scores that ``mean``, ``max`` and ``meanExt`` are formed of; empty for one-turn tasks.
        bloom, knowledge, complexity, aspects: cognitive processes, knowledge dimensions, relational complexity and
            SPARQL aspects, as the article on LLM-KG-Bench 3 characterises the task (sections 3.4 to 3.6).
    """

    name: str
    version: str
    family: str
    summary: str
    headline: str
    max_turns: int = 1
    aggregated: tuple[str, ...] = ()
    bloom: tuple[str, ...] = ()
    knowledge: tuple[str, ...] = ()
    complexity: str | None = None
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """How to reach a model, with which settings; never holds a key.

    Attributes:
        id, model: name in ``--models``; what the connector gets after its scheme, e.g. a litellm id or a file.
        connector: scheme of the connector, e.g. ``litellm``.
        api_base: address of the endpoint, None for the provider's own.
        temperature, max_tokens, top_p, seed: sampling, None for the endpoint's default.
        extra: further parameters, passed on as they are.
        max_concurrency, rpm: dialogues at once and requests a minute that the endpoint takes.
        price_in, price_out: US dollars per million tokens, None when unknown.
        context, family, parameters: tokens, e.g. ``Qwen``, and e.g. ``7B``, as published.
    """

    id: str
    model: str
    connector: str
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    max_concurrency: int | None = None
    rpm: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    context: int | None = None
    family: str | None = None
    parameters: str | None = None


@dataclass(frozen=True, slots=True)
class RunHeader:
    """First line of a run file: what was run, with what, when.

    Attributes:
        schema: number of the run file's layout.
        run, started: name of the run and its start (UTC, ISO 8601).
        versions: program, Python and engine versions by name.
        models: the models under test, in the order of ``--models``.
        tasks: the tasks that the run could hold.
        seed, iterations: seed of generated cases, and how often each case was asked.
        settings: further options that change what is measured, e.g. the turn limit.
    """

    schema: int
    run: str
    started: str
    versions: Mapping[str, str]
    models: tuple[ModelSpec, ...]
    tasks: tuple[TaskInfo, ...]
    seed: int
    iterations: int
    settings: Mapping[str, Json] = field(default_factory=dict)
