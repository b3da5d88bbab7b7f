"""What every report shows: the ranking, the table of models and task labels, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_llmkg.analysis.aggregates import LabelRow, ModelRow, label_rows, model_rows
from pytest_llmkg.records import Case, ModelSpec, RunHeader, TaskInfo, Transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


__all__ = ["LabelView", "ModelView", "Report", "RunLike", "build_report"]


class RunLike(Protocol):
    """What a report needs of a run; `pytest_llmkg.store.Run` is one."""

    @property
    def header(self) -> RunHeader:
        """What was run."""
        ...

    @property
    def cases(self) -> Mapping[str, Case]:
        """By ``label/id``."""
        ...

    @property
    def transcripts(self) -> Sequence[Transcript]:
        """All dialogues."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether the run file ended in the middle of a line."""
        ...


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model of the ranking; ``note`` is what a reader must know to judge its row, None if nothing."""

    row: ModelRow
    spec: ModelSpec | None
    note: str | None


@dataclass(frozen=True, slots=True)
class LabelView:
    """A task label: its task, and one row or None for each model, in the order of the ranking."""

    label: str
    task: str
    family: str
    headline: str
    rows: tuple[LabelRow | None, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One or more runs, counted.

    Attributes:
        headers: of the runs, in the order given.
        notes: sentences on what is unusual about these runs.
        tasks: those with any dialogue, families together.
        models: the ranking.
        labels: in the order of their tasks.
        cases: by ``label/id``.
        transcripts: by model (as ranked), label, case and iteration.
    """

    headers: tuple[RunHeader, ...]
    notes: tuple[str, ...]
    tasks: tuple[TaskInfo, ...]
    models: tuple[ModelView, ...]
    labels: tuple[LabelView, ...]
    cases: Mapping[str, Case]
    transcripts: tuple[Transcript, ...]


def build_report(runs: Sequence[RunLike]) -> Report:
    """The report of ``runs``; a dialogue that several runs hold is taken from the last of them."""
    headers = tuple(run.header for run in runs)
    transcripts: dict[tuple[str, str, str, int], Transcript] = {}
    for run in runs:
        transcripts.update({(t.model, t.label, t.case, t.iteration): t for t in run.transcripts})
    infos = _tasks(headers)
    specs = {spec.id: spec for header in headers for spec in header.models}
    rows = label_rows(transcripts.values(), infos)
    ranking = model_rows(rows, transcripts.values(), specs)
    used = {row.task for row in rows}
    labels = _labels(rows, ranking, infos)
    return Report(
        headers=headers,
        notes=_notes(runs, sum(len(run.transcripts) for run in runs) - len(transcripts)),
        tasks=tuple(info for info in infos if info.name in used),
        models=tuple(ModelView(row, specs.get(row.model), _note(row, specs, len(labels))) for row in ranking),
        labels=labels,
        cases={key: case for run in runs for key, case in run.cases.items()},
        transcripts=_ordered(transcripts.values(), ranking, labels),
    )


def _tasks(headers: Sequence[RunHeader]) -> list[TaskInfo]:
    infos = {info.name: info for header in headers for info in header.tasks}
    families = list(dict.fromkeys(info.family for info in infos.values()))
    return sorted(infos.values(), key=lambda info: families.index(info.family))


def _labels(rows: Sequence[LabelRow], ranking: Sequence[ModelRow], infos: Sequence[TaskInfo]) -> tuple[LabelView, ...]:
    family = {info.name: info.family for info in infos}
    cells = {(row.task, row.label, row.model): row for row in rows}
    first = {(row.task, row.label): row for row in reversed(rows)}
    return tuple(
        LabelView(
            label,
            task,
            family.get(task, "Other"),
            first[task, label].headline,
            tuple(cells.get((task, label, model.model)) for model in ranking),
        )
        for task, label in dict.fromkeys((row.task, row.label) for row in rows)
    )


def _note(row: ModelRow, specs: Mapping[str, ModelSpec], labels: int) -> str | None:
    notes = []
    spec = specs.get(row.model)
    if spec is not None and spec.connector == "symbolic":
        notes.append("no language model")
    if row.incomplete:
        notes.append(f"not ranked: {row.labels} of {labels} task labels")
    return "; ".join(notes) or None


def _notes(runs: Sequence[RunLike], replaced: int) -> tuple[str, ...]:
    notes = [
        f"The file of run {run.header.run} ends in the middle of a line; that dialogue is not shown."
        for run in runs
        if run.truncated
    ]
    if replaced:
        notes.append(f"{replaced} dialogues are in several of the runs; the last run's are shown.")
    if len({run.header.seed for run in runs}) > 1:
        notes.append("The runs have different seeds, so their generated cases differ.")
    versions: dict[str, set[str]] = {}
    for run in runs:
        for info in run.header.tasks:
            versions.setdefault(info.name, set()).add(info.version)
    for name, found in versions.items():
        if len(found) > 1:
            notes.append(f"Task {name} has the versions {', '.join(sorted(found))}; its means mix them.")
    return tuple(notes)


def _ordered(
    transcripts: Iterable[Transcript], ranking: Sequence[ModelRow], labels: Sequence[LabelView]
) -> tuple[Transcript, ...]:
    models = {row.model: number for number, row in enumerate(ranking)}
    places = {view.label: number for number, view in enumerate(labels)}
    return tuple(sorted(transcripts, key=lambda t: (models[t.model], places[t.label], t.case, t.iteration)))
