"""What every report shows: the ranking, the table of models and task labels, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import LabelRow, ModelRow, label_rows
from pytest_llmkg.analysis.shared import SharedMeans, shared_means
from pytest_llmkg.records import Case, ModelSpec, RunHeader, TaskInfo, Transcript
from pytest_llmkg.reporting.coverage import not_run, run_notes, shard_notes
from pytest_llmkg.reporting.effort import Replaced, replaced_of
from pytest_llmkg.reporting.figures import Figures, figures_of
from pytest_llmkg.reporting.formats import plural
from pytest_llmkg.reporting.paid import Paid, paid_of, replaced_notes
from pytest_llmkg.reporting.reading import Mistakes, Reading, shown_case, shown_part
from pytest_llmkg.reporting.references import NO_LANGUAGE_MODEL, REFERENCE, competition, without_language_model
from pytest_llmkg.reporting.sources import AnyRun, Key, RunLike, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Each = Callable[[Transcript, TaskInfo | None, Case | None], None]

__all__ = ["LabelView", "ModelView", "Report", "RunLike", "build_report"]


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model of the ranking.

    Attributes:
        row: its numbers.
        spec: how it was reached, None when no header names it.
        note: what a reader must know to judge its row, None if nothing.
        not_run: planned dialogues that no run holds.
        reference: whether it takes no part in the ranking, since it asks no language model and others do.
    """

    row: ModelRow
    spec: ModelSpec | None
    note: str | None
    not_run: int = 0
    reference: bool = False


@dataclass(frozen=True, slots=True)
class LabelView:
    """A task label: its task, and one row or None for each model, in the order of the ranking."""

    label: str
    task: str
    family: str
    headline: str
    rows: tuple[LabelRow | None, ...]


@dataclass(frozen=True)
class Report:
    """One or more runs, counted.

    Attributes:
        headers: of the runs, in the order given.
        notes: sentences on what is unusual about these runs.
        tasks: those with any dialogue, families together.
        models: the ranking, references last.
        labels: in the order of their tasks.
        cases: by ``label/id``.
        transcripts: by model (as ranked), label, case and iteration; without their long texts.
        not_run: by (model, label) the number of planned dialogues that no run holds, where there are any.
        hide_cases: whether texts of sealed cases must not be shown.
        readers: what reads a dialogue with its texts.
        asking: task labels that put questions to systems, whose time and cost by question are shown.
        mistakes: why answered queries are wrong.
        replaced: by model the attempts that do not count, since a later one does; None when no run tells of them.
        shared: means under the labels that models with differing labels share; none when all have the same.
    """

    headers: tuple[RunHeader, ...]
    notes: tuple[str, ...]
    tasks: tuple[TaskInfo, ...]
    models: tuple[ModelView, ...]
    labels: tuple[LabelView, ...]
    cases: Mapping[str, Case]
    transcripts: tuple[Transcript, ...]
    not_run: Mapping[tuple[str, str], int] = field(default_factory=dict)
    hide_cases: bool = False
    readers: Mapping[Key, Callable[[], Transcript]] = field(default_factory=dict, repr=False)
    asking: frozenset[str] = frozenset()
    mistakes: Mistakes = field(default_factory=Mistakes, repr=False)
    replaced: Mapping[str, Replaced] | None = None
    shared: tuple[SharedMeans, ...] = ()

    @cached_property
    def figures(self) -> Figures:
        """Intervals, ranks and all other statistics, computed when they are first asked for."""
        seed = self.headers[0].seed if self.headers else 0
        rows = [view.row for view in self.models]
        references = frozenset(view.row.model for view in self.models if view.reference)
        return figures_of(self.transcripts, self.tasks, rows, self.asking, references, seed)

    def paid(self, row: ModelRow) -> Paid:
        """What the calls of the model of ``row`` cost, those of replaced attempts included where runs tell of them."""
        return paid_of(row, self.figures.efforts.get(row.model), (self.replaced or {}).get(row.model))

    def full(self, transcript: Transcript) -> Transcript:
        """The dialogue that ``transcript`` is of, with its texts, unless they are to be hidden."""
        key = Key(transcript.label, transcript.case, transcript.model, transcript.iteration)
        return shown_part(self.readers[key](), self.cases, hide=self.hide_cases)

    def shown_case(self, transcript: Transcript) -> Case | None:
        """The case of ``transcript``; None when it is unknown or must not be shown."""
        return shown_case(transcript, self.cases, hide=self.hide_cases)


def build_report(
    runs: Sequence[AnyRun], each: Callable[[Transcript, TaskInfo | None, Case | None], None] | None = None
) -> Report:
    """The report of ``runs``; a dialogue that several runs hold is taken from the last of them.

    Args:
        runs: in memory, or indexes of run files, which are read one dialogue at a time.
        each: is called once with every dialogue, its task and its case, with the texts that may be shown, by model,
            label, case and iteration, so that nobody needs to read them a second time.

    Raises:
        RunFileError: a run file changed or cannot be read.
    """
    sources = [source_of(run) for run in runs]
    headers = tuple(source.header for source in sources)
    cases = {key: case for source in sources for key, case in source.cases.items()}
    hide = any(header.settings.get("hide_cases") for header in headers)
    readers = {key: read for source in sources for key, read in source.read.items()}
    infos = _tasks(headers)
    reading = Reading(cases, hide, {info.name: info for info in infos})
    reading.read(readers, sorted(readers, key=lambda key: (key.model, key.label, key.case, key.iteration)), each)
    transcripts = reading.transcripts
    specs = {spec.id: spec for header in headers for spec in header.models}
    rows = label_rows(transcripts, infos)
    without = without_language_model(headers)
    ranking, references = competition(rows, transcripts, specs, without)
    labels = _labels(rows, ranking, infos)
    missing, replaced = not_run(headers, readers), replaced_of(sources)
    return Report(
        headers=headers,
        notes=(
            *_notes(sources, sum(len(source.read) for source in sources) - len(readers)),
            *replaced_notes(replaced),
            *shard_notes(source.header for source in sources),
            *run_notes(missing),
        ),
        tasks=tuple(info for info in infos if any(row.task == info.name for row in rows)),
        models=_model_views(ranking, specs, rows, missing, (without, references)),
        labels=labels,
        cases=cases,
        transcripts=_ordered(transcripts, ranking, labels),
        not_run=missing,
        hide_cases=hide,
        readers=readers,
        asking=frozenset(reading.asking),
        mistakes=reading.mistakes(),
        replaced=replaced,
        shared=shared_means(rows, [row.model for row in ranking if row.rank is not None]),
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


def _model_views(
    ranking: Sequence[ModelRow],
    specs: Mapping[str, ModelSpec],
    rows: Sequence[LabelRow],
    missing: Mapping[tuple[str, str], int],
    sides: tuple[frozenset[str], frozenset[str]],
) -> tuple[ModelView, ...]:
    """The models of ``ranking``; ``sides``: those without a language model, and those that are references."""
    without, references = sides
    needed = len({row.label for row in rows if row.mean is not None and row.model not in references})
    lacking: dict[str, int] = {}
    for (model, _), count in missing.items():
        lacking[model] = lacking.get(model, 0) + count
    views = []
    for row in ranking:
        is_reference, notes = row.model in references, []
        if row.model in without:
            notes.append(REFERENCE if is_reference else NO_LANGUAGE_MODEL)
        if row.incomplete and not is_reference:
            notes.append(f"not ranked: {row.labels} of {needed} task labels")
        elif row.incomplete or (is_reference and row.labels != needed):
            notes.append(f"its mean is over {plural(row.labels, 'task label')}, those of the ranked over {needed}")
        note = "; ".join(notes) or None
        views.append(ModelView(row, specs.get(row.model), note, lacking.get(row.model, 0), is_reference))
    return tuple(views)


def _notes(sources: Sequence[Source], replaced: int) -> tuple[str, ...]:
    notes = [
        f"The file of run {source.header.run} ends in the middle of a line; that dialogue is not shown."
        for source in sources
        if source.truncated
    ]
    if replaced:
        notes.append(f"{replaced} dialogues are in several of the runs; the last run's are shown and paid for here.")
    if len({source.header.seed for source in sources}) > 1:
        notes.append("The runs have different seeds, so their generated cases differ.")
    versions: dict[str, set[str]] = {}
    for source in sources:
        for info in source.header.tasks:
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
