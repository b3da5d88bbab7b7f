"""The figures of `compare_dialogues`: what was measured of each command, and the table and sentences made of it."""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from tests.speed.measuring import Cost, median_cost
from tests.speed.project import CASES
from tests.speed.tables import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BASES", "HEADER", "Results", "Seen", "Size", "marginal_lines", "own_share", "rows", "share_lines"]

BASES = ("python", "aiohttp-start", "pytest-1", "pytest-n")
"""What every command contains that is neither calling nor ours, measured beside them."""

HEADER = (
    *("command", "wall s", "span s", "span/ideal", "at once", "CPU s", "CPU ms/call", "peak MiB"),
    *("wall / aiohttp's", "times faster than inspect"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """So many calls, at most so many of them at once."""

    calls: int
    in_flight: int

    def ideal(self, latency: float) -> float:
        """Seconds that nobody can be faster than: full rounds of ``latency``."""
        return -(-self.calls // self.in_flight) * latency

    @classmethod
    def parse(cls, text: str) -> Size:
        """From ``CALLSxIN_FLIGHT``."""
        calls, _, in_flight = text.partition("x")
        if not (calls.isdecimal() and in_flight.isdecimal() and int(calls) and int(in_flight)):
            raise argparse.ArgumentTypeError(f"expected e.g. 500x50, found {text!r}")
        if int(calls) % CASES:
            raise argparse.ArgumentTypeError(f"the number of calls must be a multiple of {CASES}, found {calls}")
        return cls(int(calls), int(in_flight))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the server saw of one command: seconds from the first request to the last answer, most requests at once."""

    span: float
    most_in_flight: int
    server_cpu: float


@dataclass(slots=True)
class Results:
    """Costs and server's views by name."""

    costs: dict[str, list[Cost]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))

    def cost(self, name: str) -> Cost | None:
        """The median, None when it was not measured."""
        return median_cost(self.costs[name]) if self.costs.get(name) else None

    def cpu(self, name: str) -> float | None:
        """The median CPU seconds."""
        cost = self.cost(name)
        return None if cost is None else cost.cpu


def rows(size: Size, results: Results, peers: Sequence[str], latency: float) -> list[list[str]]:
    """One row for the ideal and each peer."""
    ideal = size.ideal(latency)
    found = [["ideal", figure(ideal), figure(ideal), "1.00", *["-"] * 6]]
    aiohttp, inspect = results.cost("aiohttp"), results.cost("inspect")
    for name in peers:
        cost, seen = results.cost(name), results.seen[name]
        if cost is None:
            continue
        span = median(entry.span for entry in seen)
        found.append(
            [
                name,
                figure(cost.wall),
                figure(span),
                figure(span / ideal),
                str(max(entry.most_in_flight for entry in seen)),
                figure(cost.cpu),
                figure(cost.cpu / size.calls * 1000),
                figure(cost.peak if cost.peak is not None else cost.largest, 0),
                figure(cost.wall / aiohttp.wall if aiohttp else None),
                figure(inspect.wall / cost.wall if inspect else None),
            ]
        )
    return found


def own_share(size: Size, results: Results, name: str, loop_name: str) -> tuple[float, float] | None:
    """CPU milliseconds of ours for each turn, start-up included: over an empty session, and over pytest's own tests.

    The command's CPU, less that of pytest on one empty test (or on as many empty tests as there are dialogues), less
    what the bare loop needs beyond the start of Python, which pytest's start contains. None when a part is missing.
    """
    whole, loop = results.cpu(name), results.cpu(loop_name)
    python, one, many = (results.cpu(base) for base in ("python", "pytest-1", "pytest-n"))
    if whole is None or loop is None or python is None or one is None or many is None:
        return None
    rest = whole - (loop - python)
    return (rest - one) / size.calls * 1000, (rest - many) / size.calls * 1000


def share_lines(size: Size, results: Results, agents: Mapping[str, str]) -> list[str]:
    """What ours needs itself, in words; ``agents`` tells the HTTP client of each, and so which bare loop is like it."""
    lines = []
    for name, agent in agents.items():
        # litellm calls by the OpenAI library.
        loop = "litellm" if "openai" in agent.lower() or "litellm" in agent.lower() else "aiohttp"
        if (share := own_share(size, results, name, loop)) is not None:
            lines.append(
                f"{name}: CPU of ours for each turn, start-up included: {share[0]:.2f} ms = (CPU of the command - "
                f"pytest on one empty test - bare {loop} loop beyond the start of Python) / {size.calls}; "
                f"{share[1]:.2f} ms when the {size.calls} empty tests that pytest itself runs are taken off, too"
            )
    bases = ", ".join(f"{name} {figure(results.cpu(name))}" for name in BASES if results.costs.get(name))
    return [*lines, f"CPU s of what each contains: {bases}"] if bases else lines


def marginal_lines(all_results: Mapping[Size, Results], peers: Sequence[str]) -> list[str]:
    """CPU for each further call: the difference of the largest and smallest size with the same number in flight."""
    lines = []
    for in_flight in dict.fromkeys(size.in_flight for size in all_results):
        sizes = sorted((s for s in all_results if s.in_flight == in_flight), key=lambda s: s.calls)
        small, large = sizes[0], sizes[-1]
        if small == large:
            continue
        parts = []
        for name in (*peers, "pytest-n"):
            low, high = all_results[small].cpu(name), all_results[large].cpu(name)
            if low is not None and high is not None:
                parts.append(f"{name} {(high - low) / (large.calls - small.calls) * 1000:.2f}")
        lines.append(f"CPU ms for each further call, {small.calls} to {large.calls} at {in_flight}: {', '.join(parts)}")
    return lines
