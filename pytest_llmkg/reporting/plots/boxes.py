"""Box plots of a task label: one box and all single values for each model, as in figure 5 of the article."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import Rows, Scale, draw_across, finite, score_scale
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, two_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.values import CaseValues

__all__ = ["box_plot"]

_FEW = 3
"""Values below which a box would say less than the values themselves."""


_GAP = 4.0
"""Pixels between dots."""


def box_plot(
    values: CaseValues, label: str, *, score: str, models: Sequence[str] | None = None, ident: str = "plot-boxes"
) -> Plot:
    """Quartiles, whiskers of 1.5 interquartile ranges, mean and every value of each model under ``label``.

    Args:
        values: from `pytest_llmkg.analysis.values.headline_values` or ``values_of``.
        label: the task label.
        score: name of the score, for the axis.
        models: which ones and in which order; by default all by name.
        ident: start of the ids, unique on the page.
    """
    title = f"{label}: {score}"
    by_model: dict[str, list[float]] = {}
    for (model, of, _), found in values.by_case.items():
        if of == label:
            by_model.setdefault(model, []).extend(value for value in found if finite(value) is not None)
    order = [model for model in (models if models is not None else sorted(by_model)) if by_model.get(model)]
    missing = [f"{model} has no value here." for model in (models or sorted(by_model)) if model not in order]
    if not order:
        return nothing(ident, title, "no model has a value here", missing)
    chosen = {model: sorted(by_model[model]) for model in order}
    description = listed([_sentence(model, found) for model, found in chosen.items()])
    return finish(lambda layout: _draw(layout, chosen, score), ident, title, description, missing)


def _sentence(model: str, found: Sequence[float]) -> str:
    mean = two_decimals(math.fsum(found) / len(found))
    return f"{model}: {len(found)} values from {two_decimals(found[0])} to {two_decimals(found[-1])}, mean {mean}"


def _draw(layout: Layout, chosen: Mapping[str, Sequence[float]], score: str) -> Sheet:
    sheet = Sheet(layout.width, 0)
    keys = [
        Key("mean", 2, "card", "s1", width=2),
        Key("single value", 0, "s0"),
        Key("median", stroke="ink"),
        Key("middle half", fill="soft0", line="s0"),
    ]
    top = draw_legend(sheet, layout, keys, 2)
    height = 38 if len(chosen) <= 8 else 30 if len(chosen) <= 16 else 22
    rows = Rows(layout, top, len(chosen), min(height, 26) if layout.narrow else height)
    scale = score_scale(
        (value for found in chosen.values() for value in found),
        rows.left + 16,
        layout.width - (16 if layout.narrow else 60),
        zoom=False,
    )
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), score)
    if not layout.narrow:
        sheet.words.append(Words(layout.width - 2, top - 6, "values", layout.size - 2, "end", "muted"))
    rows.write_names(sheet, tuple(chosen))
    places = [(rows.middle(number), rows.height / 2 - 3) for number in range(rows.count)]
    _draw_boxes(sheet, scale, chosen, places)
    dots = [_dots(scale, found, *place) for found, place in zip(chosen.values(), places, strict=True)]
    sheet.marks.append(Mark(Outline.join(dots), line="s0", width=3.2))
    for (model, found), (y, _) in zip(chosen.items(), places, strict=True):
        _draw_mean(sheet, rows, scale, (model, found), y)
    sheet.height = rows.bottom + 46
    return sheet


def _draw_boxes(
    sheet: Sheet, scale: Scale, chosen: Mapping[str, Sequence[float]], places: Sequence[tuple[float, float]]
) -> None:
    """Boxes, whiskers and medians by matplotlib's rules; lines of one kind are one outline, which keeps pages small."""
    from matplotlib.cbook import boxplot_stats

    whiskers: list[Outline] = []
    medians: list[Outline] = []
    for (model, found), (y, half) in zip(chosen.items(), places, strict=True):
        if len(found) < _FEW:
            continue
        stats = boxplot_stats(found)[0]
        low, high = scale.at(float(stats["q1"])), scale.at(float(stats["q3"]))
        ends = scale.at(float(stats["whislo"])), scale.at(float(stats["whishi"]))
        box = Outline.box(low, y - half, high - low, 2 * half)
        sheet.marks.append(Mark(box, "soft0", "s0", 0.8, tip=_sentence(model, found)))
        whiskers += [Outline.line((ends[0], y), (low, y)), Outline.line((high, y), (ends[1], y))]
        whiskers += [Outline.line((x, y - 3), (x, y + 3)) for x in ends]
        middle = scale.at(float(stats["med"]))
        medians.append(Outline.line((middle, y - half), (middle, y + half)))
    if medians:
        sheet.marks.append(Mark(Outline.join(whiskers), line="muted", width=1.2))
        sheet.marks.append(Mark(Outline.join(medians), line="ink", width=2))


def _draw_mean(sheet: Sheet, rows: Rows, scale: Scale, one: tuple[str, Sequence[float]], y: float) -> None:
    model, found = one
    mean, size, width = math.fsum(found) / len(found), rows.layout.size - 1, rows.layout.width
    outline = Outline.marker(2, scale.at(mean), y, 4.5)
    sheet.marks.append(Mark(outline, "card", "s1", 2, tip=_sentence(model, found)))
    if rows.layout.narrow:
        text = f"mean {two_decimals(mean)}"
        sheet.words.append(Words(width - 4, y - rows.height / 2 - 4, text, size - 1, "end", "muted"))
    else:
        sheet.words.append(Words(width - 2, y + 4, str(len(found)), size, "end", "muted"))


def _dots(scale: Scale, found: Sequence[float], y: float, half: float) -> Outline:
    """A dot for each value; those at one place become a block as high as the row, so that many look like many."""
    columns = Counter(round(scale.at(value)) for value in found)
    dots = []
    for x, count in sorted(columns.items()):
        high = max(1, min(count, int(2 * half / _GAP)))
        broad = -(-count // high)
        gap = min(_GAP, 24 / broad)
        for k in range(count):
            column, place = divmod(k, high)
            tall = min(high, count - column * high)
            left = x + gap * (column - (broad - 1) / 2)
            dots.append(Outline.dot(left, y + _GAP * (place - (tall - 1) / 2)))
    return Outline.join(dots)
