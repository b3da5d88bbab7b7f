"""Comparisons of two models, or of two runs of one, on the same cases.

The unit is the case: iterations are averaged first, then the two are subtracted under each label. Every label counts
the same, as in the leaderboard's mean, however many cases it has. Cases under several labels of one task (the same
question in two formats) are flipped and drawn together. A label with a single case is compared iteration by
iteration; that speaks for this case only. Cases with a value on one side only cannot be compared: they are named.
Limits of differences of scores that all lie between 0 and 1 stay between -1 and 1, since nothing else is possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.blocks import Block, label_counts, macro_means, make_blocks
from pytest_llmkg.analysis.intervals import DRAWS, Interval, bootstrap_intervals
from pytest_llmkg.analysis.signflip import FLIPS, holm, sign_flip_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_llmkg.analysis.values import CaseValues

    Array = NDArray[np.float64]

__all__ = ["Comparison", "Unmatched", "compare", "compare_all", "compare_labels", "within_1"]

_TIE = 1e-12
_AT_ONCE = 1000
"""Pairs in memory at once: their draws take some 100 MB, those of all pairs of 500 models took 8 GB."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """(label, case) of cases that could not be compared: a value on one side only, or asked but without any."""

    only_first: tuple[tuple[str, str], ...] = ()
    only_second: tuple[tuple[str, str], ...] = ()
    neither: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> int:
        """All of them."""
        return len(self.only_first) + len(self.only_second) + len(self.neither)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first model against the second; differences are first minus second.

    Attributes:
        first, second: the models.
        first_mean, second_mean: means of label means over the common cases; None without any.
        difference: mean difference with its interval.
        p: two-sided, by sign-flip permutation; None without a common case.
        exact: whether all sign patterns were gone through.
        adjusted_p: after Holm's correction over all comparisons made together.
        effect: Cohen's dz: mean difference by standard deviation of the differences; None when they do not differ.
        wins, ties, losses: of the first, by case and label.
        labels: number of labels with a common case.
        unmatched: the cases left out.
    """

    first: str
    second: str
    first_mean: float | None
    second_mean: float | None
    difference: Interval
    p: float | None
    exact: bool
    adjusted_p: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int
    labels: int
    unmatched: Unmatched

    @property
    def cases(self) -> int:
        """Number of compared cases, counted under each label."""
        return self.wins + self.ties + self.losses


def compare(values: CaseValues, first: str, second: str, *, seed: int) -> Comparison:
    """One comparison; for two runs see `pytest_llmkg.analysis.values.side_by_side`."""
    return compare_all(values, seed=seed, pairs=((first, second),))[0]


def compare_labels(values: CaseValues, first: str, second: str, *, seed: int) -> Mapping[str, Comparison]:
    """The comparison under each label by itself; ``adjusted_p`` is over all labels."""
    both = values.only(models={first, second})
    found = {label: compare(both.only(labels={label}), first, second, seed=seed) for label in both.labels}
    adjusted = holm(one.p for one in found.values())
    return {label: replace(one, adjusted_p=p) for (label, one), p in zip(found.items(), adjusted, strict=True)}


def compare_all(
    values: CaseValues,
    *,
    seed: int,
    pairs: Sequence[tuple[str, str]] | None = None,
    draws: int = DRAWS,
    flips: int = FLIPS,
    level: float = 0.95,
) -> tuple[Comparison, ...]:
    """Comparisons of all ``pairs`` (None: each two of the models), with Holm's correction over them."""
    chosen = tuple(combinations(values.models, 2)) if pairs is None else tuple(pairs)
    blocks = make_blocks(values)
    unmatched = _unmatched(values, chosen)
    if not chosen or not blocks:
        return tuple(_nothing(pair, left) for pair, left in zip(chosen, unmatched, strict=True))
    found: list[Comparison] = []
    bounded = all(0 <= value <= 1 for values_of_case in values.by_case.values() for value in values_of_case)
    for start in range(0, len(chosen), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        differing, means = _differences(blocks, values.models, chosen[part])
        intervals = bootstrap_intervals(differing, seed=seed, draws=draws, level=level)
        intervals = tuple(map(within_1, intervals)) if bounded else intervals
        tests = sign_flip_test(*_statistic(differing), seed=seed, flips=flips)
        found += _comparisons(chosen[part], unmatched[part], differing, (means, intervals, tests))
    adjusted = holm(one.p for one in found)
    return tuple(replace(one, adjusted_p=p) for one, p in zip(found, adjusted, strict=True))


def within_1(one: Interval) -> Interval:
    """``one`` with limits from -1 to 1: what differences of scores between 0 and 1 can be."""
    low, high = one.low, one.high
    return one if low is None or high is None else replace(one, low=max(low, -1.0), high=min(high, 1.0))


def _differences(
    blocks: Sequence[Block], models: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[tuple[Block, ...], tuple[Array, Array]]:
    """First minus second with a column for each pair, and the means of both sides."""
    first, second = _sides(blocks, models, pairs)
    differences = tuple(replace(one, sums=one.sums - two.sums) for one, two in zip(first, second, strict=True))
    return differences, (macro_means(first), macro_means(second))


def _comparisons(
    pairs: Sequence[tuple[str, str]],
    unmatched: Sequence[Unmatched],
    differences: Sequence[Block],
    numbers: tuple[tuple[Array, Array], Sequence[Interval], tuple[Sequence[float], Sequence[bool]]],
) -> list[Comparison]:
    """The comparisons of ``pairs``, not yet corrected for their number."""
    means, intervals, (p_values, exact) = numbers
    effects, counts, labels = _effects(differences), _counts(differences), label_counts(differences)
    return [
        Comparison(
            *pair,
            float(means[0][k]),
            float(means[1][k]),
            intervals[k],
            p_values[k],
            exact[k],
            None,
            effects[k],
            *counts[k],
            int(labels[k]),
            unmatched[k],
        )
        if intervals[k].clusters
        else _nothing(pair, unmatched[k])
        for k, pair in enumerate(pairs)
    ]


def _nothing(pair: tuple[str, str], unmatched: Unmatched) -> Comparison:
    return Comparison(
        *pair,
        first_mean=None,
        second_mean=None,
        difference=Interval(None, None, None, 0, reason="no case has values of both"),
        p=None,
        exact=False,
        adjusted_p=None,
        effect=None,
        wins=0,
        ties=0,
        losses=0,
        labels=0,
        unmatched=unmatched,
    )


def _unmatched(values: CaseValues, pairs: Sequence[tuple[str, str]]) -> list[Unmatched]:
    names = {model for pair in pairs for model in pair}
    valued = {model: values.cases(model) for model in names}
    asked: dict[str, set[tuple[str, str]]] = {model: set() for model in names}
    for model, label, case in values.by_case:
        if model in names:
            asked[model].add((label, case))
    return [
        Unmatched(
            tuple(sorted(valued[first] - valued[second])),
            tuple(sorted(valued[second] - valued[first])),
            tuple(sorted((asked[first] | asked[second]) - valued[first] - valued[second])),
        )
        for first, second in pairs
    ]


def _sides(
    blocks: Sequence[Block], models: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks with a column for each pair, once with the first's means by case, once with the second's.

    Both have a count of 1 where both have a value, and 0 elsewhere.
    """
    import numpy as np

    column = {model: number for number, model in enumerate(models)}
    # Models without any dialogue take the empty column after the last.
    chosen = np.array([[column.get(model, len(models)) for model in pair] for pair in pairs])
    sides: tuple[list[Block], list[Block]] = [], []
    for block in blocks:
        counts = np.pad(block.counts, ((0, 0), (0, 0), (0, 1)))
        means = np.pad(block.sums, ((0, 0), (0, 0), (0, 1))) / np.maximum(counts, 1)
        both = ((counts[:, :, chosen[:, 0]] > 0) & (counts[:, :, chosen[:, 1]] > 0)).astype(np.float64)
        for side in (0, 1):
            sides[side].append(replace(block, sums=means[:, :, chosen[:, side]] * both, counts=both))
    return tuple(sides[0]), tuple(sides[1])


def _weights(differences: Sequence[Block]) -> list[Array]:
    """The weight of each difference in the mean of label means, of the shape of its block."""
    import numpy as np

    labels = np.maximum(label_counts(differences), 1)
    return [block.counts / np.maximum(block.counts.sum(axis=0), 1) / labels for block in differences]


def _statistic(differences: Sequence[Block]) -> tuple[Array, tuple[str, ...]]:
    """What each cluster adds to the mean of label means, shape (clusters, pairs), and the clusters' names."""
    import numpy as np

    parts = [
        (block.sums * weight).sum(axis=1) for block, weight in zip(differences, _weights(differences), strict=True)
    ]
    return np.concatenate(parts), tuple(name for block in differences for name in block.clusters)


def _effects(differences: Sequence[Block]) -> list[float | None]:
    """Cohen's dz with the weights of the mean; for a single label it is the plain one."""
    import numpy as np

    columns = differences[0].sums.shape[2]
    found = np.concatenate([block.sums.reshape(-1, columns) for block in differences])
    weight = np.concatenate([one.reshape(-1, columns) for one in _weights(differences)])
    mean = (found * weight).sum(axis=0)
    variance = (weight * (found - mean) ** 2).sum(axis=0)
    left = 1 - (weight**2).sum(axis=0)
    return [
        float(m / np.sqrt(v / share)) if share > _TIE and v > _TIE**2 else None
        for m, v, share in zip(mean, variance, left, strict=True)
    ]


def _counts(differences: Sequence[Block]) -> list[tuple[int, int, int]]:
    """Wins, ties and losses by pair."""
    import numpy as np

    columns = differences[0].sums.shape[2]
    found = np.concatenate([block.sums.reshape(-1, columns) for block in differences])
    both = np.concatenate([block.counts.reshape(-1, columns) for block in differences]) > 0
    wins, losses = (found > _TIE).sum(axis=0), (found < -_TIE).sum(axis=0)
    ties = both.sum(axis=0) - wins - losses
    return [(int(w), int(t), int(one)) for w, t, one in zip(wins, ties, losses, strict=True)]
