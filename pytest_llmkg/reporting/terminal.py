"""The leaderboard as plain lines for a terminal: ASCII only, so that no model name can steer it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import plain_line
from pytest_llmkg.reporting.references import shared_sentences
from pytest_llmkg.reporting.short_names import short_name

if TYPE_CHECKING:
    from pytest_llmkg.analysis.ranks import Rank
    from pytest_llmkg.reporting.views import LabelView, ModelView, Report

__all__ = ["leaderboard_lines"]

COLUMN = 7
"""Width of one model in the table of models and labels."""
NARROW = 80
"""Below this width the ranking leaves the cost out."""
ROOMY = 100
"""From this width on unparsable and empty answers have columns of their own, and ranks have their limits."""


def leaderboard_lines(report: Report, width: int = 100) -> list[str]:
    """The ranking, then the mean score of each task label by model, in at most ``width`` columns (from 60).

    Of many models the second table has the first that fit; the page has all of them.
    """
    lines = ["no model was measured"] if not report.models else _ranking(report, width)
    if report.labels:
        lines += ["", *_labels(report, width)]
    elif report.models:
        lines.append("no dialogue was held, so there is nothing to rank")
    for note in report.notes:
        text = _ascii(f"note: {note}", 10 * len(note) + 6)
        # One column is left for what shields a name that a line begins with.
        lines += map(plain_line, textwrap.wrap(text, width - 1, subsequent_indent="      ", break_long_words=True))
    return lines


def _ranking(report: Report, width: int) -> list[str]:
    models, figures = report.models, report.figures
    head = _head(width)
    tail = "".join(head)
    room = min(width - len(tail) - 6, max([5, *(len(view.row.model) for view in models)]))
    lines = [f"{'':>3}   {'model':<{room}}{tail}"]
    several = len(figures.ranks) > 1
    for view in models:
        rank = figures.ranks.get(view.row.model)
        star = "*" if several and rank is not None and rank.leader else " "
        cells = _row(view, rank, report, width)
        aligned = "".join(f"{cell:>{len(title)}}" for cell, title in zip(cells, head, strict=True))
        place = "-" if view.row.rank is None else str(view.row.rank)
        lines.append(f"{place:>3}{star}  {_ascii(view.row.model, room):<{room}}{aligned}")
    if several and figures.ranking.untested:
        lines += textwrap.wrap(f"no leader group: {figures.ranking.untested}", width, subsequent_indent="      ")
    elif several:
        lines.append(_ascii("* leader group: not significantly worse than the best (paired tests, Holm)", width))
    lines += [_ascii(f"      {view.row.model}: {view.note}", width) for view in models if view.note]
    for sentence in shared_sentences(report.shared, figures.ranks):
        lines += textwrap.wrap(plain_line(sentence), width - 1, subsequent_indent="      ", break_long_words=True)
    return lines


def _head(width: int) -> list[str]:
    middle = ["  ranks", "  scored", "  unparsable", "  no answer"] if width >= ROOMY else [" scored", " unread"]
    return ["   mean", "   95% interval", *middle, "  errors", *(["       cost"] if width >= NARROW else [])]


def _row(view: ModelView, rank: Rank | None, report: Report, width: int) -> list[str]:
    row, counts, paid = view.row, view.row.counts, report.paid(view.row)
    one = report.figures.intervals.models.get(row.model)
    limits = "-" if one is None or one.low is None or one.high is None else f"{one.low:z.3f}-{one.high:z.3f}"
    cells = [_score(row.mean), limits]
    if width >= ROOMY:
        ranks = "-" if rank is None or rank.drawn is None else "-".join(dict.fromkeys(map(str, rank.drawn)))
        cells += [ranks, str(counts.scored), str(counts.unparsable), str(counts.no_answer)]
    else:
        cells += [str(counts.scored), str(counts.unparsable + counts.no_answer)]
    cells.append(str(counts.error))
    return [*cells, _cost(paid.cost, known=paid.known)] if width >= NARROW else cells


def _labels(report: Report, width: int) -> list[str]:
    room = min(max([10, *(len(view.label) for view in report.labels)]), width - 2 * COLUMN, 48)
    shown = report.models[: max((width - room) // COLUMN, 1)]
    head = "".join(f"{f'[{number}]':>{COLUMN}}" for number in range(1, len(shown) + 1))
    lines = [f"{'task label':<{room}}{head}"]
    lines += [f"{_ascii(view.label, room):<{room}}{_cells(view, len(shown))}" for view in report.labels]
    legend = "columns: the models in the order of the table above"
    if len(shown) < len(report.models):
        legend += f", first {len(shown)} of {len(report.models)}"
    return [*lines, _ascii(legend, width)]


def _cells(view: LabelView, number: int) -> str:
    return "".join(f"{_score(row.mean if row else None):>{COLUMN}}" for row in view.rows[:number])


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:z.3f}"


def _cost(value: float | None, *, known: bool) -> str:
    if value is None or (value == 0 and not known):
        return "unknown"
    return f"{'' if known else '>='}${value:,.{2 if value >= 1 else 4}f}"


def _ascii(text: str, room: int) -> str:
    """``text`` with escapes for all but printable ASCII, shortened to ``room``."""
    return short_name(plain_line(text), room)
