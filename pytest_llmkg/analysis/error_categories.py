"""Why answered queries are wrong: how often each category of `error_rules` applies, with examples.

Counted is the final answer of each dialogue of a task that turns questions into queries. An answer may belong to
several categories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.error_rules import ALL_CATEGORIES, CATEGORIES, LAST, RIGHT, Category, seen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Case, Evaluation, Transcript

__all__ = [
    "ALL_CATEGORIES",
    "CATEGORIES",
    "LONGEST_TEXT",
    "Category",
    "CategoryRow",
    "ErrorCounts",
    "ErrorExample",
    "ErrorTotals",
    "category_rows",
    "error_categories",
]

TASK = "Text2SparqlKgqa"
LONGEST_TEXT = 1000
"""Characters of a question or query in an example; a longer one ends with an ellipsis."""
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """A wrong answer: where it is, and what is known of question and queries.

    Attributes:
        model, label, case, iteration: which dialogue.
        question: in the words of the prompt, or of the case.
        reference: the case's query.
        query: the answered one.
        error: why it does not parse or run.
        hidden: whether these texts must not be shown; all are None then.
    """

    model: str
    label: str
    case: str
    iteration: int
    question: str | None = None
    reference: str | None = None
    query: str | None = None
    error: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """How often a category applies to a model's answers.

    Attributes:
        model: its id.
        category: name of the category.
        is_published: see `Category`.
        count: wrong answers that belong to it.
        wrong: wrong answers of the model; a category's share is ``count / wrong``.
        answers: all scored answers of the model.
        examples: the first ones, of different cases and of each task label in turn.
    """

    model: str
    category: str
    is_published: bool
    count: int
    wrong: int
    answers: int
    examples: tuple[ErrorExample, ...]


@dataclass(frozen=True, slots=True)
class ErrorTotals:
    """A model's answers whose categories are known, and how many of them are wrong."""

    model: str
    answers: int
    wrong: int


@dataclass(slots=True)
class _Found:
    """The answers of a model that belong to a category: their number, and some of each label."""

    count: int = 0
    by_label: dict[str, list[ErrorExample]] = field(default_factory=dict)

    def is_wanted(self, transcript: Transcript, most: int) -> bool:
        """Whether ``transcript`` would be an example: of a case that no other is of, where the label has room."""
        held = self.by_label.get(transcript.label, ())
        cases = {one.case for found in self.by_label.values() for one in found}
        return len(held) < most and (transcript.case not in cases or not held)

    def chosen(self, most: int) -> tuple[ErrorExample, ...]:
        """The first of each label, then the second ...; those of a case that an earlier label shows come last."""
        fresh, others = [], []
        known: set[str] = set()
        for held in self.by_label.values():
            fresh.append([one for one in held if one.case not in known])
            others += [one for one in held if one.case in known]
            known |= {one.case for one in held}
        turns = [one for group in zip_longest(*fresh) for one in group if one is not None]
        return tuple([*turns, *others][:most])


class ErrorCounts:
    """Counts the categories of answers that are given to it one at a time, so that none must be kept.

    Args:
        examples: the most that a category of a model shows.
    """

    def __init__(self, examples: int = 3) -> None:
        self._most = examples
        self._totals: dict[str, list[int]] = {}
        self._found: dict[tuple[str, str], _Found] = {}

    def add(self, transcript: Transcript, case: Case | None = None, *, hidden: bool = False) -> tuple[str, ...]:
        """The categories of the final answer of ``transcript``; none when it is right, or nothing can be said.

        Args:
            transcript: of any task; those of other tasks and those that broke off do not count.
            case: its case, for examples.
            hidden: whether its texts must not be shown.
        """
        if transcript.outcome == "error":
            return ()
        evaluation = transcript.turns[-1].evaluation
        if seen(evaluation, transcript.task) is None:
            return ()
        names = error_categories(evaluation, transcript.task)
        total = self._totals.setdefault(transcript.model, [0, 0])
        total[0] += 1
        total[1] += bool(names)
        for name in names:
            found = self._found.setdefault((transcript.model, name), _Found())
            found.count += 1
            if found.is_wanted(transcript, self._most):
                found.by_label.setdefault(transcript.label, []).append(_example(transcript, case, hidden=hidden))
        return names

    def totals(self) -> tuple[ErrorTotals, ...]:
        """By model, in the order of first appearance; models without any such answer are not there."""
        return tuple(ErrorTotals(model, answers, wrong) for model, (answers, wrong) in self._totals.items())

    def rows(self) -> tuple[CategoryRow, ...]:
        """A row for each model and category that applies at all, in the order of models and of `ALL_CATEGORIES`."""
        return tuple(
            CategoryRow(
                total.model,
                category.name,
                category.is_published,
                found.count,
                total.wrong,
                total.answers,
                found.chosen(self._most),
            )
            for total in self.totals()
            for category in ALL_CATEGORIES
            if (found := self._found.get((total.model, category.name))) is not None
        )


def error_categories(evaluation: Evaluation, task: str = TASK) -> tuple[str, ...]:
    """The categories of a scored answer, the most telling first; none when it is right by the corrected rules."""
    known = seen(evaluation, task)
    if known is None or known[0]["set_F@2"] >= RIGHT:
        return ()
    found = tuple(category.name for category in CATEGORIES if category.applies(*known))
    return found or tuple(category.name for category in LAST if category.applies(*known))[:1]


def category_rows(transcripts: Iterable[Transcript], examples: int = 3) -> tuple[CategoryRow, ...]:
    """Counts and examples for each model that was asked, of the final answer of each dialogue.

    Args:
        transcripts: of any tasks; those of others and those that broke off are left out.
        examples: the most that a category shows.
    """
    counts = ErrorCounts(examples)
    for transcript in transcripts:
        counts.add(transcript)
    return counts.rows()


def _example(transcript: Transcript, case: Case | None, *, hidden: bool) -> ErrorExample:
    place = (transcript.model, transcript.label, transcript.case, transcript.iteration)
    if hidden:
        return ErrorExample(*place, hidden=True)
    known = seen(transcript.turns[-1].evaluation, transcript.task)
    info, data = known[1] if known else {}, case.data if case else {}
    asked = next((turn.prompt.question.text for turn in transcript.turns if turn.prompt.question), None)
    return ErrorExample(
        *place,
        question=_text(data.get("question") if asked is None else asked),
        reference=_text(data.get("query")),
        query=_text(info.get("sparql")),
        error=_text(info.get("error"), _LONGEST_ERROR),
    )


def _text(value: Json, most: int = LONGEST_TEXT) -> str | None:
    """``value`` if it is a text, cut to the length that examples may have."""
    if not isinstance(value, str):
        return None
    return value if len(value) <= most else f"{value[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
