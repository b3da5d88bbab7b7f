"""One thread that ends a process when a deadline passes; a timer for each call would cost more than most calls."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Watchdog"]


class Watchdog:
    """Calls ``expire`` once an armed deadline has passed; it can be armed again and again. Thread safe.

    Attributes:
        fired: whether ``expire`` was called since it was armed.
    """

    def __init__(self, expire: Callable[[], None]) -> None:
        self.fired = False
        self._expire = expire
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._wakes: float | None = None  # when the thread looks again by itself; None while it sleeps
        self._closed = False
        self._thread: threading.Thread | None = None

    def arm(self, seconds: float) -> None:
        """Sets the deadline ``seconds`` from now."""
        with self._changed:
            self.fired = False
            self._deadline = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
            elif self._wakes is None or self._deadline < self._wakes:
                self._changed.notify()

    def disarm(self) -> None:
        """Takes the deadline away; the thread finds out when it looks next."""
        with self._changed:
            self._deadline = None

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                self._wakes = self._deadline
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._deadline = None
                    self.fired = True
                    self._expire()
                else:
                    self._changed.wait(left)
