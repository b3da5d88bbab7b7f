"""A run in which a hostile model, case or endpoint wrote ``text`` wherever anyone but this program may write."""

from __future__ import annotations

from dataclasses import replace

from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    Message,
    ModelSpec,
    Prompt,
    ScoreSet,
    Transcript,
    Turn,
    Usage,
)
from pytest_llmkg.store import Run
from tests.builders import DIALOGUE, FLAT, make_header
from tests.hostile.texts import INJECTIONS

TEXTS = tuple(INJECTIONS.values())


def run_with(text: str) -> Run:
    """Two models, two tasks, an unparsable answer and an error, all with ``text``."""
    tasks = (replace(FLAT, summary=text), replace(DIALOGUE, summary=text, family=text))
    header = make_header("symbolic", tasks=tasks)
    header = replace(
        header,
        run=text,
        models=(*header.models, ModelSpec(f"m{text}", text, "scripted")),
        versions={text: text},
        settings={text: text},
    )
    transcripts = tuple(
        Transcript(
            f"c{text}",
            f"{info.name}{text}",
            info.name,
            model,
            1,
            (_turn(text, "syntax"), _turn(text, None)),
            "2026-01-01T00:00:00Z",
            1.0,
            error,
        )
        for info in tasks
        for model, error in (("symbolic", None), (f"m{text}", text if info.max_turns > 1 else None))
    )
    cases = {f"{t.label}/{t.case}": Case(t.case, t.task, t.label, {f"q{text}": [text], "s": text}) for t in transcripts}
    return Run(header, cases, transcripts)


def _turn(text: str, feedback: str | None) -> Turn:
    scores = {"f1": 0.5, "combined": 0.5, f"x{text}": 1}
    return Turn(
        Prompt((Message("system", text), Message("user", text))),
        Answer(text, f"s{text}", Usage(1, 2, 0.1), 0.5, f"served{text}"),
        Evaluation("unparsable", (ScoreSet(f"rules{text}", scores),), {f"parse{text}": text}),
        None if feedback is None else f"{feedback}{text}",
    )
