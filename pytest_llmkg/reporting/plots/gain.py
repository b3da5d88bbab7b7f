"""What dialogues gain over their first answer, with the harm that hints do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import Rows, Scale, draw_across, finite, score_scale
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, two_decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.gains import GainRow

__all__ = ["gain_plot"]


@dataclass(frozen=True, slots=True)
class _Bar:
    """A model's rows together: means of label means, each label with the same weight, and sums of the counts."""

    model: str
    first: float
    last: float
    best: float
    improved: int
    harmed: int
    dialogues: int


def gain_plot(
    rows: Sequence[GainRow],
    models: Sequence[str] | None = None,
    *,
    title: str = "Gain by dialogue",
    ident: str = "plot-gain",
) -> Plot:
    """From the first answer to the last one and the best one; how many dialogues became better and how many worse.

    Args:
        rows: from `pytest_llmkg.analysis.gains.gain_rows`, of one label or of several; several are averaged for each
            model, each label with the same weight.
        models: which ones and in which order; by default as in ``rows``.
        title: of the plot.
        ident: start of the ids, unique on the page.
    """
    order = tuple(dict.fromkeys(row.model for row in rows) if models is None else models)
    made = {model: _bar(model, [row for row in rows if row.model == model]) for model in order}
    bars = [bar for bar in made.values() if bar]
    if not bars:
        return nothing(ident, title, "no dialogue of a task with hints has a score")
    notes = [f"{model} has no such dialogue." for model, bar in made.items() if bar is None]
    description = listed([_sentence(bar) for bar in bars])
    return finish(lambda layout: _draw(layout, bars), ident, title, description, notes)


def _bar(model: str, rows: Sequence[GainRow]) -> _Bar | None:
    found = [
        (row.first, row.last, row.best)
        for row in rows
        if finite(row.first) is not None and finite(row.last) is not None and finite(row.best) is not None
    ]
    if not found:
        return None
    first, last, best = (math.fsum(column) / len(found) for column in zip(*found, strict=True))
    counts = [sum(numbers) for numbers in zip(*((r.improved, r.harmed, r.dialogues) for r in rows), strict=True)]
    return _Bar(model, first, last, best, counts[0], counts[1], counts[2])


def _sentence(bar: _Bar) -> str:
    means = f"first {two_decimals(bar.first)}, last {two_decimals(bar.last)}, best {two_decimals(bar.best)}"
    return f"{bar.model}: {means}; of {bar.dialogues} dialogues {bar.improved} improved, {bar.harmed} were harmed"


def _draw(layout: Layout, bars: Sequence[_Bar]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    keys = [
        Key("first answer", 0, "card", "s5"),
        Key("last, higher than first", 3, "s0", "s0"),
        Key("last, lower than first", 4, "s1", "s1"),
        Key("best answer", stroke="s2", marker=None, dash=(2, 2)),
        Key("dialogues improved", fill="s0"),
        Key("harmed", fill="s1", line="card", hatch="////"),
    ]
    top = draw_legend(sheet, layout, keys, 2)
    rows = Rows(layout, top + 18, len(bars), 18 if layout.narrow else 24)
    share = layout.width * (0.30 if layout.narrow else 0.22)
    values = [value for bar in bars for value in (bar.first, bar.last, bar.best)]
    scale = score_scale(values, rows.left + 8, layout.width - share - 24)
    middle = layout.width - share / 2
    most = max(max(bar.improved, bar.harmed) / max(bar.dialogues, 1) for bar in bars) or 1.0
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), "mean score")
    sheet.marks.append(Mark(Outline.line((middle, rows.top), (middle, rows.bottom)), line="muted"))
    heading = ((middle - 5, "harmed", "end"), (middle + 5, "improved", "start"))
    for x, text, side in heading:
        sheet.words.append(Words(x, rows.top - 6, text, layout.size - 2, "end" if side == "end" else "start", "muted"))
    rows.write_names(sheet, [bar.model for bar in bars])
    for number, bar in enumerate(bars):
        _draw_change(sheet, scale, rows.middle(number), bar)
        _draw_counts(sheet, rows, number, bar, (middle, (share / 2 - 30) / most))
    sheet.height = rows.bottom + 46
    return sheet


def _draw_change(sheet: Sheet, scale: Scale, y: float, bar: _Bar) -> None:
    first, last, best = scale.at(bar.first), scale.at(bar.last), scale.at(bar.best)
    color = "s0" if bar.last > bar.first else "s1" if bar.last < bar.first else "s5"
    tip = _sentence(bar)
    sheet.marks.append(Mark(Outline.line((first, y), (best, y)), line="s2", width=2, dash=(2, 2)))
    sheet.marks.append(Mark(Outline.line((best, y - 6), (best, y + 6)), line="s2", width=2.5))
    sheet.marks.append(Mark(Outline.line((first, y), (last, y)), line=color, width=2.5))
    sheet.marks.append(Mark(Outline.circle(first, y, 4.5), "card", "s5", 1.5))
    shape = 3 if bar.last > bar.first else 4
    outline = Outline.circle(last, y, 2) if bar.last == bar.first else Outline.marker(shape, last, y, 4.8)
    sheet.marks.append(Mark(outline, color, color, tip=tip))


def _draw_counts(sheet: Sheet, rows: Rows, number: int, bar: _Bar, place: tuple[float, float]) -> None:
    """Bars to both sides of the middle, as shares of the model's dialogues, with the counts at their ends."""
    middle, unit = place
    y, size = rows.middle(number), rows.layout.size - 1
    half = 6
    right = unit * bar.improved / max(bar.dialogues, 1)
    left = unit * bar.harmed / max(bar.dialogues, 1)
    if right:
        sheet.marks.append(Mark(Outline.box(middle, y - half, right, 2 * half), "s0"))
    if left:
        box = Outline.box(middle - left, y - half, left, 2 * half)
        sheet.marks.append(Mark(box, "s1", "card", hatch="////"))
    sheet.words.append(Words(middle + right + 5, y + 0.35 * size, str(bar.improved), size))
    sheet.words.append(Words(middle - left - 5, y + 0.35 * size, str(bar.harmed), size, "end"))
