from __future__ import annotations

import itertools
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.cases.drawing import LEVELS, case_file_text, drawn_entries, drawn_tasks
from pytest_llmkg.errors import UserError
from pytest_llmkg.tasks import discover_tasks


@settings(max_examples=25)
@given(st.sampled_from(drawn_tasks()), st.integers(1, 9), st.integers(0, 2**32), st.sampled_from(LEVELS))
def test_all_entries_differ_and_make_cases(task: str, number: int, seed: int, level: int) -> None:
    entries: tuple[dict[str, Any], ...] = drawn_entries(task, number, seed, level, None)
    assert len({entry["id"] for entry in entries}) == number
    assert entries == drawn_entries(task, number, seed, level, None)
    generate = discover_tasks().get(task).generate
    assert generate is not None
    for entry in entries[:2]:
        generate({name: value for name, value in entry.items() if name != "id"}, seed)
    data = tomllib.loads(case_file_text(task, "X-1", entries, "made here"))
    assert data["case"] == list(entries)
    assert (data["schema"], data["task"], data["variant"]) == (1, task, [{"label": "X-1"}])


def test_levels_are_of_growing_size_and_seeds_choose_otherwise() -> None:
    sizes = [
        [int(str(entry["n"])) for entry in drawn_entries("RdfFriendCount", 50, 1, level, None)] for level in LEVELS
    ]
    assert all(max(small) < min(large) for small, large in itertools.pairwise(sizes))
    assert drawn_entries("RdfFriendCount", 5, 1, 3, None) != drawn_entries("RdfFriendCount", 5, 2, 3, None)
    assert {entry["format"] for entry in drawn_entries("RdfFriendCount", 5, 1, 3, "ntriples")} == {"nt"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("RdfFriendCount", 1, 1, 0, None), "--level 0: a level is a number from 1 to 5"),
        (("RdfFriendCount", -1, 1, 1, None), "--n -1"),
        (("RdfFriendCount", 1, 1, 1, "tortoise"), "unknown serialization format 'tortoise'"),
        (("TurtleSampleGeneration", 10, 1, 1, None), "has 9 different cases of level 1"),
        (("TurtleSampleGeneration", 1, 1, 1, "nt"), "shows no graph"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments: tuple[str, int, int, int, str | None], complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        drawn_entries(*arguments)
    assert complaint in str(caught.value)
