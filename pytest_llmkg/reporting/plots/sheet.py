"""What a plot consists of before it is drawn: outlines and words on a sheet, in pixels from the upper left corner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NARROW", "WIDE", "Anchor", "Layout", "Mark", "Outline", "Plot", "Sheet", "Words"]

Anchor = Literal["start", "middle", "end"]
Vertex = tuple[float, float, int]

# Codes of `matplotlib.path.Path`.
_MOVE, _LINE, _CURVE, _CLOSE = 1, 2, 4, 79
_ROUND = 0.5522847498
"""How far the handles of four cubic curves reach, in radii, when they make a circle."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a plot is to be read.

    Attributes:
        name: ``wide`` or ``narrow``.
        width: of the sheet.
        size: of its letters.
        names: width of the column of names at the left; 0 when names stand above their rows.
    """

    name: Literal["wide", "narrow"]
    width: float
    size: float
    names: float

    @property
    def narrow(self) -> bool:
        """Whether it is the phone's."""
        return self.name == "narrow"


WIDE = Layout("wide", 1080, 13, 260)
NARROW = Layout("narrow", 340, 12, 0)


@dataclass(frozen=True, slots=True)
class Outline:
    """One or several lines or areas."""

    vertices: tuple[Vertex, ...]

    def __add__(self, other: Outline) -> Outline:
        return Outline(self.vertices + other.vertices)

    @classmethod
    def join(cls, outlines: Iterable[Outline]) -> Outline:
        """All of them as one."""
        return cls(tuple(vertex for outline in outlines for vertex in outline.vertices))

    @classmethod
    def line(cls, *points: tuple[float, float]) -> Outline:
        """A line through ``points``."""
        return cls(tuple((x, y, _LINE if number else _MOVE) for number, (x, y) in enumerate(points)))

    @classmethod
    def polygon(cls, *points: tuple[float, float]) -> Outline:
        """The area inside ``points``."""
        return cls((*cls.line(*points).vertices, (*points[0], _CLOSE)))

    @classmethod
    def box(cls, left: float, top: float, width: float, height: float) -> Outline:
        """A rectangle."""
        right, bottom = left + width, top + height
        return cls.polygon((left, top), (right, top), (right, bottom), (left, bottom))

    @classmethod
    def dot(cls, x: float, y: float) -> Outline:
        """A point, which the round ends of a line make visible."""
        return cls.line((x, y), (x, y))

    @classmethod
    def circle(cls, x: float, y: float, r: float) -> Outline:
        """A circle."""
        k = r * _ROUND
        around = [
            (x + r, y, _MOVE),
            *((x + r, y + k, _CURVE), (x + k, y + r, _CURVE), (x, y + r, _CURVE)),
            *((x - k, y + r, _CURVE), (x - r, y + k, _CURVE), (x - r, y, _CURVE)),
            *((x - r, y - k, _CURVE), (x - k, y - r, _CURVE), (x, y - r, _CURVE)),
            *((x + k, y - r, _CURVE), (x + r, y - k, _CURVE), (x + r, y, _CURVE)),
            (x + r, y, _CLOSE),
        ]
        return cls(tuple(around))

    @classmethod
    def marker(cls, number: int, x: float, y: float, r: float) -> Outline:
        """The shape of series ``number``: circle, square, diamond, triangles, star."""
        if number % 6 == 0:
            return cls.circle(x, y, r)
        corners = {1: (4, 45, 1.15), 2: (4, 0, 1.3), 3: (3, -90, 1.3), 4: (3, 90, 1.3), 5: (5, -90, 1.3)}
        count, start, scale = corners[number % 6]
        reach = [r * scale * (1 if count < 5 or step % 2 == 0 else 0.45) for step in range(count * (1 + (count > 4)))]
        turn = 360 / len(reach)
        return cls.polygon(*(polar(x, y, length, start + turn * step) for step, length in enumerate(reach)))


def polar(x: float, y: float, r: float, degrees: float) -> tuple[float, float]:
    """The point at ``r`` from (x, y), clockwise from the right."""
    return x + r * math.cos(math.radians(degrees)), y + r * math.sin(math.radians(degrees))


@dataclass(frozen=True, slots=True)
class Mark:
    """An outline with its looks; colours are roles of the palette.

    Attributes:
        outline: its shape.
        fill, line: colours, None for none.
        width: of the line.
        dash: lengths of line and gap, empty for a whole line.
        hatch: a hatch of matplotlib in the colour of ``line``.
        opacity: from 0 to 1.
        tip: text shown when the pointer rests on it.
    """

    outline: Outline
    fill: str | None = None
    line: str | None = None
    width: float = 1
    dash: tuple[float, ...] = ()
    hatch: str | None = None
    opacity: float = 1
    tip: str | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """A text; ``angle`` in degrees, clockwise; ``halo`` keeps it readable above lines."""

    x: float
    y: float
    text: str
    size: float = 13
    anchor: Anchor = "start"
    color: str = "ink"
    bold: bool = False
    angle: float = 0
    halo: bool = False
    tip: str | None = None


@dataclass(slots=True)
class Sheet:
    """A plot in the making.

    Attributes:
        width, height: in pixels.
        marks, words: in the order of drawing; words lie above all marks.
    """

    width: float
    height: float
    marks: list[Mark] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plot:
    """A finished plot.

    Attributes:
        ident: starts the id of everything in it; unique on the page.
        title, description: the text alternative, which the SVG holds, too.
        svgs: the plot for wide and for narrow screens, or a single one for both; the style sheet of
            `pytest_llmkg.reporting.plots.palette.plot_css` shows one of them. Empty when there is nothing to draw.
        reason: why there is nothing to draw, else None.
        notes: what is not in the picture, in sentences.
    """

    ident: str
    title: str
    description: str
    svgs: tuple[str, ...]
    reason: str | None = None
    notes: tuple[str, ...] = ()
