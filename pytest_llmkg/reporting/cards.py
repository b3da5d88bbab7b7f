"""Sections of a page on one model and on one task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import LabelRow
from pytest_llmkg.analysis.intervals import Interval
from pytest_llmkg.analysis.ranks import Rank
from pytest_llmkg.records import TaskInfo
from pytest_llmkg.reporting.endings import Endings
from pytest_llmkg.reporting.overview import Facts, effort_facts, model_facts
from pytest_llmkg.reporting.views import LabelView, ModelView

if TYPE_CHECKING:
    from pytest_llmkg.reporting.views import Report

__all__ = ["Line", "ModelCard", "TaskCard", "model_cards", "task_cards"]

_EXTREMES = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A model under a label: its row (None when it was not asked), the interval of its mean, dialogues not run."""

    model: str
    label: str
    row: LabelRow | None
    interval: Interval | None
    endings: Endings | None
    not_run: int


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model: its place, how it was reached, what its calls took, and its labels, best first in ``best``."""

    view: ModelView
    rank: Rank | None
    interval: Interval | None
    settings: Facts
    effort: Facts
    lines: tuple[Line, ...]
    best: tuple[Line, ...]
    worst: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class TaskCard:
    """A task: what it measures, and for each of its labels the models and how the dialogues of all ended."""

    info: TaskInfo | None
    name: str
    labels: tuple[tuple[LabelView, tuple[Line, ...], Endings | None], ...]


def model_cards(report: Report) -> tuple[ModelCard, ...]:
    """One card for each model, in the order of the ranking."""
    figures = report.figures
    cards = []
    for view in report.models:
        model = view.row.model
        lines = tuple(_line(report, model, place) for place in range(len(report.labels)))
        scored = sorted(
            (line for line in lines if line.row is not None and line.row.mean is not None),
            key=lambda line: (-(line.row.mean or 0.0) if line.row else 0.0, line.label),
        )
        few = min(_EXTREMES, len(scored) // 2)
        cards.append(
            ModelCard(
                view,
                figures.ranks.get(model),
                figures.intervals.models.get(model),
                model_facts(view.spec),
                effort_facts(figures.efforts.get(model)),
                lines,
                tuple(scored[:few]),
                tuple(reversed(scored[len(scored) - few :])),
            )
        )
    return tuple(cards)


def task_cards(report: Report) -> tuple[TaskCard, ...]:
    """One card for each task that has dialogues, in the order of the labels."""
    infos = {info.name: info for info in report.tasks}
    endings = {(one.task, one.label): one for one in report.figures.endings if one.model is None}
    names = dict.fromkeys(view.task for view in report.labels)
    return tuple(
        TaskCard(
            infos.get(name),
            name,
            tuple(
                (
                    view,
                    tuple(_line(report, model.row.model, place) for model in report.models),
                    endings.get((view.task, view.label)),
                )
                for place, view in enumerate(report.labels)
                if view.task == name
            ),
        )
        for name in names
    )


def _line(report: Report, model: str, place: int) -> Line:
    view = report.labels[place]
    row = next((row for row in view.rows if row is not None and row.model == model), None)
    return Line(
        model,
        view.label,
        row,
        report.figures.intervals.labels.get((model, view.label)),
        None,
        report.not_run.get((model, view.label), 0),
    )
