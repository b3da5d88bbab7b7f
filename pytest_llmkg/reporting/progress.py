"""How far a running session is, as plain lines: ASCII only, so that no model name can steer a terminal."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.reporting.formats import plain_line
from pytest_llmkg.reporting.short_names import short_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ModelProgress", "Pace", "progress_line", "progress_lines", "seconds_left"]

MOST_MODELS = 12
"""Of more models than these, the unfinished ones come first and the rest is summed up."""
GAP = "  "
LEAST_NAME = 8
"""Columns that a model's name keeps in any case."""
OPTIONAL = ("tokens", "percent", "retries", "in flight", "cost", "errors", "mean", "left")
"""Columns that a narrow terminal loses, the least important one first; without any retry that column is not there."""


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """How far the dialogues with one model are."""

    model: str
    """Its id."""
    planned: int
    """Its dialogues in this session."""
    done: int
    """Finished ones, those included that are kept from a resumed run."""
    kept: int
    """Of these, taken over from a resumed run or otherwise made without asking: they tell nothing about the speed."""
    in_flight: int
    """Dialogues being held now."""
    limit: int | None
    """Calls that are allowed at once now; ``None``: unknown."""
    errors: int
    """Dialogues that ended in an error."""
    retries: int
    """Calls that were repeated."""
    mean: float | None
    """Of the headline score so far."""
    tokens: int | None
    """Of prompts and answers of every call."""
    cost: float | None
    """US dollars spent so far; ``None``: unknown."""


class Pace:
    """The recent speed of each model, for a time left that follows a provider that gets slower or faster.

    The speed is that of the last minute or of the second half of the session, whichever is longer: long enough for
    dialogues that take a minute each, short enough to forget a slow start.
    """

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def note(self, models: Sequence[ModelProgress], elapsed: float) -> dict[str, float | None]:
        """Takes down the state after ``elapsed`` seconds and returns the seconds left of each model, if known."""
        return {p.model: seconds_left(p, elapsed, self._reference(p, elapsed)) for p in models}

    def _reference(self, progress: ModelProgress, elapsed: float) -> tuple[float, int]:
        window = max(60.0, elapsed / 2)
        seen = self._seen.setdefault(progress.model, deque([(0.0, 0)]))
        if elapsed - seen[-1][0] >= window / 60:
            seen.append((elapsed, _fresh(progress)))
        while len(seen) > 1 and seen[1][0] <= elapsed - window:
            seen.popleft()
        return seen[0]


def seconds_left(progress: ModelProgress, elapsed: float, since: tuple[float, int] = (0.0, 0)) -> float | None:
    """Seconds until the last dialogue is finished if the speed stays; ``None`` when there is no speed to judge by.

    Args:
        progress: The state now.
        elapsed: Seconds since the session began.
        since: The earlier moment from which on the speed counts: seconds, and dialogues finished till then without
            those kept.
    """
    then, before = since
    remaining = progress.planned - progress.done
    if remaining <= 0:
        return 0.0
    finished, seconds = _fresh(progress) - before, elapsed - then
    if finished <= 0 or not math.isfinite(seconds) or seconds <= 0:
        return None
    return remaining * seconds / finished


def progress_line(progress: ModelProgress, elapsed: float, width: int) -> str:
    """One model's state after ``elapsed`` seconds in at most ``width`` columns, the most important parts if narrow."""
    return progress_lines([progress], elapsed, width)[0]


def progress_lines(
    models: Sequence[ModelProgress],
    elapsed: float,
    width: int,
    *,
    left: Mapping[str, float | None] | None = None,
    most: int = MOST_MODELS,
    ended: bool = False,
) -> list[str]:
    """One aligned line for each model, in the order given.

    Of more than ``most`` models the unfinished ones come first, and a last line sums up all of them.

    Args:
        models: The state of each.
        elapsed: Seconds since the session began.
        width: Columns of a line at most; all lines leave out the same parts to stay within.
        left: Seconds left by model (see `Pace`); otherwise by the speed of the whole session.
        most: Models with a line of their own at most.
        ended: Whether nothing more will happen: what is missing then counts as not run.
    """
    if left is None:
        left = {p.model: seconds_left(p, elapsed) for p in models}
    shown = list(models)
    if len(models) > most:
        shown = sorted(models, key=lambda p: p.done >= p.planned)[: max(most, 0)]
    rows = [(p.model, _cells(p, left.get(p.model), ended=ended)) for p in shown]
    if len(models) > most:
        total = _total(models)
        unknown = any(left.get(p.model) is None for p in models)
        longest = None if unknown else max(left[p.model] or 0.0 for p in models)
        rows.append((f"all {len(models)} models", {**_cells(total, longest, ended=ended), "mean": ""}))
    return _aligned(rows, width)


def _total(models: Sequence[ModelProgress]) -> ModelProgress:
    limits, tokens, costs = [p.limit for p in models], [p.tokens for p in models], [p.cost for p in models]
    return ModelProgress(
        model="",
        planned=sum(p.planned for p in models),
        done=sum(p.done for p in models),
        kept=sum(p.kept for p in models),
        in_flight=sum(p.in_flight for p in models),
        limit=None if None in limits else sum(n or 0 for n in limits),
        errors=sum(p.errors for p in models),
        retries=sum(p.retries for p in models),
        mean=None,
        tokens=None if None in tokens else sum(n or 0 for n in tokens),
        cost=None if None in costs else sum(dollars or 0.0 for dollars in costs),
    )


def _fresh(progress: ModelProgress) -> int:
    """Dialogues that were really held."""
    return max(progress.done - progress.kept, 0)


def _cells(progress: ModelProgress, left: float | None, *, ended: bool) -> dict[str, str]:
    """The parts of a line by column, in the order in which they are shown."""
    planned, done = progress.planned, progress.done
    limit = "" if progress.limit is None or ended else f"/{progress.limit}"
    return {
        "done": f"{done}/{planned}",
        "percent": f"{min(100 * done // planned, 100)}%" if planned > 0 else "",
        "in flight": f"{progress.in_flight}{limit} in flight" if progress.in_flight or not ended else "",
        "errors": f"{progress.errors} {'error' if progress.errors == 1 else 'errors':<6}",
        "retries": "" if not progress.retries else f"{progress.retries} {_retries(progress.retries):<7}",
        # At the end the leaderboard follows, whose mean is that of task labels, and whose cost is that of all sessions.
        "mean": "" if ended else f"mean {_score(progress.mean):>5}",
        "tokens": "" if progress.tokens is None else f"{_short(progress.tokens)} tokens",
        "cost": f"spent {_dollars(progress.cost)}" if ended and progress.cost is not None else _dollars(progress.cost),
        "left": _remaining(progress, left, ended=ended),
    }


def _retries(number: int) -> str:
    return "retry" if number == 1 else "retries"


def _aligned(rows: Sequence[tuple[str, Mapping[str, str]]], width: int) -> list[str]:
    if not rows:
        return []
    sizes = {column: max(len(cells[column]) for _, cells in rows) for column in rows[0][1]}
    sizes = {column: size for column, size in sizes.items() if size}
    names = [plain_line(name) for name, _ in rows]
    longest = max(map(len, names))
    # A long name is cut before the numbers go: it is known to those who chose it.
    wanted = min(longest, max(width // 4, LEAST_NAME))
    for column in OPTIONAL:
        least = LEAST_NAME if column in {"mean", "left"} else wanted
        if _numbers(sizes) + min(least, longest) > width:
            sizes.pop(column, None)
    room = max(min(longest, width - _numbers(sizes)), 0)
    lines = []
    for name, (_, cells) in zip(names, rows, strict=True):
        numbers = "".join(f"{GAP}{cells[column]:>{size}}" for column, size in sizes.items())
        lines.append(f"{short_name(name, room):<{room}}{numbers}"[: max(width, 0)].rstrip())
    return lines


def _numbers(sizes: Mapping[str, int]) -> int:
    return sum(len(GAP) + size for size in sizes.values())


def _score(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.3f}"


def _short(number: int) -> str:
    """A count in at most five characters, up to the trillions."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        # What would be rounded up to 1000 of the smaller unit is 1.0 of this one.
        if number >= size * 0.9995:
            return f"{number / size:.1f}{unit}" if number < size * 99.95 else f"{number / size:.0f}{unit}"
    return str(number)


def _dollars(cost: float | None) -> str:
    if cost is None or not math.isfinite(cost):
        return "cost unknown"
    return f"${cost:,.{2 if cost >= 0.1 or cost == 0 else 4}f}"


def _remaining(progress: ModelProgress, left: float | None, *, ended: bool) -> str:
    missing = progress.planned - progress.done
    if missing <= 0:
        return "done"
    if ended:
        return f"{missing} not run"
    return f"{'-' if left is None or not math.isfinite(left) else _duration(max(left, 0.0))} left"


def _duration(seconds: float) -> str:
    """Minutes and seconds, with hours or days if need be; rounded up, since 0:00 means that it is over."""
    whole = math.ceil(seconds)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if days:
        return f"{days}d {hours % 24}h"
    if hours:
        return f"{hours}:{minutes % 60:02}:{whole % 60:02}"
    return f"{minutes}:{whole % 60:02}"
