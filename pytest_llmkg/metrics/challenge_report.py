"""The challenge's evaluation file: scores of every question and their averages, in the layouts of its two rounds."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_llmkg.metrics.challenge import challenge_scores

__all__ = ["LAYOUTS", "Agreement", "Layout", "ResultSets", "agreement", "evaluate_sets"]

Layout = Literal["2025", "2026"]
LAYOUTS: tuple[Layout, ...] = ("2025", "2026")
ResultSets = Mapping[str, Mapping[str, int]]
"""Question (``ck25:1-en``) -> value -> 1; the result of ASK is ``true`` -> 0 or 1."""
Rows = dict[str, dict[str, float]]

_SETS = ("set_P", "set_recall", "set_F")


def evaluate_sets(
    answered: ResultSets,
    reference: ResultSets,
    ordered: Collection[str] = (),
    languages: Sequence[str] = (),
    layout: Layout = "2026",
) -> Rows:
    """What the challenge's ``evaluate`` writes.

    ``average`` is the plain mean over all answered questions; ``set_F_ndcg`` is the mean over the rows *and* the row
    ``average`` of ``ndcg`` where a row has it, else of ``set_F``. Questions that were not answered are not counted,
    as in the challenge: give them the empty set to have them count.

    Args:
        answered: result sets of a system, in the order in which rows are wanted.
        reference: result sets of the reference queries; questions in it that are not answered are left out, and so are
            answered ones that it does not hold (as trec_eval does).
        ordered: questions with the feature RESULT_ORDER_MATTERS.
        languages: averages by language, when there are more than one; a question belongs to a language whose code its
            name contains.
        layout: ``2025`` has them in ``average`` as ``set_F-en``, their ``set_F_ndcg-en`` over the questions alone;
            ``2026`` as rows ``average-en``, their ``set_F_ndcg`` with that row itself.
    """
    rows: Rows = {
        name: challenge_scores(values, reference[name], ordered=name in ordered)
        for name, values in answered.items()
        if name in reference
    }
    if not rows:
        return {}
    average = {score: _numpy_mean([row[score] for row in rows.values()]) for score in _SETS}
    has_order = any("ndcg" in row for row in rows.values())
    if has_order:
        # In the order of the reference, whatever that of the answers: the last bit depends on it.
        average["ndcg"] = _numpy_mean([rows[name]["ndcg"] for name in reference if "ndcg" in rows.get(name, {})])
        average["set_F_ndcg"] = statistics.fmean([*map(_combined, rows.values()), _combined(average)])
    result = {**rows, "average": average}
    if len(languages) > 1:
        add = _languages_2025 if layout == "2025" else _languages_2026
        add(result, languages, has_order=has_order)
    return result


def _languages_2025(result: Rows, languages: Sequence[str], *, has_order: bool) -> None:
    # Rows are gathered before "average" gets its new keys.
    found = {code: [row for name, row in result.items() if code in name and name != "average"] for code in languages}
    for code, rows in found.items():
        for score in (*_SETS, "ndcg"):
            values = [row[score] for row in rows if score in row]
            if values:
                result["average"][f"{score}-{code}"] = statistics.fmean(values)
    if has_order:
        for code, rows in found.items():
            if rows:
                result["average"][f"set_F_ndcg-{code}"] = statistics.fmean(map(_combined, rows))


def _languages_2026(result: Rows, languages: Sequence[str], *, has_order: bool) -> None:
    for code in languages:
        rows = [row for name, row in result.items() if code in name and not name.startswith("average-")]
        if not rows:
            continue
        mean = {}
        for score in (*_SETS, "ndcg"):
            values = [row[score] for row in rows if score in row]
            if values:
                mean[score] = statistics.fmean(values)
        if has_order:
            mean["set_F_ndcg"] = statistics.fmean([*map(_combined, rows), _combined(mean)])
        result[f"average-{code}"] = mean


def _combined(row: Mapping[str, float]) -> float:
    return row.get("ndcg", row["set_F"])


def _numpy_mean(values: Sequence[float]) -> float:
    """The mean whose last bit the published files have: NumPy adds pairwise."""
    import numpy as np

    return float(np.mean(values))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many values of a published evaluation file were met to the bit, and one sentence for each other one."""

    equal: int
    different: tuple[str, ...]

    @property
    def total(self) -> int:
        """All values of the published file."""
        return self.equal + len(self.different)


def agreement(made: Mapping[str, Mapping[str, float]], published: Mapping[str, Mapping[str, float]]) -> Agreement:
    """Compares every value of ``published`` with that of ``made``; a question that only ``made`` has differs, too."""
    equal, different = 0, []
    for name, row in published.items():
        for score, value in row.items():
            found = made.get(name, {}).get(score)
            if found == value:
                equal += 1
            else:
                different.append(f"{name} {score}: {'missing' if found is None else repr(found)}, published {value!r}")
    different += [f"{name}: not in the published file" for name in made if name not in published]
    return Agreement(equal, tuple(different))
