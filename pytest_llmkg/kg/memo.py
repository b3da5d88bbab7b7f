"""Remembers verdicts and results, since the same reference is looked at once per answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Memo"]

T = TypeVar("T")


class Memo(Generic[T]):
    """What a function gave for a key; the entries that were not used for longest go first. Thread safe.

    Attributes:
        most: the total weight that is kept; an entry heavier than a tenth of it is not kept at all.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[object, tuple[T, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: object) -> T | None:
        """What is kept for ``key``, None if nothing is."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: object, value: T, weight: Callable[[T], int]) -> T:
        """Keeps ``value`` and gives it back."""
        heavy = weight(value)
        with self._lock:
            if heavy <= self.most // 10 and key not in self._held:
                self._held[key] = (value, heavy)
                self._weight += heavy
            while self._weight > self.most:
                self._weight -= self._held.popitem(last=False)[1][1]
        return value
