"""The ranking: each model's mean with its interval, and which models may be the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import places
from pytest_llmkg.reporting.plots.axes import Rows, draw_across, finite, score_scale
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key, draw_legend
from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Outline, Plot, Sheet, Words
from pytest_llmkg.reporting.plots.wording import listed, two_decimals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.analysis.intervals import Interval
    from pytest_llmkg.analysis.ranks import Rank, Ranking
    from pytest_llmkg.reporting.plots.axes import Scale

__all__ = ["ranking_plot"]

TITLE = "Ranking with 95 % intervals"


def ranking_plot(ranking: Ranking, intervals: Mapping[str, Interval], *, ident: str = "plot-ranking") -> Plot:
    """Means and intervals, best model first; the leader group has diamonds on a tinted ground.

    Args:
        ranking: from `pytest_llmkg.analysis.ranks.rank_models`.
        intervals: `ScoreIntervals.models` of `pytest_llmkg.analysis.intervals.score_intervals`.
        ident: start of the ids, unique on the page.
    """
    places = {row.model: row for row in ranking.rows}
    names = [name for name in (*places, *ranking.incomplete) if _known(intervals.get(name))]
    left_out = [f"{name} has no mean." for name in (*places, *ranking.incomplete) if name not in names]
    if not names:
        return nothing(ident, TITLE, ranking.reason or "no model has a mean", left_out)
    found = [(name, intervals[name], places.get(name)) for name in names]
    notes = left_out + [f"{name} has no interval: {one.reason}." for name, one, _ in found if one.reason]
    description = listed([_sentence(*one) for one in found], 15)
    return finish(lambda layout: _draw(layout, found), ident, TITLE, description, notes)


def _known(interval: Interval | None) -> bool:
    return interval is not None and finite(interval.mean) is not None


def _sentence(name: str, interval: Interval, place: Rank | None) -> str:
    rank = f"Rank {place.rank}" if place else "Not ranked"
    leader = ", leader group" if place and place.leader else ""
    return f"{rank}: {name}, mean {_numbers(interval)}{leader}"


def _numbers(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return two_decimals(interval.mean)
    return f"{two_decimals(interval.mean)} [{two_decimals(interval.low)}, {two_decimals(interval.high)}]"


def _draw(layout: Layout, found: Sequence[tuple[str, Interval, Rank | None]]) -> Sheet:
    sheet = Sheet(layout.width, 0)
    values = [
        v for _, one, _ in found for v in (one.mean, one.low, one.high) if finite(v) is not None and v is not None
    ]
    top = draw_legend(sheet, layout, _keys(found), 2)
    rows = Rows(layout, top + (0 if layout.narrow else 16), len(found), 14 if layout.narrow else 24)
    scale = score_scale(values, rows.left + 8, layout.width - (10 if layout.narrow else 250))
    leaders = [number for number, (_, _, place) in enumerate(found) if place is not None and place.leader]
    if leaders:
        ground = [Outline.box(0, rows.top + rows.step * number, layout.width, rows.step) for number in leaders]
        sheet.marks.append(Mark(Outline.join(ground), fill="wash"))
    draw_across(sheet, layout, scale, (rows.top, rows.bottom), "mean of task means")
    _draw_headings(sheet, layout, rows)
    before = [f"{place.rank}. " if place else "" for _, _, place in found]
    rows.write_names(sheet, [name for name, _, _ in found], leaders, before)
    for number, one in enumerate(found):
        _draw_row(sheet, rows, scale, number, one)
    sheet.height = rows.bottom + 46
    return sheet


def _keys(found: Sequence[tuple[str, Interval, Rank | None]]) -> list[Key]:
    keys = []
    if any(place and place.leader for _, _, place in found):
        keys.append(Key("leader group: not significantly worse than the best", 2, "s0", "s0", "s0"))
    if any(place and not place.leader for _, _, place in found):
        keys.append(Key("others" if keys else "ranked", 0, "s5", "s5", "s5"))
    if any(place is None for _, _, place in found):
        keys.append(Key("not ranked: lacks some task", 0, "card", "muted", "muted", (3, 3)))
    return keys


def _draw_headings(sheet: Sheet, layout: Layout, rows: Rows) -> None:
    if layout.narrow:
        return
    for right, text in ((layout.width - 96, "mean [95 % interval]"), (layout.width - 6, "rank limits")):
        sheet.words.append(Words(right, rows.top - 7, text, layout.size - 2, "end", "muted"))


def _draw_row(sheet: Sheet, rows: Rows, scale: Scale, number: int, one: tuple[str, Interval, Rank | None]) -> None:
    name, interval, place = one
    leader, y = place is not None and place.leader, rows.middle(number)
    color = "s0" if leader else "s5" if place else "muted"
    tip = _sentence(name, interval, place)
    if interval.low is not None and interval.high is not None:
        low, high = scale.at(interval.low), scale.at(interval.high)
        caps = [Outline.line((x, y - 4), (x, y + 4)) for x in (low, high)]
        line = Mark(Outline.line((low, y), (high, y)), line=color, width=2, dash=() if place else (3, 3), tip=tip)
        sheet.marks += [line, Mark(Outline.join(caps), line=color, width=2)]
    if interval.mean is not None:
        marker = Outline.marker(2 if leader else 0, scale.at(interval.mean), y, 5.5)
        sheet.marks.append(Mark(marker, color if place else "card", color, 1.5, tip=tip))
    size, width = rows.layout.size - 1, rows.layout.width
    if rows.layout.narrow:
        sheet.words.append(Words(width - 4, y - rows.height / 2 - 4, _numbers(interval), size - 1, "end"))
        return
    sheet.words.append(Words(width - 96, y + 0.35 * size, _numbers(interval), size, "end"))
    limits = places(None if place is None else place.drawn)
    sheet.words.append(Words(width - 6, y + 0.35 * size, limits, size, "end", "muted"))
