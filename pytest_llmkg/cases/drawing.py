"""Parameters of generated cases: drawn from a seed, all different, by level of difficulty."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.formats import format_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_llmkg.plain import Json

__all__ = ["LEVELS", "case_file_text", "drawn_entries", "drawn_tasks"]

LEVELS = range(1, 6)
"""From the sizes of the shipped cases (1) to graphs about twenty times as large (5)."""

_SIZES = {1: (6, 14), 2: (15, 30), 3: (31, 60), 4: (61, 120), 5: (121, 250)}
_MOST = 100_000  # cases of one file

Entry = dict[str, "Json"]


def drawn_tasks() -> tuple[str, ...]:
    """Names of the tasks that entries can be drawn for."""
    return tuple(_ENTRIES)


def drawn_entries(task: str, number: int, seed: int, level: int, form: str | None) -> tuple[Entry, ...]:
    """``number`` different entries with their ids, in the order of their ids; the same for the same arguments.

    Args:
        task: one of `drawn_tasks`.
        number: of entries.
        seed: of the choice.
        level: one of `LEVELS`.
        form: serialization format of graphs that are shown, None for Turtle.

    Raises:
        UserError: an argument is out of range, the task shows no graph, or the level has fewer different entries.
        UnknownNameError: no such format.
    """
    if level not in LEVELS:
        raise UserError(f"--level {level}: a level is a number from {LEVELS[0]} to {LEVELS[-1]}")
    if not 0 < number <= _MOST:
        raise UserError(f"--n {number}: the number of cases is from 1 to {_MOST}")
    possible = list(_ENTRIES[task](_SIZES[level], form))
    if number > len(possible):
        raise UserError(f"--n {number}: task {task!r} has {len(possible)} different cases of level {level}")
    draw = random.Random(f"{task}/{seed}/{level}")  # noqa: S311  (no secret)
    return tuple(sorted(draw.sample(possible, number), key=lambda entry: str(entry["id"])))


def _friends(sizes: tuple[int, int], form: str | None) -> Iterator[Entry]:
    """Rings of persons, see `pytest_llmkg.cases.generators.friend_graph`; the best known one leads by one or two."""
    name = format_named(form or "turtle").name
    for n in range(sizes[0], sizes[1] + 1):
        for knows in (2, 3):
            for added in (1, 2):
                for special in range(knows + added, n):
                    yield {
                        "id": f"n{n:03d}-k{knows}-s{special:03d}-a{added}",
                        "format": name,
                        "n": n,
                        "knowsCount": knows,
                        "specialIndex": special,
                        "specialAddKnowsCount": added,
                    }


def _samples(sizes: tuple[int, int], form: str | None) -> Iterator[Entry]:
    if form is not None:
        raise UserError("--format: the task 'TurtleSampleGeneration' shows no graph, and its answers are Turtle")
    for n in range(sizes[0], sizes[1] + 1):
        yield {"id": f"n{n:03d}", "n": n}


_ENTRIES: Mapping[str, Callable[[tuple[int, int], str | None], Iterator[Entry]]] = {
    "RdfFriendCount": _friends,
    "TurtleSampleGeneration": _samples,
}


def case_file_text(task: str, label: str, entries: tuple[Entry, ...], remark: str) -> str:
    """A case file (TOML) with one variant that holds ``entries``; ``remark`` is its first line."""
    lines = [f"# {remark}", "schema = 1", f"task = {_toml(task)}", "", "[[variant]]", f"label = {_toml(label)}"]
    for entry in entries:
        lines += ["", "[[case]]", *(f"{name} = {_toml(value)}" for name, value in entry.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Json) -> str:
    return json.dumps(value)  # of ASCII texts and whole numbers, which TOML writes likewise
