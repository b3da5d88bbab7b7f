"""The leaderboard as plain lines for a terminal: ASCII only, so that no model name can steer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.reporting.views import LabelView, ModelView, Report

__all__ = ["leaderboard_lines"]

COLUMN = 7
"""Width of one model in the table of models and labels."""
NARROW = 80
"""Below this width the ranking leaves the cost out."""


def leaderboard_lines(report: Report, width: int = 100) -> list[str]:
    """The ranking, then the mean score of each task label by model, in at most ``width`` columns (from 60).

    Of many models the second table has the first that fit; the page has all of them.
    """
    lines = _ranking(report.models, width)
    if report.labels:
        lines += ["", *_labels(report, width)]
    lines += [_ascii(f"note: {note}", width) for note in report.notes]
    return lines


def _ranking(models: Sequence[ModelView], width: int) -> list[str]:
    head = ["  mean", " scored", " unparsable", " no answer", " errors", "      cost"]
    shown = len(head) if width >= NARROW else len(head) - 1
    tail = "".join(head[:shown])
    room = min(width - len(tail) - 5, max([5, *(len(view.row.model) for view in models)]))
    lines = [f"{'':>3}  {'model':<{room}}{tail}"]
    for view in models:
        row, counts = view.row, view.row.counts
        numbers = (counts.scored, counts.unparsable, counts.no_answer, counts.error)
        cells = (_score(row.mean), *map(str, numbers), _cost(row.cost, known=row.cost_known))[:shown]
        aligned = "".join(f"{cell:>{len(title)}}" for cell, title in zip(cells, head, strict=False))
        lines.append(f"{'-' if row.rank is None else row.rank:>3}  {_ascii(row.model, room):<{room}}{aligned}")
    return [*lines, *(_ascii(f"     {view.row.model}: {view.note}", width) for view in models if view.note)]


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
    return "-" if value is None else f"{value:.3f}"


def _cost(value: float | None, *, known: bool) -> str:
    if value is None:
        return "unknown"
    return f"{'' if known else '>='}${value:,.{2 if value >= 1 else 4}f}"


def _ascii(text: str, room: int) -> str:
    """``text`` with escapes for all but printable ASCII, shortened in the middle to ``room``."""
    plain = "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text)
    if len(plain) <= room:
        return plain
    end = max((room - 2) // 2, 0)
    return plain[: room - 2 - end] + ".." + plain[len(plain) - end :]
