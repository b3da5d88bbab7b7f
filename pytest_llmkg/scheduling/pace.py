"""How fast one model is asked: calls at once, calls a minute, and when to be patient with it.

Pure bookkeeping with the clock passed in; who waits, and how, is the business of `pytest_llmkg.scheduling.desk`.
"""

from __future__ import annotations

__all__ = ["Pace"]

_GIVE_UP_AFTER = 3
_LONGEST_PAUSE = 600.0


class Pace:
    """The rhythm of one model's calls.

    The limit of calls at once adapts: it is halved when the endpoint complains of too many calls, at most once for
    the calls that were on their way by then, and grows by one for each `limit` calls that go well (additive
    increase, multiplicative decrease).

    Args:
        ceiling: calls at once that are never exceeded, from 1.
        rpm: calls that may begin a minute, evenly spread; None for no such limit.
    """

    def __init__(self, ceiling: int, rpm: int | None = None) -> None:
        self.ceiling = max(1, ceiling)
        self.in_flight = 0
        self.refusal: str | None = None
        self._limit = float(self.ceiling)
        self._interval = 0.0 if rpm is None else 60.0 / rpm
        self._next_call = 0.0
        self._last_cut = float("-inf")
        self._refused = 0
        self._lost = 0

    @property
    def limit(self) -> int:
        """Calls that may be on their way at once now."""
        return max(1, int(self._limit))

    @property
    def is_patient(self) -> bool:
        """False while the endpoint looks dead, so that repeating a call is not worth the wait."""
        return self._lost < _GIVE_UP_AFTER

    def wait(self, now: float) -> float | None:
        """Seconds until a call may begin, 0 for at once; None when one of those on their way must end first."""
        if self.in_flight >= self.limit:
            return None
        return max(0.0, self._next_call - now)

    def begin(self, now: float) -> None:
        """A call begins."""
        self.in_flight += 1
        self._next_call = max(self._next_call, now) + self._interval

    def succeeded(self) -> None:
        """A call that had begun brought an answer."""
        self.in_flight -= 1
        self._refused = self._lost = 0
        self._limit = min(float(self.ceiling), self._limit + 1.0 / self._limit)

    def abandoned(self) -> None:
        """A call that had begun was cancelled, which says nothing of the endpoint."""
        self.in_flight -= 1

    def overloaded(self, begun: float, now: float, retry_after: float | None) -> None:
        """A call that had ``begun`` was refused since there are too many; all wait for ``retry_after`` seconds."""
        self.in_flight -= 1
        if begun > self._last_cut:  # a clock may tick seldom: a call of the same tick was on its way
            self._limit = max(1.0, self._limit / 2)
            self._last_cut = now
        if retry_after is not None:
            self._next_call = max(self._next_call, now + min(retry_after, _LONGEST_PAUSE))

    def failed(self) -> None:
        """A call that had begun failed in a way that may pass."""
        self.in_flight -= 1

    def refused(self, reason: str) -> None:
        """A call that had begun was refused for good: a key, a model name. After some in a row none is made."""
        self.in_flight -= 1
        self._refused += 1
        if self._refused >= _GIVE_UP_AFTER:
            self.refusal = reason

    def gave_up(self) -> None:
        """A dialogue ended since all its calls failed; after some in a row patience ends until one succeeds."""
        self._lost += 1
