"""Invented graphs: as many things and links as asked, and sound Turtle."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.extraction import fenced_blocks
from tests.connectors.symbolic.prompts import user

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

FOAF = "http://xmlns.com/foaf/0.1/"
PROMPT = "Please create Turtle with {n} {things} (type {kind}). Each has {link} to {bounds} others."


def links_of(answer: str, engine: KgEngine, kind: str, link: str) -> Counter[str]:
    """How many others each thing is linked to; every linked one is a thing, too."""
    block = fenced_blocks(answer)[0].content
    verdict = engine.check_rdf(GraphText(block, "turtle"))
    assert verdict.error is None
    triples = [line.split(" ") for line in verdict.triples]
    things = {s for s, p, o, *_ in triples if o == f"<{kind}>"}
    counts = Counter(dict.fromkeys(things, 0))
    for s, p, o, *_ in triples:
        if p == f"<{link}>":
            assert s != o
            assert o in things
            counts[s] += 1
    return counts


@pytest.mark.parametrize(
    ("n", "bounds", "fewest", "most"),
    [
        ("7", "at least 3 and at most 6", 3, 6),
        ("four", "at least two and at most three", 2, 3),
        ("25", "between 5 and 5", 5, 5),
        ("3", "at least 2", 2, 2),
        ("1", "at most 4", 0, 0),
        ("12", "up to three", 1, 3),
    ],
)
def test_numbers_are_kept(engine: KgEngine, n: str, bounds: str, fewest: int, most: int) -> None:
    prompt = PROMPT.format(n=n, things="people", kind="foaf:Person", link="foaf:knows", bounds=bounds)
    counts = links_of(answer_messages(user(prompt), engine), engine, FOAF + "Person", FOAF + "knows")
    assert len(counts) == {"four": 4}.get(n, int(n) if n.isdigit() else 0)
    assert fewest <= min(counts.values()) <= max(counts.values()) <= most


def test_other_classes_and_links(engine: KgEngine) -> None:
    prompt = PROMPT.format(n=5, things="concepts", kind="skos:Concept", link="skos:related", bounds="at least one")
    skos = "http://www.w3.org/2004/02/skos/core#"
    counts = links_of(answer_messages(user(prompt), engine), engine, skos + "Concept", skos + "related")
    assert sorted(counts.values()) == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT.format(n="999999", things="people", kind="foaf:Person", link="foaf:knows", bounds="two"),
        PROMPT.format(n="many", things="people", kind="foaf:Person", link="foaf:knows", bounds="two"),
        "Write 5 poems in Turtle about a foaf:Person.",
    ],
)
def test_it_says_so_when_no_size_is_given_or_it_is_too_large(engine: KgEngine, prompt: str) -> None:
    assert answer_messages(user(prompt), engine) == CANNOT
