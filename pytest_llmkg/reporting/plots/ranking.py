"""The ranking: each model's mean with its interval, and which models may be the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.intervals import Interval
from pytest_llmkg.analysis.ranks import Rank
from pytest_llmkg.reporting.formats import places
from pytest_llmkg.reporting.plots.axes import Rows, draw_across, finite, score_scale
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, two_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.ranks import Ranking
    from pytest_llmkg.reporting.plots.axes import Scale

__all__ = ["ranking_plot"]

TITLE = "Ranking with 95 % intervals"


@dataclass(frozen=True, slots=True)
class _Row:
    """A model; ``line``: its mean is drawn through all rows, since the ranked are to be seen against it."""

    name: str
    interval: Interval
    place: Rank | None
    reference: bool = False
    line: bool = False

    @property
    def leads(self) -> bool:
        return self.place is not None and self.place.leader

    @property
    def color(self) -> str:
        return "s0" if self.leads else "s5" if self.place else "muted"

    @property
    def shape(self) -> int:
        return 2 if self.leads else 1 if self.reference else 0


def ranking_plot(ranking: Ranking, intervals: Mapping[str, Interval], *, ident: str = "plot-ranking") -> Plot:
    """Means and intervals, best model first; the leader group has diamonds on a tinted ground.

    References are below the others, hollow squares with a thin line through all rows where labels are the same.

    Args:
        ranking: from `pytest_llmkg.analysis.ranks.rank_models`.
        intervals: `ScoreIntervals.models` of `pytest_llmkg.analysis.intervals.score_intervals`.
        ident: start of the ids, unique on the page.
    """
    places = {row.model: row for row in ranking.rows}
    everyone = (*places, *ranking.incomplete, *ranking.references)
    names = [name for name in everyone if _known(intervals.get(name))]
    left_out = [f"{name} has no mean." for name in everyone if name not in names]
    if not names:
        return nothing(ident, TITLE, ranking.reason or "no model has a mean", left_out)
    found = [
        _Row(name, intervals[name], places.get(name), name in ranking.references, name in ranking.comparable)
        for name in names
    ]
    notes = left_out + [f"{one.name} has no interval: {one.interval.reason}." for one in found if one.interval.reason]
    if ranking.untested and len(places) > 1:
        notes.append(f"There is no leader group: {ranking.untested}.")
    description = listed(list(map(_sentence, found)), 15)
    return finish(lambda layout: _draw(layout, found), ident, TITLE, description, notes)


def _known(interval: Interval | None) -> bool:
    return interval is not None and finite(interval.mean) is not None


def _sentence(one: _Row) -> str:
    rank = f"Rank {one.place.rank}" if one.place else "Reference" if one.reference else "Not ranked"
    return f"{rank}: {one.name}, mean {_numbers(one.interval)}{', leader group' if one.leads else ''}"


def _numbers(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return two_decimals(interval.mean)
    return f"{two_decimals(interval.mean)} [{two_decimals(interval.low)}, {two_decimals(interval.high)}]"


def _draw(layout: Layout, found: Sequence[_Row]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    limits = [v for row in found for v in (row.interval.mean, row.interval.low, row.interval.high)]
    values = [v for v in limits if v is not None and finite(v) is not None]
    top = draw_legend(sheet, layout, _keys(found), 2)
    rows = Rows(layout, top + (0 if layout.narrow else 16), len(found), 14 if layout.narrow else 24)
    scale = score_scale(values, rows.left + 8, layout.width - (10 if layout.narrow else 250))
    leaders = [number for number, one in enumerate(found) if one.leads]
    if leaders:
        ground = [Outline.box(0, rows.top + rows.step * number, layout.width, rows.step) for number in leaders]
        sheet.marks.append(Mark(Outline.join(ground), fill="wash"))
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), "mean of task means")
    _draw_headings(sheet, layout, rows)
    before = [f"{one.place.rank}. " if one.place else "" for one in found]
    rows.write_names(sheet, [one.name for one in found], leaders, before)
    for one in found:
        if one.line and one.interval.mean is not None:
            x = scale.at(one.interval.mean)
            line = Outline.line((x, rows.top), (x, rows.bottom))
            sheet.marks.append(Mark(line, line="muted", width=1, dash=(2, 3), tip=_sentence(one)))
    for number, one in enumerate(found):
        _draw_row(sheet, rows, scale, number, one)
    sheet.height = rows.bottom + 46
    return sheet


def _keys(found: Sequence[_Row]) -> list[Key]:
    keys = []
    if any(one.leads for one in found):
        keys.append(Key("leader group: not significantly worse than the best", 2, "s0", "s0", "s0"))
    if any(one.place and not one.leads for one in found):
        keys.append(Key("others" if keys else "ranked", 0, "s5", "s5", "s5"))
    if any(one.place is None and not one.reference for one in found):
        keys.append(Key("not ranked: lacks some task", 0, "card", "muted", "muted", (3, 3)))
    if any(one.reference for one in found):
        keys.append(Key("reference: no language model", 1, "card", "muted", "muted", (2, 3)))
    return keys


def _draw_headings(sheet: Sheet, layout: Layout, rows: Rows) -> None:
    if layout.narrow:
        return
    for right, text in ((layout.width - 96, "mean [95 % interval]"), (layout.width - 6, "rank limits")):
        sheet.words.append(Words(right, rows.top - 7, text, layout.size - 2, "end", "muted"))


def _draw_row(sheet: Sheet, rows: Rows, scale: Scale, number: int, one: _Row) -> None:
    interval, place, color, y, tip = one.interval, one.place, one.color, rows.middle(number), _sentence(one)
    if interval.low is not None and interval.high is not None:
        low, high = scale.at(interval.low), scale.at(interval.high)
        caps = [Outline.line((x, y - 4), (x, y + 4)) for x in (low, high)]
        line = Mark(Outline.line((low, y), (high, y)), line=color, width=2, dash=() if place else (3, 3), tip=tip)
        sheet.marks += [line, Mark(Outline.join(caps), line=color, width=2)]
    if interval.mean is not None:
        marker = Outline.marker(one.shape, scale.at(interval.mean), y, 5.5)
        sheet.marks.append(Mark(marker, color if place else "card", color, 1.5, tip=tip))
    size, width = rows.layout.size - 1, rows.layout.width
    if rows.layout.narrow:
        sheet.words.append(Words(width - 4, y - rows.height / 2 - 4, _numbers(interval), size - 1, "end", halo=True))
        return
    sheet.words.append(Words(width - 96, y + 0.35 * size, _numbers(interval), size, "end"))
    limits = places(None if place is None else place.drawn)
    sheet.words.append(Words(width - 6, y + 0.35 * size, limits, size, "end", "muted"))
