"""The t-test of the published analysis, and rounding as its tables are printed."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.records import Number

__all__ = ["TTest", "printed", "t_test"]

_NOISE = 1e-12
_TWO_DECIMALS = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class TTest:
    """The outcome of a test: its p-value, or why there is none (``reason``, a clause)."""

    p: float | None
    reason: str = ""


def t_test(one: Sequence[Number], other: Sequence[Number]) -> TTest:
    """Student's t-test of two samples, two-sided, as ``scipy.stats.ttest_ind`` computes it.

    It takes all values for independent, which the callers must tell. Values without any spread on both sides have no
    p-value when they are equal, and p = 0 (as scipy has it) when they differ. Never NaN.
    """
    if min(len(one), len(other)) == 0:
        return TTest(None, "no values on one side")
    if min(len(one), len(other)) < 2:
        return TTest(None, "only one value on one side, which shows no spread")
    if _is_flat(one) and _is_flat(other):
        if abs(one[0] - other[0]) <= _NOISE:
            return TTest(None, "all values are equal, so the t-test is undefined")
        return TTest(0.0, "no spread on either side, so any difference counts")
    from scipy.stats import ttest_ind

    # Sorted, so that the last bits do not depend on the order in which dialogues finished.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nearly equal values lose precision, which p tells
        p = float(ttest_ind(sorted(one), sorted(other)).pvalue)
    return TTest(p) if math.isfinite(p) else TTest(None, "the t-test is undefined for these values")


def _is_flat(values: Sequence[Number]) -> bool:
    return max(values) - min(values) <= _NOISE


def printed(value: float) -> str:
    """``value`` with two decimals, halves away from zero, last bits of the float left out.

    One published mean lies exactly on such a half, where the last bit would decide.
    """
    return str(Decimal(repr(round(value, 9))).quantize(_TWO_DECIMALS, ROUND_HALF_UP))
