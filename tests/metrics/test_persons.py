"""Persons and their links, counted by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.persons import person_graph, relative_error

TYPE, PERSON = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://xmlns.com/foaf/0.1/Person>"
KNOWS = "<http://xmlns.com/foaf/0.1/knows>"


def person(name: str, *known: str) -> list[str]:
    return [f"<urn:{name}> {TYPE} {PERSON} .", *(f"<urn:{name}> {KNOWS} <urn:{other}> ." for other in known)]


def test_persons_are_typed_subjects() -> None:
    lines = [*person("a", "b"), *person("b"), f"<urn:c> {KNOWS} <urn:a> ."]
    lines += [f"<urn:d> {TYPE} <http://xmlns.com/foaf/0.1/person> .", f"<urn:a> {TYPE} {PERSON} ."]
    graph = person_graph(lines)
    assert set(graph.known) == {"<urn:a>", "<urn:b>"}
    assert graph.count == 2


def test_links_of_any_kind_of_those_who_have_some() -> None:
    graph = person_graph([*person("a", "a", "x", "b"), *person("b")])
    assert graph.linked_counts() == [3]


def test_friends_are_other_persons_of_everybody() -> None:
    graph = person_graph([*person("a", "a", "x", "b"), *person("b")])
    assert graph.friend_counts() == [1, 0]


def test_blank_nodes_are_persons_too() -> None:
    graph = person_graph([f"_:b0 {TYPE} {PERSON} .", f"_:b1 {TYPE} {PERSON} .", f"_:b0 {KNOWS} _:b1 ."])
    assert graph.friend_counts() == [1, 0]


@pytest.mark.parametrize(("found", "asked", "expected"), [(0, 10, -1), (10, 10, 0), (2, 80, -0.975), (15, 10, 0.5)])
def test_relative_error(found: int, asked: int, expected: float) -> None:
    assert relative_error(found, asked) == pytest.approx(expected)


names = st.sampled_from("abcd")


@given(st.lists(st.builds(person, names, names, names)).map(lambda parts: [line for part in parts for line in part]))
def test_nobody_has_more_friends_than_there_are_others(lines: list[str]) -> None:
    graph = person_graph(lines)
    assert all(0 <= count < graph.count for count in graph.friend_counts())
    assert len(graph.linked_counts()) <= graph.count
