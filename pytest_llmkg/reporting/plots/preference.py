"""With which of two formats a model does better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import NONE
from pytest_llmkg.reporting.plots.axes import finite
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, short_names, shorten, two_decimals, width_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.published_records import PreferenceCell, PreferenceRow, PreferenceTable

__all__ = ["preference_plot"]

TITLE = "Format preference"
_NAME_LINE = 17


def preference_plot(table: PreferenceTable | None, *, ident: str = "plot-preference") -> Plot:
    """A bar to the side of the better format for each model and task, as long as the difference of the means.

    Args:
        table: ``preferences`` of `pytest_llmkg.analysis.published.analyse_published`.
        ident: start of the ids, unique on the page.
    """
    if table is None or not table.rows or not any(_change(cell) is not None for r in table.rows for cell in r.cells):
        return nothing(ident, TITLE, "no model has values in both formats of a task")
    title = f"{TITLE}: {table.first} or {table.second}"
    description = listed([_sentence(row) for row in table.rows])
    return finish(lambda layout: _draw(layout, table), ident, title, description, table.warnings)


def _change(cell: PreferenceCell) -> float | None:
    if cell.first_mean is None or cell.second_mean is None:
        return None
    return finite(cell.second_mean - cell.first_mean)


def _sentence(row: PreferenceRow) -> str:
    sides = [
        f"{cell.column} {cell.side}{' strongly' if cell.strong else ''} "
        f"({two_decimals(cell.first_mean)} against {two_decimals(cell.second_mean)})"
        for cell in row.cells
        if cell.side
    ]
    return f"{row.model}: {', '.join(sides) if sides else 'no preference'}"


def _draw(layout: Layout, table: PreferenceTable) -> Sheet:
    sheet, size = Sheet(layout.width, 0), layout.size - 1
    keys = [
        Key(f"better with {table.first} (bar to the left)", fill="s2", line="card", hatch="////"),
        Key(f"better with {table.second} (bar to the right)", fill="s3"),
        Key("pale: difference not significant", fill="faint"),
    ]
    top = draw_legend(sheet, layout, keys, 2)
    left = layout.names
    step = (layout.width - left - 4) / len(table.columns)
    tall = _draw_headings(sheet, table.columns, (left, top, step), size)
    height = 24 + (_NAME_LINE if layout.narrow else 0)
    first = top + tall + 6
    bottom = first + height * len(table.rows)
    room = layout.width - 8 if layout.narrow else left - 18
    names = short_names([row.model for row in table.rows], room, layout.size)
    for number, (row, name) in enumerate(zip(table.rows, names, strict=True)):
        _draw_row(sheet, layout, table, (row, name), (first + height * number, height))
    sheet.height = bottom + 6
    return sheet


def _draw_headings(sheet: Sheet, columns: Sequence[str], place: tuple[float, float, float], size: float) -> float:
    """Names above the columns, in several lines or, where columns are narrow, upright; returns their height."""
    left, top, step = place
    if step < 80:
        shorts = [shorten(name, 150, size) for name in columns]
        tall = max(width_of(text, size) for text in shorts) + 4
        for number, (name, short) in enumerate(zip(columns, shorts, strict=True)):
            x = left + step * (number + 0.5) + 4
            sheet.words.append(Words(x, top + tall, short, size, color="muted", angle=-90, tip=name))
        return tall
    broken = [wrapped(name, step - 6, size) for name in columns]
    lines = max(len(found) for found in broken)
    for number, (name, found) in enumerate(zip(columns, broken, strict=True)):
        for line, text in enumerate(found):
            x, y = left + step * (number + 0.5), top + 12 + (size + 2) * (line + lines - len(found))
            sheet.words.append(Words(x, y, text, size, "middle", "muted", tip=name))
    return lines * (size + 2) + 4


def _draw_row(
    sheet: Sheet, layout: Layout, table: PreferenceTable, one: tuple[PreferenceRow, str], place: tuple[float, float]
) -> None:
    (row, name), top = one, place[0]
    left, size, middle = layout.names, layout.size, place[0] + place[1] - 12
    if layout.narrow:
        sheet.words.append(Words(2, top + 14, name, size, tip=row.model))
    else:
        sheet.words.append(Words(left - 12, middle + 0.35 * size, name, size, "end", tip=row.model))
    sheet.marks.append(Mark(Outline.line((0, top), (layout.width, top)), line="grid"))
    step = (layout.width - left - 4) / len(table.columns)
    zeros = [left + step * (number + 0.5) for number in range(len(table.columns))]
    lines = Outline.join(Outline.line((x, middle - 9), (x, middle + 9)) for x in zeros)
    sheet.marks.append(Mark(lines, line="faint"))
    cells = {cell.column: cell for cell in row.cells}
    for number, column in enumerate(table.columns):
        if column in cells:
            _draw_cell(sheet, layout, table, cells[column], (left + step * (number + 0.5), middle, step))


def _draw_cell(
    sheet: Sheet,
    layout: Layout,
    table: PreferenceTable,
    cell: PreferenceCell,
    place: tuple[float, float, float],
) -> None:
    x, y, step = place
    change, size = _change(cell), layout.size - 1.5
    if change is None:
        sheet.words.append(Words(x, y + 4, NONE, size, "middle", "muted", tip=cell.note or None))
        return
    reach = min(max(change, -1.0), 1.0) * (step / 2 - 4)
    tip = f"{table.first} {two_decimals(cell.first_mean)} of {cell.first_values}, "
    tip += f"{table.second} {two_decimals(cell.second_mean)} of {cell.second_values}"
    tip += f", p {cell.p:.2g}" if cell.p is not None else ""
    box = Outline.box(min(x, x + reach), y - 6, abs(reach), 12)
    if cell.side is None:
        looks = Mark(box, "faint", tip=tip)
    elif cell.side == table.first:
        looks = Mark(box, "s2", "card", hatch="////", tip=tip)
    else:
        looks = Mark(box, "s3", tip=tip)
    if abs(reach) >= 0.1:
        sheet.marks.append(looks)
    if cell.side is not None and not layout.narrow:
        # On the free side of the middle, where no bar is.
        away, anchor = (5, "start") if reach < 0 else (-5, "end")
        text = shorten(cell.side, step / 2 - 6, size)
        words = Words(x + away, y + 4, text, size, "start" if anchor == "start" else "end", bold=cell.strong, halo=True)
        sheet.words.append(words)
