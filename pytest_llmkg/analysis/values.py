"""The headline scores of dialogues by model, label and case: what all comparisons are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.dialogue import finite, headline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pytest_llmkg.records import Number, TaskInfo, Transcript

__all__ = ["CaseValues", "headline_values", "side_by_side", "values_of"]


@dataclass(frozen=True, slots=True)
class CaseValues:
    """One number for each dialogue, by model, label and case.

    Attributes:
        by_case: (model, label, case) to the values in order of iteration, sorted by key. An empty tuple is a case
            that was asked but gave no value.
        tasks: label to task. Equal case ids under labels of one task are the same case asked in different formats.
        errors: (model, label) to the number of dialogues that broke off; only where there are any.
        missing: (model, label) to the number of evaluated dialogues without the score; only where there are any.
    """

    by_case: Mapping[tuple[str, str, str], tuple[float, ...]]
    tasks: Mapping[str, str]
    errors: Mapping[tuple[str, str], int]
    missing: Mapping[tuple[str, str], int]

    @property
    def models(self) -> tuple[str, ...]:
        """All models that were asked anything, sorted."""
        return tuple(sorted({model for model, _, _ in self.by_case}))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that were asked, sorted."""
        return tuple(sorted({label for _, label, _ in self.by_case}))

    def only(self, *, models: Collection[str] | None = None, labels: Collection[str] | None = None) -> CaseValues:
        """The values of these models and labels; None stands for all."""

        def kept(model: str, label: str) -> bool:
            return (models is None or model in models) and (labels is None or label in labels)

        by_case = {key: found for key, found in self.by_case.items() if kept(key[0], key[1])}
        labels_left = {label for _, label, _ in by_case}
        return CaseValues(
            by_case,
            {label: task for label, task in self.tasks.items() if label in labels_left},
            {key: number for key, number in self.errors.items() if kept(*key)},
            {key: number for key, number in self.missing.items() if kept(*key)},
        )

    def cases(self, model: str) -> frozenset[tuple[str, str]]:
        """(label, case) for each case of which ``model`` has a value."""
        return frozenset((label, case) for (of, label, case), found in self.by_case.items() if of == model and found)


def headline_values(transcripts: Iterable[Transcript], infos: Iterable[TaskInfo]) -> CaseValues:
    """The headline score of each dialogue, as the leaderboard takes it.

    Dialogues that broke off have no value and are counted in ``errors``; those of a task that ``infos`` lacks, or
    without the headline score, are counted in ``missing``. The order of ``transcripts`` changes nothing.
    """
    return values_of(transcripts, infos, headline)


def values_of(
    transcripts: Iterable[Transcript],
    infos: Iterable[TaskInfo],
    number: Callable[[Transcript, TaskInfo], Number | None],
) -> CaseValues:
    """Like `headline_values` for any ``number`` of a dialogue, which is None when the dialogue has none.

    Infinite numbers and those from 10^100 count as none.
    """
    by_name = {info.name: info for info in infos}
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    tasks: dict[str, str] = {}
    errors: Counter[tuple[str, str]] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    for transcript in transcripts:
        tasks[transcript.label] = transcript.task
        entries = found.setdefault((transcript.model, transcript.label, transcript.case), [])
        info = by_name.get(transcript.task)
        value = finite(number(transcript, info)) if info else None
        if transcript.outcome == "error":
            errors[transcript.model, transcript.label] += 1
        elif value is None:
            missing[transcript.model, transcript.label] += 1
        else:
            entries.append((transcript.iteration, value))
    by_case = {key: tuple(value for _, value in sorted(found[key])) for key in sorted(found)}
    return CaseValues(by_case, dict(sorted(tasks.items())), dict(sorted(errors.items())), dict(sorted(missing.items())))


def side_by_side(sides: Mapping[str, tuple[CaseValues, str]]) -> CaseValues:
    """Models of different runs in one table, under new names.

    Args:
        sides: new name to the run's values and the model in it, e.g. ``{"before": (old, "gpt"), "now": (new, "gpt")}``.
    """
    by_case: dict[tuple[str, str, str], tuple[float, ...]] = {}
    tasks: dict[str, str] = {}
    errors: dict[tuple[str, str], int] = {}
    missing: dict[tuple[str, str], int] = {}
    for name, (values, model) in sides.items():
        part = values.only(models={model})
        by_case |= {(name, label, case): found for (_, label, case), found in part.by_case.items()}
        tasks |= part.tasks
        errors |= {(name, label): number for (_, label), number in part.errors.items()}
        missing |= {(name, label): number for (_, label), number in part.missing.items()}
    return CaseValues(dict(sorted(by_case.items())), dict(sorted(tasks.items())), errors, missing)
