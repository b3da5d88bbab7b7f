"""The sum that a run may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.scheduling.prices import Bid, PriceBook, Prices

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Bill", "Budget"]

_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class Bill:
    """What a dialogue that ended has cost.

    Attributes:
        cost: US dollars, None when the price is unknown; with all calls that failed.
        turns: turns that were paid for. 0 when no call was: then the cost says nothing of the model's price.
        output: tokens of the longest answer, 0 when unknown.
    """

    cost: float | None
    turns: int = 1
    output: int = 0


class Budget:
    """Whether another dialogue can be paid for.

    For each dialogue that is being held so much is kept as it may cost at most (`PriceBook.at_most`), so that all of
    them together cannot pass the limit. When none is held, a dialogue may begin if the dearest one of its kind so far
    could be paid (`PriceBook.likely`): otherwise the last part of the money would never be used. Until a model's first
    dialogue has told its price, a second one waits.

    Args:
        most: US dollars that may be spent, None for no limit.
        prices: what the models' table says, by model id.
    """

    def __init__(self, most: float | None, prices: Mapping[str, Prices] | None = None) -> None:
        self.most = most
        self.spent = 0.0
        self._prices = prices or {}
        self._books: dict[str, PriceBook] = {}
        self._open: dict[str, dict[str, tuple[Bid, float]]] = {}
        self._unpriced: dict[str, str] = {}

    def verdict(self, model: str, bid: Bid) -> bool | str:
        """True to begin a dialogue of ``model``; False to wait for one that is being held; else why there is none."""
        if self.most is None:
            return True
        if model in self._unpriced:
            return self._unpriced[model]
        book = self._book(model)
        is_first = not book.finished
        if is_first and (self._open.get(model) or self.spent >= self.most):
            return self._wait_or()
        is_alone = not any(self._open.values())
        need = book.likely(bid) if is_alone else self._kept_for(model, bid)
        if self.spent + self._kept() + need <= self.most * _ROUNDING:
            return True
        return self._wait_or()

    def begin(self, model: str, key: str, bid: Bid) -> None:
        """The dialogue ``key`` of ``model`` begins."""
        if self.most is not None:
            self._open.setdefault(model, {})[key] = (bid, self._kept_for(model, bid))

    def end(self, model: str, key: str, bill: Bill) -> None:
        """The dialogue ``key`` of ``model`` ended, having cost so much."""
        bid = self._open.get(model, {}).pop(key, (Bid(), 0.0))[0]
        if not bill.turns:
            return
        if bill.cost is None:
            self._unpriced[model] = (
                f"the price of {model} is unknown, so that --llmkg-max-cost cannot hold it; set price_in and price_out "
                "in llmkg.toml (0 if it is free)"
            )
            return
        self.spent += bill.cost
        self._book(model).add(bid, bill.cost, bill.turns, bill.output)
        held = self._open.get(model, {})
        for other, (its_bid, _) in held.items():  # what has been learnt holds for those on their way, too
            held[other] = (its_bid, self._kept_for(model, its_bid))

    def remember(self, model: str, cost: float) -> None:
        """A dialogue of ``model`` in an earlier session of the run has cost so much."""
        self.spent += cost
        self._book(model).remember(cost)

    def _book(self, model: str) -> PriceBook:
        if model not in self._books:
            self._books[model] = PriceBook(self._prices.get(model, Prices()))
        return self._books[model]

    def _kept_for(self, model: str, bid: Bid) -> float:
        """What a dialogue may cost at most; of a model that nobody knows, as much as the dearest one of any other."""
        book = self._book(model)
        most = book.at_most(bid)
        return most if book.finished or most else max(other.dearest for other in self._books.values())

    def _kept(self) -> float:
        return sum(kept for held in self._open.values() for _, kept in held.values())

    def _wait_or(self) -> bool | str:
        if any(self._open.values()):
            return False
        return f"--llmkg-max-cost={self.most:g} would be passed: {self.spent:.4g} US dollars are spent"
