"""Error taxonomy: how dialogues ended, as bars that add up to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.aggregates import Counts
from pytest_llmkg.reporting.plots.axes import Rows, Scale, draw_across
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OutcomeRow", "outcomes_plot"]


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """A model or a task label: how its dialogues ended, and how many were never run."""

    name: str
    counts: Counts
    not_run: int = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    text: str
    fill: str
    line: str | None = None
    hatch: str | None = None


_KINDS = (
    _Kind("scored", "s0"),
    _Kind("unparsable", "s4", "card", "////"),
    _Kind("no answer", "faint", "ink", "||"),
    _Kind("error", "s1", "card", "xxx"),
    _Kind("not run", "card", "muted", "\\\\"),
)


def outcomes_plot(
    rows: Sequence[OutcomeRow], *, title: str = "How dialogues ended", ident: str = "plot-outcomes"
) -> Plot:
    """Shares of each outcome, with the counts of what is not ``scored``.

    Args:
        rows: models or task labels, in the order of drawing.
        title: of the plot.
        ident: start of the ids, unique on the page.
    """
    shown = [row for row in rows if sum(_numbers(row))]
    notes = [f"{row.name} has no dialogue." for row in rows if row not in shown]
    if not shown:
        return nothing(ident, title, "there is no dialogue", notes)
    missing = sum(row.counts.missing for row in shown)
    notes += [f"{missing} evaluated dialogues lack the task's headline score."] if missing else []
    description = listed([_sentence(row) for row in shown])
    return finish(lambda layout: _draw(layout, shown), ident, title, description, notes)


def _numbers(row: OutcomeRow) -> tuple[int, ...]:
    counts = row.counts
    return counts.scored, counts.unparsable, counts.no_answer, counts.error, row.not_run


def _sentence(row: OutcomeRow) -> str:
    found = [f"{number} {kind.text}" for number, kind in zip(_numbers(row), _KINDS, strict=True) if number]
    return f"{row.name}: {', '.join(found)}"


def _draw(layout: Layout, shown: Sequence[OutcomeRow]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    present = [kind for k, kind in enumerate(_KINDS) if any(_numbers(row)[k] for row in shown)]
    keys = [Key(kind.text, fill=kind.fill, line=kind.line, hatch=kind.hatch) for kind in present]
    rows = Rows(layout, draw_legend(sheet, layout, keys, 2), len(shown), 18 if layout.narrow else 24)
    scale = Scale(0, 100, rows.left, layout.width - (14 if layout.narrow else 150))
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), "share of dialogues in %")
    rows.write_names(sheet, [row.name for row in shown])
    for number, row in enumerate(shown):
        _draw_row(sheet, rows, scale, number, row)
    sheet.height = rows.bottom + 46
    return sheet


def _draw_row(sheet: Sheet, rows: Rows, scale: Scale, number: int, row: OutcomeRow) -> None:
    numbers = _numbers(row)
    y, half, done = rows.middle(number), rows.height / 2 - 3, 0
    for count, kind in zip(numbers, _KINDS, strict=True):
        if count:
            left, right = (scale.at(100 * part / sum(numbers)) for part in (done, done + count))
            box = Outline.box(left, y - half, right - left, 2 * half)
            tip = f"{count} of {sum(numbers)} {kind.text}"
            sheet.marks.append(Mark(box, kind.fill, kind.line, hatch=kind.hatch, tip=tip))
            if kind.fill == "card":
                sheet.marks.append(Mark(box, line="muted"))
            if done and width_of(str(count), 11) + 8 <= right - left:
                sheet.words.append(Words((left + right) / 2, y + 4, str(count), 11, "middle", bold=True, halo=True))
        done += count
    size, width = rows.layout.size - 1, rows.layout.width
    text = f"{numbers[0]} of {sum(numbers)} scored"
    if rows.layout.narrow:
        sheet.words.append(Words(width - 4, y - rows.height / 2 - 4, text, size - 1, "end", "muted"))
    else:
        sheet.words.append(Words(width - 4, y + 0.35 * size, text, size, "end", "muted"))
