"""Short ways to make records by hand, for tests that need a few with known numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.records import (
    Answer,
    Evaluation,
    ModelSpec,
    Prompt,
    RunHeader,
    ScoreSet,
    TaskInfo,
    Transcript,
    Turn,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.records import Number, Outcome

FLAT = TaskInfo("Flat", "1", "RDF", "One answer.", "f1")
DIALOGUE = TaskInfo("Talk", "1", "SPARQL", "Up to three answers.", "max_combined", 3, ("answerParse", "combined"))


def make_turn(
    scores: Mapping[str, Number],
    outcome: Outcome = "scored",
    *,
    text: str = "answer",
    usage: Usage | None = None,
    feedback: str | None = None,
) -> Turn:
    """A turn with these scores."""
    evaluation = Evaluation(outcome, (ScoreSet("rules:v1", dict(scores)),))
    return Turn(Prompt.user("question"), Answer(text, "stop", usage or Usage()), evaluation, feedback)


def make_transcript(
    *turns: Turn,
    info: TaskInfo = FLAT,
    model: str = "m",
    label: str | None = None,
    case: str = "c1",
    iteration: int = 1,
    seconds: float = 1.0,
    error: str | None = None,
) -> Transcript:
    """A dialogue of these turns."""
    return Transcript(
        case, label or info.name, info.name, model, iteration, turns, "2026-01-01T00:00:00Z", seconds, error
    )


def make_header(*models: str, tasks: tuple[TaskInfo, ...] = (FLAT, DIALOGUE)) -> RunHeader:
    """A header with these models."""
    specs = tuple(ModelSpec(name, name, "symbolic" if name == "symbolic" else "scripted") for name in models)
    versions = {"pytest-llmkg": "0.1.0", "python": "3.11"}
    return RunHeader(1, "test", "2026-01-01T00:00:00Z", versions, specs, tasks, 42, 1)
