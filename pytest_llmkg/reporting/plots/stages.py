"""What the time of a question goes into, as bars that add up to all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.plots.axes import Rows, Scale, draw_across
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["StageRow", "stages_plot"]

_LOOKS = (("s0", None), ("faint", None), ("s2", "////"), ("s3", "||"), ("s4", "xxx"), ("soft1", "\\\\"))
"""Fill and hatch of each stage; further ones look like the last."""
_LEAST = 0.0005


@dataclass(frozen=True, slots=True)
class StageRow:
    """A system: mean seconds of a question by stage, and how their sum is written."""

    name: str
    seconds: Mapping[str, float]
    total: str


def stages_plot(rows: Sequence[StageRow], stages: Sequence[str], *, ident: str = "plot-stages") -> Plot:
    """Shares of each stage.

    Args:
        rows: systems, in the order of drawing.
        stages: in the order of drawing.
        ident: start of the ids, unique on the page.
    """
    title = "What the time of a question goes into"
    shown = [row for row in rows if sum(row.seconds.values()) > 0]
    notes = [f"{row.name} tells no time." for row in rows if row not in shown]
    if not any(len(row.seconds) > 1 for row in shown):
        return nothing(ident, title, "no system tells more than one stage", notes)
    description = listed([_sentence(row, stages) for row in shown])
    return finish(lambda layout: _draw(layout, shown, stages), ident, title, description, notes)


def _sentence(row: StageRow, stages: Sequence[str]) -> str:
    whole = sum(row.seconds.values())
    found = [f"{100 * row.seconds[stage] / whole:.0f} % {stage}" for stage in stages if row.seconds.get(stage)]
    return f"{row.name}: {', '.join(found)} of {row.total}"


def _draw(layout: Layout, shown: Sequence[StageRow], stages: Sequence[str]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    keys = [Key(stage, fill=_look(k)[0], line="card", hatch=_look(k)[1]) for k, stage in enumerate(stages)]
    rows = Rows(layout, draw_legend(sheet, layout, keys, 2), len(shown), 18 if layout.narrow else 24)
    scale = Scale(0, 100, rows.left, layout.width - (14 if layout.narrow else 110))
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), "share of the time of a question in %")
    rows.write_names(sheet, [row.name for row in shown])
    for number, row in enumerate(shown):
        _draw_row(sheet, rows, scale, number, (row, stages))
    sheet.height = rows.bottom + 46
    return sheet


def _look(place: int) -> tuple[str, str | None]:
    return _LOOKS[min(place, len(_LOOKS) - 1)]


def _draw_row(sheet: Sheet, rows: Rows, scale: Scale, number: int, what: tuple[StageRow, Sequence[str]]) -> None:
    row, stages = what
    whole, done = sum(row.seconds.values()), 0.0
    y, half = rows.middle(number), rows.height / 2 - 3
    for place, stage in enumerate(stages):
        share = row.seconds.get(stage, 0.0) / whole
        if share > _LEAST:
            left, right = scale.at(100 * done), scale.at(100 * (done + share))
            fill, hatch = _look(place)
            tip = f"{row.name}: {stage} {100 * share:.1f} % of {row.total}"
            sheet.marks.append(
                Mark(Outline.box(left, y - half, right - left, 2 * half), fill, "card", hatch=hatch, tip=tip)
            )
            text = f"{100 * share:.0f} %"
            if width_of(text, 11) + 10 <= right - left:
                sheet.words.append(Words((left + right) / 2, y + 4, text, 11, "middle", bold=True, halo=True))
        done += share
    size, width = rows.layout.size - 1, rows.layout.width
    if rows.layout.narrow:
        sheet.words.append(Words(width - 4, y - rows.height / 2 - 4, row.total, size - 1, "end", "muted"))
    else:
        sheet.words.append(Words(width - 4, y + 0.35 * size, row.total, size, "end", "muted"))
