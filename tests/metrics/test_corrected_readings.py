"""What corrected rules read over in answers, found by reading recorded ones; all texts here were invented."""

from __future__ import annotations

import pytest

from pytest_llmkg.metrics.graph_match import match_erased, match_graphs
from pytest_llmkg.metrics.paths import answered_path, match_path, path_notes
from pytest_llmkg.metrics.value_lines import match_values

WAY = ["https://kg.example/a", "https://kg.example/b"]


@pytest.mark.parametrize("marks", ["", ":", "- ", "-", "* ", "1. ", "2) ", "+ ", "- :", "<"])
def test_marks_in_front_of_iris_are_read_over(marks: str) -> None:
    end = ">" if marks == "<" else ""
    text = "\n".join(f"{marks}{iri}{end}" for iri in WAY)
    assert answered_path(text) == WAY
    assert match_path(text, WAY).f1 == 1
    assert path_notes(text) == (("notation",) if marks else ("order",))


def test_what_only_looks_like_a_mark_stays_a_line() -> None:
    assert answered_path("- some words\n1 https://kg.example/a") == ["- some words", "1 https://kg.example/a"]


PREFIXES = {"": "https://kg.example/", "0": "https://kg.example/", "ex": "https://other.example/"}


@pytest.mark.parametrize(
    ("answer", "f1"),
    [
        (":kelp", 1),
        ("0:kelp", 1),  # the name that the shown JSON-LD gives the namespace
        (":0:kelp", 1),
        ("<https://kg.example/kelp>", 1),
        ("https://kg.example/kelp", 1),
        ("ex:kelp", 0),
        (":ex:kelp", 0),
        ("1:kelp", 0),
        ("kelp", 0),
    ],
)
def test_iris_count_however_their_namespace_is_written(answer: str, f1: float) -> None:
    assert match_values(answer, [":kelp"], PREFIXES, ordered=False).f1 == f1


SWAPPED = (
    ['_:a <u:name> "A" .', '_:a <u:at> "1" .', '_:b <u:name> "B" .', '_:b <u:at> "2" .'],
    ['_:x <u:name> "A" .', '_:x <u:at> "2" .', '_:y <u:name> "B" .', '_:y <u:at> "1" .'],
)


def test_erasing_blank_nodes_hides_a_swap_that_matching_sees() -> None:
    assert match_erased(*SWAPPED).f1 == 1
    assert match_graphs(*SWAPPED).f1 == 0.5


def test_erased_blank_nodes_are_counted_one_by_one() -> None:
    one, two = ["_:a <u:p> <u:o> ."], ["_:a <u:p> <u:o> .", "_:b <u:p> <u:o> ."]
    assert match_erased(one, two).recall == 0.5
    assert match_erased(two, two).f1 == 1
    assert match_erased([], []).f1 == 1
