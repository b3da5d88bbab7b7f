"""The sum that a run may cost."""

from __future__ import annotations

from collections import defaultdict

__all__ = ["Budget"]


class Budget:
    """Whether another dialogue can be paid for.

    A dialogue is reckoned to cost as much as the dearest one of its model so far. Until a model's first dialogue has
    told its price, a second one waits.

    Args:
        most: US dollars that may be spent, None for no limit.
    """

    def __init__(self, most: float | None) -> None:
        self.most = most
        self.spent = 0.0
        self._dearest: dict[str, float] = {}
        self._open: defaultdict[str, int] = defaultdict(int)
        self._unpriced: dict[str, str] = {}

    def verdict(self, model: str) -> bool | str:
        """True to begin a dialogue of ``model``; False to wait for one that is being held; else why there is none."""
        if self.most is None:
            return True
        if model in self._unpriced:
            return self._unpriced[model]
        if model not in self._dearest:
            return True if self.spent < self.most and not self._open[model] else self._wait_or()
        reserved = sum(self._dearest.get(name, 0.0) * count for name, count in self._open.items())
        if self.spent + reserved + self._dearest[model] <= self.most:
            return True
        return self._wait_or()

    def begin(self, model: str) -> None:
        """A dialogue of ``model`` begins."""
        self._open[model] += 1

    def end(self, model: str, cost: float | None, *, was_asked: bool = True) -> None:
        """A dialogue of ``model`` ended, having cost so much; None when the price is unknown.

        One that did not get as far as a paid call (``was_asked`` is False) cost nothing and says nothing of the price.
        """
        self._open[model] -= 1
        if not was_asked:
            return
        if cost is None:
            self._unpriced[model] = (
                f"the price of {model} is unknown, so that --llmkg-max-cost cannot hold it; set price_in and price_out "
                "in llmkg.toml (0 if it is free)"
            )
            return
        self.remember(model, cost)

    def remember(self, model: str, cost: float) -> None:
        """A dialogue of ``model``, now or in an earlier session of the run, has cost so much."""
        self.spent += cost
        self._dearest[model] = max(cost, self._dearest.get(model, 0.0))

    def _wait_or(self) -> bool | str:
        if any(self._open.values()):
            return False
        return f"--llmkg-max-cost={self.most:g} would be passed: {self.spent:.4g} US dollars are spent"
