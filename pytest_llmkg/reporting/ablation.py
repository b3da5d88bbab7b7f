"""Ablations as a table and a plot: what each level changes against the baseline, on the same questions."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.paired import Comparison
from pytest_llmkg.reporting.formats import NONE
from pytest_llmkg.reporting.markdown_tables import escaped, table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AblationRow", "ablation_json", "ablation_markdown", "ablation_svg"]

_HEADER = ("ablation", "factor", "level", "mean", "difference", "95 % interval", "p (Holm)", "cases")
_ROW_INCHES, _WIDTH_INCHES = 0.28, 9.0


@dataclass(frozen=True, slots=True)
class AblationRow:
    """A level of an ablation.

    Attributes:
        ablation, factor, level: what was varied and how.
        model: under which name it was run.
        comparison: of the level (first) with the baseline (second); None for the baseline itself or a level that was
            not run.
        mean: headline mean over its own questions, None when it was not run.
    """

    ablation: str
    factor: str
    level: str
    model: str
    comparison: Comparison | None
    mean: float | None


def ablation_markdown(rows: Sequence[AblationRow], baseline: str) -> str:
    """A table with a row for each level. Differences are level minus baseline, paired by question."""
    head = f"Differences are level minus baseline ({escaped(baseline)}), on the same questions; p by sign flips.\n\n"
    return head + "\n".join(table(_HEADER, [_cells(row) for row in rows], 3)) + "\n"


def _cells(row: AblationRow) -> list[str]:
    one = row.comparison
    names = [row.ablation, row.factor, row.level, _number(row.mean)]
    if one is None:
        return [*names, "baseline" if row.mean is not None else "not run", NONE, NONE, NONE]
    limits = one.difference
    interval = NONE if limits.low is None or limits.high is None else f"{limits.low:+z.3f} to {limits.high:+z.3f}"
    return [*names, _number(limits.mean, "+"), interval, _number(one.adjusted_p), str(one.cases)]


def _number(value: float | None, sign: str = "") -> str:
    return NONE if value is None else f"{value:{sign}z.3f}"


def ablation_json(rows: Sequence[AblationRow], baseline: str) -> dict[str, object]:
    """The same for other programs."""
    return {
        "baseline": baseline,
        "rows": [
            {
                "ablation": row.ablation,
                "factor": row.factor,
                "level": row.level,
                "model": row.model,
                "mean": row.mean,
                "difference": None if row.comparison is None else row.comparison.difference.mean,
                "low": None if row.comparison is None else row.comparison.difference.low,
                "high": None if row.comparison is None else row.comparison.difference.high,
                "p": None if row.comparison is None else row.comparison.adjusted_p,
                "cases": None if row.comparison is None else row.comparison.cases,
            }
            for row in rows
        ],
    }


def ablation_svg(rows: Sequence[AblationRow], baseline: str) -> str:
    """The differences with their intervals as a picture; the line at 0 is the baseline."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.comparison is not None and row.comparison.difference.mean is not None]
    figure = Figure(figsize=(_WIDTH_INCHES, 1.2 + _ROW_INCHES * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(shown):
        limits = row.comparison.difference if row.comparison else None
        if limits is None or limits.mean is None:
            continue
        low, high = limits.low, limits.high
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color="#36648b", linewidth=2)
        axes.plot([limits.mean], [place], marker="o", color="#36648b")
    axes.axvline(0, color="#777777", linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{row.ablation} {row.level}" for row in shown])
    axes.invert_yaxis()
    axes.set_xlabel(f"difference from {baseline}".replace("$", r"\$"))
    FigureCanvasSVG(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
