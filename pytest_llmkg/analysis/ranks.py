"""How sure ranks are, and which models may be the best.

Two intervals of a rank. ``drawn``: where the rank lies when the cases are drawn again, the same cases for every
model; easy to read, but without guarantee where models are truly equal. ``tested``: as many models are better, and
as many worse, as Holm-corrected paired tests over all pairs can tell; all these intervals hold together with at least
the chance 1 - alpha (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91: 476-518).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.blocks import macro_draws, macro_means, make_blocks
from pytest_llmkg.analysis.intervals import DRAWS
from pytest_llmkg.analysis.paired import Comparison, compare_all
from pytest_llmkg.analysis.signflip import FLIPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
        leader: True when the model is not significantly worse than the best one.
        p: adjusted p against the best one; None for the best itself and where no test was possible, which does not
            exclude a model from the leaders.

    Without tests (`Ranking.untested`) ``tested`` spans all ranks and nobody is a leader.
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
        alpha: level of the tests; the drawn limits hold 1 - alpha of the draws.
        reason: why there is no rank, else None.
        untested: why there are ranks, but neither tests nor leaders, else None.
    """

    rows: tuple[Rank, ...]
    incomplete: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    alpha: float = 0.05
    reason: str | None = None
    untested: str | None = None

    @property
    def leaders(self) -> tuple[str, ...]:
        """The models that may be the best."""
        return tuple(row.model for row in self.rows if row.leader)


def rank_models(
    values: CaseValues, *, seed: int, alpha: float = 0.05, draws: int = DRAWS, flips: int = FLIPS
) -> Ranking:
    """Ranks of all models with values under every label, with two kinds of limits and the leader group.

    The best model is picked by the same data, so the leader group uses p-values that were corrected for all pairs,
    not only for the pairs with the best.
    """
    covered = {model: {label for label, _ in values.cases(model)} for model in values.models}
    everything = set().union(*covered.values())
    complete = tuple(model for model in values.models if everything and covered[model] == everything)
    incomplete = tuple(model for model in values.models if model not in complete)
    if not complete:
        return Ranking((), incomplete, (), alpha, "no model has values under every label" if everything else "no value")
    chosen = values.only(models=complete)
    untested = _too_many(len(complete))
    comparisons = () if untested else compare_all(chosen, seed=seed, draws=draws, flips=flips, level=1 - alpha)
    blocks = make_blocks(chosen)
    # Equal results may differ in their last bits.
    means = [round(float(mean), 12) for mean in macro_means(blocks)]
    drawn = _drawn_limits(macro_draws(blocks, draws, seed).round(12), alpha)
    best = min(complete, key=lambda model: (-means[complete.index(model)], model))
    better, worse = _beaten(comparisons, alpha)
    against = {
        one.first if one.second == best else one.second: one for one in comparisons if best in (one.first, one.second)
    }
    rows = [
        Rank(
            model,
            means[k],
            1 + sum(other > means[k] for other in means),
            drawn[k],
            (1 + better.get(model, 0), len(complete) - worse.get(model, 0)),
            untested is None and best not in _winners(against.get(model), alpha),
            against[model].adjusted_p if model in against else None,
        )
        for k, model in enumerate(complete)
    ]
    rows.sort(key=lambda row: (row.rank, row.model))
    return Ranking(tuple(rows), incomplete, comparisons, alpha, untested=untested)


def _too_many(models: int) -> str | None:
    if models <= MOST_TESTED:
        return None
    pairs = f"the {models * (models - 1) // 2:,} pairs of {models:,} models"
    return f"{pairs} are too many for any difference to be significant; at most {MOST_TESTED} models are tested"


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
