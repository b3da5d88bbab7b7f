"""The sum that a run may cost."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.scheduling.budget import Bill, Budget
from pytest_llmkg.scheduling.desk import LocalDesk, ModelLimits
from pytest_llmkg.scheduling.prices import Bid, Prices
from tests.scheduling.virtual_time import run

MODELS = ("small", "large", "huge")
BID = Bid(100)


@given(
    most=st.floats(0.01, 20),
    prices=st.lists(st.floats(0, 3), min_size=3, max_size=3),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 99), st.floats(0, 1)), max_size=120),
)
def test_the_sum_is_passed_by_no_more_than_each_models_first_dialogue(
    most: float, prices: list[float], steps: list[tuple[bool, int, float]]
) -> None:
    """Dialogues begin and end in any order; none costs more than the first one of its model did."""
    budget, price = Budget(most), dict(zip(MODELS, prices, strict=True))
    held: list[tuple[str, str]] = []
    known: set[str] = set()
    spent = 0.0
    for number, (begins, choice, part) in enumerate(steps):
        model, key = MODELS[choice % 3], str(number)
        if begins:
            verdict = budget.verdict(model, BID)
            if verdict is True:
                assert model in known or model not in {name for name, _ in held}, "a second one of unknown price"
                budget.begin(model, key, BID)
                held.append((model, key))
            else:
                assert held or isinstance(verdict, str), "waits for nobody"
        elif held:
            model, key = held.pop(choice % len(held))
            cost = price[model] * part if model in known else price[model]
            known.add(model)
            spent += cost
            budget.end(model, key, Bill(cost))
        assert abs(budget.spent - spent) < 1e-9
    for model, _ in held:
        spent += price[model]
    assert spent <= most + sum(prices) + 1e-6


@given(
    most=st.floats(0.01, 5),
    dialogues=st.lists(
        st.tuples(st.sampled_from(MODELS), st.floats(0, 1), st.integers(1, 9999), st.integers(1, 3)), max_size=60
    ),
    width=st.integers(1, 8),
)
def test_no_sequence_waits_for_ever(most: float, dialogues: list[tuple[str, float, int, int]], width: int) -> None:
    """Costs vary freely: whoever waits has somebody to wait for, and at the end all began or were told why not."""
    budget = Budget(most)
    held: list[tuple[str, str, float]] = []
    for number, (model, cost, size, turns) in enumerate(dialogues):
        bid = Bid(size, turns)
        while True:
            verdict = budget.verdict(model, bid) if len(held) < width else False
            if verdict is not False:
                break
            assert held
            name, key, paid = held.pop(0)
            budget.end(name, key, Bill(paid, turns))
        if verdict is True:
            budget.begin(model, str(number), bid)
            held.append((model, str(number), cost))
        else:
            assert not held
            assert "--llmkg-max-cost" in str(verdict)


def test_without_a_limit_everything_may_begin() -> None:
    budget = Budget(None)
    for number in range(5):
        assert budget.verdict("small", BID) is True
        budget.begin("small", str(number), BID)
    budget.end("small", "0", Bill(None))
    assert budget.verdict("small", BID) is True


def test_a_second_dialogue_waits_for_the_price_and_then_for_its_reserve() -> None:
    budget = Budget(1.0)
    assert budget.verdict("small", BID) is True
    budget.begin("small", "1", BID)
    assert budget.verdict("small", BID) is False
    budget.end("small", "1", Bill(0.4))
    assert budget.verdict("small", BID) is True
    budget.begin("small", "2", BID)
    assert budget.verdict("small", BID) is False  # 0.4 spent, 0.4 or more kept
    budget.end("small", "2", Bill(0.1))
    assert budget.verdict("small", BID) is True  # 0.5 spent
    budget.begin("small", "3", BID)
    budget.end("small", "3", Bill(0.4))
    told = budget.verdict("small", BID)
    assert isinstance(told, str)
    assert "--llmkg-max-cost=1 would be passed: 0.9 US dollars are spent" in told


def test_an_unknown_price_stops_that_model_only_and_says_what_to_set() -> None:
    budget = Budget(1.0)
    budget.begin("small", "1", BID)
    budget.end("small", "1", Bill(None))
    told = budget.verdict("small", BID)
    assert isinstance(told, str)
    for word in ("small", "unknown", "--llmkg-max-cost", "price_in", "price_out"):
        assert word in told
    assert budget.verdict("large", BID) is True


def test_a_dialogue_that_was_never_asked_does_not_make_the_model_look_free() -> None:
    """Its calls all failed, or it was cancelled, or an earlier run had paid for it."""
    budget = Budget(1.0)
    budget.begin("small", "1", BID)
    budget.end("small", "1", Bill(0.0, 0))
    assert budget.verdict("small", BID) is True
    budget.begin("small", "2", BID)
    assert budget.verdict("small", BID) is False
    budget.end("small", "2", Bill(0.0))  # asked, and it cost nothing indeed
    for number in range(3, 6):
        assert budget.verdict("small", BID) is True
        budget.begin("small", str(number), BID)


def test_a_longer_prompt_waits_where_a_short_one_may_begin() -> None:
    """0.1 is spent and 0.1 kept; ten times the prompt may cost ten times as much."""
    budget = Budget(1.0)
    for number in range(10):
        budget.begin("small", str(number), BID)
        budget.end("small", str(number), Bill(0.01))
    budget.begin("small", "held", BID)
    assert budget.verdict("small", Bid(1000)) is True
    assert budget.verdict("small", Bid(10_000)) is False
    budget.end("small", "held", Bill(0.01))
    assert budget.verdict("small", Bid(8800)) is True
    assert isinstance(budget.verdict("small", Bid(9000)), str)
    assert budget.verdict("small", BID) is True


def test_what_was_learnt_is_kept_for_dialogues_on_their_way_too() -> None:
    budget = Budget(1.0)
    budget.begin("small", "1", BID)
    budget.end("small", "1", Bill(0.001))
    for number in range(2, 5):
        budget.begin("small", str(number), BID)
    assert budget.verdict("small", BID) is True
    budget.end("small", "2", Bill(0.3))
    assert budget.verdict("small", BID) is False


def test_the_first_dialogue_counts_by_its_models_own_prices_beside_others() -> None:
    """The answer of the large model may cost 0.8 dollars."""
    budget = Budget(1.0, {"large": Prices(0.0, 8.0, 100_000)})
    budget.begin("small", "1", BID)
    budget.end("small", "1", Bill(0.1))
    assert budget.verdict("large", BID) is True
    budget.begin("large", "1", BID)
    assert budget.verdict("small", BID) is False
    budget.end("large", "1", Bill(0.01))
    assert budget.verdict("small", BID) is True


def test_a_resumed_run_begins_with_what_it_has_cost() -> None:
    budget = Budget(1.0)
    budget.remember("small", 0.3)
    budget.remember("small", 0.5)
    told = budget.verdict("small", BID)
    assert isinstance(told, str), "a dialogue has cost 0.5"
    assert "0.8 US dollars are spent" in told
    assert budget.verdict("large", BID) is True


def spent(limit: float, dialogues: list[tuple[Bid, Bill]], at_once: int, seed: int) -> float:
    """What is spent when so many are held at once, which end in any order."""
    chance = random.Random(seed)  # noqa: S311  (no secret)

    async def scenario() -> float:
        desk = LocalDesk({"m": ModelLimits(999)}, limit, asyncio.get_running_loop().time)
        lane = asyncio.Semaphore(at_once)

        async def hold(key: str, bid: Bid, bill: Bill) -> None:
            async with lane:
                if await desk.begin_dialogue("m", key, bid) is None:
                    await asyncio.sleep(chance.uniform(1, 3) * bill.turns)
                    desk.end_dialogue("m", key, bill)

        await asyncio.gather(*(hold(str(number), *dialogue) for number, dialogue in enumerate(dialogues)))
        return desk.budget.spent

    return run(scenario())


@pytest.mark.parametrize("at_once", [1, 16, 50])
@pytest.mark.parametrize("most_turns", [1, 3])
def test_growing_prompts_neither_pass_the_budget_nor_leave_it_unused(at_once: int, most_turns: int) -> None:
    """Each prompt is longer than the one before, as graphs of growing size are; answers vary fourfold."""
    for seed in range(3):
        chance = random.Random(seed)  # noqa: S311  (no secret)
        dialogues = []
        for number in range(150):
            size, turns = 500 + 100 * number, chance.randint(1, most_turns)
            cost = turns * (size * 1e-6 + chance.uniform(1e-3, 4e-3))
            dialogues.append((Bid(size, most_turns), Bill(cost, turns)))
        limit = sum(bill.cost or 0 for _, bill in dialogues) / 3
        used = spent(limit, dialogues, at_once, seed)
        dearest = max(bill.cost or 0 for _, bill in dialogues)
        assert 0.85 * limit < used < limit + 0.2 * dearest
