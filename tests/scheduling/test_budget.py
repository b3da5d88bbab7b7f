"""The sum that a run may cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.scheduling.budget import Budget

MODELS = ("small", "large", "huge")


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
    held: list[str] = []
    known: set[str] = set()
    spent = 0.0
    for begins, choice, part in steps:
        model = MODELS[choice % 3]
        if begins:
            verdict = budget.verdict(model)
            if verdict is True:
                assert model in known or model not in held, "a second one of unknown price"
                budget.begin(model)
                held.append(model)
            else:
                assert held or isinstance(verdict, str), "waits for nobody"
        elif held:
            model = held.pop(choice % len(held))
            cost = price[model] * part if model in known else price[model]
            known.add(model)
            spent += cost
            budget.end(model, cost)
        assert abs(budget.spent - spent) < 1e-9
    for model in held:
        spent += price[model]
    assert spent <= most + sum(prices) + 1e-9


@given(
    most=st.floats(0.01, 5),
    dialogues=st.lists(st.tuples(st.sampled_from(MODELS), st.floats(0, 1)), max_size=60),
    width=st.integers(1, 8),
)
def test_no_sequence_waits_for_ever(most: float, dialogues: list[tuple[str, float]], width: int) -> None:
    """Costs vary freely: whoever waits has somebody to wait for, and at the end all began or were told why not."""
    budget = Budget(most)
    held: list[tuple[str, float]] = []
    reserved: dict[int, float] = {}
    over = 0.0
    for model, cost in dialogues:
        while True:
            verdict = budget.verdict(model) if len(held) < width else False
            if verdict is not False:
                break
            assert held
            name, paid = held.pop(0)
            budget.end(name, paid)
            reserved[len(reserved)] = paid
        if verdict is True:
            over += max(0.0, cost - budget._dearest.get(model, 0.0))
            budget.begin(model)
            held.append((model, cost))
        else:
            assert "--llmkg-max-cost" in str(verdict)
    for name, paid in held:
        budget.end(name, paid)
    # What is spent too much is what dialogues cost beyond the dearest one that was known when they began.
    assert budget.spent <= most + over + 1e-9


def test_without_a_limit_everything_may_begin() -> None:
    budget = Budget(None)
    for _ in range(5):
        assert budget.verdict("small") is True
        budget.begin("small")
    budget.end("small", None)
    assert budget.verdict("small") is True


def test_a_second_dialogue_waits_for_the_price_and_then_for_its_reserve() -> None:
    budget = Budget(1.0)
    assert budget.verdict("small") is True
    budget.begin("small")
    assert budget.verdict("small") is False
    budget.end("small", 0.4)
    assert budget.verdict("small") is True
    budget.begin("small")
    assert budget.verdict("small") is False  # 0.4 spent, 0.4 reserved
    budget.end("small", 0.1)
    assert budget.verdict("small") is True  # 0.5 spent
    budget.begin("small")
    budget.end("small", 0.4)
    told = budget.verdict("small")
    assert isinstance(told, str)
    assert "--llmkg-max-cost=1 would be passed: 0.9 US dollars are spent" in told


def test_an_unknown_price_stops_that_model_only_and_says_what_to_set() -> None:
    budget = Budget(1.0)
    budget.begin("small")
    budget.end("small", None)
    told = budget.verdict("small")
    assert isinstance(told, str)
    for word in ("small", "unknown", "--llmkg-max-cost", "price_in", "price_out"):
        assert word in told
    assert budget.verdict("large") is True


def test_a_dialogue_that_was_never_asked_does_not_make_the_model_look_free() -> None:
    """Its calls all failed, or it was cancelled, or an earlier run had paid for it."""
    budget = Budget(1.0)
    budget.begin("small")
    budget.end("small", 0.0, was_asked=False)
    assert budget.verdict("small") is True
    budget.begin("small")
    assert budget.verdict("small") is False
    budget.end("small", 0.0)  # asked, and it cost nothing indeed
    for _ in range(3):
        assert budget.verdict("small") is True
        budget.begin("small")
