"""The datatypes of XML Schema whose values are numbers."""

from __future__ import annotations

__all__ = ["DECIMAL", "FLOATS", "INTEGERS", "NUMBERS", "XSD"]

XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = frozenset(
    XSD + name
    for name in (
        "byte",
        "int",
        "integer",
        "long",
        "negativeInteger",
        "nonNegativeInteger",
        "nonPositiveInteger",
        "positiveInteger",
        "short",
        "unsignedByte",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
    )
)
FLOATS = frozenset({XSD + "double", XSD + "float"})
DECIMAL = XSD + "decimal"
NUMBERS = INTEGERS | FLOATS | {DECIMAL}
