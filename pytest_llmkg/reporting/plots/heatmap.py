"""Models against task labels: the mean of each as a colour and, where it fits, as a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import LabelRow
from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.plots.axes import finite
from pytest_llmkg.reporting.plots.drawing import nothing, render
from pytest_llmkg.reporting.plots.palette import HEAT_STEPS
from pytest_llmkg.reporting.plots.sheet import NARROW, WIDE, Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, short_names, two_decimals, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["heatmap_plot"]

TITLE = "Models and tasks"
_MOST_TIPS = 500
_KEY = 40


@dataclass(frozen=True, slots=True)
class _Table:
    """What is drawn: names of rows and columns, cells by both, and what the rows are."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], LabelRow]
    tips: bool


def heatmap_plot(
    rows: Sequence[LabelRow],
    models: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    *,
    ident: str = "plot-heatmap",
) -> Plot:
    """The means of ``rows``; whichever of models and labels is more numerous becomes the rows of the picture.

    Args:
        rows: from `pytest_llmkg.analysis.aggregates.label_rows`.
        models: which ones and in which order; by default all of ``rows`` in their order.
        labels: likewise.
        ident: start of the ids, unique on the page.
    """
    models = tuple(dict.fromkeys(row.model for row in rows) if models is None else models)
    labels = tuple(dict.fromkeys(row.label for row in rows) if labels is None else labels)
    shown = set(models), set(labels)
    cells = {(row.model, row.label): row for row in rows if row.model in shown[0] and row.label in shown[1]}
    if not any(finite(row.mean) is not None for row in cells.values()):
        return nothing(ident, TITLE, "no model has a mean under any task label")
    upright = len(labels) > len(models)
    if upright:
        table = _Table(labels, models, {(b, a): row for (a, b), row in cells.items()}, len(cells) <= _MOST_TIPS)
    else:
        table = _Table(models, labels, cells, len(cells) <= _MOST_TIPS)
    fits = len(table.columns) * 22 <= NARROW.width - 120
    text = _describe(cells, models, labels)
    wide = render(_draw(WIDE, table), f"{ident}-wide", TITLE, text, _classes(fits=fits))
    narrow = [render(_draw(NARROW, table), f"{ident}-narrow", TITLE, text, "plot plot-narrow")] if fits else []
    outside = sum(row.mean is not None and not 0 <= row.mean <= 1 for row in cells.values())
    notes = [f"{outside} means lie outside of 0 to 1 and have the colour of the nearer end."] if outside else []
    return Plot(ident, TITLE, visible(text), (wide, *narrow), None, tuple(notes))


def _classes(*, fits: bool) -> str:
    return "plot plot-wide" if fits else "plot plot-wide plot-scroll"


def _describe(cells: Mapping[tuple[str, str], LabelRow], models: Sequence[str], labels: Sequence[str]) -> str:
    sentences = []
    for model in models:
        found = [
            (row.mean, row.label)
            for (of, _), row in cells.items()
            if of == model and row.mean is not None and finite(row.mean) is not None
        ]
        if found:
            (low, worst), (high, best) = min(found), max(found)
            text = f"{model}: from {two_decimals(low)} ({worst}) to {two_decimals(high)} ({best})"
            sentences.append(text if len(found) == len(labels) else f"{text}, {len(found)} of {len(labels)} labels")
        else:
            sentences.append(f"{model}: no mean")
    return f"{len(models)} models, {len(labels)} task labels. {listed(sentences)}"


def _draw(layout: Layout, table: _Table) -> Sheet:
    few, size = len(table.columns), layout.size - 1
    names = max(width_of(name, size) for name in table.rows) + 14
    left = min(names, layout.width * (0.46 if layout.narrow else 0.36 if few <= 12 else 0.2))
    longest = max(width_of(name, size) for name in table.columns)
    cell = (layout.width - left - 8) / few
    cell = max(60.0, longest + 10) if longest + 10 <= cell else min(cell, 110)
    slope = 0 if longest + 4 <= cell else -90 if cell < 40 or layout.narrow else -45
    room = cell - 4 if slope == 0 else min(longest, 190)
    if slope == -45:
        cell = min(cell, (layout.width - left - 8 - room * 0.72) / few)
    height = 22 if cell >= 22 else 19
    top = _KEY + (room if slope == -90 else room * 0.72 + 12 if slope else 14) + 12
    width = max(left + cell * few + 8 + (room * 0.72 if slope == -45 else 0), min(420, layout.width))
    sheet = Sheet(width, top + height * len(table.rows) + 8)
    shorts = short_names(table.columns, room, size)
    for number, (name, short) in enumerate(zip(table.columns, shorts, strict=True)):
        x = left + cell * (number + 0.5) + (0.35 * size if slope == -90 else 0)
        sheet.words.append(Words(x, top - 7, short, size, "start" if slope else "middle", angle=slope, tip=name))
    shorts = short_names(table.rows, left - 12, size)
    for number, (name, short) in enumerate(zip(table.rows, shorts, strict=True)):
        sheet.words.append(Words(left - 8, top + height * (number + 0.5) + 0.35 * size, short, size, "end", tip=name))
    _draw_cells(sheet, table, (left, top), (cell, height))
    _draw_key(sheet, layout, left)
    return sheet


def _draw_cells(sheet: Sheet, table: _Table, corner: tuple[float, float], step: tuple[float, float]) -> None:
    """Cells of the same step are one outline, unless each has its tip."""
    same: dict[int, list[Outline]] = {}
    for number, row in enumerate(table.rows):
        for place, column in enumerate(table.columns):
            left, top = corner[0] + step[0] * place, corner[1] + step[1] * number
            found = table.cells.get((row, column))
            value = finite(found.mean) if found else None
            box = Outline.box(left + 0.75, top + 0.75, step[0] - 1.5, step[1] - 1.5)
            if found is None or value is None:
                x, y = left + step[0] / 2, top + step[1] / 2
                same.setdefault(-1, []).append(Outline.line((x - 3, y), (x + 3, y)))
                continue
            if table.tips:
                sheet.marks.append(Mark(box, fill=f"h{_shade(value)}", tip=_tip(found)))
            else:
                same.setdefault(_shade(value), []).append(box)
            _write_value(sheet, value, (left, top), step)
    for shade, boxes in sorted(same.items()):
        fill, line = (None, "muted") if shade < 0 else (f"h{shade}", None)
        sheet.marks.append(Mark(Outline.join(boxes), fill, line))


def _write_value(sheet: Sheet, value: float, corner: tuple[float, float], step: tuple[float, float]) -> None:
    size = 12.0 if step[0] >= 30 else 10.0
    text = two_decimals(value)
    if step[0] < 30:
        text = text.replace("0.", ".", 1).replace("1.00", "1")
    if width_of(text, size) <= step[0] - 2:
        x, y = corner[0] + step[0] / 2, corner[1] + step[1] / 2 + 0.35 * size
        sheet.words.append(Words(x, y, text, size, "middle", f"t{_shade(value)}"))


def _tip(row: LabelRow) -> str:
    errors = f", {row.counts.error} errors" if row.counts.error else ""
    return f"{row.model}, {row.label}: {row.headline} {two_decimals(row.mean)} of {row.counts.in_mean}{errors}"


def _shade(value: float) -> int:
    return round((HEAT_STEPS - 1) * min(max(value, 0.0), 1.0))


def _draw_key(sheet: Sheet, layout: Layout, left: float) -> None:
    step, size = (16 if layout.narrow else 24), layout.size - 1
    start = min(left, layout.width - step * HEAT_STEPS - 70)
    for shade in range(HEAT_STEPS):
        sheet.marks.append(Mark(Outline.box(start + step * shade, 4, step, 12), fill=f"h{shade}"))
    texts = ((0, "0"), (HEAT_STEPS / 2, "0.5"), (HEAT_STEPS, "1"))
    for place, text in texts:
        sheet.words.append(Words(start + step * place, 29, text, size, "middle", "muted"))
    sheet.words.append(Words(start - 10, 14, "mean score", size, "end", "muted"))
    sheet.marks.append(Mark(Outline.line((start + step * 11 + 18, 10), (start + step * 11 + 24, 10)), line="muted"))
    sheet.words.append(Words(start + step * 11 + 30, 14, "none", size, "start", "muted"))
