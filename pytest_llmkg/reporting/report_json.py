"""``report.json``: everything that the page counts, for other programs; ``docs/report-json.md`` describes it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.error_categories import ALL_CATEGORIES
from pytest_llmkg.plain import Json, to_plain
from pytest_llmkg.suite_signature import signature_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pytest_llmkg.analysis.intervals import Interval
    from pytest_llmkg.analysis.paired import Comparison
    from pytest_llmkg.records import RunHeader
    from pytest_llmkg.reporting.views import ModelView, Report

__all__ = ["REPORT_SCHEMA", "render_json", "report_plain"]

REPORT_SCHEMA = 2
"""Number of the layout. 2: intervals, ranks, dialogues not run, and all statistics beside ranking and label means."""


def render_json(report: Report, now: datetime, more: Mapping[str, Json] | None = None) -> str:
    """`report_plain` as JSON text, with further sections in ``more``, e.g. ``gate``."""
    data = report_plain(report, now) | dict(more or {})
    return "{\n" + ",\n".join(f"{_text(name)}: {_lines(value)}" for name, value in data.items()) + "\n}\n"


def _lines(value: Json) -> str:
    """``value`` with a line for each entry of a list; indenting all of it would take seconds for many models."""
    if not isinstance(value, list) or not value:
        return _text(value)
    return "[\n " + ",\n ".join(map(_text, value)) + "\n]"


def _text(value: Json) -> str:
    return json.dumps(value, allow_nan=False)


def report_plain(report: Report, now: datetime) -> dict[str, Json]:
    """The report as plain JSON types; ``schema`` is the number of this layout."""
    figures = report.figures
    return {
        "schema": REPORT_SCHEMA,
        "made": now.isoformat(timespec="seconds"),
        "runs": [_run(header) for header in report.headers],
        "notes": list(report.notes),
        "ranking": [_model(view, report) for view in report.models],
        "ranking_reason": figures.ranking.reason,
        "ranking_untested": figures.ranking.untested,
        "shared_labels": [
            {"labels": list(one.labels), "means": [{"model": model, "mean": mean} for model, mean in one.means]}
            for one in report.shared
        ],
        "labels": _labels(report),
        "not_run": [
            {"model": model, "label": label, "dialogues": count} for (model, label), count in report.not_run.items()
        ],
        "comparisons": [_comparison(one) for one in figures.ranking.comparisons],
        "gains": [
            _object(to_plain(row), interval=_interval(figures.gain_intervals.get((row.model, row.label))))
            for row in figures.gains
        ],
        "passing": [to_plain(row) for row in figures.passing],
        "fronts": {"cost": to_plain(figures.costs), "seconds": to_plain(figures.seconds)},
        "endings": [to_plain(one) for one in figures.endings],
        "questions": [to_plain(row) for row in (*figures.questions, *figures.questions_by_label)],
        "errors": _errors(report),
        "rules": [to_plain(row) for row in figures.rules],
        "published": to_plain(figures.published),
        "tasks": [to_plain(info) for info in report.tasks],
    }


def _run(header: RunHeader) -> Json:
    suite = header.settings.get("suite")
    return {
        "run": header.run,
        "started": header.started,
        "seed": header.seed,
        "iterations": header.iterations,
        "suite_signature": signature_digest(suite) if isinstance(suite, dict) else None,
        "versions": to_plain(header.versions),
        "settings": to_plain(header.settings),
        "models": [spec.id for spec in header.models],
    }


def _model(view: ModelView, report: Report) -> Json:
    model = view.row.model
    rank = report.figures.ranks.get(model)
    return _object(
        to_plain(view.row),
        note=view.note,
        reference=view.reference,
        not_run=view.not_run,
        interval=_interval(report.figures.intervals.models.get(model)),
        rank_limits=None if rank is None else {"drawn": to_plain(rank.drawn), "tested": to_plain(rank.tested)},
        leader=None if rank is None else rank.leader,
        p_against_best=None if rank is None else rank.p,
        calls=to_plain(report.figures.efforts.get(model)),
        paid=to_plain(report.paid(view.row)),
        replaced=to_plain((report.replaced or {}).get(model)),
    )


def _labels(report: Report) -> list[Json]:
    intervals = report.figures.intervals.labels
    return [
        _object(
            to_plain(row),
            interval=_interval(intervals.get((row.model, row.label))),
            not_run=report.not_run.get((row.model, row.label), 0),
        )
        for view in report.labels
        for row in view.rows
        if row is not None
    ]


def _errors(report: Report) -> Json:
    meanings = {category.name: category.meaning for category in ALL_CATEGORIES}
    return {
        "models": [to_plain(total) for total in report.mistakes.totals],
        "categories": [_object(to_plain(row), meaning=meanings[row.category]) for row in report.mistakes.rows],
    }


def _interval(one: Interval | None) -> Json:
    return None if one is None else to_plain(one)


def _comparison(one: Comparison) -> Json:
    left_out = Counter(label for pairs in (one.unmatched.only_first, one.unmatched.only_second) for label, _ in pairs)
    return {
        "first": one.first,
        "second": one.second,
        "difference": _interval(one.difference),
        "p": one.p,
        "adjusted_p": one.adjusted_p,
        "exact": one.exact,
        "effect": one.effect,
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
        "labels": one.labels,
        "cases_on_one_side": sum(left_out.values()),
    }


def _object(plain: Json, **more: Json) -> Json:
    return {**plain, **more} if isinstance(plain, dict) else plain
