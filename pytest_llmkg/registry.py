"""One generic registry: names to things, with a helpful error for a name it does not hold."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_llmkg.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Registry", "unknown_name"]

T = TypeVar("T")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for ``name``, with the nearest known name or, when nothing is near, the list of known ones."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return UnknownNameError(f"unknown {kind} {name!r}, did you mean {near[0]!r}?")
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return UnknownNameError(f"unknown {kind} {name!r}; known: {shown or 'none'}")


class Registry(Generic[T]):
    """Things of one ``kind`` by name, in the order they were added."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Adds ``item``; a name that is taken by something else is an error, since a silent override would mislead."""
        if name in self._items and self._items[name] is not item:
            raise UserError(f"{self.kind} {name!r} is registered twice; rename one of the two")
        self._items[name] = item

    def get(self, name: str) -> T:
        """The item called ``name``.

        Raises:
            UnknownNameError: no such name; the text proposes the nearest one.
        """
        if name not in self._items:
            raise unknown_name(self.kind, name, self._items)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def names(self) -> tuple[str, ...]:
        """All names, in the order they were added."""
        return tuple(self._items)
