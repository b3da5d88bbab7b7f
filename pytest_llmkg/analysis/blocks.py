"""Values as arrays, in blocks of labels that share cases; seeded draws of cases.

The same question asked in two formats is one case under two labels, and a model that misses it in one format is
likely to miss it in the other. Labels of one task that share a case id therefore form one *block*, whose cases are
drawn (or whose differences are flipped) together; taking them as independent would make intervals too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_llmkg.analysis.values import CaseValues

    Array = NDArray[np.float64]

__all__ = [
    "Block",
    "Spread",
    "label_counts",
    "label_means",
    "macro_draws",
    "macro_means",
    "make_blocks",
    "rng_of",
    "shares",
    "spread_of",
]


@dataclass(frozen=True, slots=True)
class Block:
    """Labels that share cases, as arrays of shape (clusters, labels, columns); a column is a model or a pair.

    Attributes:
        labels: the labels.
        clusters: what is drawn as a whole: the cases; the iterations, when the block has only one case.
        sums: sum of the values of a cluster under a label.
        counts: how many values that is; 0 where there is none.
        one_case: the clusters are iterations of a single case.
    """

    labels: tuple[str, ...]
    clusters: tuple[str, ...]
    sums: Array
    counts: Array
    one_case: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """How much means vary, by column; blocks add up.

    Attributes:
        variance: of the mean, by linearisation, with n - 1 in the denominator of each block.
        welch: sum over blocks of variance ** 2 / (clusters - 1), for the degrees of freedom.
        second, third: sums of the clusters' influences to these powers.
        clusters: number of clusters with a value.
        single: number of blocks with one cluster only, whose spread is unknown.
    """

    variance: Array
    welch: Array
    second: Array
    third: Array
    clusters: Array
    single: Array

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            self.variance + other.variance,
            self.welch + other.welch,
            self.second + other.second,
            self.third + other.third,
            self.clusters + other.clusters,
            self.single + other.single,
        )

    @property
    def degrees(self) -> Array:
        """Degrees of freedom by Welch and Satterthwaite; 1 where there is no spread."""
        import numpy as np

        known = self.welch > 0
        degrees: Array = np.divide(self.variance**2, self.welch, out=np.ones_like(self.variance), where=known)
        return degrees


def rng_of(seed: int, *words: str) -> np.random.Generator:
    """A generator that depends on ``seed`` and ``words`` alone, not on what was drawn before."""
    import numpy as np

    digest = blake2b("\0".join((str(seed), *words)).encode("utf-8", "replace"), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def make_blocks(values: CaseValues) -> tuple[Block, ...]:
    """The blocks of ``values`` with one column for each of ``values.models``; labels without any value are left out."""
    column = {model: number for number, model in enumerate(values.models)}
    cells: dict[str, dict[str, list[tuple[int, tuple[float, ...]]]]] = {}
    for (model, label, case), found in values.by_case.items():
        if found:
            cells.setdefault(label, {}).setdefault(case, []).append((column[model], found))
    blocks: list[Block] = []
    for labels in _sharing({label: (values.tasks[label], frozenset(cells[label])) for label in sorted(cells)}):
        task = values.tasks[labels[0]]
        cases = sorted({case for label in labels for case in cells[label]})
        if len(cases) > 1:
            blocks.append(_case_block(task, labels, cases, cells, len(column)))
        else:
            blocks.extend(_iteration_block(task, label, cases[0], cells[label], len(column)) for label in labels)
    return tuple(blocks)


def _sharing(cases: Mapping[str, tuple[str, frozenset[str]]]) -> list[tuple[str, ...]]:
    """Labels in groups: those of one task that are connected by shared cases."""
    groups: list[tuple[str, set[str], list[str]]] = []
    for label, (task, own) in cases.items():
        joined = [group for group in groups if group[0] == task and group[1] & own]
        groups = [group for group in groups if group not in joined]
        ids = set(own).union(*(group[1] for group in joined))
        groups.append((task, ids, sorted([label, *(name for group in joined for name in group[2])])))
    return sorted(tuple(names) for _, _, names in groups)


def _case_block(
    task: str,
    labels: tuple[str, ...],
    cases: Sequence[str],
    cells: Mapping[str, Mapping[str, Sequence[tuple[int, tuple[float, ...]]]]],
    columns: int,
) -> Block:
    import numpy as np

    sums = np.zeros((len(cases), len(labels), columns))
    counts = np.zeros_like(sums)
    place = {case: number for number, case in enumerate(cases)}
    for number, label in enumerate(labels):
        for case, entries in cells[label].items():
            for column, found in entries:
                sums[place[case], number, column] = sum(found)
                counts[place[case], number, column] = len(found)
    return Block(labels, tuple(f"{task}/{case}" for case in cases), sums, counts)


def _iteration_block(
    task: str, label: str, case: str, cells: Mapping[str, Sequence[tuple[int, tuple[float, ...]]]], columns: int
) -> Block:
    import numpy as np

    times = max(len(found) for _, found in cells[case])
    sums = np.zeros((times, 1, columns))
    counts = np.zeros_like(sums)
    for column, found in cells[case]:
        sums[: len(found), 0, column] = found
        counts[: len(found), 0, column] = 1
    return Block((label,), tuple(f"{task}/{case}/{label}/{k}" for k in range(times)), sums, counts, one_case=True)


def label_means(block: Block) -> Array:
    """Means by label and column, shape (labels, columns); 0 where there is no value."""
    import numpy as np

    totals = block.counts.sum(axis=0)
    means: Array = np.divide(block.sums.sum(axis=0), totals, out=np.zeros_like(totals), where=totals > 0)
    return means


def label_counts(blocks: Iterable[Block]) -> Array:
    """In how many labels each column has a value."""
    import numpy as np

    labels: Array = np.sum([(block.counts.sum(axis=0) > 0).sum(axis=0) for block in blocks], axis=0, dtype=np.float64)
    return labels


def shares(block: Block, labels: Array) -> Array:
    """Influence of each cluster on the mean over ``labels`` labels (by column), shape (clusters, columns); sum 0."""
    import numpy as np

    totals = block.counts.sum(axis=0)
    weights = np.divide(1, totals * labels, out=np.zeros_like(totals), where=totals > 0)
    influences: Array = ((block.sums - label_means(block) * block.counts) * weights).sum(axis=1)
    return influences


def spread_of(block: Block, labels: Array) -> Spread:
    """The block's part in the spread of the means over ``labels`` labels (by column)."""
    import numpy as np

    influence = shares(block, labels)
    n = (block.counts.sum(axis=1) > 0).sum(axis=0).astype(np.float64)
    second = (influence**2).sum(axis=0)
    # Rounding leaves a little where all values are equal.
    second = np.where(second < 1e-24, 0.0, second)
    variance = np.where(n > 1, second * n / np.maximum(n - 1, 1), 0.0)
    welch = variance**2 / np.maximum(n - 1, 1)
    third = np.where(second > 0, (influence**3).sum(axis=0), 0.0)
    return Spread(variance, welch, second, third, n, (n == 1).astype(np.float64))


def macro_means(blocks: Sequence[Block]) -> Array:
    """Means of the label means by column; 0 where there is no value."""
    import numpy as np

    labels = label_counts(blocks)
    totals: Array = np.sum([label_means(block).sum(axis=0) for block in blocks], axis=0)
    return np.divide(totals, labels, out=np.zeros_like(labels), where=labels > 0)


def macro_draws(blocks: Sequence[Block], draws: int, seed: int) -> Array:
    """Bootstrap means of the label means, shape (draws, columns): the same clusters for every label and column.

    Of n clusters n - 1 are drawn with replacement (Rao and Wu 1988, Journal of the American Statistical
    Association 83: 231-241), which makes the variance of the drawn means unbiased where n are too few; drawing n
    would make it too small by the factor (n - 1) / n. A draw without any value of a column keeps that column's mean.
    """
    import numpy as np

    labels = np.maximum(label_counts(blocks), 1)
    total = np.zeros((draws, len(labels)))
    for block in blocks:
        n = len(block.clusters)
        taken = max(n - 1, 1)
        weights = rng_of(seed, *block.clusters).multinomial(taken, np.full(n, 1 / n), size=draws).astype(np.float64)
        # Label by label, since all at once would take gigabytes for the pairs of many models.
        even = np.zeros((n, len(labels)))
        for sums, counts in zip(block.sums.swapaxes(0, 1), block.counts.swapaxes(0, 1), strict=True):
            is_even = (counts == counts[0]).all(axis=0) & (counts[0] > 0)
            even[:, is_even] += sums[:, is_even] / counts[0, is_even]
            rest = ~is_even & (counts > 0).any(axis=0)
            if rest.any():
                total[:, rest] += _ratios(weights, sums[:, rest], counts[:, rest])
        total += weights @ even / taken
    total /= labels
    return total


def _ratios(weights: Array, sums: Array, counts: Array) -> Array:
    """Drawn means of one label where clusters have different numbers of values, shape (draws, columns)."""
    import numpy as np

    drawn = weights @ counts
    means: Array = np.broadcast_to(sums.sum(axis=0) / counts.sum(axis=0), drawn.shape).copy()
    np.divide(weights @ sums, drawn, out=means, where=drawn > 0)
    return means
