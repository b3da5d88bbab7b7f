"""Numbers compared by value."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["number_key"]

_LARGE = 10**11


def number_key(lexical: str) -> str:
    """One text for all ways to write the same number: ``2``, ``2.0``, ``+02`` and ``2e0`` are ``2``.

    Whole numbers are compared to the last digit. Others are compared by 12 significant digits (large ones by 15),
    since sums and means of floating point numbers differ behind them from engine to engine.

    Args:
        lexical: a decimal number in ASCII, perhaps with an exponent, that a 64-bit float can hold.
    """
    value = Decimal(lexical)
    if not value:
        return "0"
    if value == value.to_integral_value():
        return f"{value.to_integral_value():f}"
    return f"{float(value):.{12 if abs(value) < _LARGE else 15}g}"
