"""The knobs of the pipeline, set in a model table or by `llmkg ablate`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args, get_type_hints

from pytest_llmkg.errors import UserError
from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.plain import Json

__all__ = ["Form", "PipelineSettings", "settings_from"]

Form = Literal["shex", "list", "turtle", "classes"]


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What the pipeline does. Each is an entry of a model's ``extra``; ``k`` there sets both numbers to retrieve.

    Attributes:
        k_examples: examples in the prompt; 0 for none (ablations A1, A3).
        k_classes: classes whose shapes are in the prompt.
        example_pool: files of examples (question sets, SHACL examples) separated by commas; empty for the questions of
            the run itself by cross-validation, and the graph's own examples.
        max_patterns: only examples whose queries have at most so many triple patterns; 0 for all (A11).
        schema: whether the prompt shows any of the schema (A4).
        schema_fraction: share of classes, and of properties, that is kept: the most frequent ones (A2).
        schema_form: how it is shown: ``shex`` shapes; a ``list``; RDFS in ``turtle``; ``classes`` without properties.
        properties: whether classes are shown with their properties (A6).
        top_properties: the most properties of a class.
        ranges: whether properties are shown with what they lead to (A5).
        top_ranges: the most classes and datatypes for a property.
        frequency_order: whether properties stand by frequency; otherwise shuffled by ``seed`` (A7).
        void: file of a VoID description to take the schema from in place of counting; ``graph`` for the description
            that the graph (or endpoint) holds of itself; empty for counting.
        validation: whether queries are checked against the schema before they are run (A8 with ``tries`` 1).
        execution: whether queries are run, and errors and empty results sent back.
        tries: the most queries asked for (A8).
        embedding: what compares texts: ``bm25`` for words, ``use`` for the multilingual sentence encoder of the extra
            ``embed``, or ``module:callable`` (A9).
        decomposition: whether the model is asked first for sub-questions and classes to look up.
        interpretation: whether the model puts the result into words at the end (kept beside the answer).
        result_rows: rows that the interpretation is shown.
        named_alternatives: the most names that a message of the check proposes.
        seed: of everything drawn.
    """

    k_examples: int = 10
    k_classes: int = 10
    example_pool: str = ""
    max_patterns: int = 0
    schema: bool = True
    schema_fraction: float = 1.0
    schema_form: Form = "shex"
    properties: bool = True
    top_properties: int = 20
    ranges: bool = True
    top_ranges: int = 3
    frequency_order: bool = True
    void: str = ""
    validation: bool = True
    execution: bool = True
    tries: int = 3
    embedding: str = "bm25"
    decomposition: bool = False
    interpretation: bool = False
    result_rows: int = 20
    named_alternatives: int = 12
    seed: int = 42


def settings_from(extra: Mapping[str, Json], place: str) -> PipelineSettings:
    """The settings that a model's ``extra`` names.

    Args:
        extra: knobs by name.
        place: what to name in complaints, e.g. ``model 'my-rag'``.

    Raises:
        UserError: an unknown knob or a value that makes no sense; names both.
    """
    given = dict(extra)
    if "k" in given:
        both = given.pop("k")
        given = {"k_examples": both, "k_classes": both, **given}
    kinds = get_type_hints(PipelineSettings)
    for name, value in given.items():
        if name not in kinds:
            raise UserError(f"{place}: {unknown_name('setting', name, ['k', *kinds])} of the pipeline")
        wrong = _complaint(name, kinds[name], value)
        if wrong:
            raise UserError(f"{place}: setting {name!r} must be {wrong}, found {value!r:.60}")
    return dataclasses.replace(PipelineSettings(), **given)  # type: ignore[arg-type]  # checked above


def _complaint(name: str, kind: object, value: Json) -> str | None:
    if get_args(kind):
        return None if value in get_args(kind) else f"one of {', '.join(map(str, get_args(kind)))}"
    if kind is bool:
        return None if isinstance(value, bool) else "true or false"
    if kind is str:
        return None if isinstance(value, str) else "a text"
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return "a whole number" if kind is int else "a number"
    if name == "schema_fraction":
        return None if 0 <= value <= 1 else "between 0 and 1"
    least = 1 if name == "tries" else 0
    return None if least <= value <= 10_000 else f"between {least} and 10000"
