"""Plots as SVG elements for the page, drawn by matplotlib; each function takes records of the analysis.

A plot that has nothing to draw says why in `Plot.reason` and has no SVG. `plot_css` belongs into the page's style
sheet: it holds the colours of light and dark mode and shows the plot that fits the screen.
"""

from pytest_llmkg.reporting.plots.boxes import box_plot
from pytest_llmkg.reporting.plots.compass import compass_plot
from pytest_llmkg.reporting.plots.gain import gain_plot
from pytest_llmkg.reporting.plots.heatmap import heatmap_plot
from pytest_llmkg.reporting.plots.outcomes import OutcomeRow, outcomes_plot
from pytest_llmkg.reporting.plots.palette import plot_css
from pytest_llmkg.reporting.plots.pareto import pareto_plot
from pytest_llmkg.reporting.plots.passing import pass_plot
from pytest_llmkg.reporting.plots.preference import preference_plot
from pytest_llmkg.reporting.plots.ranking import ranking_plot
from pytest_llmkg.reporting.plots.scaling import SizeRow, billions, size_plot
from pytest_llmkg.reporting.plots.sheet import Plot
from pytest_llmkg.reporting.plots.stages import StageRow, stages_plot

__all__ = [
    "OutcomeRow",
    "Plot",
    "SizeRow",
    "StageRow",
    "billions",
    "box_plot",
    "compass_plot",
    "gain_plot",
    "heatmap_plot",
    "outcomes_plot",
    "pareto_plot",
    "pass_plot",
    "plot_css",
    "preference_plot",
    "ranking_plot",
    "size_plot",
    "stages_plot",
]
