"""Which models give most for their price."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pytest_llmkg.reporting.plots.axes import finite
from pytest_llmkg.reporting.plots.drawing import finish, nothing
from pytest_llmkg.reporting.plots.legend import Key
from pytest_llmkg.reporting.plots.scatter import Plane, Spot, draw_plane
from pytest_llmkg.reporting.plots.wording import listed, plain_number, two_decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.pareto import Front, Point
    from pytest_llmkg.reporting.plots.sheet import Plot

__all__ = ["pareto_plot"]

_UNITS = {"cost": "US dollars a dialogue", "seconds": "seconds a dialogue"}
_TITLES = {"cost": "Cost against score", "seconds": "Time against score"}


def pareto_plot(front: Front, kind: Literal["cost", "seconds"], *, ident: str | None = None) -> Plot:
    """The front, its models, and those that others beat in both; models without a price are named in the notes.

    References are hollow squares, which are on no front.

    Args:
        front: from `pytest_llmkg.analysis.pareto.cost_front` or ``seconds_front``.
        kind: what its prices are.
        ident: start of the ids, unique on the page; by default ``plot-cost`` or ``plot-seconds``.
    """
    ident = ident or f"plot-{kind}"
    notes = [f"{model} is not in the picture: {reason}." for model, reason in front.left_out]
    best = [_spot(point, kind, best=True) for point in front.best if _placed(point)]
    dominated = [_spot(point, kind, best=False) for point in front.dominated if _placed(point)]
    beside = [replace(_spot(point, kind, best=False), shape=1) for point in front.references if _placed(point)]
    reason = _reason_against([*best, *dominated], beside, kind)
    if reason is not None:
        return nothing(ident, _TITLES[kind], reason, notes)
    keys = [Key("on the front: no other is both cheaper and better", 1, "s0", "s0", "s0")]
    keys += [Key("beaten by another", 0, "card", "muted")] if dominated else []
    keys += [Key("reference: no language model", 1, "card", "muted")] if beside else []
    if kind == "seconds":
        keys[0] = Key("on the front: no other is both faster and better", 1, "s0", "s0", "s0")
    plane = Plane([*beside, *dominated, *best], _UNITS[kind], "mean of task means", keys, [(0, best)], steps=True)
    described = [spot.tip for spot in best]
    description = f"On the front: {listed(described)} {len(dominated)} others are beaten by one of them."
    description += f" References: {listed([spot.tip for spot in beside])}" if beside else ""
    return finish(lambda layout: draw_plane(layout, plane), ident, _TITLES[kind], description, notes)


def _reason_against(spots: Sequence[Spot], beside: Sequence[Spot], kind: str) -> str | None:
    """Why a picture of ``spots`` with the references ``beside`` would show nothing, None if it would."""
    price = "a known price" if kind == "cost" else "a known time"
    if not spots:
        return f"no model has both {price} and a score"
    if len(spots) + len(beside) == 1:
        return f"only one model has both {price} and a score, so there is nothing to compare it with"
    if not any(spot.x for spot in (*spots, *beside)):
        return f"all models with {price} are free" if kind == "cost" else "no answer took any time"
    return None


def _placed(point: Point) -> bool:
    return finite(point.price) is not None and finite(point.score) is not None


def _spot(point: Point, kind: str, *, best: bool) -> Spot:
    price, score = point.price or 0.0, point.score or 0.0
    tip = f"{point.model}: {plain_number(price)} {_UNITS[kind]}, score {two_decimals(score)}"
    return Spot(point.model, price, score, 0 if best else None, best, tip)
