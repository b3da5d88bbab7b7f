"""What the markers, lines and areas of a plot stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Sheet, Words
from pytest_llmkg.reporting.plots.wording import shorten, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Key", "draw_legend"]

_SAMPLE = 24
_LINE = 20


@dataclass(frozen=True, slots=True)
class Key:
    """One entry.

    Attributes:
        text: what it stands for.
        marker: number of the marker's shape, None for none.
        fill, line: colours of the marker, or of an area when there is neither marker nor dash.
        stroke: colour of a line behind the marker.
        dash, hatch: as in `Mark`.
        width: of the marker's outline.
    """

    text: str
    marker: int | None = None
    fill: str | None = None
    line: str | None = None
    stroke: str | None = None
    dash: tuple[float, ...] = ()
    hatch: str | None = None
    width: float = 1.5


def draw_legend(sheet: Sheet, layout: Layout, keys: Sequence[Key], top: float, left: float = 2) -> float:
    """Draws ``keys`` from ``left`` on in as many lines as they need; returns where the next thing may begin."""
    size = layout.size - 1
    x, y = left, top
    for key in keys:
        text = shorten(key.text, sheet.width - left - _SAMPLE - 8, size)
        width = _SAMPLE + 6 + width_of(text, size) + 16
        if x > left and x + width - 16 > sheet.width:
            x, y = left, y + _LINE
        _draw_sample(sheet, key, x, y + _LINE / 2)
        sheet.words.append(Words(x + _SAMPLE + 6, y + _LINE / 2 + 0.35 * size, text, size, color="muted", tip=key.text))
        x += width
    return y + _LINE + 8 if keys else top


def _draw_sample(sheet: Sheet, key: Key, x: float, y: float) -> None:
    if key.stroke:
        sheet.marks.append(Mark(Outline.line((x, y), (x + _SAMPLE, y)), line=key.stroke, width=2, dash=key.dash))
    if key.marker is not None:
        outline = Outline.marker(key.marker, x + _SAMPLE / 2, y, 5)
        sheet.marks.append(Mark(outline, key.fill, key.line, key.width))
    elif not key.stroke:
        box = Outline.box(x, y - 6, _SAMPLE, 12)
        sheet.marks.append(Mark(box, key.fill, key.line, hatch=key.hatch))
