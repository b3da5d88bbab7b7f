"""Casts to the integer types that SPARQL 1.1 leaves out and that endpoints know all the same: ``xsd:int(?x)``.

Runs inside the worker.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from pytest_llmkg.kg.terms import XSD

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["integer_cast"]

_LIMITS: dict[str, tuple[int | None, int | None]] = {
    "byte": (-(2**7), 2**7 - 1),
    "short": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "long": (-(2**63), 2**63 - 1),
    "unsignedByte": (0, 2**8 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
}
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,40}\s*")
_NUMBER = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,2})?")


def integer_cast(name: str) -> Callable[..., object] | None:
    """The cast that the IRI ``name`` stands for, None if it stands for none.

    It takes strings of digits, truth values and numbers, of which it drops the fraction (XPath casting rules); None,
    which the engine takes for an expression error, for anything else and for what the type cannot hold.
    """
    local = name.removeprefix(XSD)
    if local == name or local not in _LIMITS:
        return None
    least, most = _LIMITS[local]

    def cast(*arguments: object) -> object:
        from pyoxigraph import Literal, NamedNode

        value = _integer(arguments[0]) if len(arguments) == 1 else None
        if value is None or (least is not None and value < least) or (most is not None and value > most):
            return None
        return Literal(str(value), datatype=NamedNode(f"{XSD}integer"))

    return cast


def _integer(term: object) -> int | None:
    from pyoxigraph import Literal

    if not isinstance(term, Literal) or term.language is not None:
        return None
    kind, text = term.datatype.value, term.value
    if kind == f"{XSD}string":
        return int(text) if _INTEGER.fullmatch(text) else None
    if kind == f"{XSD}boolean":
        return {"true": 1, "1": 1, "false": 0, "0": 0}.get(text)
    if not kind.startswith(XSD) or not _NUMBER.fullmatch(text):
        return None
    try:
        return int(Decimal(text))
    except (InvalidOperation, OverflowError):
        return None
