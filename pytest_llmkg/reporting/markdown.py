"""The leaderboard as Markdown tables, for a pull request or a readme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.effort_table import effort_markdown, score_title
from pytest_llmkg.reporting.markdown_tables import escaped, table
from pytest_llmkg.reporting.mistakes import mistakes_view
from pytest_llmkg.reporting.references import shared_sentences

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_llmkg.reporting.views import ModelView, Report

__all__ = ["render_markdown"]

_HEAD = (
    *("#", "Model", "Mean", "95 % interval", "Ranks", "Leader"),
    *("Scored", "Unparsable", "No answer", "Errors", "Not run", "Cost", "Time"),
)
_REFERENCES = "References ask no language model: they have no rank, and no model is tested against them."


def render_markdown(report: Report, now: datetime) -> str:
    """Ranking and table of models and task labels; ``now`` is the time that the text states as its own."""
    lines = ["# Language models on knowledge graphs", "", f"Made {now:%Y-%m-%d %H:%M} UTC.", ""]
    for header in report.headers:
        versions = ", ".join(f"{name} {version}" for name, version in header.versions.items())
        facts = f"Run {header.run}, started {header.started}, seed {header.seed}, {versions}."
        lines += [escaped(facts), ""]
    for note in report.notes:
        lines += [f"**Note:** {escaped(note)}", ""]
    lines += [
        "The mean is the average of a model's means per task label, each label with the same weight.",
        "Intervals are 95 % bootstrap intervals over cases; ranks are those of the same draws.",
        "Leaders: models that paired tests, corrected for all pairs, do not show to be worse than the best.",
        *([_REFERENCES] if any(view.reference for view in report.models) else []),
        f"Cost counts every call, failed ones {'' if report.replaced is None else 'and replaced attempts '}included;",
        "time is that of the calls, without waiting for its turn.",
        "Unparsable answers count with their score by rule; errors are counted but are never a score of 0.",
        "",
    ]
    if report.figures.ranking.reason:
        lines += [f"**Note:** There is no ranking: {escaped(report.figures.ranking.reason)}.", ""]
    if report.figures.ranking.untested:
        lines += [f"**Note:** There is no leader group: {escaped(report.figures.ranking.untested)}.", ""]
    lines += table(_HEAD, (_ranking_row(view, report) for view in report.models), 2)
    for sentence in shared_sentences(report.shared, report.figures.ranks):
        lines += ["", escaped(sentence)]
    names = [view.row.model for view in report.models]
    lines += _questions(report)
    lines += ["", "## Mean headline score by task label", ""]
    lines += table(
        ("Task label", "Score", *names),
        (
            (view.label, view.headline, *(formats.score(row.mean if row else None) for row in view.rows))
            for view in report.labels
        ),
        2,
    )
    return "\n".join(lines) + "\n"


def _questions(report: Report) -> list[str]:
    """What systems took for a question, and why their answers are wrong; nothing where no question was put."""
    lines: list[str] = []
    if report.figures.questions:
        lines += ["", f"## {score_title(report)}, seconds and cost of a question", ""]
        lines += effort_markdown(report.figures.questions).rstrip("\n").split("\n")
    view = mistakes_view(report)
    if view is not None and view.kinds:
        lines += ["", "## Why answers are wrong", "", "Wrong queries of each kind; one may be of several.", ""]
        head = ("Kind of error", "Published", *(total.model for _, total in view.models))
        wrong = ("all wrong queries", "", *(f"{total.wrong} of {total.answers}" for _, total in view.models))
        kinds = (
            (kind.category.name, "yes" if kind.category.is_published else "", *(str(c.count) for c in kind.cells))
            for kind in view.kinds
        )
        lines += table(head, (wrong, *kinds), 2)
    return lines


def _ranking_row(view: ModelView, report: Report) -> tuple[str, ...]:
    row, counts, figures, paid = view.row, view.row.counts, report.figures, report.paid(view.row)
    rank, one = figures.ranks.get(row.model), figures.intervals.models.get(row.model)
    numbers = (counts.scored, counts.unparsable, counts.no_answer, counts.error, view.not_run)
    return (
        formats.NONE if row.rank is None else str(row.rank),
        f"{row.model} ({view.note})" if view.note else row.model,
        formats.score(row.mean),
        formats.NONE if one is None else formats.interval(one.low, one.high),
        formats.NONE if rank is None else formats.places(rank.drawn),
        "yes" if rank is not None and rank.leader else formats.NONE,
        *(formats.count(n) for n in numbers),
        formats.cost(paid.cost, known=paid.known),
        formats.duration(figures.spent[row.model].seconds),
    )
