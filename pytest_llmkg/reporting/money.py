"""US dollars in a column: all with the same number of decimals, so that they can be compared by eye."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["decimals", "money"]

_LEAST, _MOST, _SIGNIFICANT = 2, 6, 3


def decimals(values: Iterable[float | None]) -> int:
    """Decimals that show three digits of the smallest of ``values`` that is above zero: at least 2, at most 6."""
    known = [value for value in values if value and math.isfinite(value)]
    if not known:
        return _LEAST
    wanted = _SIGNIFICANT - 1 - math.floor(math.log10(min(map(abs, known))))
    return min(max(wanted, _LEAST), _MOST)


def money(value: float | None, digits: int, *, known: bool = True) -> str:
    """US dollars with ``digits`` decimals; a sum that lacks unknown parts is a lower bound, like `formats.cost`.

    What is above zero but too small for the decimals is ``<$0.000001``, never zero.
    """
    if value is None or (value == 0 and not known):
        return UNKNOWN
    least = 10**-digits
    if 0 < value < least:
        return f"<${least:.{digits}f}" if known else f"≥ ${0:.{digits}f}"
    return f"{'' if known else '≥ '}${value:,.{digits}f}"
