"""Whether examples gave answers away: scores with and without the questions for which they did.

A system that is shown examples notes them with its answer (``examples``), and the session notes which of them have the
reference's own query or result (``leak``). Nothing here looks at queries again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.analysis.dialogue import headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["LeakRow", "leak_of", "leak_rows"]

Leak = Literal["query", "result", "none"]


@dataclass(frozen=True, slots=True)
class LeakRow:
    """A model under a label, over its scored dialogues.

    Attributes:
        model, label: which ones.
        dialogues: those with a headline score whose answers tell of examples.
        same_query: of them, those where an example has the reference's query but for writing.
        same_result: of the others, those where an example has the reference's result.
        mean: headline mean of all.
        mean_without: of those without either; None when there are none.
        mean_with: of those with one; None when there are none.
        recall_schema: mean share of the reference's classes and properties that the shown schema has, None when no
            answer tells; it says what retrieval is worth, whatever the model.
        recall: the same for all that the prompt shows, examples too.
    """

    model: str
    label: str
    dialogues: int
    same_query: int
    same_result: int
    mean: float
    mean_without: float | None
    mean_with: float | None
    recall_schema: float | None = None
    recall: float | None = None


def leak_of(transcript: Transcript) -> Leak | None:
    """What the examples of any turn gave away; None when no turn tells of examples."""
    noted = [turn.answer.notes["leak"] for turn in transcript.turns if "leak" in turn.answer.notes]
    tables = [note for note in noted if isinstance(note, Mapping)]
    if not tables:
        return None
    if any(table.get("same_query") for table in tables):
        return "query"
    return "result" if any(table.get("same_result") for table in tables) else "none"


def leak_rows(transcripts: Iterable[Transcript], infos: Iterable[TaskInfo]) -> tuple[LeakRow, ...]:
    """A row for each model and label with noted examples, sorted."""
    by_name = {info.name: info for info in infos}
    found: dict[tuple[str, str], list[tuple[Leak, float]]] = {}
    recalls: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for transcript in transcripts:
        key = (transcript.model, transcript.label)
        for turn in transcript.turns[:1]:
            recall = turn.answer.notes.get("recall")
            if isinstance(recall, Mapping) and recall:
                recalls.setdefault(key, []).append(recall)
        leak, info = leak_of(transcript), by_name.get(transcript.task)
        score = headline(transcript, info) if info is not None and transcript.outcome != "error" else None
        if leak is not None and score is not None:
            found.setdefault(key, []).append((leak, float(score)))
    return tuple(_row(key, scores, recalls.get(key, ())) for key, scores in sorted(found.items()))


def _row(key: tuple[str, str], scores: Sequence[tuple[Leak, float]], recalls: Sequence[Mapping[str, Json]]) -> LeakRow:
    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    def recalled(name: str) -> float | None:
        return mean([float(value) for one in recalls if isinstance(value := one.get(name), int | float)])

    return LeakRow(
        *key,
        len(scores),
        sum(leak == "query" for leak, _ in scores),
        sum(leak == "result" for leak, _ in scores),
        sum(score for _, score in scores) / len(scores),
        mean([score for leak, score in scores if leak == "none"]),
        mean([score for leak, score in scores if leak != "none"]),
        recalled("schema"),
        recalled("prompt"),
    )
