"""What a dialogue is reckoned to cost before it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.scheduling.prices import Bid, PriceBook, Prices


def book(*dialogues: tuple[Bid, float], prices: Prices = Prices(), turns: int = 1) -> PriceBook:  # noqa: B008 (frozen)
    made = PriceBook(prices)
    for bid, cost in dialogues:
        made.add(bid, cost, turns, 0)
    return made


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.floats(0, 5), st.floats(0, 1e-3), st.data())
def test_no_dialogue_of_a_fixed_part_and_a_part_for_each_character_is_dearer_than_is_kept_for_it(
    sizes: list[int], fixed: float, rate: float, data: st.DataObject
) -> None:
    def price(size: int) -> float:
        return fixed + rate * size

    known = book(*((Bid(size), price(size)) for size in sizes))
    size = data.draw(st.integers(1, 10**7))
    assert known.likely(Bid(size)) >= price(size) * (1 - 1e-9)
    assert known.at_most(Bid(size)) >= price(size) * 1.25 * (1 - 1e-9)


def test_beyond_all_that_were_seen_the_price_grows_with_the_prompt_and_no_small_one_is_reckoned_so() -> None:
    known = book(*[(Bid(1000), 0.01)] * 6)
    assert known.likely(Bid(1000)) == pytest.approx(0.01)
    assert known.likely(Bid(8000)) == pytest.approx(0.08)
    known.add(Bid(8000), 0.02, 1, 0)  # most of the price was no matter of the prompt
    assert known.likely(Bid(8000)) == pytest.approx(0.02)
    assert known.likely(Bid(16000)) == pytest.approx(0.04)
    assert known.likely(Bid(1000)) == pytest.approx(0.01)
    assert known.likely(Bid(10)) == pytest.approx(0.01)


def test_all_turns_are_kept_for_though_others_ended_after_their_first() -> None:
    """Three turns cost 1, 5/4 and 6/4 of the first one where an answer that is read again costs a fourth."""
    few = book((Bid(900, 3), 0.1))
    assert few.likely(Bid(900, 3)) == pytest.approx(0.1 * 3 * 1.25)
    assert few.at_most(Bid(900, 3)) == pytest.approx(0.1 * 3 * 1.25 * 4.25)
    many = book(*[(Bid(900, 3), 0.1)] * 12)
    assert many.likely(Bid(900, 3)) == pytest.approx(0.1)
    assert many.at_most(Bid(900, 3)) == pytest.approx(0.1 * 3 * 1.25 * 1.5)
    assert book(*[(Bid(900, 3), 0.3)] * 12, turns=3).at_most(Bid(900, 3)) == pytest.approx(0.1 * 3 * 1.25 * 1.5)


def test_the_next_one_may_be_dearer_than_the_dearest_where_prices_vary() -> None:
    assert book(*[(Bid(900), cost) for cost in (0.1, 0.1, 0.1, 0.5)]).likely(Bid(900)) == pytest.approx(0.5 + 0.3 * 0.3)


def test_the_models_own_prices_count_before_anything_was_seen_and_hold_the_longest_answer() -> None:
    """3000 characters are 1000 tokens, of 2 dollars a million; 500 tokens of the answer, of 8."""
    table = Prices(2.0, 8.0, 500)
    assert book(prices=table).at_most(Bid(3000)) == pytest.approx(0.002 + 0.004)
    # In two turns the prompt is read twice, and the first answer once.
    assert book(prices=table).at_most(Bid(3000, 2)) == pytest.approx(2 * 0.002 + 2 * 0.004 + 500 * 2e-6)
    assert book((Bid(3000), 0.0001), prices=table).at_most(Bid(3000)) == pytest.approx(0.006)
    assert book((Bid(3000), 0.5), prices=table).at_most(Bid(3000)) == pytest.approx(0.5 * 4.25)
    without_limit = PriceBook(Prices(2.0, 8.0))
    without_limit.add(Bid(3000), 0.0001, 1, 400)
    assert without_limit.at_most(Bid(3000)) == pytest.approx(0.006)


def test_what_an_earlier_session_paid_is_all_that_is_known_at_first() -> None:
    known = PriceBook(Prices())
    assert known.likely(Bid(5)) == known.at_most(Bid(5)) == 0.0
    known.remember(0.3)
    assert known.likely(Bid(5)) == known.at_most(Bid(5)) == 0.3
    known.add(Bid(5), 0.1, 1, 0)
    assert known.likely(Bid(5)) == pytest.approx(0.1)


@given(st.floats(0.001, 3), st.integers(1, 10**6), st.integers(1, 20), st.integers(1, 40))
def test_dialogues_of_one_price_are_reckoned_at_it(cost: float, size: int, turns: int, number: int) -> None:
    """Else a budget that is enough for exactly so many would not be used up."""
    bid = Bid(size, turns)
    known = book(*[(bid, cost)] * number, turns=turns)
    if turns == 1 or number >= 4:
        assert known.likely(bid) == pytest.approx(cost)
    assert known.at_most(bid) > cost
