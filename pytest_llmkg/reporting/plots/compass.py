"""Capability compass: one axis for each capability, from 0 in the middle to 1 outside."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.plots.axes import finite
from pytest_llmkg.reporting.plots.drawing import finish, nothing, render
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.palette import SERIES
from pytest_llmkg.reporting.plots.sheet import Anchor, Layout, Mark, Outline, Plot, Sheet, Words, polar
from pytest_llmkg.reporting.plots.wording import listed, shorten, two_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.published_records import CapabilityScore

    Axis = tuple[str, str]
    Scores = Mapping[tuple[Axis, str], CapabilityScore]

__all__ = ["DASHES", "compass_plot"]

MOST_MODELS = 6
"""Models that can be told apart in one compass."""

DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 2.5), (9, 3, 2, 3), (5, 5), (12, 4))
"""Dashes of series, by number."""


def compass_plot(
    scores: Sequence[CapabilityScore],
    models: Sequence[str],
    *,
    definitions: Sequence[str] | None = None,
    ident: str = "plot-compass",
) -> Plot:
    """The compass of one model, small enough for a card, or of up to six over one another.

    Args:
        scores: of `pytest_llmkg.analysis.published.analyse_published`.
        models: which ones; of more than six the first six are drawn, and a note says so.
        definitions: whose capabilities become axes, by default all.
        ident: start of the ids, unique on the page.
    """
    shown = tuple(dict.fromkeys(models))[:MOST_MODELS]
    title = f"Capability compass of {shown[0]}" if len(shown) == 1 else "Capability compass"
    used = [one for one in scores if definitions is None or one.definition in definitions]
    axes = tuple(dict.fromkeys((one.definition, one.capability) for one in used))
    found = {((one.definition, one.capability), one.model): one for one in used if one.model in shown}
    if len(axes) < 3:
        return nothing(ident, title, f"a compass needs three capabilities, found {len(axes)}")
    drawn = tuple(model for model in shown if any(_mean(found, axis, model) is not None for axis in axes))
    if not drawn:
        return nothing(ident, title, "no capability of these models has a value")
    notes = _notes(found, axes, shown, drawn, len(set(models)))
    description = listed([_sentence(found, axes, model) for model in drawn])
    if len(shown) > 1:
        return finish(lambda layout: _draw(layout, found, axes, drawn), ident, title, description, notes)
    card = Layout("narrow", 360, 12, 0)
    svg = render(_draw(card, found, axes, drawn), f"{ident}-card", title, description, "plot plot-card")
    return Plot(ident, visible(title), visible(description), (svg,), None, tuple(visible(note) for note in notes))


def _mean(found: Scores, axis: Axis, model: str) -> float | None:
    one = found.get((axis, model))
    return None if one is None else finite(one.mean)


def _sentence(found: Scores, axes: Sequence[Axis], model: str) -> str:
    parts = []
    for axis in axes:
        one = found.get((axis, model))
        incomplete = " (incomplete)" if one and one.mean is not None and not one.complete else ""
        parts.append(f"{axis[1]} {two_decimals(one.mean) if one and one.mean is not None else 'no value'}{incomplete}")
    return f"{model}: {', '.join(parts)}"


def _notes(found: Scores, axes: Sequence[Axis], shown: Sequence[str], drawn: Sequence[str], asked: int) -> list[str]:
    notes = [f"{model} has no value on any axis." for model in shown if model not in drawn]
    notes += [f"Only the first {MOST_MODELS} of {asked} models are drawn."] if asked > MOST_MODELS else []
    return notes + _lacking(found, axes, drawn)


def _lacking(found: Scores, axes: Sequence[Axis], drawn: Sequence[str]) -> list[str]:
    """Which capabilities lack tasks: one sentence for all models that lack the same."""
    same: dict[tuple[str, ...], list[str]] = {}
    for model in drawn:
        lacking = tuple(axis[1] for axis in axes if (one := found.get((axis, model))) and not one.complete)
        same.setdefault(lacking, []).append(model)
    notes = []
    for lacking, models in same.items():
        of = "" if len(drawn) == 1 else " of these models" if len(models) == len(drawn) else f" of {', '.join(models)}"
        which = "All capabilities" if len(lacking) == len(axes) else ", ".join(lacking)
        notes += [f"{which}{of} {'lacks' if len(lacking) == 1 else 'lack'} some of the tasks."] if lacking else []
    return notes


def _draw(layout: Layout, found: Scores, axes: Sequence[Axis], models: Sequence[str]) -> Sheet:
    radius = 84.0 if layout.narrow else 190.0
    sheet = Sheet(layout.width if layout.narrow else 760, 0)
    top = 2.0
    if len(models) > 1:
        top = draw_legend(sheet, layout, [*map(_key, range(len(models)), models), *_extra_keys(found, models)], top)
    x, y = sheet.width / 2, top + radius + 34
    _draw_grid(sheet, layout, axes, (x, y, radius))
    for number, model in enumerate(models):
        means = [_mean(found, axis, model) for axis in axes]
        _draw_model(sheet, number, means, (x, y, radius), fill=len(models) == 1)
        _draw_markers(sheet, number, [found.get((axis, model)) for axis in axes], (x, y, radius))
    if len(models) > 1:
        middle = _place(0, len(axes), 0.5, (x, y, radius))
        sheet.words.append(Words(middle[0] + 4, middle[1] + 12, "0.5", layout.size - 2, color="muted"))
    else:
        _write_values(sheet, layout, [_mean(found, axis, models[0]) for axis in axes], (x, y, radius))
    bottom = y + radius * (1 if len(axes) % 2 == 0 else math.cos(math.pi / len(axes))) + 36
    if len(models) == 1 and (keys := _extra_keys(found, models)):
        bottom = draw_legend(sheet, layout, keys, bottom)
    sheet.height = bottom
    return sheet


def _key(number: int, model: str) -> Key:
    return Key(model, number, SERIES[number], SERIES[number], SERIES[number], DASHES[number])


def _extra_keys(found: Scores, models: Sequence[str]) -> list[Key]:
    incomplete = any(one.mean is not None and not one.complete for (_, model), one in found.items() if model in models)
    return [Key("hollow: some tasks are missing", 0, "card", "muted")] if incomplete else []


def _place(number: int, count: int, share: float, center: tuple[float, float, float]) -> tuple[float, float]:
    x, y, radius = center
    return polar(x, y, radius * min(max(share, 0.0), 1.0), -90 + 360 * number / count)


def _draw_grid(sheet: Sheet, layout: Layout, axes: Sequence[Axis], center: tuple[float, float, float]) -> None:
    n, (x, y, radius) = len(axes), center
    rings = [Outline.polygon(*(_place(k, n, step / 4, center) for k in range(n))) for step in range(1, 5)]
    spokes = [Outline.line((x, y), _place(k, n, 1, center)) for k in range(n)]
    sheet.marks.append(Mark(Outline.join([*rings, *spokes]), line="grid"))
    names = Counter(axis[1] for axis in axes)
    for k, (definition, capability) in enumerate(axes):
        left, top = polar(x, y, radius + 12, -90 + 360 * k / n)
        side = 0 if abs(left - x) < 4 else 1 if left > x else -1
        room = sheet.width - left if side > 0 else left if side < 0 else sheet.width
        text = capability if names[capability] == 1 else f"{capability} ({definition})"
        shift = 0.35 * layout.size + (0.5 * layout.size * ((top > y) - (top < y)) if side == 0 else 0)
        short = shorten(text, room - 4, layout.size)
        anchor: Anchor = "middle" if side == 0 else "start" if side > 0 else "end"
        sheet.words.append(Words(left, top + shift, short, layout.size, anchor, bold=True, tip=text))


def _draw_model(
    sheet: Sheet, number: int, means: Sequence[float | None], center: tuple[float, float, float], *, fill: bool
) -> None:
    """The line through the values; it is broken where one is missing, since nothing is known there."""
    n, color = len(means), SERIES[number]
    places = [None if mean is None else _place(k, n, mean, center) for k, mean in enumerate(means)]
    if fill and all(place is not None for place in places):
        sheet.marks.append(Mark(Outline.polygon(*(place for place in places if place)), fill=color, opacity=0.16))
    pairs = [(places[k], places[(k + 1) % n]) for k in range(n)]
    lines = [Outline.line(one, other) for one, other in pairs if one and other]
    if lines:
        sheet.marks.append(Mark(Outline.join(lines), line=color, width=2, dash=DASHES[number]))


def _draw_markers(
    sheet: Sheet, number: int, scores: Sequence[CapabilityScore | None], center: tuple[float, float, float]
) -> None:
    for k, one in enumerate(scores):
        if one is None or one.mean is None or finite(one.mean) is None:
            continue
        spot = _place(k, len(scores), one.mean, center)
        tip = f"{one.model}, {one.capability}: {two_decimals(one.mean)} of {one.values} values"
        tip += "" if one.complete else f"; {'; '.join(one.missing)}"
        fill = SERIES[number] if one.complete else "card"
        sheet.marks.append(Mark(Outline.marker(number, *spot, 4.5), fill, SERIES[number], 1.5, tip=tip))


def _write_values(
    sheet: Sheet, layout: Layout, means: Sequence[float | None], center: tuple[float, float, float]
) -> None:
    """Beside each marker, on the inner side, where no axis name stands."""
    for k, mean in enumerate(means):
        share = 0.0 if mean is None else mean
        inner = share - 0.17 if share > 0.35 else share + 0.17
        x, y = _place(k, len(means), inner, center)
        text = "no value" if mean is None else two_decimals(mean)
        sheet.words.append(Words(x, y + 4, text, layout.size - 1, "middle", halo=True))
