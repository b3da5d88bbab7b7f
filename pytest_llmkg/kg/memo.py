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
        self._running: dict[object, _Flight[T]] = {}

    def once(self, key: object, compute: Callable[[], tuple[T, int | None]]) -> T:
        """What is kept for ``key``, else what ``compute`` gives; threads that ask meanwhile wait for that.

        Args:
            key: hashable.
            compute: gives the value and its weight; None as weight keeps it from being kept. Whatever it raises is
                raised to the thread that called it only; one of those that wait computes again.
        """
        while True:
            with self._lock:
                if key in self._held:
                    self._held.move_to_end(key)
                    return self._held[key][0]
                flight = self._running.get(key)
                if flight is None:
                    mine = self._running[key] = _Flight()
                    break
            flight.over.wait()
            if flight.values:
                return flight.values[0]
        try:
            value, weight = compute()
            mine.values.append(value)
            if weight is not None:
                self._keep(key, value, weight)
        finally:
            with self._lock:
                del self._running[key]
            mine.over.set()
        return value

    def _keep(self, key: object, value: T, weight: int) -> None:
        with self._lock:
            if weight <= self.most // 10:
                self._held[key] = (value, weight)
                self._weight += weight
            while self._weight > self.most:
                self._weight -= self._held.popitem(last=False)[1][1]


class _Flight(Generic[T]):
    """A value that some thread computes right now; ``values`` stays empty if that fails."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.values: list[T] = []
