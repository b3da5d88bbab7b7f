"""The leaderboard page: one file that loads nothing from elsewhere, escaped by the template engine."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.gains import LOOKS, looks_around
from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.capabilities import capabilities_view
from pytest_llmkg.reporting.cards import model_cards, task_cards
from pytest_llmkg.reporting.dialogue_files import DialogueData, inline_data
from pytest_llmkg.reporting.dialogues import dialogue_groups
from pytest_llmkg.reporting.effort_table import question_facts
from pytest_llmkg.reporting.endings import KINDS
from pytest_llmkg.reporting.environment import new_environment
from pytest_llmkg.reporting.links import dialogue_fragment
from pytest_llmkg.reporting.mistakes import mistakes_view
from pytest_llmkg.reporting.money import decimals, money
from pytest_llmkg.reporting.overview import asked, period_facts, run_facts, total_facts
from pytest_llmkg.reporting.packing import compact, dialogue_index, script_safe
from pytest_llmkg.reporting.parser_errors import readable_error
from pytest_llmkg.reporting.pictures import pictures_of
from pytest_llmkg.reporting.references import shared_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from jinja2 import Environment

    from pytest_llmkg.records import Number
    from pytest_llmkg.reporting.views import Report

__all__ = ["render_page"]

STATIC_LIMIT = 400
"""Dialogues that a page with all its dialogues inside shows also where scripts are off."""

MOST_COLUMNS = 16
"""Task labels that fit side by side at 1200 pixels; more become the rows of the table, and models its columns."""


def render_page(report: Report, now: datetime, data: DialogueData | None = None) -> str:
    """The page of ``report`` as HTML text.

    Args:
        report: what is shown.
        now: the time that the page states as its own.
        data: where the dialogues are, from `pytest_llmkg.reporting.dialogue_files.DialogueFiles`; None for a page
            that stands alone and holds as many as fit.
    """
    data = inline_data(report) if data is None else data
    groups = dialogue_groups(report, STATIC_LIMIT) if data.is_inline else ()
    environment = _environment()
    script = environment.get_template("leaderboard.js").render(looks=sorted(LOOKS))
    figures = report.figures
    return environment.get_template("leaderboard.html.j2").render(
        report=report,
        figures=figures,
        pictures=pictures_of(report),
        asked=asked(report),
        totals=total_facts(report),
        runs=[*(run_facts(header) for header in report.headers), period_facts(report)],
        model_cards=model_cards(report),
        task_cards=task_cards(report),
        kinds=KINDS,
        mistakes=mistakes_view(report),
        shared_means=shared_sentences(report.shared, figures.ranks),
        looks=sorted(LOOKS),
        looking=list(dict.fromkeys(one.task for one in report.transcripts if looks_around(one))),
        **question_facts(report),
        capabilities=capabilities_view(figures.published.capabilities),
        now=now.strftime("%Y-%m-%d %H:%M UTC"),
        families=[(name, len(list(found))) for name, found in groupby(view.family for view in report.labels)],
        labels_as_rows=len(report.labels) > max(MOST_COLUMNS, len(report.models)),
        groups={model: list(found) for model, found in groupby(groups, key=lambda group: group.model)},
        shown=sum(len(group.dialogues) for group in groups),
        model_number={view.row.model: number for number, view in enumerate(report.models)},
        label_number={view.label: number for number, view in enumerate(report.labels)},
        iterated=any(header.iterations > 1 for header in report.headers),
        data=data,
        held=sum(len(group.texts) for group in data.groups.values()),
        policy=_policy(script, data),
        index=_index(report, data),
        inline_texts=_inline_texts(report, data),
    )


def _policy(script: str, data: DialogueData) -> str:
    """The content security policy: nothing but this very script, and what it loads when there are files beside.

    No address is allowed by itself, so that markup that names a script, however it came here, would stay without one.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    beside = "" if data.is_inline else " 'strict-dynamic'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'{beside}; base-uri 'none'; "
        "form-action 'none'"
    )


def _index(report: Report, data: DialogueData) -> str:
    index = dialogue_index(report)
    names = [view.row.model for view in report.models]
    labels = [view.label for view in report.labels]
    for group in index["groups"]:
        held = data.groups.get((names[group["m"]], labels[group["l"]]))
        if held is not None and held.files:
            group["f"] = held.files
    return script_safe(compact(index | {"folder": data.folder, "token": data.token}))


def _inline_texts(report: Report, data: DialogueData) -> str:
    """The dialogues inside the page: two lists for each group of the index, as JSON that may stand in a script."""
    if not data.is_inline:
        return "[]"
    keys = (key for key, _ in groupby((t.model, t.label) for t in report.transcripts))
    return script_safe(f"[{','.join(f'[{data.groups[key].part()}]' for key in keys)}]")


@cache
def _environment() -> Environment:
    from markupsafe import Markup

    environment = new_environment()
    environment.filters.update(
        number=formats.number,
        count_of=formats.count,
        cost=formats.cost,
        duration=formats.duration,
        brief=formats.brief,
        decimals=decimals,
        money=money,
        readable=readable_error,
        interval=interval_text,
        p_value=formats.p_value,
        places=formats.places,
        plural=formats.plural,
        percent=percent,
        shade=shade,
        parts=name_parts,
        thousands=formats.thousands,
        svg=Markup,  # of a plot, which an XML writer made
        script=Markup,  # JSON that `packing.script_safe` made
    )
    environment.globals.update(fragment=dialogue_fragment)
    return environment


def interval_text(one: object) -> str:
    """Limits of an `Interval`, or a dash."""
    return formats.interval(getattr(one, "low", None), getattr(one, "high", None))


def percent(value: Number) -> str:
    """A length in a bar of 100 for a score; those outside 0 to 1 get the nearest end."""
    return f"{100 * min(max(value, 0), 1):.2f}"


def shade(value: Number | None) -> int:
    """A step from 0 to 10 for the background of a cell; scores outside 0 to 1 get the nearest."""
    return 0 if value is None else round(10 * min(max(value, 0), 1))


def name_parts(name: str) -> Iterable[str]:
    """``name`` in pieces between which a line may break: before capitals and after punctuation."""
    parts = [""]
    for before, char in zip(" " + name, name, strict=False):
        if (char.isupper() and before.islower()) or before in "-_/:" or (before == "." and not char.isdigit()):
            parts.append("")
        parts[-1] += char
    return tuple(parts)
