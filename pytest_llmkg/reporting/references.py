"""References: baselines and dummies without a language model, shown beside the models that compete.

Where a report holds a language model or a foreign system, references have a row, but no rank; nobody is tested against
them, and they are on no front. Where nothing else was measured, they are ranked among themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import model_rows
from pytest_llmkg.reporting.formats import plural, score

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pytest_llmkg.analysis.aggregates import LabelRow, ModelRow
    from pytest_llmkg.analysis.shared import SharedMeans
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import RunHeader, Transcript

__all__ = ["NO_LANGUAGE_MODEL", "REFERENCE", "competition", "shared_sentences", "without_language_model"]

NO_LANGUAGE_MODEL = "no language model"
REFERENCE = f"reference: {NO_LANGUAGE_MODEL}"

_SCHEMES = frozenset({"symbolic", "copy-nearest", "empty"})
"""Connectors that ask no language model."""

_MOST_SENTENCES = 4
_MOST_NAMES = 8


def without_language_model(headers: Iterable[RunHeader]) -> frozenset[str]:
    """The models that ask no language model: a baseline or dummy, or a wrapper (``rag:symbolic``) around one.

    Told by the connectors that the headers name; whom no header names may be anything, so it is none of them.
    """
    schemes: dict[str, str] = {}
    inside: dict[str, Json] = {}
    named: dict[str, str] = {}
    for header in headers:
        schemes |= {spec.id: spec.connector for spec in header.models}
        named |= {spec.id: spec.model for spec in header.models}
        wrapped = header.settings.get("wrapped")
        inside |= wrapped if isinstance(wrapped, dict) else {}
    return frozenset(
        model for model, scheme in schemes.items() if _innermost(model, scheme, inside, named[model]) in _SCHEMES
    )


def _innermost(model: str, scheme: str, inside: Mapping[str, Json], named: str) -> str:
    """The connector at the heart of ``model``; a header without settings of what is wrapped has only its name."""
    seen: set[str] = set()
    spec = inside.get(model)
    if spec is None and scheme == "rag":
        return named.rpartition("rag:")[2].partition(":")[0]
    while isinstance(spec, dict) and model not in seen:
        seen.add(model)
        scheme, model = str(spec.get("connector", "")), str(spec.get("id", ""))
        spec = inside.get(model)
    return scheme


def competition(
    rows: Sequence[LabelRow], transcripts: Sequence[Transcript], models: Iterable[str], without: Collection[str]
) -> tuple[tuple[ModelRow, ...], frozenset[str]]:
    """The rows of the ranking, references last, and which models are references.

    A reference has no rank; it is incomplete when it lacks labels that the models have.

    Args:
        rows: by model and label.
        transcripts: all dialogues.
        models: those of the headers, which may have no dialogue at all.
        without: models that ask no language model; they are references when another model has a score.
    """
    names = {*models, *(transcript.model for transcript in transcripts)}
    needed = {row.label for row in rows if row.model not in without and row.mean is not None}
    references = frozenset(names & set(without)) if needed else frozenset()
    sides = []
    for side in (names - references, references):
        own = [transcript for transcript in transcripts if transcript.model in side]
        sides.append(model_rows([row for row in rows if row.model in side], own, side))
    covered = {name: {row.label for row in rows if row.model == name and row.mean is not None} for name in references}
    beside = [replace(row, rank=None, incomplete=bool(needed - covered[row.model])) for row in sides[1]]
    beside.sort(key=lambda row: (row.incomplete, row.mean is None, -round(row.mean or 0.0, 12), row.model))
    return (*sides[0], *beside), references


def shared_sentences(found: Sequence[SharedMeans], ranked: Collection[str]) -> tuple[str, ...]:
    """One sentence for each group of models on how they compare under the labels that all of them have."""
    sentences = []
    for one in [one for one in found if len(one.means) > 1][:_MOST_SENTENCES]:
        names = _told([model for model, _ in one.means], ranked)
        means = ", ".join(f"{model} {score(mean)}" for model, mean in one.means if model in names)
        more = f" and {len(one.means) - len(names)} more" if len(names) < len(one.means) else ""
        all_have = "both have" if len(one.means) == 2 else "all of them have"
        sentences.append(f"On the {plural(len(one.labels), 'task label')} that {all_have}: {means}{more}.")
    return tuple(sentences)


def _told(models: Sequence[str], ranked: Collection[str]) -> set[str]:
    """Those of ``models`` (best first) that a sentence has room for: some without a rank, then the best ranked."""
    unranked = [model for model in models if model not in ranked][: _MOST_NAMES - 2]
    best = [model for model in models if model in ranked]
    return {*unranked, *best[: _MOST_NAMES - len(unranked)]}
