"""The challenge's scores: hand-made values, an independent computation, and the published values where they are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.contracts import QueryResult, Term
from pytest_llmkg.metrics.challenge import challenge_scores, flatten_json, flatten_result
from pytest_llmkg.metrics.challenge_report import agreement, evaluate_sets
from pytest_llmkg.metrics.ndcg import ranked_ndcg, trec_ndcg

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"
CHALLENGE = REFERENCE / "text2sparql-2025"
QUESTIONS = {"ck25": REFERENCE / "ck25/questions.yml", "db25": CHALLENGE / "benchmark/questions_db25.yaml"}
TRUE, FALSE = {"true": 1}, {"true": 0}


def iri(name: str) -> Term:
    return Term("iri", f"https://kg.example/{name}")


def text(value: str) -> Term:
    return Term("literal", value)


@pytest.mark.parametrize(
    ("reference", "answered", "f"),
    [
        (TRUE, TRUE, 1.0),
        (TRUE, FALSE, 1.0),  # the flaw: what is answered does not count, only that it is ASK
        (FALSE, TRUE, 0.0),
        (FALSE, FALSE, 0.0),
        ({}, {}, 0.0),
        ({}, {"a": 1}, 0.0),
        ({"a": 1}, {}, 0.0),
        ({"a": 1}, {"a": 1, "b": 1}, 2 / 3),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1}, 0.5),
        (TRUE, {"https://kg.example/a": 1}, 0.0),
        ({"3": 1}, {"3.0": 1}, 0.0),
        ({"Ida": 1}, {"ida": 1}, 0.0),
    ],
)
def test_set_f(reference: dict[str, int], answered: dict[str, int], f: float) -> None:
    assert challenge_scores(answered, reference, ordered=False)["set_F"] == pytest.approx(f)


def test_precision_and_recall() -> None:
    scores = challenge_scores({"a": 1, "b": 1, "x": 1, "y": 1}, {"a": 1, "b": 1, "c": 1}, ordered=False)
    assert scores == {"set_P": 0.5, "set_recall": 2 / 3, "set_F": 2 * 0.5 * (2 / 3) / (0.5 + 2 / 3)}


def test_flattening() -> None:
    result = QueryResult(
        None, ("x", "n"), ((iri("b"), text("2")), (iri("a"), None), (iri("a"), Term("literal", "2", language="en")))
    )
    assert flatten_result(result) == {"https://kg.example/b": 1, "https://kg.example/a": 1, "2": 1}
    assert list(flatten_result(result)) == ["https://kg.example/b", "https://kg.example/a", "2"]
    assert flatten_result(QueryResult(None, boolean=False)) == FALSE
    assert flatten_result(QueryResult("syntax")) == {}
    assert flatten_result(QueryResult(None, ("x",))) == {}


def test_flattening_json() -> None:
    found = {
        "head": {"vars": ["x", "y"]},
        "results": {"bindings": [{"x": {"type": "uri", "value": "u"}}, {"y": {"type": "literal", "value": "3"}}]},
    }
    assert flatten_json(found) == {"u": 1, "3": 1}
    assert flatten_json({"head": {}, "boolean": True}) == TRUE
    broken_results: tuple[object, ...] = (
        [],
        {},
        {"head": {"vars": ["x"]}},
        {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": 1}]}},
    )
    for broken in broken_results:
        with pytest.raises(ValueError, match="SPARQL JSON"):
            flatten_json(broken)


def test_ndcg_does_not_look_at_the_order_of_the_answer() -> None:
    reference = {"a": 1, "b": 1}
    assert trec_ndcg({"a": 1, "b": 1}, reference) == trec_ndcg({"b": 1, "a": 1}, reference) == 1.0
    # z stands before a, since ties are sorted downwards
    assert trec_ndcg({"a": 1, "z": 1}, {"a": 1}) == pytest.approx(1 / math.log2(3))
    assert trec_ndcg({}, {"a": 1}) == trec_ndcg({"a": 1}, {}) == trec_ndcg({"a": 1}, {"a": 0}) == 0.0


def test_ndcg_sorts_bytes_not_code_points() -> None:
    # In UTF-16 the second would come first; as bytes U+FFFD is below U+1F600.
    answered = {"\ufffd": 1, "\U0001f600": 1}
    assert trec_ndcg(answered, {"\U0001f600": 1}) == 1.0


def test_ranked_ndcg_looks_at_the_order() -> None:
    reference = [["a"], ["b"], ["c"]]
    assert ranked_ndcg(["a", "b", "c"], reference) == 1.0
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert ranked_ndcg(["c", "b", "a"], reference) == pytest.approx((1 + 2 / math.log2(3) + 3 / 2) / ideal)
    assert ranked_ndcg(["b", "a"], [["a", "b"]]) == 1.0
    assert ranked_ndcg(["a", "a"], [["a"], ["b"]]) == pytest.approx(2 / (2 + 1 / math.log2(3)))
    assert ranked_ndcg([], []) == 1.0
    assert ranked_ndcg(["a"], []) == ranked_ndcg([], [["a"]]) == 0.0


VALUES = st.dictionaries(st.text("abcé😀", min_size=1, max_size=3), st.integers(0, 1), max_size=8)


@given(VALUES, VALUES)
def test_scores_stay_between_zero_and_one(answered: dict[str, int], reference: dict[str, int]) -> None:
    scores = challenge_scores(answered, reference, ordered=True)
    assert scores.keys() == {"set_P", "set_recall", "set_F", "ndcg"}
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in scores.values())
    assert (scores["set_F"] == 0.0) == (not any(answered.get(k) is not None and v for k, v in reference.items()))


@given(VALUES.filter(lambda values: any(values.values())))
def test_the_reference_itself_is_perfect_unless_it_holds_irrelevant_values(reference: dict[str, int]) -> None:
    relevant = {key: 1 for key, value in reference.items() if value}
    assert challenge_scores(relevant, reference, ordered=True) == pytest.approx(
        {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0, "ndcg": 1.0}
    )


def test_averages_of_both_years() -> None:
    reference = {f"s:{n}-{code}": {"a": 1} for n in (1, 2) for code in ("en", "de")}
    answered = {"s:1-en": {"a": 1}, "s:1-de": {}, "s:2-en": {"a": 1, "z": 1}, "s:2-de": {"a": 1}}
    ordered = {"s:2-en", "s:2-de"}
    ndcg = 1 / math.log2(3)
    new = evaluate_sets(answered, reference, ordered, ("en", "de"))
    assert list(new) == [*answered, "average", "average-en", "average-de"]
    assert new["average"]["set_F"] == pytest.approx((1 + 0 + 2 / 3 + 1) / 4)
    assert new["average"]["ndcg"] == pytest.approx((ndcg + 1) / 2)
    assert new["average"]["set_F_ndcg"] == pytest.approx((1 + 0 + ndcg + 1 + (ndcg + 1) / 2) / 5)
    assert new["average-en"]["set_F_ndcg"] == pytest.approx((1 + ndcg + ndcg) / 3)
    old = evaluate_sets(answered, reference, ordered, ("en", "de"), "2025")
    assert list(old) == [*answered, "average"]
    assert old["average"]["set_F-en"] == pytest.approx((1 + 2 / 3) / 2)
    assert old["average"]["set_F_ndcg-en"] == pytest.approx((1 + ndcg) / 2)
    assert {**new["average"]}.items() <= old["average"].items()


def test_the_average_of_ndcg_is_taken_in_the_order_of_the_reference() -> None:
    """Value made with the challenge's client 2.1.0; in the order of the answers its last digit is another."""
    reference = {f"s:{n}-en": {f"v{i}": 1 for i in range(n)} for n in range(1, 7)}
    answered = {name: {f"v{i}": 1 for i in range(0, len(values), 2)} | {"w": 1} for name, values in reference.items()}
    backwards = dict(reversed(answered.items()))
    assert evaluate_sets(backwards, reference, set(reference))["average"]["ndcg"] == 0.49869613409546293


def test_odd_values_are_scored_as_by_the_client_of_the_challenge() -> None:
    """Values made with its client 2.1.0 on pytrec_eval-terrier 0.5.11, the empty reference counted as by 0.5."""
    waves = {"sea lettuce": 1, "sea\nlettuce": 1, "s\u00f8l": 1, "\uffff": 1, "\U0001f30a": 1, "": 1, "_:b0": 1}
    reference = {
        "tide:1-en": {"kelp": 1, "wrack": 1, "dulse": 1},
        "tide:2-en": {"true": 1},
        "tide:3-en": {"true": 0},
        "tide:4-en": {},
        "tide:5-en": {"3": 1, "3.0": 1, "03": 1},
        "tide:6-en": waves,
        "tide:7-en": dict.fromkeys("abcde", 1),
        "tide:8-en": {"m": 1, "n": 1},
    }
    answered = {
        "tide:8-en": {"m": 1, "z": 1, "y": 1},
        "tide:7-en": dict.fromkeys("abxez", 1),
        "tide:6-en": dict.fromkeys(["sea lettuce", "sea\rlettuce", "\U0001f30a", "S\u00d8L", "\uffff", ""], 1),
        "tide:5-en": {"3": 1},
        "tide:4-en": {"kelp": 1},
        "tide:3-en": {"true": 0},
        "tide:2-en": {"true": 0},
        "tide:1-en": {"wrack": 1, "gull": 1, "kelp": 1, "crab": 1},
    }
    rows = evaluate_sets(answered, reference, [f"tide:{n}-en" for n in (1, 5, 6, 7, 8)])
    assert rows == {
        "tide:8-en": {"set_P": 0.3333333333333333, "set_recall": 0.5, "set_F": 0.4, "ndcg": 0.3065735963827292},
        "tide:7-en": {"set_P": 0.6, "set_recall": 0.6, "set_F": 0.6, "ndcg": 0.4468535299918563},
        "tide:6-en": {
            "set_P": 0.6666666666666666,
            "set_recall": 0.5714285714285714,
            "set_F": 0.6153846153846153,
            "ndcg": 0.6836550817096436,
        },
        "tide:5-en": {"set_P": 1.0, "set_recall": 0.3333333333333333, "set_F": 0.5, "ndcg": 0.46927872602275644},
        "tide:4-en": {"set_P": 0.0, "set_recall": 0.0, "set_F": 0.0},
        "tide:3-en": {"set_P": 0.0, "set_recall": 0.0, "set_F": 0.0},
        "tide:2-en": {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0},
        "tide:1-en": {
            "set_P": 0.5,
            "set_recall": 0.6666666666666666,
            "set_F": 0.5714285714285715,
            "ndcg": 0.7653606369886217,
        },
        "average": {
            "set_P": 0.5125,
            "set_recall": 0.4589285714285714,
            "set_F": 0.4608516483516484,
            "ndcg": 0.5343443142191214,
            "set_F_ndcg": 0.46734065392385876,
        },
    }
    assert list(rows) == [*answered, "average"]


def test_only_answered_questions_count_as_in_the_challenge() -> None:
    reference = {"s:1-en": {"a": 1}, "s:2-en": {"a": 1}}
    rows = evaluate_sets({"s:2-en": {"a": 1}, "s:9-en": {"a": 1}}, reference)
    assert rows == {
        "s:2-en": {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0},
        "average": {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0},
    }
    assert evaluate_sets({}, reference) == {}


def test_agreement_tells_each_difference() -> None:
    found = agreement({"q": {"set_F": 0.5}, "r": {}}, {"q": {"set_F": 0.25, "ndcg": 1.0}})
    assert (found.equal, found.total) == (0, 3)
    assert found.different == (
        "q set_F: 0.5, published 0.25",
        "q ndcg: missing, published 1.0",
        "r: not in the published file",
    )


def published_files() -> list[Path]:
    """Recorded evaluations whose result sets are there, too."""
    files = sorted(CHALLENGE.glob("results/*/*_eval.json"))
    return [file for file in files if file.with_name(file.name.replace("_eval", "_system_result_set")).is_file()]


@pytest.mark.skipif(not published_files(), reason="the recorded systems of TEXT2SPARQL 2025 are not here")
@pytest.mark.parametrize("file", published_files(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_published_values_to_the_bit(file: Path) -> None:
    data_set = file.name.partition("_")[0]
    published = json.loads(file.read_text())
    answered = json.loads(file.with_name(f"{data_set}_system_result_set.json").read_text())
    reference = json.loads((CHALLENGE / f"benchmark/{data_set}_true_result_set.json").read_text())
    if answered == reference:
        pytest.skip("the published result sets are a copy of the reference")
    questions = yaml.safe_load(QUESTIONS[data_set].read_text())["questions"]
    ordered = {
        f"{data_set}:{question['id']}-{code}"
        for question in questions
        if "RESULT_ORDER_MATTERS" in question.get("features", ())
        for code in question["question"]
    }
    languages = [key.removeprefix("set_F-") for key in published["average"] if key.startswith("set_F-")]
    found = agreement(evaluate_sets(answered, reference, ordered, languages, "2025"), published)
    assert found.different == ()
    assert found.equal == sum(map(len, published.values()))
