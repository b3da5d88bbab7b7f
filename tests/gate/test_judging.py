from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import scipy.stats

from pytest_llmkg.analysis.comparability import Side
from pytest_llmkg.gate import GateResult, judge, parse_rules
from pytest_llmkg.gate.measures import percentile, score_named
from pytest_llmkg.records import Answer, Evaluation, FailedCall, ModelSpec, ScoreSet, Turn, Usage
from tests.builders import DIALOGUE, FLAT, make_transcript, make_turn
from tests.run_pairs import header_of, one_model, side, transcripts_of

if TYPE_CHECKING:
    from tests.run_pairs import Scores

BEFORE = one_model([1.0, 0.8, 0.6, 1.0, 0.9, 0.7, 1.0, 0.5])
WORSE = one_model([0.8, 0.7, 0.5, 0.9, 0.6, 0.6, 0.8, 0.4])


def gate(now: Scores | Side, before: Scores | Side | None, *rules: str) -> GateResult:
    sides = [
        one if isinstance(one, Side) or one is None else side(one, name)
        for one, name in ((now, "this run"), (before, "the baseline"))
    ]
    assert sides[0] is not None
    return judge(sides[0], sides[1], parse_rules(rules, has_baseline=before is not None), seed=1)


def test_equal_runs_pass() -> None:
    result = gate(BEFORE, BEFORE, "significant-drop:0.05", "drop:0", "min:0.5", "errors:0", "max-seconds:1")
    assert result.passed
    assert (result.findings, result.failed) == ((), ())
    assert result.verdicts[0].value == 1.0
    assert (result.run, result.baseline) == ("this-run", "the-baseline")


def test_a_significant_drop_fails() -> None:
    result = gate(WORSE, BEFORE, "significant-drop:0.05")
    assert not result.passed
    (verdict,) = result.verdicts
    # All 8 cases fell: of 2 ** 8 sign patterns one is as far down.
    assert verdict.value == pytest.approx(1 / 256)
    assert (verdict.model, verdict.label, verdict.passed) == ("m", None, False)
    assert "mean 0.6625, was 0.8125: -0.1500" in verdict.text


def test_one_sided_p_by_scipy() -> None:
    now = one_model([0.8, 0.9, 0.5, 0.9, 0.6, 0.8, 0.8, 0.4])
    (verdict,) = gate(now, BEFORE, "significant-drop:0.05").verdicts
    old, new = ([found[0] for found in scores.values()] for scores in (BEFORE, now))
    other = scipy.stats.permutation_test(
        (new, old), lambda a, b: (a - b).mean(), permutation_type="samples", alternative="less"
    )
    assert verdict.value == pytest.approx(other.pvalue)


def test_a_rise_is_no_drop() -> None:
    result = gate(BEFORE, WORSE, "significant-drop:0.49", "drop:0")
    assert result.passed
    assert result.verdicts[0].value == pytest.approx(1 - 1 / 256)


@pytest.mark.parametrize(("limit", "passed"), [("0.15", True), ("0.149", False)])
def test_drop_of_the_mean(limit: str, *, passed: bool) -> None:
    result = gate(WORSE, BEFORE, f"drop:{limit}")
    assert result.passed is passed
    assert result.verdicts[0].value == pytest.approx(-0.15)


def test_label_scope_judges_each_label_by_itself() -> None:
    before = {**one_model([1.0, 1.0], label="A1"), **one_model([1.0, 1.0], label="A2"), **one_model([1.0], label="B")}
    now = {**one_model([0.0, 0.0], label="A1"), **one_model([1.0, 1.0], label="A2"), **one_model([0.0], label="B")}
    result = gate(now, before, "drop:0.5@A*")
    assert [(v.label, v.passed) for v in result.verdicts] == [("A1", False), ("A2", True)]
    # The name of the task stands for all its labels.
    assert [v.label for v in gate(now, before, "drop:0.5@Flat").verdicts] == ["A1", "A2", "B"]


def test_model_scope() -> None:
    before = {**one_model([1.0], "a"), **one_model([1.0], "b")}
    now = {**one_model([0.0], "a"), **one_model([1.0], "b")}
    assert [v.model for v in gate(now, before, "drop:0.5").failed] == ["a"]
    assert gate(now, before, "drop:0.5%b", "min:0.9%b").passed


@pytest.mark.parametrize("rule", ["drop:0.1@Nothing", "drop:0.1%nobody", "min:0.1@Nothing", "min:0.1%nobody"])
def test_a_rule_that_fits_nothing_fails(rule: str) -> None:
    result = gate(BEFORE, BEFORE, rule)
    assert not result.passed
    assert "fits no model or no task variant" in result.verdicts[0].text


def test_holm_over_all_tests_of_the_gate() -> None:
    before = {**one_model([1.0] * 5, "a"), **one_model([1.0] * 5, "b")}
    now = {**one_model([0.5] * 5, "a"), **one_model([1.0] * 5, "b")}
    # One-sided 1 / 32 alone; twice that with the second model in the family.
    assert gate(now, before, "significant-drop:0.05%a").verdicts[0].value == pytest.approx(1 / 32)
    result = gate(now, before, "significant-drop:0.05")
    assert result.verdicts[0].value == pytest.approx(2 / 32)
    assert result.passed
    assert "corrected for 2 tests" in result.verdicts[0].text


def test_power_is_told() -> None:
    now = one_model([0.8, 0.9, 0.5, 1.0, 1.0, 0.6, 1.0, 0.5])
    assert "a drop smaller than" in str(gate(now, BEFORE, "significant-drop:0.05").verdicts[0].note)
    few = gate(one_model([0.5, 0.5, 0.5]), one_model([1.0, 1.0, 1.0]), "significant-drop:0.05")
    assert few.passed
    assert "3 independent values are too few for any drop to be significant" in str(few.verdicts[0].note)
    assert few.verdicts[0].blind
    (told,) = few.findings
    assert told.kind == "note"
    assert told.text == (
        "1 of 1 verdicts of 'significant-drop:0.05' rest on too few values to fail whatever they are; ask more cases, "
        "or add a rule like drop:0.1"
    )
    assert not gate(BEFORE, BEFORE, "significant-drop:0.05").verdicts[0].blind


def test_one_value_only_and_no_value() -> None:
    one = gate(one_model([0.5]), one_model([1.0]), "significant-drop:0.05", "drop:0.1")
    assert [v.passed for v in one.verdicts] == [True, False]
    none = gate(one_model([None]), one_model([None]), "significant-drop:0.05", "drop:0.1", "min:0.1", "max-seconds:1")
    assert not any(v.passed for v in none.verdicts)
    assert none.verdicts[0].text == "no case has a score in both runs"


def test_empty_run() -> None:
    empty = Side("this run", header_of(BEFORE), ())
    rules = "significant-drop:0.05", "drop:0.1", "min:0.1", "errors:0", "max-cost:1", "max-seconds:1"
    result = gate(empty, BEFORE, *rules)
    assert len(result.verdicts) == 6
    assert not any(verdict.passed for verdict in result.verdicts)
    assert any("lacks 8 of 8 dialogues" in finding.text for finding in result.findings)
    nobody = replace(header_of(BEFORE), models=())
    alone = gate(Side("this run", nobody, ()), None, "min:0.1")
    assert alone.verdicts[0].text == "the run holds no dialogue"


def test_missing_case_and_error_fail_unless_allowed() -> None:
    now = {key: value for key, value in BEFORE.items() if key[2] != "c3"} | {("m", "Flat", "c4"): (None,)}
    suite = {"cases": [], "iterations": 1}
    sides = side(now, "this run", **suite), side(BEFORE, "the baseline", **suite)
    result = gate(*sides, "drop:0.5")
    assert not result.passed
    assert not result.failed
    (finding,) = result.findings
    assert finding.kind == "missing"
    assert "lacks 2 of 8 dialogues" in finding.text
    assert "1 not run; 1 ended as errors" in finding.text
    assert "c3, c4" in finding.text
    assert gate(*sides, "drop:0.5", "allow:missing").passed
    assert not gate(*sides, "drop:0.5", "allow:signature").passed
    # A case that is new is missing in the baseline.
    assert not gate(sides[1], sides[0], "drop:0.5").passed


def test_a_label_that_one_run_lacks_can_be_allowed_where_labels_are_judged_by_themselves() -> None:
    before = {**one_model([1.0, 1.0], label="A"), **one_model([1.0, 1.0], label="B")}
    now = one_model([1.0, 1.0], label="A")
    assert not gate(now, before, "drop:0.5@*").passed
    result = gate(now, before, "drop:0.5@*", "allow:missing")
    assert result.passed
    assert [(verdict.label, verdict.passed) for verdict in result.verdicts] == [("A", True)]
    assert "missing" in {finding.kind for finding in result.findings}
    # What is left must be judged all the same.
    assert not gate(one_model([0.0, 1.0], label="B"), before, "drop:0.2@*", "allow:missing").passed


def test_missing_model_fails_either_way() -> None:
    both = {**one_model([1.0], "a"), **one_model([1.0], "b")}
    alone = one_model([1.0], "a")
    for now, before, lacking in ((alone, both, "this run"), (both, alone, "the baseline")):
        result = gate(now, before, "drop:0.5")
        assert not result.passed
        assert f"model 'b' is missing in {lacking}" in result.findings[0].text
        assert gate(now, before, "drop:0.5", "allow:missing").passed
    assert "no dialogues of the same model" in gate(one_model([1.0], "x"), alone, "drop:0.5").verdicts[0].text


def test_planned_dialogues_that_were_not_held_fail_without_a_baseline() -> None:
    one = side(BEFORE)
    planned = replace(one.header, settings={**one.header.settings, "planned": {"m": {"Flat": 10}}})
    result = gate(replace(one, header=planned), None, "min:0.1")
    assert not result.passed
    assert "2 of 10 planned dialogues" in result.findings[0].text
    assert not gate(replace(one, truncated=True), None, "min:0.1").passed
    assert gate(one, None, "min:0.1").passed


def test_changed_signature_fails_unless_allowed() -> None:
    for changed in ({"seed": 1}, {"max_turns": 2}, {"infos": (replace(FLAT, version="2"),)}):
        now = side(BEFORE, "this run", **changed)
        result = gate(now, BEFORE, "drop:0")
        assert not result.passed
        assert [finding.kind for finding in result.findings] == ["signature"]
        assert gate(now, BEFORE, "drop:0", "allow:signature").passed


def _signed(signature: str) -> Turn:
    return replace(make_turn({}), evaluation=Evaluation("scored", (ScoreSet(signature, {"f1": 1.0}),)))


def test_other_scoring_rules_fail_unless_allowed() -> None:
    now = side(BEFORE)
    old, new = (
        [replace(one, turns=(_signed(f"rules:published|engines:{engine}|llmkg:{version}"),)) for one in now.transcripts]
        for engine, version in (("rdflib-8", 6), ("rdflib-9", 7))
    )
    result = gate(replace(now, transcripts=new), replace(now, transcripts=old), "drop:0")
    assert [finding.kind for finding in result.findings] == ["signature"]
    assert "engines:rdflib-9, were by" in result.findings[0].text
    assert "llmkg" not in result.findings[0].text


def test_other_prices_fail_unless_allowed() -> None:
    spec = ModelSpec("m", "m", "scripted", price_in=1.0, price_out=2.0)
    sides = side(BEFORE, "this run", models=[replace(spec, price_in=1.5)]), side(BEFORE, "before", models=[spec])
    result = gate(*sides, "drop:0")
    assert not result.passed
    assert [(f.kind, "price_in 1.5, was 1.0" in f.text) for f in result.findings] == [("prices", True)]
    assert gate(*sides, "drop:0", "allow:prices").passed


def test_other_settings_of_a_model_are_another_signature() -> None:
    spec = ModelSpec("m", "m", "scripted", temperature=0.0, rpm=3)
    sides = side(BEFORE, models=[replace(spec, temperature=1.0, rpm=9)]), side(BEFORE, "before", models=[spec])
    assert [(f.kind, f.text) for f in gate(*sides, "drop:0").findings] == [
        ("signature", "model 'm' has other settings: temperature")
    ]


def test_min_of_a_named_score() -> None:
    talk = make_transcript(make_turn({"combined": 0.5}), make_turn({"combined": 0.9}), info=DIALOGUE, model="m")
    now = Side("this run", replace(header_of(BEFORE), tasks=(FLAT, DIALOGUE)), (talk, *side(BEFORE).transcripts))
    assert score_named(talk, DIALOGUE, "combined") == 0.9
    assert score_named(talk, DIALOGUE, "0_combined") == 0.5
    assert score_named(talk, DIALOGUE, "f1") is None
    by_name = {
        name: gate(now, None, f"min:{name}:0.6").verdicts[0].value
        for name in ("combined", "mean_combined", "f1", "last_combined")
    }
    assert by_name == pytest.approx({"combined": 0.9, "mean_combined": 0.7, "f1": 0.8125, "last_combined": 0.9})
    # The headline's mean: each label counts the same.
    assert gate(now, None, "min:0.6").verdicts[0].value == pytest.approx((0.9 + 0.8125) / 2)
    missing = gate(now, None, "min:typo:0.6").verdicts[0]
    assert (missing.passed, missing.text) == (False, "no dialogue has the typo")


def test_errors() -> None:
    now = one_model([1.0, None, None])
    assert gate(now, None, "errors:2").passed
    assert not gate(now, None, "errors:1").passed
    assert gate(now, None, "errors:1").verdicts[0].text == "2 of 3 dialogues ended as errors (at most 1)"
    assert not gate(now, None, "errors:1@Flat").passed


def test_cost_counts_every_call_and_fails_when_unknown() -> None:
    failed = FailedCall("broken", 500, Usage(cost=0.25))
    turn = make_turn({"f1": 1.0}, usage=Usage(cost=1.0))
    dialogue = make_transcript(replace(turn, answer=replace(turn.answer, failed_calls=(failed,))))
    dialogue = replace(dialogue, unevaluated=Answer("x", usage=Usage(cost=0.5)), failed_calls=(failed,))
    now = Side("this run", header_of(one_model([1.0])), (dialogue,))
    assert gate(now, None, "max-cost:2").verdicts[0].value == pytest.approx(2.0)
    assert not gate(now, None, "max-cost:1.9").passed
    unknown = gate(one_model([1.0]), None, "max-cost:100")
    assert not unknown.passed
    assert "price of 1 answers is unknown" in unknown.verdicts[0].text


def test_seconds_are_those_of_answering() -> None:
    turn = make_turn({"f1": 1.0})
    dialogues = tuple(
        make_transcript(
            *(replace(turn, answer=replace(turn.answer, seconds=number / 2)) for _ in (1, 2)),
            case=f"c{number}",
            seconds=999.0,
        )
        for number in range(1, 41)
    )
    now = Side("this run", header_of(one_model([1.0])), dialogues)
    verdict = gate(now, None, "max-seconds:38").verdicts[0]
    assert (verdict.value, verdict.passed) == (38.0, True)
    assert not gate(now, None, "max-seconds:37.9").passed


@pytest.mark.parametrize(
    ("values", "share", "found"), [([3.0], 0.95, 3.0), ([1.0, 2.0], 0.5, 1.0), ([4.0, 1.0, 3.0, 2.0], 0.75, 3.0)]
)
def test_percentile(values: list[float], share: float, found: float) -> None:
    assert percentile(values, share) == found


def test_errors_that_no_rule_judges_are_findings() -> None:
    now = one_model([0.9, None, None, None])
    for rule in ("min:0.8", "max-seconds:9"):
        result = gate(now, None, rule)
        assert not result.passed
        assert result.findings[0].text == (
            "this run: 3 of 4 dialogues of model 'm' on 'Flat' ended as errors, which no rule errors:N judges"
        )
    assert gate(now, None, "min:0.8", "errors:3").passed
    assert gate(now, None, "min:0.8", "allow:missing").passed
    assert not gate(now, None, "min:0.8", "errors:3%n*").passed
    both = gate(now, now, "significant-drop:0.05")
    assert [finding.kind for finding in both.findings] == ["missing", "note"]
    assert not both.passed
    # Those that the baseline has values of are told once.
    texts = [finding.text for finding in gate(now, one_model([0.9, 0.9, None, None]), "drop:1").findings]
    assert len(texts) == 2
    assert "lacks 1 of 2 dialogues" in texts[0]
    assert "2 of 4 dialogues" in texts[1]


def test_dialogues_without_a_headline_score_cannot_be_judged() -> None:
    scores = one_model([0.9, 0.9])
    found = transcripts_of(scores)
    odd = (found[0], replace(found[1], turns=(make_turn({"other": 1.0}),)))
    this = Side("this run", header_of(scores), odd)
    result = judge(this, None, parse_rules(["min:0.8", "min:f1:0.8"], has_baseline=False), seed=1)
    assert [verdict.passed for verdict in result.verdicts] == [False, True]
    assert "1 evaluated dialogues have no headline score" in result.verdicts[0].text
    assert result.verdicts[1].note == "1 dialogues have no such score and are left out"


@pytest.mark.parametrize("score", [float("inf"), 1e308, -1e308, 10**400])
def test_scores_beyond_all_bounds_are_none(score: float) -> None:
    now = one_model([0.9, 0.9])
    found = transcripts_of(now)
    odd = Side("this run", header_of(now), (found[0], replace(found[1], turns=(make_turn({"f1": score}),))))
    rules = parse_rules(["min:0.5", "drop:0.5", "significant-drop:0.05", "min:f1:0.95"], has_baseline=True)
    result = judge(odd, side(now, "the baseline"), rules, seed=1)
    assert [verdict.passed for verdict in result.verdicts] == [False, True, True, False]
    assert "1 case could not be compared" in str(result.verdicts[1].note)


@pytest.mark.parametrize("cost", [-1.0, 1e308, float("inf")])
def test_prices_below_zero_or_beyond_all_bounds_are_unknown(cost: float) -> None:
    turn = make_turn({"f1": 1.0}, usage=Usage(cost=cost))
    scores = one_model([1.0, 1.0])
    run = Side("this run", header_of(scores), transcripts_of(scores, turns=(turn,)))
    verdict = judge(run, None, parse_rules(["max-cost:1"], has_baseline=False), seed=1).verdicts[0]
    assert not verdict.passed
    assert "the price of 2 answers is unknown" in verdict.text


def test_failed_calls_of_unknown_price_are_told() -> None:
    scores = one_model([1.0])
    turn = make_turn({"f1": 1.0}, usage=Usage(cost=0.5))
    calls = (FailedCall("HTTP 500", 500), FailedCall("time out", None, Usage(cost=0.25)))
    run = Side("this run", header_of(scores), transcripts_of(scores, turns=(turn,), failed_calls=calls))
    verdict = judge(run, None, parse_rules(["max-cost:0.75"], has_baseline=False), seed=1).verdicts[0]
    assert verdict.passed
    assert verdict.note == "what 1 failed calls cost is unknown"
