"""Agreement of graphs as sets of lines; the line behind the last line break counts, as published."""

from __future__ import annotations

import pytest

from pytest_llmkg.metrics.sets import SetMatch
from pytest_llmkg.metrics.triples import match_triples

A, B, C, D = (f"<s> <p> <{o}> ." for o in "abcd")


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        # (3 + 1) of (3 + 1)
        ([A, B, C], [A, B, C], SetMatch(1.0, 1.0, 1.0)),
        # hits 2 + 1; P = 3/3, R = 3/4, F1 = 2 * 0.75 / 1.75 = 6/7
        ([A, B], [A, B, C], SetMatch(1.0, 0.75, 6 / 7)),
        # hits 1 + 1; P = 2/3, R = 2/4, F1 = 2 * 1/3 / (7/6) = 4/7
        ([A, D], [A, B, C], SetMatch(2 / 3, 0.5, 4 / 7)),
        # nothing in common but the empty line: 1/2, 1/4, F1 = 2 * 1/8 / (3/4) = 1/3
        ([D], [A, B, C], SetMatch(0.5, 0.25, 1 / 3)),
        # an empty graph: P = 1/1, R = 1/4, F1 = 2 * 0.25 / 1.25 = 0.4
        ([], [A, B, C], SetMatch(1.0, 0.25, 0.4)),
        # doubles are one line
        ([A, A, B, C], [C, B, A], SetMatch(1.0, 1.0, 1.0)),
    ],
)
def test_pairs(answer: list[str], reference: list[str], expected: SetMatch) -> None:
    match = match_triples(answer, reference)
    assert (match.precision, match.recall) == (expected.precision, expected.recall)
    assert match.f1 == pytest.approx(expected.f1, abs=1e-15)


def test_an_empty_graph_against_27_lines_scores_as_published() -> None:
    match = match_triples([], [f"<s> <p> <{n}> ." for n in range(27)])
    assert (match.precision, match.recall) == (1.0, 1 / 28)
    assert match.f1 == pytest.approx(2 / 29)  # 2 * 1/28 / (29/28)


def test_labels_of_blank_nodes_do_not_count() -> None:
    assert match_triples(["_:x <p> _:y ."], ["_:b0 <p> _:b1 ."]).f1 == 1.0


def test_which_blank_node_has_a_property_is_not_compared() -> None:
    swapped = ["_:b0 <name> <anna> .", "_:b0 <at> <rome> .", "_:b1 <name> <emil> .", "_:b1 <at> <oslo> ."]
    right = ["_:b0 <name> <anna> .", "_:b0 <at> <oslo> .", "_:b1 <name> <emil> .", "_:b1 <at> <rome> ."]
    assert match_triples(swapped, right).f1 == 1.0


def test_lines_that_become_equal_collapse() -> None:
    # Two blank addresses in one country are one line: (1 + 1) of (1 + 1).
    assert match_triples(["_:b0 <in> <uk> ."], ["_:b0 <in> <uk> .", "_:b1 <in> <uk> ."]).f1 == 1.0


def test_the_eraser_also_reads_literals_as_published() -> None:
    # A text, not a term, is searched for labels; so what looks like a label inside a literal is erased, too.
    assert match_triples(['<s> <p> "_:a" .'], ['<s> <p> "_:b" .']).f1 == 1.0
