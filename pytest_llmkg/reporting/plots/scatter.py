"""Points with names in a plane: what price against score and size against score share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_llmkg.reporting.plots.axes import Scale, draw_across, draw_up, score_scale
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.palette import SERIES
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Sheet, Words
from pytest_llmkg.reporting.plots.wording import short_names, width_of

__all__ = ["Plane", "Spot", "draw_plane"]

_LOG_FROM = 15
"""Ratio of largest to smallest value from which the scale is logarithmic."""

_ZERO_ROOM = 44

Place = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A point.

    Attributes:
        name: written beside it where there is room.
        x, y: its values; ``x`` is at least 0.
        series: number of its colour and shape; None for the muted rest.
        strong: its name must be written.
        tip: text for the pointer.
        shape: number of the marker's shape, None for that of the series.
    """

    name: str
    x: float
    y: float
    series: int | None
    strong: bool
    tip: str
    shape: int | None = None


@dataclass(frozen=True, slots=True)
class Plane:
    """What is drawn.

    Attributes:
        spots: the points.
        across, up: names of the axes.
        keys: the legend.
        lines: series of points that are joined, with the number of their series; a step line where ``steps``.
        steps: whether lines go across first and then up.
    """

    spots: Sequence[Spot]
    across: str
    up: str
    keys: Sequence[Key]
    lines: Sequence[tuple[int, Sequence[Spot]]] = ()
    steps: bool = False


def draw_plane(layout: Layout, plane: Plane) -> Sheet:
    """The points of ``plane``; points at 0 stand left of a logarithmic scale, which has no 0."""
    sheet = Sheet(layout.width, 0)
    top = draw_legend(sheet, layout, plane.keys, 2) + 24
    height = 300 if layout.narrow else 430
    left, right, bottom = 46.0, layout.width - 16.0, top + height
    scale, zero = _scale([spot.x for spot in plane.spots], left, right)
    up = score_scale((spot.y for spot in plane.spots), bottom - 10, top)
    draw_up(sheet, layout, up, (left, right), plane.up)
    draw_across(sheet, layout, scale, (top, bottom), plane.across)
    if zero is not None:
        _draw_zero(sheet, layout, zero, (top, bottom), scale.start)
    places = {
        spot: (zero if zero is not None and spot.x <= 0 else scale.at(spot.x), up.at(spot.y)) for spot in plane.spots
    }
    lines: list[list[Place]] = []
    for number, spots in plane.lines:
        lines.append(points := _line(places, spots, right if plane.steps else None))
        if len(points) > 1:
            sheet.marks.append(Mark(Outline.line(*points), line=SERIES[number], width=2, opacity=0.8))
    for spot, (x, y) in places.items():
        color = "muted" if spot.series is None else SERIES[spot.series]
        shape = spot.shape if spot.shape is not None else 0 if spot.series is None else spot.series + 1
        fill = "card" if spot.series is None else color
        sheet.marks.append(Mark(Outline.marker(shape, x, y, 5), fill, color, 1.5, tip=spot.tip))
    _write_names(sheet, layout, places, lines, (left, top, right, bottom))
    sheet.height = bottom + 46
    return sheet


def _scale(values: Sequence[float], left: float, right: float) -> tuple[Scale, float | None]:
    """The scale across, and where points at 0 stand if it has no 0."""
    positive = [value for value in values if value > 0]
    low, high = min(positive, default=1.0), max(positive, default=1.0)
    if high / low < _LOG_FROM or len(positive) < 2:
        return Scale(0.0, high * 1.08, left, right), None
    zero = left + _ZERO_ROOM / 2 if len(positive) < len(values) else None
    return Scale(low / 1.4, high * 1.4, left + (_ZERO_ROOM if zero else 0), right, log=True), zero


def _draw_zero(sheet: Sheet, layout: Layout, zero: float, span: tuple[float, float], edge: float) -> None:
    lines = Outline.line((zero, span[0]), (zero, span[1]))
    sheet.marks.append(Mark(lines, line="grid"))
    sheet.marks.append(Mark(Outline.line((edge, span[0]), (edge, span[1])), line="faint", dash=(3, 3)))
    sheet.words.append(Words(zero, span[1] + layout.size + 4, "0", layout.size - 1, "middle", "muted"))


def _line(places: Mapping[Spot, Place], spots: Sequence[Spot], right: float | None) -> list[Place]:
    """Through the points; with ``right`` across to the next price, then up, and at the best score to the right end."""
    points = [places[spot] for spot in spots]
    if right is None or not points:
        return points
    found = [points[0]]
    for (_, before), (x, y) in pairwise(points):
        found += [(x, before), (x, y)]
    return [*found, (right, points[-1][1])]


def _between(one: Place, other: Place) -> list[Place]:
    """Points of a straight line, one for every eight pixels."""
    steps = max(1, int(max(abs(other[0] - one[0]), abs(other[1] - one[1])) / 8))
    across, down = (other[0] - one[0]) / steps, (other[1] - one[1]) / steps
    return [(one[0] + across * k, one[1] + down * k) for k in range(steps + 1)]


def _write_names(
    sheet: Sheet, layout: Layout, places: Mapping[Spot, Place], lines: Sequence[Sequence[Place]], room: Box
) -> None:
    """Names where they hide neither a point nor a line nor another name; strong ones first and in any case."""
    size = layout.size - 1
    shorts = short_names([spot.name for spot in places], 130 if layout.narrow else 190, size)
    names = dict(zip(places, shorts, strict=True))
    taken = [(x - 2, y - 2, x + 2, y + 2) for line in lines for pair in pairwise(line) for x, y in _between(*pair)]
    taken += [(x - 6, y - 6, x + 6, y + 6) for x, y in places.values()]
    for spot, (x, y) in sorted(places.items(), key=lambda one: (not one[0].strong, one[1][1], one[0].name)):
        width = width_of(names[spot], size) * (1.1 if spot.strong else 1)
        choices = _choices(x, y, width, strong=spot.strong)
        inside = [(a, b) for a, b in choices if a >= room[0] + 2 and a + width <= room[2] + 14 and b < room[3] + 4]
        free = [(a, b) for a, b in inside if not _hits((a, b - 10, a + width, b + 3), taken)]
        if free or (spot.strong and inside):
            a, b = (free or inside)[0]
            taken.append((a, b - 10, a + width, b + 3))
            color = "ink" if spot.strong else "muted"
            sheet.words.append(Words(a, b, names[spot], size, color=color, bold=spot.strong, halo=True))


def _choices(x: float, y: float, width: float, *, strong: bool) -> list[Place]:
    """Where a name may begin, best first. A front leaves the upper left of its points free."""
    first = [(x - 6 - width, y - 7), (x - width / 2, y - 10), (x, y - 8)] if strong else []
    beside = [(x + 9, y + 4), (x - 9 - width, y + 4), (x - width / 2, y - 10), (x - width / 2, y + 19)]
    corners = [(x + 7, y - 8), (x + 7, y + 17), (x - 7 - width, y - 8), (x - 7 - width, y + 17)]
    return first + beside + corners


def _hits(box: Box, taken: Sequence[Box]) -> bool:
    return any(box[0] < c and a < box[2] and box[1] < d and b < box[3] for a, b, c, d in taken)
