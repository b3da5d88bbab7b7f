"""The words of this package as frozen records.

Everything that is stored, sent between processes or shown is made of these; `pytest_llmkg.plain` turns each into
plain JSON types and back. A record holds facts, never behaviour that depends on anything outside it.
"""

from pytest_llmkg.records.dialogue import (
    Answer,
    Case,
    Evaluation,
    FailedCall,
    Feedback,
    Message,
    Number,
    Outcome,
    Prompt,
    Question,
    ScoreSet,
    Transcript,
    Turn,
    Usage,
)
from pytest_llmkg.records.run import ModelSpec, RunHeader, TaskInfo

__all__ = [
    "Answer",
    "Case",
    "Evaluation",
    "FailedCall",
    "Feedback",
    "Message",
    "ModelSpec",
    "Number",
    "Outcome",
    "Prompt",
    "Question",
    "RunHeader",
    "ScoreSet",
    "TaskInfo",
    "Transcript",
    "Turn",
    "Usage",
]
