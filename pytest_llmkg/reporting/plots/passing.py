"""pass@k and pass^k: how often one of k answers is good, and how often all of them are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import Scale, draw_up, finite
from pytest_llmkg.reporting.plots.compass import DASHES
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.palette import SERIES
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, plain_number, two_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.passing import PassRow

__all__ = ["pass_plot"]

TITLE = "Repeated answers: pass@k and pass^k"

Curves = dict[str, dict[int, "PassRow"]]


def pass_plot(
    rows: Sequence[PassRow], models: Sequence[str] | None = None, *, label: str | None = None, ident: str = "plot-pass"
) -> Plot:
    """Curves over k; the first six models have colours, further ones are thin and grey.

    Args:
        rows: from `pytest_llmkg.analysis.passing.pass_rows`, for several k.
        models: which ones and in which order; by default by falling pass@k at the smallest k.
        label: the task label to draw; None for the means over labels.
        ident: start of the ids, unique on the page.
    """
    curves: Curves = {}
    for row in rows:
        if row.label == label and finite(row.any_of) is not None and finite(row.all_of) is not None:
            curves.setdefault(row.model, {})[row.k] = row
    if not curves:
        return nothing(ident, TITLE, "no case was asked often enough")
    first = {model: found[min(found)].any_of or 0.0 for model, found in curves.items()}
    order = [m for m in (models or sorted(curves, key=lambda model: (-first[model], model))) if m in curves]
    if not order:
        return nothing(ident, TITLE, "none of these models was asked often enough")
    chosen = {model: curves[model] for model in order}
    ks = sorted({k for found in chosen.values() for k in found})
    threshold = min(row.threshold for found in chosen.values() for row in found.values())
    notes = [f"An answer is good if its score is {plain_number(threshold)}{'' if threshold >= 1 else ' or more'}."]
    if ks == [1]:
        notes.append("Every case was asked once, so there is no curve.")
    counts = {model: {(row.cases, row.labels) for row in found.values()} for model, found in chosen.items()}
    if any(len(found) > 1 for found in counts.values()):
        notes.append("Curves are broken where fewer cases were asked that often.")
    reasons = dict.fromkeys(row.reason for found in chosen.values() for row in found.values() if row.reason)
    notes += [f"{len(reasons)} of these numbers leave something out, e.g. {next(iter(reasons))}."] if reasons else []
    description = listed([_sentence(model, found) for model, found in chosen.items()])
    return finish(lambda layout: _draw(layout, chosen, ks), ident, TITLE, description, notes)


def _sentence(model: str, found: Mapping[int, PassRow]) -> str:
    parts = [
        f"k {k}: any {two_decimals(found[k].any_of)}, all {two_decimals(found[k].all_of)}"
        for k in dict.fromkeys((min(found), max(found)))
    ]
    return f"{model}, {'; '.join(parts)}"


def _draw(layout: Layout, curves: Curves, ks: Sequence[int]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    few = list(curves)[: len(SERIES)]
    keys = [Key(model, k, SERIES[k], SERIES[k], SERIES[k], DASHES[k]) for k, model in enumerate(few)]
    keys += [Key(f"{len(curves) - len(few)} more", stroke="faint")] if len(curves) > len(few) else []
    top = draw_legend(sheet, layout, keys, 2) + 26
    height = 210 if layout.narrow else 320
    width = layout.width if layout.narrow else layout.width / 2 - 14
    titles = ("pass@k: at least one of k answers is good", "pass^k: all k answers are good")
    for number, title in enumerate(titles):
        left = 0 if layout.narrow else number * (width + 28)
        start = top + (number * (height + 84) if layout.narrow else 0)
        box = (left + 40, start, left + width - 14, start + height)
        places = _draw_ground(sheet, layout, title, ks, box)
        up = Scale(0, 1, box[3], box[1])
        for place, model in reversed(list(enumerate(curves))):
            rows = [row for _, row in sorted(curves[model].items())]
            values = [(row.any_of if number == 0 else row.all_of) or 0.0 for row in rows]
            points = [(places[row.k], up.at(value)) for row, value in zip(rows, values, strict=True)]
            _draw_curve(sheet, place, rows, points, values)
        sheet.height = start + height + 44
    return sheet


def _draw_ground(
    sheet: Sheet, layout: Layout, title: str, ks: Sequence[int], box: tuple[float, float, float, float]
) -> dict[int, float]:
    """Grid and title of a panel; returns where each k stands."""
    left, top, right, bottom = box
    draw_up(sheet, layout, Scale(0, 1, bottom, top), (left, right), "")
    sheet.words.append(Words(left - 36, top - 14, title, layout.size, bold=True))
    gap = (right - left - 24) / max(len(ks) - 1, 1)
    places = {k: left + 12 + gap * number if len(ks) > 1 else (left + right) / 2 for number, k in enumerate(ks)}
    size, every = layout.size - 1, max(1, -(-len(ks) // (8 if layout.narrow else 14)))
    for k in ks[::every]:
        sheet.words.append(Words(places[k], bottom + size + 6, str(k), size, "middle", "muted"))
    sheet.words.append(Words((left + right) / 2, bottom + 2 * size + 12, "k answers", size, "middle", "muted"))
    return places


def _draw_curve(
    sheet: Sheet,
    number: int,
    rows: Sequence[PassRow],
    points: Sequence[tuple[float, float]],
    values: Sequence[float],
) -> None:
    """A curve, broken where the next number is of other cases, since the two cannot be compared."""
    strong = number < len(SERIES)
    same = [(a.cases, a.labels) == (b.cases, b.labels) for a, b in pairwise(rows)]
    lines = [Outline.line(*pair) for pair, joined in zip(pairwise(points), same, strict=True) if joined]
    color = SERIES[number] if strong else "faint"
    if lines:
        dash = DASHES[number] if strong else ()
        line = Mark(Outline.join(lines), line=color, width=2 if strong else 1.2, dash=dash, tip=rows[0].model)
        sheet.marks.append(line)
    for row, (x, y), value in zip(rows, points, values, strict=True):
        if strong:
            tip = f"{row.model}, k {row.k}: {two_decimals(value)} of {row.cases} cases"
            sheet.marks.append(Mark(Outline.marker(number, x, y, 4), color, color, tip=tip))
    if not strong and not lines:
        sheet.marks.append(Mark(Outline.join(Outline.dot(x, y) for x, y in points), line=color, width=4))
