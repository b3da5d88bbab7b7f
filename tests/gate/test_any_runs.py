"""Whatever two runs hold, there are verdicts and a comparison, without NaN and without an exception."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.analysis.comparability import same_models
from pytest_llmkg.gate import judge, parse_rules
from pytest_llmkg.reporting.comparison import build_comparison
from pytest_llmkg.reporting.comparison_page import render_comparison
from pytest_llmkg.reporting.comparison_text import comparison_json, comparison_markdown
from pytest_llmkg.reporting.verdicts import verdict_lines, verdicts_json, verdicts_junit, verdicts_markdown
from tests.run_pairs import Scores, side

RULES = parse_rules(
    [
        *("significant-drop:0.05", "significant-drop:0.4@*", "drop:0", "drop:0.1@A", "min:0.5", "min:f1:0.5@*"),
        *("min:nothing:1", "errors:0", "max-cost:1", "max-seconds:1", "allow:missing"),
    ],
    has_baseline=True,
)
score = st.none() | st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1, allow_subnormal=False)
runs = st.dictionaries(
    st.tuples(st.sampled_from("mn"), st.sampled_from("AB"), st.sampled_from(["c1", "c2", "c3", "c4"])),
    st.lists(score, min_size=1, max_size=3).map(tuple),
    max_size=12,
)


@settings(max_examples=60)
@given(runs, runs)
def test_verdicts_and_comparison(old: Scores, new: Scores) -> None:
    before, now = side(old, "the baseline"), side(new, "this run")
    result = judge(now, before, RULES, seed=1)
    assert len({verdict.rule for verdict in result.verdicts}) == len(RULES) - 1
    assert json.dumps(verdicts_json(result), allow_nan=False)
    for text in ("\n".join(verdict_lines(result)), verdicts_markdown(result), verdicts_junit(result)):
        assert "nan" not in text
    view = build_comparison(before, now, same_models(before, now), pages=("a", "b"))
    assert json.loads(comparison_json(view))["schema"] == 1
    for text in (comparison_markdown(view), render_comparison(view, datetime.now(UTC))):
        assert "nan" not in text


@settings(max_examples=30)
@given(runs)
def test_a_run_against_itself_never_drops(scores: Scores) -> None:
    result = judge(side(scores, "now"), side(scores, "before"), RULES, seed=1)
    assert all(finding.kind == "note" for finding in result.findings)
    dropped = [verdict for verdict in result.failed if "drop" in verdict.rule and verdict.value is not None]
    assert dropped == []
