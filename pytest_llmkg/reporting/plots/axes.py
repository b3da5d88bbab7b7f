"""Scales, grid lines and rows that several plots share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Sheet, Words
from pytest_llmkg.reporting.plots.wording import plain_number, short_names, width_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["Rows", "Scale", "draw_across", "draw_up", "finite", "score_scale"]

_NAME_LINE = 17
_BEYOND = 1e100


@dataclass(frozen=True, slots=True)
class Scale:
    """From values (``low`` to ``high``) to pixels (``start`` to ``end``)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of ``value``; values beyond the scale lie at its end."""
        value = min(max(value, self.low), self.high)
        if self.low >= self.high:
            share = 0.5
        elif self.log:
            share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values inside the scale."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        if self.log:
            # In between the decades only where there is room: a value every 100 pixels or so.
            decades = math.log10(self.high / self.low)
            subs = (1.0,) if decades > most / 2 else (1.0, 3.0) if decades > 1.6 else (1.0, 2.0, 5.0)
            found = LogLocator(subs=subs, numticks=max(most, 3)).tick_values(self.low, self.high)
        else:
            found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
        slack = 1e-9 * abs(self.high)
        return [float(value) for value in found if self.low - slack <= value <= self.high + slack]


def finite(value: float | None) -> float | None:
    """``value``, or None for what has no place in a picture: no number, infinite, or beyond all measure."""
    return value if value is not None and abs(value) <= _BEYOND else None


def score_scale(values: Iterable[float], start: float, end: float, *, zoom: bool = True) -> Scale:
    """A scale of scores: 0 to 1, or without zoom at least that; with zoom from the tenth below the lowest."""
    found = list(values)
    low, high = min(found, default=0.0), max(found, default=1.0)
    if not zoom:
        return Scale(min(low, 0.0), max(high, 1.0), start, end)
    low, high = math.floor(low * 10 - 1e-9) / 10, math.ceil(high * 10 + 1e-9) / 10
    if min(found, default=0.0) >= 0 and max(found, default=1.0) <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    if high - low < 0.2:
        low = max(0.0, high - 0.2) if low >= 0 else low - 0.2
    return Scale(low, high if high > low else low + 0.2, start, end)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a plot, one for each name: beside its name, or on narrow sheets below it."""

    layout: Layout
    top: float
    count: int
    height: float

    @property
    def step(self) -> float:
        """From one row to the next."""
        return self.height + (_NAME_LINE if self.layout.narrow else 0)

    @property
    def left(self) -> float:
        """Where the plot begins."""
        return self.layout.names or 6

    @property
    def bottom(self) -> float:
        """Below the last row."""
        return self.top + self.step * self.count

    def middle(self, row: int) -> float:
        """Middle of a row's part of the plot."""
        return self.top + self.step * (row + 1) - self.height / 2

    def write_names(
        self, sheet: Sheet, names: Sequence[str], bold: Collection[int] = (), before: Sequence[str] = ()
    ) -> None:
        """Writes the names of all rows, those of the rows ``bold`` so, each with its text of ``before``."""
        size = self.layout.size
        room = (self.left - 18 if self.layout.names else self.layout.width * 0.62) / (1.12 if bold else 1)
        room -= max((width_of(text, size) for text in before), default=0)
        shorts = [a + b for a, b in zip(before or [""] * len(names), short_names(names, room, size), strict=True)]
        for row, (name, short) in enumerate(zip(names, shorts, strict=True)):
            if self.layout.names:
                x, y = self.left - 12, self.middle(row) + 0.35 * size
                sheet.words.append(Words(x, y, short, size, "end", bold=row in bold, tip=name))
            else:
                y = self.top + self.step * row + 13
                sheet.words.append(Words(2, y, short, size, bold=row in bold, tip=name))


def draw_across(sheet: Sheet, layout: Layout, scale: Scale, span: tuple[float, float], label: str) -> None:
    """Grid lines from ``span[0]`` down to ``span[1]``, their values below, and the axis' name."""
    room = abs(scale.end - scale.start)
    ticks = scale.ticks(max(2, int(room / (64 if layout.narrow else 105))))
    lines = [Outline.line((scale.at(value), span[0]), (scale.at(value), span[1])) for value in ticks]
    if lines:
        sheet.marks.append(Mark(Outline.join(lines), line="grid"))
    size = layout.size - 1
    end = -math.inf
    for value in ticks:
        text = plain_number(value)
        half = width_of(text, size) / 2
        if scale.at(value) - half > end + 4:
            sheet.words.append(Words(scale.at(value), span[1] + size + 5, text, size, "middle", "muted"))
            end = scale.at(value) + half
    middle = (scale.start + scale.end) / 2
    sheet.words.append(Words(middle, span[1] + 2 * size + 12, label, size, "middle", "muted"))


def draw_up(sheet: Sheet, layout: Layout, scale: Scale, span: tuple[float, float], label: str) -> None:
    """Grid lines from ``span[0]`` to ``span[1]`` on the right, their values on the left, and the axis' name on top."""
    ticks = scale.ticks(max(3, int(abs(scale.end - scale.start) / 60)))
    size = layout.size - 1
    lines = [Outline.line((span[0], scale.at(value)), (span[1], scale.at(value))) for value in ticks]
    if lines:
        sheet.marks.append(Mark(Outline.join(lines), line="grid"))
    for value in ticks:
        sheet.words.append(Words(span[0] - 7, scale.at(value) + 0.35 * size, plain_number(value), size, "end", "muted"))
    sheet.words.append(Words(2, scale.end - 12, label, size, "start", "muted"))
