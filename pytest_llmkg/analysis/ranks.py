"""How sure ranks are, and which models may be the best.

Two intervals of a rank. ``drawn``: where the rank lies when the cases are drawn again, the same cases for every
model; easy to read, but without guarantee where models are truly equal. ``tested``: as many models are better, and
as many worse, as Holm-corrected paired tests over all pairs can tell; all these intervals hold together with at least
the chance 1 - alpha (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91: 476-518).

References, such as a baseline without a language model, are measured like the others, but take no part: they have no
rank, nobody is tested against them, and they make the correction for the number of pairs no harder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.blocks import macro_draws, macro_means, make_blocks
from pytest_llmkg.analysis.intervals import DRAWS
from pytest_llmkg.analysis.paired import Comparison, compare_all
from pytest_llmkg.analysis.signflip import FLIPS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_llmkg.analysis.values import CaseValues

__all__ = ["MOST_TESTED", "Rank", "Ranking", "rank_models"]

MOST_TESTED = 100
"""Models of which each two are tested. Those of more are so many pairs that Holm's correction leaves no p below 0.05,
however models differ: the smallest one that `FLIPS` patterns can give is 0.00001, and 101 models are 5,050 pairs."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A model's place.

    Attributes:
        model: its name.
        mean: mean of label means.
        rank: competition rank (1, 2, 2, 4).
        drawn: limits of the rank by bootstrap over cases; None where all draws are alike, e.g. with one case under each
            label, so that they say nothing.
        tested: limits of the rank by paired tests with Holm's correction.
        leader: True when the model is not significantly worse than the best one. Where scores lie between 0 and 1, a
            model with a mean of 0 never is: nothing that it did speaks for it.
        p: adjusted p against the best one; None for the best itself and where no test was possible, which does not
            exclude a model from the leaders.

    Where tests say nothing (`Ranking.untested`) ``tested`` spans all ranks and nobody is a leader.
    """

    model: str
    mean: float
    rank: int
    drawn: tuple[int, int] | None
    tested: tuple[int, int]
    leader: bool
    p: float | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All ranks, best first (ties by name).

    Attributes:
        rows: the models that have values under every label.
        incomplete: the models that lack some label, so that their means cannot be ranked.
        comparisons: the tests behind ``tested`` and ``leader``: all pairs of ranked models.
        references: models with values that take no part, best first, those with the labels of the ranked ones first.
        comparable: those of ``references`` that have values under the same labels as the ranked models.
        alpha: level of the tests; the drawn limits hold 1 - alpha of the draws.
        reason: why there is no rank, else None.
        untested: why there are ranks, but no leaders: too many models to test them, too few values for any test to
            be significant, or nobody scored above 0; else None.
    """

    rows: tuple[Rank, ...]
    incomplete: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    alpha: float = 0.05
    reason: str | None = None
    untested: str | None = None
    references: tuple[str, ...] = ()
    comparable: tuple[str, ...] = ()

    @property
    def leaders(self) -> tuple[str, ...]:
        """The models that may be the best."""
        return tuple(row.model for row in self.rows if row.leader)


def rank_models(
    values: CaseValues,
    *,
    seed: int,
    alpha: float = 0.05,
    draws: int = DRAWS,
    flips: int = FLIPS,
    references: Collection[str] = (),
) -> Ranking:
    """Ranks of all models with values under every label, with two kinds of limits and the leader group.

    The best model is picked by the same data, so the leader group uses p-values that were corrected for all pairs,
    not only for the pairs with the best. Models of ``references`` are not ranked, nor are others measured by the
    labels that only these have.
    """
    covered = {model: frozenset(label for label, _ in values.cases(model)) for model in values.models}
    competing = [model for model in values.models if model not in references]
    everything = frozenset[str]().union(*(covered[model] for model in competing))
    complete = tuple(model for model in competing if everything and covered[model] == everything)
    incomplete = tuple(model for model in competing if model not in complete)
    beside = _references(values, [model for model in values.models if model in references and covered[model]])
    comparable = tuple(model for model in beside if covered[model] == everything)
    beside = (*comparable, *(model for model in beside if model not in comparable))
    if not complete:
        reason = "no model has values under every label" if everything else "no value"
        return Ranking((), incomplete, (), alpha, reason, references=beside, comparable=comparable)
    chosen = values.only(models=complete)
    many = _too_many(len(complete))
    comparisons = () if many else compare_all(chosen, seed=seed, draws=draws, flips=flips, level=1 - alpha)
    blocks = make_blocks(chosen)
    # Equal results may differ in their last bits.
    means = {model: round(float(mean), 12) for model, mean in zip(complete, macro_means(blocks), strict=True)}
    drawn = _drawn_limits(macro_draws(blocks, draws, seed).round(12), alpha)
    without = {m for m, mean in means.items() if mean == 0} if _is_0_to_1(chosen) else set()
    nothing = "no model scored above 0" if len(without) == len(complete) > 1 else None
    untested = many or _too_few(comparisons, alpha) or nothing
    rows = _rows(means, dict(zip(complete, drawn, strict=True)), comparisons, alpha)
    if untested or without:
        rows = [replace(row, leader=row.leader and untested is None and row.model not in without) for row in rows]
    return Ranking(tuple(rows), incomplete, comparisons, alpha, None, untested, beside, comparable)


def _references(values: CaseValues, models: Sequence[str]) -> tuple[str, ...]:
    """``models`` by falling mean."""
    chosen = values.only(models=models)
    means = dict(zip(chosen.models, macro_means(make_blocks(chosen)).round(12), strict=True)) if models else {}
    return tuple(sorted(models, key=lambda model: (-means[model], model)))


def _rows(
    means: Mapping[str, float],
    drawn: Mapping[str, tuple[int, int] | None],
    comparisons: Sequence[Comparison],
    alpha: float,
) -> list[Rank]:
    """The ranks by what was computed, best first."""
    best = min(means, key=lambda model: (-means[model], model))
    better, worse = _beaten(comparisons, alpha)
    against = {
        one.first if one.second == best else one.second: one for one in comparisons if best in (one.first, one.second)
    }
    rows = [
        Rank(
            model,
            mean,
            1 + sum(other > mean for other in means.values()),
            drawn[model],
            (1 + better.get(model, 0), len(means) - worse.get(model, 0)),
            best not in _winners(against.get(model), alpha),
            against[model].adjusted_p if model in against else None,
        )
        for model, mean in means.items()
    ]
    return sorted(rows, key=lambda row: (row.rank, row.model))


def _too_many(models: int) -> str | None:
    if models <= MOST_TESTED:
        return None
    pairs = f"the {models * (models - 1) // 2:,} pairs of {models:,} models"
    return (
        f"{pairs} are too many for any difference to be significant; at most {MOST_TESTED} models are tested, so "
        "compare those you care about in a report of their own"
    )


def _too_few(comparisons: Sequence[Comparison], alpha: float) -> str | None:
    """Why no test could have been significant, whatever the scores were; None if some could.

    Of n values that may differ, 2 / 2^n is the smallest p, which Holm's correction multiplies by the number of tests.
    """
    tests = sum(one.p is not None for one in comparisons)
    most = max((one.difference.clusters for one in comparisons), default=0)
    if not comparisons or (most and tests * 2 * 0.5**most < alpha):
        return None
    cases = f"{most} independent value{'' if most == 1 else 's'}"
    pairs = f", corrected for {tests} pairs of models" if tests > 1 else ""
    are = "is" if most == 1 else "are"
    return f"{cases} {are} too few for any difference to be significant{pairs}, whatever the scores are"


def _is_0_to_1(values: CaseValues) -> bool:
    return all(0 <= value <= 1 for found in values.by_case.values() for value in found)


def _winners(comparison: Comparison | None, alpha: float) -> tuple[str, ...]:
    """The model that is significantly better, if any."""
    if comparison is None or comparison.adjusted_p is None or comparison.adjusted_p >= alpha:
        return ()
    mean = comparison.difference.mean or 0.0
    return (comparison.first if mean > 0 else comparison.second,)


def _beaten(comparisons: Iterable[Comparison], alpha: float) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """By model: how many models are significantly better, and how many worse."""
    better: dict[str, int] = {}
    worse: dict[str, int] = {}
    for one in comparisons:
        for winner in _winners(one, alpha):
            loser = one.second if winner == one.first else one.first
            better[loser] = better.get(loser, 0) + 1
            worse[winner] = worse.get(winner, 0) + 1
    return better, worse


def _drawn_limits(drawn: NDArray[np.float64], alpha: float) -> list[tuple[int, int] | None]:
    """Limits of the rank by column.

    In a draw with a tie the best of the tied places counts for the lower limit, the worst for the upper.
    """
    import numpy as np

    if drawn.shape[1] > 1 and not np.ptp(drawn, axis=0).any():
        return [None] * drawn.shape[1]
    limits: list[tuple[int, int] | None] = []
    for k in range(drawn.shape[1]):
        better = (drawn > drawn[:, [k]]).sum(axis=1)
        worse = (drawn < drawn[:, [k]]).sum(axis=1)
        low = np.quantile(1 + better, alpha / 2, method="inverted_cdf")
        high = np.quantile(drawn.shape[1] - worse, 1 - alpha / 2, method="inverted_cdf")
        limits.append((int(low), int(high)))
    return limits
