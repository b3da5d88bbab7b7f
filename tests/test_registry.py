"""One registry for all names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.errors import UnknownNameError, UserError
from pytest_llmkg.registry import Registry, unknown_name
from pytest_llmkg.tasks import discover_tasks


def fruits() -> Registry[str]:
    registry: Registry[str] = Registry("fruit")
    for name in ("pear", "apple", "quince"):
        registry.add(name, name.upper())
    return registry


def test_keeps_the_order_in_which_things_were_added() -> None:
    registry = fruits()
    assert registry.names() == ("pear", "apple", "quince")
    assert list(registry) == ["PEAR", "APPLE", "QUINCE"]
    assert len(registry) == 3
    assert registry.get("apple") == "APPLE"
    assert "apple" in registry
    assert "plum" not in registry
    assert 3 not in registry


def test_near_name_is_proposed() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown fruit 'aple', did you mean 'apple'\?$"):
        fruits().get("aple")


def test_all_names_are_listed_when_none_is_near() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown fruit 'xyz'; known: pear, apple, quince$"):
        fruits().get("xyz")


def test_a_long_list_is_cut_and_an_empty_one_said() -> None:
    many = unknown_name("thing", "?", [f"a{i:02d}" for i in range(21)])
    assert str(many).endswith("a18, a19, ...")
    exactly = unknown_name("thing", "?", [f"a{i:02d}" for i in range(20)])
    assert str(exactly).endswith("a18, a19")
    assert str(unknown_name("thing", "?", [])) == "unknown thing '?'; known: none"


def test_the_same_thing_twice_is_fine_another_one_is_not() -> None:
    registry: Registry[list[int]] = Registry("list")
    one: list[int] = []
    registry.add("x", one)
    registry.add("x", one)
    assert len(registry) == 1
    with pytest.raises(UserError, match="list 'x' is registered twice"):
        registry.add("x", [])  # equal, but not the same


@given(st.lists(st.text(min_size=1), unique=True), st.text())
def test_any_name_is_found_or_refused(names: list[str], wanted: str) -> None:
    registry: Registry[int] = Registry("thing")
    for number, name in enumerate(names):
        registry.add(name, number)
    if wanted in names:
        assert registry.get(wanted) == names.index(wanted)
    else:
        with pytest.raises(UnknownNameError, match="unknown thing"):
            registry.get(wanted)


def test_the_built_in_tasks_are_found_in_a_fixed_order() -> None:
    tasks = discover_tasks()
    built_in = ("RdfFriendCount", "RdfSyntaxFixList", "Sparql2AnswerList", "Text2SparqlList")
    assert tuple(name for name in tasks.names() if name in built_in) == built_in
    for task in tasks:
        assert task.info.summary.endswith(".")
        assert task.info.max_turns >= 1
