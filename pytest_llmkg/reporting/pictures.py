"""The plots of a page, as far as there is something to draw and something to draw with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.passing import pass_rows
from pytest_llmkg.reporting.capabilities import drawn_definitions
from pytest_llmkg.reporting.effort_table import by_score, ordered_stages
from pytest_llmkg.reporting.formats import brief
from pytest_llmkg.reporting.plots.sheet import Plot

if TYPE_CHECKING:
    from pytest_llmkg.reporting.plots.outcomes import OutcomeRow
    from pytest_llmkg.reporting.plots.scaling import SizeRow
    from pytest_llmkg.reporting.plots.stages import StageRow
    from pytest_llmkg.reporting.views import Report

__all__ = ["Pictures", "pictures_of"]

_OVERLAID = 6
_MOST_POINTS = 60_000
"""Single values that box plots draw in all; with more, pages become large and slow."""
_MOST_BOXES = 2_000
_MOST_CURVES = 8


@dataclass(frozen=True, slots=True)
class Pictures:
    """Plots by name; none when matplotlib is not installed.

    Attributes:
        css: style sheet that they need.
        plots: those of the page.
        boxes: by label; none when there are too many.
        compasses: by model.
        missing: why there are no plots, else None.
    """

    css: str = ""
    plots: Mapping[str, Plot] = field(default_factory=dict)
    boxes: Mapping[str, Plot] = field(default_factory=dict)
    compasses: Mapping[str, Plot] = field(default_factory=dict)
    missing: str | None = None


def pictures_of(report: Report) -> Pictures:
    """All plots of ``report``."""
    from pytest_llmkg.reporting import plots

    if find_spec("matplotlib") is None:
        reason = "There are no plots, since matplotlib is not installed; all numbers are in the tables."
        return Pictures(plots.plot_css(), missing=reason)

    figures, names = report.figures, [view.row.model for view in report.models]
    capabilities = figures.published.capabilities
    drawn = {
        "ranking": plots.ranking_plot(figures.ranking, figures.intervals.models),
        "compass": plots.compass_plot(
            capabilities, names[:_OVERLAID], definitions=drawn_definitions(capabilities), ident="plot-compass"
        ),
        "gain": plots.gain_plot(figures.gains, names, title="First, last and best answer of a dialogue"),
        "cost": plots.pareto_plot(figures.costs, "cost"),
        "seconds": plots.pareto_plot(figures.seconds, "seconds"),
        "endings": plots.outcomes_plot(_outcomes(report), title="Endings by model"),
        "preference": plots.preference_plot(figures.published.preferences),
        "size": plots.size_plot(_sizes(report)),
    }
    if figures.questions:
        drawn["stages"] = plots.stages_plot(_stages(report), ordered_stages(figures.questions))
    if figures.k > 1:
        steps = sorted({1, *(round(1 + (figures.k - 1) * part / _MOST_CURVES) for part in range(1, _MOST_CURVES + 1))})
        rows = [row for k in steps for row in pass_rows(figures.values, k)]
        drawn["passing"] = plots.pass_plot(rows, names)
    return Pictures(plots.plot_css(), drawn, _boxes(report, names), _compasses(report, names))


def _boxes(report: Report, names: list[str]) -> dict[str, Plot]:
    """Box plots of the labels, or of the first ones, as far as a page can bear."""
    from pytest_llmkg.reporting import plots

    values = report.figures.values
    if len(report.transcripts) > _MOST_POINTS or len(names) * len(report.labels) > _MOST_BOXES:
        return {}
    return {
        view.label: plots.box_plot(
            values.only(labels={view.label}), view.label, score=view.headline, models=names, ident=f"plot-boxes-{place}"
        )
        for place, view in enumerate(report.labels)
        if view.label in values.labels
    }


def _compasses(report: Report, names: list[str]) -> dict[str, Plot]:
    from pytest_llmkg.reporting import plots

    scores = report.figures.published.capabilities
    return {
        name: plots.compass_plot(scores, [name], definitions=drawn_definitions(scores), ident=f"plot-card-{place}")
        for place, name in enumerate(names)
        if any(score.model == name and score.mean is not None for score in scores)
    }


def _stages(report: Report) -> list[StageRow]:
    from pytest_llmkg.reporting.plots.stages import StageRow

    rows = by_score(report.figures.questions)
    return [StageRow(row.model, dict(row.stages), brief(sum(s for _, s in row.stages))) for row in rows]


def _outcomes(report: Report) -> list[OutcomeRow]:
    from pytest_llmkg.reporting.plots.outcomes import OutcomeRow

    return [OutcomeRow(view.row.model, view.row.counts, view.not_run) for view in report.models]


def _sizes(report: Report) -> list[SizeRow]:
    from pytest_llmkg.reporting.plots.scaling import SizeRow

    return [
        SizeRow(
            view.row.model,
            view.spec.parameters if view.spec else None,
            view.spec.family if view.spec else None,
            view.row.mean,
        )
        for view in report.models
    ]
