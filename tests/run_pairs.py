"""Runs with known scores, for tests of comparisons and of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_llmkg.analysis.comparability import Side
from pytest_llmkg.records import Case, ModelSpec
from pytest_llmkg.store import FILE_NAME, RunWriter
from pytest_llmkg.suite_signature import suite_signature
from tests.builders import FLAT, make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.records import RunHeader, Transcript

Scores = Mapping[tuple[str, str, str], Sequence[float | None]]


def one_model(scores: Sequence[float | Sequence[float | None] | None], model: str = "m", label: str = "Flat") -> Scores:
    """The scores of cases c0, c1, ... of one model under one label; None stands for an error."""
    return {
        (model, label, f"c{number}"): (found,) if found is None or isinstance(found, float) else tuple(found)
        for number, found in enumerate(scores)
    }


def transcripts_of(scores: Scores, **changed: Any) -> tuple[Transcript, ...]:
    """A dialogue for each of ``scores`` by model, label and case."""
    return tuple(
        replace(
            make_transcript(
                *([] if value is None else [make_turn({"f1": value}, text="secret answer")]),
                model=model,
                label=label,
                case=case,
                iteration=number,
                error="HTTP 500: secret text" if value is None else None,
            ),
            **changed,
        )
        for (model, label, case), found in scores.items()
        for number, value in enumerate(found, 1)
    )


def header_of(
    scores: Scores, *, run: str = "run", models: Sequence[ModelSpec] | None = None, **suite: Any
) -> RunHeader:
    """The header of a run with ``scores``, with the signature of its suite."""
    names = dict.fromkeys(model for model, _, _ in scores)
    specs = tuple(ModelSpec(name, name, "scripted") for name in names) if models is None else tuple(models)
    iterations = max([1, *map(len, scores.values())])
    cases = [Case(case, "Flat", label, {"q": case}) for label, case in dict.fromkeys(key[1:] for key in scores)]
    measured: dict[str, Any] = {
        "models": specs,
        "infos": (FLAT,),
        "cases": cases,
        "seed": 42,
        "iterations": iterations,
        "max_turns": None,
    }
    settings = {"suite": suite_signature(**{**measured, **suite})}
    return replace(make_header(tasks=(FLAT,)), run=run, models=specs, iterations=iterations, settings=settings)


def side(scores: Scores, name: str = "this run", **header: Any) -> Side:
    """A run in memory."""
    return Side(name, header_of(scores, run=name.replace(" ", "-"), **header), transcripts_of(scores))


def stored(directory: Path, scores: Scores, **header: Any) -> Path:
    """A run on the disk, in ``directory``."""
    cases = [Case(case, "Flat", label, {"q": case}) for label, case in dict.fromkeys(key[1:] for key in scores)]
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(header_of(scores, run=directory.name, **header))
        for case in cases:
            writer.case(case)
        for transcript in transcripts_of(scores):
            writer.transcript(transcript)
    return directory
