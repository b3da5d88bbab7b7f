"""What a run cost in all: every call that was paid for, those that failed and those of replaced attempts included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.formats import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_llmkg.analysis.aggregates import ModelRow
    from pytest_llmkg.reporting.effort import Effort, Replaced

__all__ = ["Paid", "paid_of", "replaced_notes", "whole_cost"]


@dataclass(frozen=True, slots=True)
class Paid:
    """US dollars that a model's calls cost; each is None when wholly unknown.

    Attributes:
        cost: all of it, as far as known.
        known: whether the cost of every answer is known, and no dialogue consists of failed calls of unknown cost.
        answers: of the answers that count.
        failed_calls: of calls that brought no answer.
        replaced: of attempts that do not count, since a later one of the same dialogue does.
    """

    cost: float | None
    known: bool
    answers: float | None
    failed_calls: float | None
    replaced: float | None


def paid_of(row: ModelRow, effort: Effort | None, replaced: Replaced | None) -> Paid:
    """What the model of ``row`` cost; ``effort`` and ``replaced`` are those of the same model."""
    failed = None if effort is None else effort.failed_cost
    again = None if replaced is None else replaced.cost
    known = row.cost_known and (effort is None or not effort.unpriced) and (replaced is None or replaced.cost_known)
    return Paid(whole_cost((row.cost, failed, again)), known, row.cost, failed, again)


def whole_cost(costs: Iterable[float | None]) -> float | None:
    """The sum of what is known, None when nothing is."""
    found = [cost for cost in costs if cost is not None]
    return math.fsum(found) if found else None


def replaced_notes(replaced: Mapping[str, Replaced] | None) -> list[str]:
    """One sentence on dialogues that were held again; none when there are no such."""
    if not replaced:
        return []
    attempts = sum(one.attempts for one in replaced.values())
    named = ", ".join(f"{model} {one.attempts}" for model, one in sorted(replaced.items())[:5])
    more = f" and {plural(len(replaced) - 5, 'more model')}" if len(replaced) > 5 else ""
    cost = whole_cost(one.cost for one in replaced.values())
    known = all(one.cost_known for one in replaced.values())
    price = formats.UNKNOWN if cost is None else formats.cost(cost, known=known)
    verb, whose, pronoun = ("was", "it counts", "its") if attempts == 1 else ("were", "they count", "their")
    return [
        (
            f"{plural(attempts, 'attempt')} {verb} replaced by a later one of the same dialogue ({named}{more}), as "
            f"when a run is resumed; {whose} in no score, and {pronoun} cost ({price}) is part of the cost of all "
            "calls."
        )
    ]
