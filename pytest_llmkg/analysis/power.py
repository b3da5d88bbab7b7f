"""How small a difference could be seen at all: "with these cases, a drop smaller than x cannot be seen"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_llmkg.analysis.intervals import Interval
    from pytest_llmkg.analysis.values import CaseValues

__all__ = ["Detectable", "detectable", "detectable_by_rerun"]


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest true difference that a comparison finds often enough.

    Attributes:
        difference: a true difference of this size is found with chance ``power``; None when that is unknown.
        alpha: two-sided level of the test.
        power: chance to find it.
        clusters: number of independent cases.
        reason: why ``difference`` is None, else None.
    """

    difference: float | None
    alpha: float
    power: float
    clusters: int
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """What it means, in words."""
        if self.difference is None:
            return f"How small a difference could be seen is unknown: {self.reason}."
        return (
            f"With these {self.clusters} cases, a difference smaller than {self.difference:.3f} is likely to go unseen "
            f"(found with a chance below {self.power:.0%} at alpha {self.alpha:g})."
        )


def detectable(difference: Interval, *, alpha: float = 0.05, power: float = 0.8) -> Detectable:
    """For the paired design of a comparison, from how much the differences of its cases vary.

    By the noncentral t distribution (Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, section 2),
    with the standard error and degrees of freedom of ``difference``. The sign-flip test has about the same power.

    Raises:
        ValueError: ``alpha`` or ``power`` is not between 0 and 1, or ``power`` not above ``alpha``.
    """
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha {alpha} and power {power} must be 0 < alpha < power < 1")
    if difference.error is None or difference.degrees is None:
        return Detectable(None, alpha, power, difference.clusters, difference.reason)
    found = difference.error * _noncentrality(difference.degrees, alpha, power)
    return Detectable(found, alpha, power, difference.clusters)


def _noncentrality(degrees: float, alpha: float, power: float) -> float:
    """The true difference in standard errors that a two-sided t test finds with chance ``power``."""
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(degrees, 1 - alpha / 2))

    def lack(shift: float) -> float:
        other_tail = float(nctdtr(degrees, shift, -critical))
        if math.isnan(other_tail):  # scipy gives up where less than 1e-13 is left of it
            other_tail = 0.0
        return float(nctdtr(degrees, shift, critical)) - other_tail - (1 - power)

    high = 2 * critical + 2
    while lack(high) > 0:
        high *= 2
    return float(brentq(lack, 0.0, high, xtol=1e-9))


def detectable_by_rerun(values: CaseValues, model: str, *, alpha: float = 0.05, power: float = 0.8) -> Detectable:
    """The best that a comparison with one more run of the same size could see, judged by one run alone.

    Iterations of a case tell how much its answers vary by chance; two runs of the same model would differ by that.
    A changed model moves some cases more than others, so a real comparison sees somewhat less. Under each label the
    variance is pooled over its cases.
    """
    from pytest_llmkg.analysis.intervals import Interval

    by_label: dict[str, list[tuple[float, ...]]] = {}
    for (of, label, _), found in values.by_case.items():
        if of == model and found:
            by_label.setdefault(label, []).append(found)
    parts = [_rerun_variance(cases, len(by_label)) for cases in by_label.values()]
    clusters = sum(map(len, by_label.values()))
    known = [part for part in parts if part]
    variance = math.fsum(one for one, _ in known)
    if not parts or len(known) < len(parts):
        reason = "some labels have no case that was asked twice" if parts else "no value"
        return detectable(Interval(None, None, None, clusters, reason=reason), alpha=alpha, power=power)
    if variance <= 0:
        reason = "repeated answers to a case always had the same score"
        return detectable(Interval(None, None, None, clusters, reason=reason), alpha=alpha, power=power)
    degrees = variance**2 / math.fsum(one**2 / free for one, free in known)
    error = math.sqrt(2 * variance)
    return detectable(Interval(0.0, None, None, clusters, error, degrees), alpha=alpha, power=power)


def _rerun_variance(cases: list[tuple[float, ...]], labels: int) -> tuple[float, int] | None:
    """A label's part in the variance of a run's mean, with its degrees of freedom; None without repeated cases."""
    free = sum(len(found) - 1 for found in cases)
    if free == 0:
        return None
    means = [math.fsum(found) / len(found) for found in cases]
    squares = math.fsum((value - mean) ** 2 for found, mean in zip(cases, means, strict=True) for value in found)
    # The mean of all values of a label: its variance is that of one value by their number.
    return squares / free / sum(map(len, cases)) / labels**2, free
