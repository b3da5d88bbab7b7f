"""95 % intervals of means, clustered by case, and of rates.

Means: bootstrap over cases. Of the variants that were compared by simulation (scores with a ceiling at 1, yes/no
scores and symmetric ones; 6 to 96 cases; `tests/analysis/test_intervals.py` repeats a part of it) the plain percentile
bootstrap covered 62 to 94 % instead of 95 %, and so did BCa alone. Best everywhere was what is done here: n - 1 of n
cases are drawn (`pytest_llmkg.analysis.blocks.macro_draws`), limits are bias-corrected and accelerated (Efron 1987,
Journal of the American Statistical Association 82: 171-185), and the normal quantile is replaced by Student's with
the degrees of freedom of the cases (Hesterberg 2015, The American Statistician 69: 371-386). With fewer than about
ten cases of skewed scores, intervals are still too narrow; then ``note`` says so.

Draws never leave the range of the values, so below six cases they cannot reach far enough: of three cases they covered
75 %, of two 50 %. There, limits are at least as wide as Student's, mean -/+ t * error, which cover 95 % of normal
values; two cases alone have none, since t with one degree of freedom says nothing but that they are too few. Limits of
scores that all lie between 0 and 1 stay there.

Rates: Wilson 1927, Journal of the American Statistical Association 22: 209-212.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.blocks import (
    Block,
    Spread,
    label_counts,
    macro_draws,
    macro_means,
    make_blocks,
    spread_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_llmkg.analysis.values import CaseValues

    Array = NDArray[np.float64]

__all__ = ["DRAWS", "Interval", "ScoreIntervals", "bootstrap_intervals", "score_intervals", "total_spread", "wilson"]

DRAWS = 4000
"""Bootstrap draws, by default."""

_FEW = 10
_FEW_DEGREES = 4.5
"""Degrees of freedom (five cases have four) up to which the draws do not reach far enough."""
_TOO_FEW_DEGREES = 1.5


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean or a rate with its interval.

    Attributes:
        mean: None when there is no value at all.
        low, high: limits, None when there are none; then ``reason`` says why.
        clusters: number of independent units: cases, or dialogues of a rate.
        error: standard error of the mean, None when it is unknown.
        degrees: degrees of freedom of ``error``, None with it.
        level: how often such intervals hold the true mean.
        reason: why there are no limits, else None.
        note: what the limits leave out or rest on, else None.
    """

    mean: float | None
    low: float | None
    high: float | None
    clusters: int
    error: float | None = None
    degrees: float | None = None
    level: float = 0.95
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreIntervals:
    """Intervals of the leaderboard's means.

    Attributes:
        models: by model, of the mean of its label means.
        labels: by (model, label), of the label's mean.
    """

    models: Mapping[str, Interval]
    labels: Mapping[tuple[str, str], Interval]


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Wilson's interval of a rate of independent trials.

    Raises:
        ValueError: fewer than 0 or more successes than trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials is no rate")
    if trials == 0:
        return Interval(None, None, None, 0, level=level, reason="no trial")
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    rate = successes / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == trials else middle + half
    return Interval(rate, low, high, trials, level=level)


def score_intervals(values: CaseValues, *, seed: int, draws: int = DRAWS, level: float = 0.95) -> ScoreIntervals:
    """Intervals of every model's mean and of every label's mean.

    A label's mean is that of its dialogues; a model's mean is the mean of its label means, each with the same weight
    (as in `pytest_llmkg.analysis.aggregates`). Cases are drawn as a whole, with all their iterations and under all
    labels of a task that share them. A label with a single case has its iterations drawn instead: its part of the
    interval then says how repeatable the answers to this case are, and ``note`` says so.
    """
    blocks, models = make_blocks(values), values.models
    labels: dict[tuple[str, str], Interval] = {}
    for block in blocks:
        for number, label in enumerate(block.labels):
            found = bootstrap_intervals((_part(block, number),), seed=seed, draws=draws, level=level)
            labels |= {(model, label): one for model, one in zip(models, found, strict=True) if one.mean is not None}
    of_models = bootstrap_intervals(blocks, seed=seed, draws=draws, level=level) if blocks else ()
    if all(0 <= value <= 1 for found in values.by_case.values() for value in found):
        labels = {key: _within_0_1(one) for key, one in labels.items()}
        of_models = tuple(map(_within_0_1, of_models))
    nothing = Interval(None, None, None, 0, level=level, reason="no value")
    by_model = dict(zip(models, of_models, strict=True)) if of_models else dict.fromkeys(models, nothing)
    return ScoreIntervals(by_model, dict(sorted(labels.items())))


def _within_0_1(one: Interval) -> Interval:
    low, high = one.low, one.high
    return one if low is None or high is None else replace(one, low=max(low, 0.0), high=min(high, 1.0))


def _part(block: Block, number: int) -> Block:
    """One label of a block, without the cases that only its other labels have."""
    own = block.counts[:, number].sum(axis=1) > 0
    clusters = tuple(name for name, has in zip(block.clusters, own, strict=True) if has)
    chosen = block.sums[own][:, [number]], block.counts[own][:, [number]]
    return Block((block.labels[number],), clusters, *chosen, block.one_case)


def bootstrap_intervals(
    blocks: Sequence[Block], *, seed: int, draws: int = DRAWS, level: float = 0.95
) -> tuple[Interval, ...]:
    """Intervals of the means of label means, one for each column; ``blocks`` must not be empty."""
    means, spread = macro_means(blocks), total_spread(blocks)
    low, high = _limits(macro_draws(blocks, draws, seed), means, spread, level)
    labels = label_counts(blocks)
    one_case = _one_case_labels(blocks, len(labels))
    return tuple(
        _interval(
            (float(means[k]), float(low[k]), float(high[k])),
            int(spread.clusters[k]),
            float(spread.variance[k]),
            float(spread.degrees[k]),
            _notes(int(labels[k]), int(spread.clusters[k]), int(spread.single[k]), int(one_case[k])),
            level,
        )
        for k in range(len(labels))
    )


def total_spread(blocks: Sequence[Block]) -> Spread:
    """The spread of the means of label means, by column; ``blocks`` must not be empty."""
    import numpy as np

    labels = np.maximum(label_counts(blocks), 1)
    first, *others = (spread_of(block, labels) for block in blocks)
    for other in others:
        first += other
    return first


def _one_case_labels(blocks: Sequence[Block], columns: int) -> Array:
    """In how many labels of a single case each column has several iterations."""
    import numpy as np

    found = np.zeros(columns)
    for block in blocks:
        if block.one_case:
            found += (block.counts.sum(axis=0) > 1).sum(axis=0)
    return found


def _interval(
    numbers: tuple[float, float, float], clusters: int, variance: float, degrees: float, note: str | None, level: float
) -> Interval:
    mean, low, high = numbers
    if clusters == 0:
        return Interval(None, None, None, 0, level=level, reason="no value")
    if variance > 0 and degrees < _TOO_FEW_DEGREES:
        reason = "its spread rests on two independent values, too few for limits"
        return Interval(mean, None, None, clusters, math.sqrt(variance), degrees, level, reason)
    if variance > 0:
        return Interval(mean, low, high, clusters, math.sqrt(variance), degrees, level, note=note)
    if clusters == 1:
        reason = "a single value: its spread is unknown"
    else:
        reason = f"all {clusters} values that could differ are equal, so they show no spread"
    return Interval(mean, None, None, clusters, level=level, reason=reason)


def _notes(labels: int, clusters: int, single: int, one_case: int) -> str | None:
    notes = []
    if single:
        parts = (
            "1 part of it (a task label, or labels that share cases) has"
            if single == 1
            else (f"{single} parts of it (task labels, or labels that share cases) have")
        )
        notes.append(f"{parts} only one case, whose uncertainty is not included")
    if one_case:
        notes.append(f"{one_case} of {labels} labels have one case only: for them it holds for that case alone")
    if clusters < _FEW:
        notes.append(f"only {clusters} independent values: the interval is rather too narrow")
    return "; ".join(notes) or None


def _limits(drawn: Array, means: Array, spread: Spread, level: float) -> tuple[Array, Array]:
    """BCa limits with Student's quantiles, by column."""
    import numpy as np
    from scipy.special import ndtr, ndtri, stdtrit

    draws = len(drawn)
    ordered = np.sort(drawn, axis=0)
    # Equal up to rounding counts half, so that ties on the mean itself do not shift the limits.
    near = 1e-12
    below = (drawn < means - near).sum(axis=0) + 0.5 * (np.abs(drawn - means) <= near).sum(axis=0)
    bias = ndtri(np.clip(below / draws, 1 / draws, 1 - 1 / draws))
    power = spread.second**1.5
    bend = np.divide(spread.third, 6 * power, out=np.zeros_like(power), where=power > 0)
    lowest = stdtrit(spread.degrees, (1 - level) / 2)
    limits = []
    for side in (lowest, -lowest):
        shifted = bias + side
        share = ndtr(bias + shifted / np.maximum(1 - bend * shifted, 1e-9))
        limits.append(_quantile(ordered, share))
    reach = np.where(spread.degrees < _FEW_DEGREES, -lowest * np.sqrt(spread.variance), 0.0)
    few = reach > 0
    low: Array = np.where(few, np.minimum(limits[0], means - reach), limits[0])
    high: Array = np.where(few, np.maximum(limits[1], means + reach), limits[1])
    return low, high


def _quantile(ordered: Array, share: Array) -> Array:
    """The quantile ``share`` of each column of sorted draws, interpolated."""
    import numpy as np

    place = share * (len(ordered) - 1)
    lower = np.floor(place).astype(int)
    upper = np.minimum(lower + 1, len(ordered) - 1)
    columns = np.arange(ordered.shape[1])
    low, high = ordered[lower, columns], ordered[upper, columns]
    found: Array = low + (high - low) * (place - lower)
    return found
