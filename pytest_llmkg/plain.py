"""Records to plain JSON types and back.

Plain means exact builtin types only. Worker processes of pytest-xdist can send nothing else (a ``str`` subclass
or a lone surrogate there ends the whole session), and JSON can hold nothing else (NaN is not JSON).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pytest_llmkg.errors import RecordError

__all__ = ["Json", "clean_text", "from_plain", "to_plain"]

Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]  # recursive, so not written with |

R = TypeVar("R")


def clean_text(text: str) -> str:
    """``text`` as an exact ``str`` without lone surrogates; each becomes U+FFFD, so that it can be written as UTF-8."""
    if _has_surrogate(text):
        return "".join("�" if "\ud800" <= c <= "\udfff" else c for c in text)
    # Not str(text), which would give an enumeration's own name instead of its text.
    return str.__str__(text)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def to_plain(value: object) -> Json:
    """``value`` (a record, or what records are made of) as plain JSON types.

    Raises:
        RecordError: NaN, an infinity, a key that is no string, or a type that records must not hold.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError(f"a record holds the number {value}, which JSON cannot")
        return float(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    raise RecordError(f"a record holds a {type(value).__name__}, which is no plain JSON type")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise RecordError(f"a record holds the key {key!r}; keys must be strings")
    return clean_text(key)


def from_plain(record: type[R], data: object, place: str = "$") -> R:
    """The ``record`` that ``data`` describes; the inverse of `to_plain`.

    Raises:
        RecordError: a missing or unknown field or a wrong type; the text names its place, e.g. ``$.turns[0].answer``.
    """
    if not isinstance(data, dict):
        raise RecordError(f"{place}: expected an object for {record.__name__}, found {_type_name(data)}")
    kind: Any = record
    hints = _type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for key in data:
        if key not in fields:
            raise RecordError(f"{place}: unknown field {key!r} of {record.__name__}")
    values = {}
    for name, field in fields.items():
        if name in data:
            values[name] = _decode(hints[name], data[name], f"{place}.{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise RecordError(f"{place}: {record.__name__} lacks the field {name!r}")
    return record(**values)


def _decode(hint: Any, data: object, place: str) -> Any:
    origin = get_origin(hint)
    if _is_json(hint):
        return data
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast("type[Any]", hint), data, place)
    if origin in (Union, types.UnionType):
        return _decode_union(hint, data, place)
    if origin is Literal:
        return _decode_literal(hint, data, place)
    if origin is not None:
        return _decode_container(origin, get_args(hint), data, place)
    if type(data) is hint or (hint is float and type(data) is int):
        return data
    raise RecordError(f"{place}: expected {hint.__name__}, found {_type_name(data)}")


@functools.cache
def _type_hints(record: typing.Hashable) -> dict[str, Any]:
    return typing.get_type_hints(record)


def _is_json(hint: Any) -> bool:
    """Whether ``hint`` is `Json`, which type hints give back with its inner names resolved, so as another object."""
    return any(get_origin(choice) is dict for choice in get_args(hint))


def _decode_literal(hint: Any, data: object, place: str) -> Any:
    if data in get_args(hint):
        return data
    raise RecordError(f"{place}: expected one of {', '.join(map(str, get_args(hint)))}, found {data!r}")


def _decode_container(origin: type[Any], arguments: tuple[Any, ...], data: object, place: str) -> Any:
    if origin is tuple:
        if isinstance(data, list):
            return tuple(_decode(arguments[0], v, f"{place}[{i}]") for i, v in enumerate(data))
        raise RecordError(f"{place}: expected a list, found {_type_name(data)}")
    if isinstance(data, dict):
        return {k: _decode(arguments[1], v, f"{place}.{k}") for k, v in data.items()}
    raise RecordError(f"{place}: expected an object, found {_type_name(data)}")


def _decode_union(hint: Any, data: object, place: str) -> Any:
    if data is None and type(None) in get_args(hint):
        return None
    choices = [h for h in get_args(hint) if h is not type(None)]
    if len(choices) == 1:
        return _decode(choices[0], data, place)
    if type(data) in choices:
        return data
    raise RecordError(f"{place}: expected {' or '.join(h.__name__ for h in choices)}, found {_type_name(data)}")


def _type_name(data: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(data), "a number" if isinstance(data, int | float) else type(data).__name__
    )
