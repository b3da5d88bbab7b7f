"""Numbers and truth values in the lexical form that the embedded engine gives them, whatever form a server sends."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_llmkg.kg.terms import XSD

__all__ = ["canonical"]

_SIGNED = ("integer", "int", "long", "short", "byte", "nonPositiveInteger", "negativeInteger")
_UNSIGNED = ("nonNegativeInteger", "positiveInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
_INTEGERS = frozenset(XSD + name for name in (*_SIGNED, *_UNSIGNED))
_BOOLEANS = {"1": "true", "0": "false"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")  # more digits than that Python does not read
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})")
_DOUBLE = re.compile(rf"{_DECIMAL.pattern}(?:[eE][+-]?[0-9]{{1,3}})?")


def canonical(text: str, datatype: str | None) -> str:
    """``text`` in the engine's form: ``01`` as ``1``, ``1.50`` as ``1.5``, ``1.0E2`` as ``100``, the boolean 1 as true.

    Whatever is no number of its datatype stays as it is.
    """
    if datatype is None or not datatype.startswith(XSD):
        return text
    if datatype in _INTEGERS and _INTEGER.fullmatch(text):
        return str(int(text))
    name = datatype.removeprefix(XSD)
    if name == "boolean":
        return _BOOLEANS.get(text, text)
    if name == "decimal" and _DECIMAL.fullmatch(text):
        return _plain(Decimal(text))
    if name == "double" and _DOUBLE.fullmatch(text):
        value = float(text)
        sign = "-" if text.startswith("-") and value == 0 else ""
        return f"{sign}{_plain(Decimal(repr(value)))}" if abs(value) != float("inf") else text
    if name == "float" and _DOUBLE.fullmatch(text):
        return _plain(Decimal(text))
    return text


def _plain(number: Decimal) -> str:
    """All digits without an exponent and without zeros at the end."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
