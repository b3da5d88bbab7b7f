"""Properties that every metric must have, whatever it measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.answer_lines import READINGS, match_lines
from pytest_llmkg.metrics.mentions import match_mentions, room_for
from pytest_llmkg.metrics.results import answer_set, match_names, match_result
from pytest_llmkg.metrics.sets import match_sets
from pytest_llmkg.metrics.similarity import diff_ratio, similarity_gain
from pytest_llmkg.metrics.triples import match_triples

BASE = "https://kg.example/"
Score = Callable[[Any, Any], Sequence[float]]


@dataclass(frozen=True)
class Metric:
    """A metric as numbers of (answer, reference).

    Attributes:
        score: all its values.
        inputs: what both arguments may be.
        symmetric: whether the last value (F1) is the same when both are swapped.
    """

    name: str
    score: Score
    inputs: st.SearchStrategy[Any]
    symmetric: bool = False


def by_sets(answer: Any, reference: Any) -> Sequence[float]:
    match = match_sets(answer, reference)
    return match.precision, match.recall, match.f1


def by_triples(answer: Any, reference: Any) -> Sequence[float]:
    match = match_triples(answer, reference)
    return match.precision, match.recall, match.f1


def by_lines(answer: Any, reference: Any) -> Sequence[float]:
    matches = match_lines(answer, reference, BASE)
    return [value for r in READINGS for value in (matches[r].precision, matches[r].recall, matches[r].f1)]


def by_result(answer: Any, reference: Any) -> Sequence[float]:
    rows = tuple((Term("literal", text),) for text in answer)
    match = match_result(answer_set(QueryResult(None, ("x",), rows), {}), reference)
    return match.precision, match.recall, match.f1


def by_names(answer: Any, reference: Any) -> Sequence[float]:
    return [v for m in match_names(answer, reference, {"k": BASE}) for v in (m.precision, m.recall, m.f1)]


def by_ratio(answer: Any, reference: Any) -> Sequence[float]:
    return [diff_ratio(answer, reference)]


def by_gain(answer: Any, reference: Any) -> Sequence[float]:
    return [similarity_gain(diff_ratio(answer, reference), 0.5)]


# Only values without quotes, angle brackets and "0:" can be met in the "fixed" reading, which mends answers only.
lines = st.lists(st.text("ab:' ", max_size=6).map(str.strip).filter(bool), min_size=1, max_size=4)
names = st.lists(st.sampled_from(["k:a", "b:a", f"<{BASE}a>", "<urn:x>", "rdf:type"]), min_size=1, max_size=4)
triples = st.lists(st.sampled_from(["_:b0 <p> _:b1 .", "_:b1 <p> _:b0 .", "<s> <p> <o> .", '<s> <p> "_:x" .']))
texts = st.text("ab \n", max_size=40)
METRICS = [
    Metric("sets", by_sets, st.frozensets(st.integers(0, 5), min_size=1), symmetric=True),
    Metric("triples", by_triples, triples, symmetric=True),
    Metric("lines", by_lines, lines),
    Metric("result", by_result, st.lists(st.text("abc", min_size=1), min_size=1, max_size=4), symmetric=True),
    Metric("names", by_names, names, symmetric=True),
    Metric("ratio", by_ratio, texts),
    Metric("gain", by_gain, texts),
]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)


@every_metric
@given(data=st.data())
def test_every_value_lies_between_0_and_1(metric: Metric, data: st.DataObject) -> None:
    answer, reference = data.draw(metric.inputs), data.draw(metric.inputs)
    for value in metric.score(answer, reference):
        assert 0 <= value <= 1 + 1e-12


@every_metric
@given(data=st.data())
def test_the_reference_itself_gets_1(metric: Metric, data: st.DataObject) -> None:
    reference = data.draw(metric.inputs)
    assert metric.score(reference, reference) == pytest.approx([1] * len(metric.score(reference, reference)), abs=1e-9)


@every_metric
@given(data=st.data())
def test_the_same_pair_always_gets_the_same(metric: Metric, data: st.DataObject) -> None:
    answer, reference = data.draw(metric.inputs), data.draw(metric.inputs)
    assert list(metric.score(answer, reference)) == list(metric.score(answer, reference))


@pytest.mark.parametrize("metric", [m for m in METRICS if m.symmetric], ids=lambda m: m.name)
@given(data=st.data())
def test_f1_is_symmetric_where_declared(metric: Metric, data: st.DataObject) -> None:
    one, other = data.draw(metric.inputs), data.draw(metric.inputs)
    assert metric.score(one, other)[-1] == pytest.approx(metric.score(other, one)[-1], abs=1e-12)


@given(st.text(), st.from_regex(r"person-[0-9]{8}", fullmatch=True))
def test_mentions_of_any_text_stay_in_range(text: str, name: str) -> None:
    match = match_mentions(text, name)
    assert 0 <= match.precision <= 1
    assert match.recall in (0, 1)
    assert 0 <= match.f1 <= 1
    assert 0 < room_for(f"{BASE}{name}", text) <= 1


@given(st.from_regex(r"person-0{0,7}[1-9][0-9]{0,3}", fullmatch=True))
def test_naming_just_the_right_person_gets_1(name: str) -> None:
    match = match_mentions(f"<{BASE}{name}>", name)
    assert (match.precision, match.recall, match.f1) == (1, 1, 1)


@given(st.lists(st.text()), st.lists(st.text()), st.text())
def test_any_lines_stay_in_range(answer: list[str], reference: list[str], base: str) -> None:
    for match in match_lines(answer, reference, base).values():
        assert 0 <= match.precision <= 1
        assert 0 <= match.recall <= 1
        assert 0 <= match.f1 <= 1 + 1e-12
