"""The paired permutation test by flipping signs, and Holm's correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.analysis.blocks import rng_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["EXACT_UP_TO", "FLIPS", "holm", "sign_flip_test"]

FLIPS = 99_999
"""Random sign patterns, by default: the smallest p is 0.00001, small enough to stay below 0.05 after Holm's correction
over the 820 pairs of 41 models."""

EXACT_UP_TO = 14
"""Up to this many differences other than 0, all sign patterns are gone through."""

_AT_ONCE = 8192


def sign_flip_test(
    shares: Array, clusters: Sequence[str], *, seed: int, flips: int = FLIPS
) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Two-sided p-values of "the sum of a column is 0", when signs would be as likely either way.

    With few differences all sign patterns are gone through; otherwise ``flips`` random ones are, and the observed one
    is counted as one more (Phipson and Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9:
    article 39), so that p is never 0.

    Args:
        shares: what each cluster adds to the statistic, shape (clusters, columns).
        clusters: names of the rows. The signs of a row depend on its name and ``seed`` alone, so that a p-value is
            the same whatever else is compared in the same call.
        seed: of the random patterns.
        flips: number of random patterns.

    Returns:
        p by column, and whether it is exact.
    """
    differing = (shares != 0).sum(axis=0)
    exact = differing <= EXACT_UP_TO
    p_values = [0.0] * shares.shape[1]
    for column in exact.nonzero()[0]:
        own = shares[:, column]
        p_values[column] = _exact(own[own != 0])
    others = (~exact).nonzero()[0]
    if len(others):
        for column, p in zip(others, _random(shares[:, others], clusters, seed, flips), strict=True):
            p_values[column] = float(p)
    return tuple(p_values), tuple(bool(one) for one in exact)


def _exact(shares: Array) -> float:
    import numpy as np

    if len(shares) == 0:
        return 1.0
    # A pattern and its opposite count alike, so the first sign stays.
    patterns = np.arange(2 ** (len(shares) - 1))[:, None] >> np.arange(len(shares)) & 1
    sums = (1 - 2 * patterns) @ shares
    return float(np.mean(_as_far(sums, shares)))


def _as_far(sums: Array, shares: Array) -> NDArray[np.bool_]:
    """Which sums are as far from 0 as the observed one; equal up to rounding counts."""
    import numpy as np

    rounding = 1e-9 * np.abs(shares).sum(axis=0)
    far: NDArray[np.bool_] = np.abs(sums) >= np.abs(shares.sum(axis=0)) - rounding
    return far


def _random(shares: Array, clusters: Sequence[str], seed: int, flips: int) -> Array:
    import numpy as np

    needed = -(-flips // 8)
    bits = np.stack([np.frombuffer(rng_of(seed, "signs", name).bytes(needed), np.uint8) for name in clusters])
    found = np.zeros(shares.shape[1])
    for start in range(0, flips, _AT_ONCE):
        taken = np.unpackbits(bits[:, start // 8 : (start + _AT_ONCE) // 8], axis=1)[:, : flips - start]
        sums = (1.0 - 2.0 * taken.T) @ shares
        found += _as_far(sums, shares).sum(axis=0)
    p_values: Array = (found + 1) / (flips + 1)
    return p_values


def holm(p_values: Iterable[float | None]) -> tuple[float | None, ...]:
    """p-values adjusted for their number by Holm 1979 (Scandinavian Journal of Statistics 6: 65-70), in their order.

    Of all comparisons with an adjusted p below alpha, the chance that even one is a false alarm is at most alpha,
    however they depend on each other. None (no test was possible) stays None and does not count.
    """
    given = list(p_values)
    order = sorted((p, place) for place, p in enumerate(given) if p is not None)
    adjusted: list[float | None] = [None] * len(given)
    highest = 0.0
    for number, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - number)))
        adjusted[place] = highest
    return tuple(adjusted)
