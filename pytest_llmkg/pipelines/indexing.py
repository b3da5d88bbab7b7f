"""What is looked up for questions on a graph: its profile, the shapes of its classes, examples; made once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pytest_llmkg.contracts import Example, KgEngine
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.kg import ClassUse, GraphProfile
from pytest_llmkg.pipelines.examples import load_examples, normal_question
from pytest_llmkg.pipelines.retrieval import Searcher, make_searcher
from pytest_llmkg.pipelines.shapes import class_text, kept_classes
from pytest_llmkg.pipelines.void import profile_from_own_void, profile_from_void

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.contracts import GraphText
    from pytest_llmkg.kg import QueryPatterns
    from pytest_llmkg.pipelines.settings import PipelineSettings

__all__ = [
    "ExampleIndex",
    "SchemaIndex",
    "StudyEngine",
    "index_examples",
    "index_schema",
    "pool_files",
    "simple_examples",
]


@runtime_checkable
class StudyEngine(KgEngine, Protocol):
    """A graph engine that also tells what a graph is made of and what a query asks, as `pytest_llmkg.kg.Sandbox`."""

    def profile(self, graph: GraphText, *, ranges: bool = True) -> GraphProfile:
        """The classes and properties of ``graph``, counted."""
        ...

    def read_patterns(self, query: str, prefixes: Mapping[str, str]) -> QueryPatterns:
        """The triple patterns of ``query``."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaIndex:
    """The profile of a graph, the classes that a prompt may show, and what finds them."""

    profile: GraphProfile
    classes: tuple[ClassUse, ...]
    searcher: Searcher

    def find(self, texts: Sequence[str], most: int) -> tuple[ClassUse, ...]:
        """The classes that fit any of ``texts``, at most so many for each, the best first.

        Where fewer than ``most`` fit at all, since the question is in another language, the most frequent fill up.
        """
        found = _best_of(self.searcher, texts, most)
        return tuple(self.classes[number] for number in _filled(found, len(self.classes), most))


@dataclass(frozen=True, slots=True)
class ExampleIndex:
    """Examples and what finds them."""

    examples: tuple[Example, ...]
    searcher: Searcher

    def find(self, texts: Sequence[str], most: int) -> tuple[Example, ...]:
        """The examples that fit any of ``texts``, never one that asks the very question ``texts[0]``.

        Of examples with the same query (a question in several languages) only the best stands there. Where fewer than
        ``most`` fit at all, others fill up, for they show at least how queries look.
        """
        asked = normal_question(texts[0])
        found: dict[str, Example] = {}
        spare = 4 * most + 4  # twins and the question itself are left out afterwards
        for number in _filled(_best_of(self.searcher, texts, spare), len(self.examples), spare):
            example = self.examples[number]
            if normal_question(example.question) != asked:
                found.setdefault(example.query, example)
        return tuple(found.values())[: most * len(texts)]


def _best_of(searcher: Searcher, texts: Sequence[str], most: int) -> list[int]:
    scores: dict[int, float] = {}
    for text in texts:
        for number, score in searcher.find(text, most):
            scores[number] = max(score, scores.get(number, score))
    return sorted(scores, key=lambda number: (-scores[number], number))


def _filled(found: list[int], count: int, most: int) -> list[int]:
    """``found`` with the first of the others up to ``most``."""
    return [*found, *(number for number in range(count) if number not in found)][: max(most, len(found))]


def index_schema(engine: StudyEngine, graph: GraphText, settings: PipelineSettings) -> SchemaIndex:
    """The schema of ``graph``: from the VoID description that ``settings`` name, else counted.

    Raises:
        ConnectorError: it cannot be had.
        UserError: the VoID file is none, or the embedding cannot be loaded.
    """
    if settings.void == "graph":
        profile = profile_from_own_void(engine, graph)
    elif settings.void:
        profile = profile_from_void(_text_of(Path(settings.void)))
    elif settings.schema or settings.validation:
        profile = engine.profile(graph, ranges=settings.ranges or settings.validation)
    else:
        profile = GraphProfile(is_complete=False)
    if profile.error is not None:
        raise ConnectorError(f"the schema of the graph cannot be told: {profile.error}")
    classes = kept_classes(profile, settings) if settings.schema else ()
    searcher = make_searcher([class_text(use, profile.labels) for use in classes], settings.embedding)
    return SchemaIndex(profile, classes, searcher)


def index_examples(examples: tuple[Example, ...], settings: PipelineSettings) -> ExampleIndex:
    """The index of ``examples``, by the words of their questions.

    Raises:
        UserError: the embedding cannot be loaded.
    """
    return ExampleIndex(examples, make_searcher([example.question for example in examples], settings.embedding))


def simple_examples(examples: tuple[Example, ...], engine: StudyEngine, most: int) -> tuple[Example, ...]:
    """Those of ``examples`` whose queries have at most ``most`` triple patterns; all when it is 0."""
    if not most:
        return examples
    sizes = {query: engine.read_patterns(query, {}) for query in dict.fromkeys(e.query for e in examples)}
    return tuple(e for e in examples if sizes[e.query].error is None and 0 < len(sizes[e.query].patterns) <= most)


def pool_files(settings: PipelineSettings) -> tuple[Example, ...] | None:
    """The examples of the files that ``settings`` name; None when they name none.

    Raises:
        UserError: a file cannot be read.
    """
    paths = [Path(name.strip()) for name in settings.example_pool.split(",") if name.strip()]
    return load_examples(paths) if paths else None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the VoID description cannot be read: {error}") from error
