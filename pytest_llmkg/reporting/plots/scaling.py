"""Size of models against their score."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import finite
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key
from pytest_llmkg.reporting.plots.palette import SERIES
from pytest_llmkg.reporting.plots.scatter import Plane, Spot, draw_plane
from pytest_llmkg.reporting.plots.wording import listed, plain_number, two_decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.reporting.plots.sheet import Plot

__all__ = ["SizeRow", "billions", "size_plot"]

TITLE = "Size against score"
_TIMES = r"(?:(\d{1,3})\s*[x\N{MULTIPLICATION SIGN}]\s*)?"
_SIZE = re.compile(_TIMES + r"(\d{1,6}(?:\.\d{1,6})?)\s*([TBMK])\b", re.IGNORECASE)
_UNITS = {"T": 1e3, "B": 1.0, "M": 1e-3, "K": 1e-6}


@dataclass(frozen=True, slots=True)
class SizeRow:
    """A model with its size as published (`ModelSpec.parameters`), its family and its score."""

    model: str
    parameters: str | None
    family: str | None
    score: float | None


_MOST_NAMED = 20
"""Models without a size that are named."""


def billions(parameters: str | None) -> float | None:
    """Billions of parameters in ``7B``, ``8x7B``, ``500M`` or ``57B (active: 14B)``; None for anything else."""
    match = _SIZE.match((parameters or "").strip())
    if match is None:
        return None
    times, number, unit = match.groups()
    return int(times or 1) * float(number) * _UNITS[unit.upper()] or None


def size_plot(rows: Sequence[SizeRow], *, ident: str = "plot-size") -> Plot:
    """Models whose size is known; those of one family are joined, the six largest families have their own colours."""
    sized = [(row, size) for row in rows if (size := billions(row.parameters)) and finite(row.score) is not None]
    placed = {row.model for row, _ in sized}
    unknown = [row.model for row in rows if row.score is not None and row.model not in placed]
    more = f" and {len(unknown) - _MOST_NAMED} others" if len(unknown) > _MOST_NAMED else ""
    notes = [f"Size not published or not given: {', '.join(unknown[:_MOST_NAMED])}{more}."] if unknown else []
    if not sized:
        return nothing(ident, TITLE, "no model has both a known size and a score", notes)
    families = Counter(row.family for row, _ in sized if row.family)
    colored = [name for name, _ in sorted(families.items(), key=lambda one: (-one[1], one[0]))[: len(SERIES)]]
    spots = {row.model: _spot(row, size, colored) for row, size in sized}
    joined = [
        (k, sorted((spots[row.model] for row, _ in sized if row.family == name), key=lambda spot: (spot.x, spot.name)))
        for k, name in enumerate(colored)
    ]
    keys = [Key(name, k + 1, SERIES[k], SERIES[k], SERIES[k]) for k, name in enumerate(colored)]
    keys += [Key("other", 0, "card", "muted")] if any(spot.series is None for spot in spots.values()) else []
    plane = Plane(tuple(spots.values()), "billions of parameters", "mean of task means", keys, joined)
    description = listed([spot.tip for spot in sorted(spots.values(), key=lambda spot: (spot.x, spot.name))])
    return finish(lambda layout: draw_plane(layout, plane), ident, TITLE, description, notes)


def _spot(row: SizeRow, size: float, colored: Sequence[str]) -> Spot:
    series = colored.index(row.family) if row.family in colored else None
    score = row.score or 0.0
    tip = f"{row.model}: {plain_number(size)} billion parameters, score {two_decimals(score)}"
    return Spot(row.model, size, score, series, strong=False, tip=tip)
