"""Why answered queries are wrong, as a page shows it: models and categories, and a bounded number of examples."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.error_categories import ALL_CATEGORIES, Category, CategoryRow, ErrorExample, ErrorTotals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_llmkg.reporting.views import Report

__all__ = ["MOST_EXAMPLES", "KindCell", "KindView", "MistakesView", "kind_names", "mistakes_view"]

MOST_EXAMPLES = 6
"""Examples of a category that a page shows, however many models and dialogues there are."""


@dataclass(frozen=True, slots=True)
class KindCell:
    """How often a category applies to a model's answers, and which share of its wrong ones that is."""

    place: int
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class KindView:
    """A category.

    Attributes:
        number: its place among the categories of the page, by which links name it.
        category: name, meaning, and whether it is a published one.
        cells: for each model of the view.
        examples: of different models in turn.
    """

    number: int
    category: Category
    cells: tuple[KindCell, ...]
    examples: tuple[ErrorExample, ...]

    @property
    def count(self) -> int:
        """Wrong answers of all models that belong to it."""
        return sum(cell.count for cell in self.cells)


@dataclass(frozen=True, slots=True)
class MistakesView:
    """The section of a page.

    Attributes:
        models: place in the ranking and numbers of each model that turned questions into queries.
        kinds: the categories that apply to any answer.
    """

    models: tuple[tuple[int, ErrorTotals], ...]
    kinds: tuple[KindView, ...]

    @property
    def wrong(self) -> int:
        """Wrong answers of all models."""
        return sum(total.wrong for _, total in self.models)


def kind_names(report: Report) -> tuple[str, ...]:
    """The categories that apply to any answer of ``report``, in the order in which they are shown."""
    found = {row.category for row in report.mistakes.rows}
    return tuple(category.name for category in ALL_CATEGORIES if category.name in found)


def mistakes_view(report: Report) -> MistakesView | None:
    """What the page shows; None when no answer of the report is a query for a question."""
    if not report.mistakes.totals:
        return None
    places = {view.row.model: place for place, view in enumerate(report.models)}
    models = sorted((places[total.model], total) for total in report.mistakes.totals)
    rows: dict[str, dict[str, CategoryRow]] = defaultdict(dict)
    for row in report.mistakes.rows:
        rows[row.category][row.model] = row
    by_name = {category.name: category for category in ALL_CATEGORIES}
    return MistakesView(
        tuple(models),
        tuple(
            KindView(
                number,
                by_name[name],
                tuple(_cell(place, rows[name].get(total.model)) for place, total in models),
                _examples(rows[name], [total.model for _, total in models]),
            )
            for number, name in enumerate(kind_names(report))
        ),
    )


def _cell(place: int, row: CategoryRow | None) -> KindCell:
    return KindCell(place, 0, 0.0) if row is None else KindCell(place, row.count, row.count / row.wrong)


def _examples(rows: Mapping[str, CategoryRow], models: Sequence[str]) -> tuple[ErrorExample, ...]:
    """Up to `MOST_EXAMPLES`: of each model in turn the next one of a case that was not shown yet, then others."""
    held = [list(rows[model].examples) for model in models if model in rows]
    chosen: list[ErrorExample] = []
    for _ in range(max(map(len, held), default=0)):
        for waiting in held:
            known = {one.case for one in chosen}
            fresh = next((one for one in waiting if one.case not in known), None)
            if fresh is not None:
                chosen.append(fresh)
                waiting.remove(fresh)
    rest = [one for group in zip_longest(*held) for one in group if one is not None]
    return tuple([*chosen, *rest][:MOST_EXAMPLES])
