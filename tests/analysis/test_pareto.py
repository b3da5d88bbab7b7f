from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.analysis.aggregates import Counts, ModelRow
from pytest_llmkg.analysis.pareto import Point, cost_front, pareto_front, seconds_front


def row(
    model: str, mean: float | None, cost: float | None, *, known: bool = True, incomplete: bool = False, n: int = 10
) -> ModelRow:
    return ModelRow(1, model, Counts(scored=n), mean, 1, incomplete, cost, known, 20.0, n, None, None)


def test_front() -> None:
    points = [Point("dear", 5, 0.9), Point("mid", 2, 0.8), Point("bad", 3, 0.7), Point("cheap", 1, 0.5)]
    front = pareto_front(points)
    assert [point.model for point in front.best] == ["cheap", "mid", "dear"]
    assert [point.model for point in front.dominated] == ["bad"]


def test_equal_points_stand_side_by_side_and_the_same_price_with_less_does_not() -> None:
    front = pareto_front([Point("b", 1, 0.1 + 0.2), Point("a", 1, 0.3), Point("c", 1, 0.2), Point("d", 2, 0.3)])
    assert [point.model for point in front.best] == ["a", "b"]
    assert [point.model for point in front.dominated] == ["c", "d"]


def test_unknown_numbers_are_left_out_by_name() -> None:
    front = pareto_front([Point("b", None, 0.5), Point("a", 1, None)])
    assert (front.best, front.dominated) == ((), ())
    assert front.left_out == (("a", "its score is unknown"), ("b", "its price is unknown"))


def test_cost_and_seconds_a_dialogue() -> None:
    rows = [
        row("a", 0.9, 5.0),
        row("half", 0.8, 1.0, known=False),
        row("part", 0.99, 0.1, incomplete=True),
        row("free", 0.4, 0.0),
        row("none", None, None, n=0),
    ]
    costs = cost_front(rows)
    assert [(point.model, point.price) for point in costs.best] == [("free", 0.0), ("a", 0.5)]
    assert costs.left_out == (
        ("half", "its price is unknown"),
        ("none", "its score is unknown"),
        ("part", "it lacks some label, so its score cannot be compared"),
    )
    times = seconds_front(rows)
    assert [(point.model, point.price) for point in times.best] == [("a", 2.0)]
    assert [point.model for point in times.dominated] == ["half", "free"]


def test_references_are_beside_the_front() -> None:
    rows = [row("dear", 0.9, 5.0), row("free", 0.95, 0.0), row("unknown", 0.5, None), row("cheap", 0.5, 1.0)]
    rows += [row("part", 0.99, 0.1, incomplete=True)]
    costs = cost_front(rows, {"free", "unknown", "part"})
    assert [point.model for point in costs.best] == ["cheap", "dear"]
    assert costs.dominated == ()
    assert [(point.model, point.price, point.score) for point in costs.references] == [("free", 0.0, 0.95)]
    assert [model for model, _ in costs.left_out] == ["part", "unknown"]
    assert [point.model for point in seconds_front(rows, {"free"}).references] == ["free"]


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 3.0]), st.sampled_from([0.0, 0.3, 0.6, 1.0])), max_size=8))
def test_front_by_definition(pairs: list[tuple[float, float]]) -> None:
    points = [Point(f"m{number}", *pair) for number, pair in enumerate(pairs)]

    def beaten(price: float, score: float) -> bool:
        return any(p <= price and s >= score and (p, s) != (price, score) for p, s in pairs)

    front = pareto_front(points)
    assert {point.model for point in front.best} == {
        point.model for point, pair in zip(points, pairs, strict=True) if not beaten(*pair)
    }
    assert len(front.best) + len(front.dominated) == len(points)
