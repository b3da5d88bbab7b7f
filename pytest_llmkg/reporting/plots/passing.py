"""pass@k and pass^k: how often one of k answers is good, and how often all of them are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import Scale, draw_up
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
        models: which ones and in which order; by default by falling pass@k at the largest k.
        label: the task label to draw; None for the means over labels.
        ident: start of the ids, unique on the page.
    """
    curves: Curves = {}
    for row in rows:
        if row.label == label and row.any_of is not None and row.all_of is not None:
            curves.setdefault(row.model, {})[row.k] = row
    if not curves:
        return nothing(ident, TITLE, "no case was asked often enough")
    last = {model: found[max(found)].any_of or 0.0 for model, found in curves.items()}
    order = [m for m in (models or sorted(curves, key=lambda model: (-last[model], model))) if m in curves]
    if not order:
        return nothing(ident, TITLE, "none of these models was asked often enough")
    chosen = {model: curves[model] for model in order}
    ks = sorted({k for found in chosen.values() for k in found})
    threshold = min(row.threshold for found in chosen.values() for row in found.values())
    notes = [f"An answer counts as good from a score of {plain_number(threshold)} on."]
    if ks == [1]:
        notes.append("Every case was asked once, so there is no curve.")
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
        _draw_panel(sheet, layout, (title, ks, any_of := number == 0), curves, box)
        sheet.height = start + height + 44
        del any_of
    return sheet


def _draw_panel(
    sheet: Sheet,
    layout: Layout,
    what: tuple[str, Sequence[int], bool],
    curves: Curves,
    box: tuple[float, float, float, float],
) -> None:
    title, ks, any_of = what
    left, top, right, bottom = box
    up = Scale(0, 1, bottom, top)
    draw_up(sheet, layout, up, (left, right), "")
    sheet.words.append(Words(left - 36, top - 14, title, layout.size, bold=True))
    gap = (right - left - 24) / max(len(ks) - 1, 1)
    places = {k: left + 12 + gap * number if len(ks) > 1 else (left + right) / 2 for number, k in enumerate(ks)}
    size, every = layout.size - 1, max(1, -(-len(ks) // (8 if layout.narrow else 14)))
    for k in ks[::every]:
        sheet.words.append(Words(places[k], bottom + size + 6, str(k), size, "middle", "muted"))
    sheet.words.append(Words((left + right) / 2, bottom + 2 * size + 12, "k answers", size, "middle", "muted"))
    for number, (model, found) in reversed(list(enumerate(curves.items()))):
        values = {k: (row.any_of if any_of else row.all_of) or 0.0 for k, row in sorted(found.items())}
        points = {k: (places[k], up.at(value)) for k, value in values.items()}
        if number >= len(SERIES):
            sheet.marks.append(Mark(Outline.line(*points.values()), line="faint", width=1.2, tip=model))
            continue
        color = SERIES[number]
        if len(points) > 1:
            line = Mark(Outline.line(*points.values()), line=color, width=2, dash=DASHES[number], tip=model)
            sheet.marks.append(line)
        for k, (x, y) in points.items():
            tip = f"{model}, k {k}: {two_decimals(values[k])}"
            sheet.marks.append(Mark(Outline.marker(number, x, y, 4), color, color, tip=tip))
