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
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pytest_llmkg.errors import RecordError

__all__ = ["Json", "clean_text", "from_plain", "to_plain"]

Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]  # recursive, so not written with |

R = TypeVar("R")


def clean_text(text: str) -> str:
    """``text`` as an exact ``str`` without lone surrogates; each becomes U+FFFD, so that it can be written as UTF-8."""
    if not text.isascii() and _has_surrogate(text):
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
    kind: Any = type(value)
    if value is None or kind is bool or kind is int:  # exact types first, since nearly all values have one
        return typing.cast("Json", value)
    if kind is str:
        return clean_text(typing.cast("str", value))
    if kind is dict:
        return {_key(k): to_plain(v) for k, v in typing.cast("dict[object, object]", value).items()}
    if kind is list or kind is tuple:
        return [to_plain(v) for v in typing.cast("list[object]", value)]
    names = _field_names(kind)
    if names:
        return {name: to_plain(getattr(value, name)) for name in names}
    return _unusual_to_plain(value)


def _unusual_to_plain(value: object) -> Json:
    """`to_plain` of numbers that may be none, and of types that stand for a plain one."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError(f"a record holds the number {value}, which JSON cannot")
        return float(value)
    if isinstance(value, Mapping):
        return {_key(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    raise RecordError(f"a record holds a {type(value).__name__}, which is no plain JSON type")


@functools.cache
def _field_names(kind: typing.Hashable) -> tuple[str, ...]:
    """Names of the fields of a record, none for any other type."""
    record: Any = kind
    return tuple(f.name for f in dataclasses.fields(record)) if dataclasses.is_dataclass(record) else ()


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
    fields = _fields(kind)
    for key in data:
        if key not in fields:
            raise RecordError(f"{place}: unknown field {key!r} of {record.__name__}")
    values = {}
    for name, field in fields.items():
        if name in data:
            values[name] = field.decode(data[name], f"{place}.{name}")
        elif field.is_required:
            raise RecordError(f"{place}: {record.__name__} lacks the field {name!r}")
    return record(**values)


class _Field(typing.NamedTuple):
    """A field of a record: what makes its value of plain data and the data's place, and whether it must be there."""

    decode: Callable[[Any, str], Any]
    is_required: bool


# Records are read by the ten thousands; each type is looked at once.
@functools.cache
def _fields(record: typing.Hashable) -> dict[str, _Field]:
    kind: Any = record
    hints, missing = typing.get_type_hints(kind), dataclasses.MISSING
    return {
        f.name: _Field(_decoder(hints[f.name]), f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(kind)
    }


def _decoder(hint: Any) -> Callable[[Any, str], Any]:
    """What makes a value of type ``hint`` of plain data, or complains with the place."""
    origin, arguments = get_origin(hint), get_args(hint)
    if _is_json(hint):
        return lambda data, _place: data
    if dataclasses.is_dataclass(hint):
        return functools.partial(from_plain, typing.cast("type[Any]", hint))
    if origin in (Union, types.UnionType):
        return _union_decoder(hint)
    if origin is Literal:
        return functools.partial(_decode_literal, arguments)
    if origin is tuple:
        return functools.partial(_decode_tuple, _decoder(arguments[0]))
    if origin is not None:
        return functools.partial(_decode_mapping, _decoder(arguments[1]))
    return functools.partial(_decode_scalar, hint)


def _decode_scalar(kind: type[Any], data: object, place: str) -> Any:
    if type(data) is kind or (kind is float and type(data) is int):
        return data
    raise RecordError(f"{place}: expected {kind.__name__}, found {_type_name(data)}")


def _is_json(hint: Any) -> bool:
    """Whether ``hint`` is `Json`, which type hints give back with its inner names resolved, so as another object."""
    return any(get_origin(choice) is dict for choice in get_args(hint))


def _decode_literal(choices: tuple[Any, ...], data: object, place: str) -> Any:
    if data in choices:
        return data
    raise RecordError(f"{place}: expected one of {', '.join(map(str, choices))}, found {data!r}")


def _decode_tuple(decode: Callable[[Any, str], Any], data: object, place: str) -> Any:
    if isinstance(data, list):
        return tuple(decode(v, f"{place}[{i}]") for i, v in enumerate(data))
    raise RecordError(f"{place}: expected a list, found {_type_name(data)}")


def _decode_mapping(decode: Callable[[Any, str], Any], data: object, place: str) -> Any:
    if isinstance(data, dict):
        return {k: decode(v, f"{place}.{k}") for k, v in data.items()}
    raise RecordError(f"{place}: expected an object, found {_type_name(data)}")


def _union_decoder(hint: Any) -> Callable[[Any, str], Any]:
    choices = tuple(choice for choice in get_args(hint) if choice is not type(None))
    may_be_null = type(None) in get_args(hint)
    only = _decoder(choices[0]) if len(choices) == 1 else None

    def decode(data: object, place: str) -> Any:
        if data is None and may_be_null:
            return None
        if only is not None:
            return only(data, place)
        if type(data) in choices:
            return data
        raise RecordError(f"{place}: expected {' or '.join(h.__name__ for h in choices)}, found {_type_name(data)}")

    return decode


def _type_name(data: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(data), "a number" if isinstance(data, int | float) else type(data).__name__
    )
