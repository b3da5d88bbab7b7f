"""The comparison of two runs as a page: one file without scripts or outside resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting import comparison_text
from pytest_llmkg.reporting.environment import new_environment

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_llmkg.reporting.comparison import ComparisonView

__all__ = ["render_comparison"]

MOST_CASES = 500
"""Cases of a pair of models that a page lists; JSON has all of them."""


def render_comparison(view: ComparisonView, now: datetime) -> str:
    """The page as HTML text; ``now`` is the time that it states as its own."""
    environment = new_environment()
    environment.filters.update(
        signed=comparison_text.signed,
        interval=comparison_text.interval,
        p_value=comparison_text.p_value,
    )
    return environment.get_template("comparison.html.j2").render(
        view=view,
        now=now.strftime("%Y-%m-%d %H:%M UTC"),
        rows=[comparison_text.shown_cases(pair, MOST_CASES) for pair in view.pairs],
        differing=[sum(map(comparison_text.differs, pair.cases)) for pair in view.pairs],
        sentence=comparison_text.summary_sentence,
        values_sentence=comparison_text.values_sentence,
    )
