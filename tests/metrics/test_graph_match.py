"""Agreement of graphs with matched blank nodes, by hand and by property."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.metrics.graph_match import match_graphs
from pytest_llmkg.metrics.sets import SetMatch

NAME, OTHER = '_:b0 <urn:name> "a b" .', '_:x1 <urn:name> "a b" .'
LINK = "<urn:s> <urn:p> _:b0 ."


def test_blank_nodes_are_matched() -> None:
    right = ["_:a <urn:name> <urn:anna> .", "_:a <urn:at> <urn:oslo> .", "_:b <urn:name> <urn:emil> ."]
    assert match_graphs([line.replace("_:a", "_:zz") for line in right], right) == SetMatch(1.0, 1.0, 1.0)
    # The town is told of the other one: two of three at most, though each row is right by itself.
    swapped = [right[0], right[1].replace("_:a", "_:b"), right[2]]
    assert match_graphs(swapped, right).f1 == pytest.approx(2 / 3)


def test_an_empty_answer_has_no_precision() -> None:
    assert match_graphs([], [NAME]) == SetMatch(0.0, 0.0, 0.0)


def test_a_flood_of_blank_nodes_is_compared_with_all_of_them_alike() -> None:
    flood = [f'_:b{n} <urn:name> "{n}" .' for n in range(3000)]
    match = match_graphs(flood, flood[:3])
    assert (match.precision, match.recall) == (3 / 3000, 1.0)
    assert match.f1 == pytest.approx(2 * 0.001 / 1.001)


lines = st.lists(st.sampled_from([NAME, OTHER, LINK, "<urn:s> <urn:p> <urn:o> .", '<urn:s> <urn:p> "_:b7" .']))


@given(lines, lines)
def test_matches_stay_in_range_and_the_reference_gets_1(answer: list[str], reference: list[str]) -> None:
    match = match_graphs(answer, reference)
    assert 0 <= match.precision <= 1
    assert 0 <= match.recall <= 1
    assert match_graphs(reference, reference).f1 == 1.0


Triple = tuple[str, str, str]
triples = st.sets(
    st.tuples(st.sampled_from("abcx"), st.sampled_from("pq"), st.sampled_from("abcy")), min_size=1, max_size=7
)


def as_lines(graph: set[Triple]) -> list[str]:
    """Nodes a, b and c are blank, x and y are IRIs."""
    return [" ".join(f"_:{t}" if t in "abc" else f"<urn:{t}>" for t in triple) + " ." for triple in sorted(graph)]


@given(triples, triples)
def test_the_matching_is_the_best_of_all(
    answer: set[tuple[str, str, str]], reference: set[tuple[str, str, str]]
) -> None:
    # All ways to name the answer's three blank nodes by the reference's.
    best = max(
        len({tuple(dict(zip("abc", names, strict=True)).get(t, t) for t in triple) for triple in answer} & reference)
        for names in itertools.permutations("abc")
    )
    match = match_graphs(as_lines(answer), as_lines(reference))
    assert match.precision == pytest.approx(best / len(answer))
    assert match.recall == pytest.approx(best / len(reference))


def test_a_swap_of_addresses_is_seen() -> None:
    # Published rules erase blank nodes and see no difference. 6 triples; each address keeps its link, two towns move.
    right = [
        "<urn:anna> <urn:address> _:a .",
        '_:a <urn:town> "Oslo" .',
        '_:a <urn:zip> "1" .',
        "<urn:emil> <urn:address> _:b .",
        '_:b <urn:town> "Bergen" .',
        '_:b <urn:zip> "2" .',
    ]
    swapped = [line.replace("Oslo", "?").replace("Bergen", "Oslo").replace("?", "Bergen") for line in right]
    assert match_graphs(swapped, right).f1 == pytest.approx(4 / 6)
