"""What a dialogue that has not begun may cost, by the prices of its model and by what others of it have cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Bid", "PriceBook", "Prices"]

_CHARACTERS_PER_TOKEN = 3.0  # English prose has more than four, Turtle and JSON-LD about three
_MILLION = 1e6
_ENOUGH = 4  # dialogues, for what they cost to be taken as usual
_SPREAD = 0.3  # how far the next one may be beyond the dearest so far, in parts of how far that is beyond the mean


@dataclass(frozen=True, slots=True)
class Bid:
    """What is known of a dialogue before it begins.

    Attributes:
        size: characters of its first prompt, at least 1.
        turns: the most answers that it asks for, at least 1.
    """

    size: int = 1
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model's table says, None where it says nothing.

    Attributes:
        price_in, price_out: US dollars per million tokens of prompts and of answers.
        max_tokens: most tokens of an answer.
    """

    price_in: float | None = None
    price_out: float | None = None
    max_tokens: int | None = None


@dataclass(slots=True)
class _Seen:
    """The dearest of several observations: US dollars, and US dollars per character of the first prompt."""

    cost: float = 0.0
    rate: float = 0.0
    size: int = 1
    number: int = 0
    total: float = 0.0

    def add(self, cost: float, size: int) -> None:
        self.cost = max(self.cost, cost)
        self.rate = max(self.rate, cost / size)
        self.size = max(self.size, size)
        self.number += 1
        self.total += cost

    def at(self, size: int) -> float:
        """What one of that size, about as large as those that were seen, costs at most."""
        return max(self.cost, self.rate * size)

    def beyond(self, size: int) -> float:
        """What one of any size costs at most, if the price is a fixed part and a part for each character."""
        return self.cost * max(1.0, size / self.size)


class PriceBook:
    """What one model's dialogues have cost, by the size of the first prompt and the number of turns.

    Sizes that differ by less than a factor of the square root of two are taken as alike. A price is thought to be
    made of a fixed part and one that grows with the prompt, so that a dialogue costs no more than a larger one and,
    beyond all that were seen, grows no faster than its prompt.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._whole: dict[tuple[int, int], _Seen] = {}  # by turns and class of size
        self._turn: dict[int, _Seen] = {}  # one turn of a dialogue, by class of size
        self._any_turn = _Seen()
        self._output = 0
        self.finished = 0
        self.dearest = 0.0

    def remember(self, cost: float) -> None:
        """A dialogue of which nothing else is known has cost so much."""
        self.dearest = max(self.dearest, cost)

    def add(self, bid: Bid, cost: float, turns: int, output: int) -> None:
        """A dialogue cost so many US dollars in ``turns`` turns; its longest answer had ``output`` tokens."""
        self.remember(cost)
        self.finished += 1
        self._output = max(self._output, output)
        kind = _size_class(bid.size)
        self._whole.setdefault((bid.turns, kind), _Seen()).add(cost, bid.size)
        turn = cost / max(1, turns)
        self._turn.setdefault(kind, _Seen()).add(turn, bid.size)
        self._any_turn.add(turn, bid.size)

    def likely(self, bid: Bid) -> float:
        """US dollars: as the dearest one so far of as many turns and no larger; all turns while few are known."""
        if not self.finished:
            return self.dearest
        kind = _size_class(bid.size)
        cells = {size: seen for (turns, size), seen in self._whole.items() if turns == bid.turns and size <= kind + 1}
        dearest = max((seen.cost for seen in cells.values()), default=0.0)
        if kind in cells:
            dearest = max(dearest, cells[kind].at(bid.size))
        alike = [seen for size, seen in cells.items() if size >= kind - 1]
        number = sum(seen.number for seen in alike)
        if number < _ENOUGH:
            return max(dearest, self._turns_like(bid))
        return dearest + _SPREAD * (dearest - sum(seen.total for seen in alike) / number)

    def at_most(self, bid: Bid) -> float:
        """US dollars to keep for a dialogue while others are held: all its turns, and a margin.

        The margin is large while few dialogues are finished, since those may be the cheap ones.
        """
        seen = self._turns_like(bid) * (1.25 + 3.0 / self.finished) if self.finished else self.dearest
        return max(seen, self._by_table(bid))

    def _turns_like(self, bid: Bid) -> float:
        """All turns of a dialogue at the price of the dearest that is no larger, or else of the next larger one.

        Each turn's prompt holds the answers before it. An answer that is read again costs a fourth of what writing it
        did, with most providers, so that turn number k costs 1 + (k - 1) / 4 times as much as the first one, or less.
        """
        kind = _size_class(bid.size)
        smaller = [seen.cost for other, seen in self._turn.items() if other < kind]
        turn = max(smaller, default=0.0)
        if kind in self._turn:
            turn = max(turn, self._turn[kind].at(bid.size))
        else:
            larger = min((other for other in self._turn if other > kind), default=None)
            turn = max(turn, self._any_turn.beyond(bid.size) if larger is None else self._turn[larger].cost)
        return turn * bid.turns * (1.0 + (bid.turns - 1) / 8.0)

    def _by_table(self, bid: Bid) -> float:
        """By the prices of the model's table, as far as it has them."""
        table = self._prices
        output = table.max_tokens if table.max_tokens is not None else self._output * 1.25
        earlier = output * (bid.turns - 1) / 2.0  # of the answers before, which are part of the prompt
        tokens_in = bid.turns * (bid.size / _CHARACTERS_PER_TOKEN + earlier)
        return ((table.price_in or 0.0) * tokens_in + (table.price_out or 0.0) * bid.turns * output) / _MILLION


def _size_class(size: int) -> int:
    return math.floor(2.0 * math.log2(size))
