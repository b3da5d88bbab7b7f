"""Scales, grid lines and rows that several plots share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Sheet, Words
from pytest_llmkg.reporting.plots.wording import plain_number, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Rows", "Scale", "draw_across", "draw_up", "score_scale"]

_NAME_LINE = 17


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
        if self.log:
            share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values inside the scale."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        if self.log:
            decades = math.log10(self.high / self.low)
            subs = (1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.3 else (1.0, 2.0, 5.0)
            found = LogLocator(subs=subs, numticks=max(most, 3)).tick_values(self.low, self.high)
        else:
            found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
        slack = 1e-9 * abs(self.high)
        return [float(value) for value in found if self.low - slack <= value <= self.high + slack]


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

    def name(self, sheet: Sheet, row: int, text: str, *, bold: bool = False, color: str = "ink") -> None:
        """Writes the name of a row."""
        size = self.layout.size
        if self.layout.names:
            x, y, room = self.left - 12, self.middle(row) + 0.35 * size, self.left - 18
            short = shorten(text, room, size * (1.05 if bold else 1))
            sheet.words.append(Words(x, y, short, size, "end", color, bold, tip=text))
        else:
            y, room = self.top + self.step * row + 13, self.layout.width * 0.64
            short = shorten(text, room, size * (1.05 if bold else 1))
            sheet.words.append(Words(2, y, short, size, "start", color, bold, tip=text))


def draw_across(
    sheet: Sheet, layout: Layout, scale: Scale, span: tuple[float, float], label: str, *, labels: Sequence[str] = ()
) -> None:
    """Grid lines from ``span[0]`` down to ``span[1]``, their values below, and the axis' name."""
    room = abs(scale.end - scale.start)
    ticks = scale.ticks(max(2, int(room / (58 if layout.narrow else 90))))
    lines = [Outline.line((scale.at(value), span[0]), (scale.at(value), span[1])) for value in ticks]
    if lines:
        sheet.marks.append(Mark(Outline.join(lines), line="grid"))
    size = layout.size - 1
    texts = labels or [plain_number(value) for value in ticks]
    for value, text in zip(ticks, texts, strict=False):
        sheet.words.append(Words(scale.at(value), span[1] + size + 5, text, size, "middle", "muted"))
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
