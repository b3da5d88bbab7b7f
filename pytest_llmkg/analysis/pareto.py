"""Which models give most for their price: the Pareto front of cost (or time) and score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pytest_llmkg.analysis.aggregates import ModelRow

__all__ = ["Front", "Point", "cost_front", "pareto_front", "seconds_front"]


@dataclass(frozen=True, slots=True)
class Point:
    """A model with what a dialogue takes (US dollars or seconds, None when unknown) and its score."""

    model: str
    price: float | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Front:
    """Attributes are sorted by price and then model.

    Attributes:
        best: the points for which no other costs at most as much and scores at least as high, with one of both better.
        dominated: the others.
        left_out: model and reason of those that cannot be placed, by model.
        references: points that are shown beside them, but beat nobody and are beaten by nobody.
    """

    best: tuple[Point, ...]
    dominated: tuple[Point, ...]
    left_out: tuple[tuple[str, str], ...]
    references: tuple[Point, ...] = ()


def pareto_front(points: Iterable[Point]) -> Front:
    """The front of ``points``; numbers that differ in their last bits only are equal, equal points do not dominate."""
    known: list[tuple[float, float, Point]] = []
    left_out: list[tuple[str, str]] = []
    for point in points:
        if point.score is None or point.price is None:
            left_out.append((point.model, "its score is unknown" if point.score is None else "its price is unknown"))
        else:
            known.append((float(f"{point.price:.12g}"), -round(point.score, 12), point))
    known.sort(key=lambda one: (one[0], one[1], one[2].model))
    best: list[tuple[float, float, Point]] = []
    dominated: list[Point] = []
    for price, loss, point in known:
        if not best or loss < best[-1][1] or (price, loss) == best[-1][:2]:
            best.append((price, loss, point))
        else:
            dominated.append(point)
    return Front(tuple(point for _, _, point in best), tuple(dominated), tuple(sorted(left_out)))


def cost_front(rows: Sequence[ModelRow], references: Collection[str] = ()) -> Front:
    """By US dollars a dialogue; models with a wholly or partly unknown cost, or without some label, are left out.

    Models of ``references`` are no part of the front.
    """
    points = [Point(row.model, _each(row, row.cost) if row.cost_known else None, row.mean) for row in rows]
    return _complete(rows, points, references)


def seconds_front(rows: Sequence[ModelRow], references: Collection[str] = ()) -> Front:
    """By seconds a dialogue; models without some label are left out, ``references`` are no part of the front."""
    return _complete(rows, [Point(row.model, _each(row, row.seconds), row.mean) for row in rows], references)


def _each(row: ModelRow, whole: float | None) -> float | None:
    return None if whole is None or row.counts.total == 0 else whole / row.counts.total


def _complete(rows: Sequence[ModelRow], points: Sequence[Point], references: Collection[str]) -> Front:
    whole = [point for row, point in zip(rows, points, strict=True) if not row.incomplete]
    found = pareto_front(point for point in whole if point.model not in references)
    beside = pareto_front(point for point in whole if point.model in references)
    lacking = [(row.model, "it lacks some label, so its score cannot be compared") for row in rows if row.incomplete]
    shown = sorted((*beside.best, *beside.dominated), key=lambda point: (point.price or 0.0, point.model))
    left_out = tuple(sorted([*found.left_out, *beside.left_out, *lacking]))
    return Front(found.best, found.dominated, left_out, tuple(shown))
