from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.errors import UserError
from pytest_llmkg.gate import DEFAULT_RULE, RULES_HELP, Rule, parse_rules
from pytest_llmkg.gate.rules import ALLOWED


def parse(*texts: str, baseline: bool = True) -> list[Rule]:
    return list(parse_rules(texts, has_baseline=baseline))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("drop:0.02", Rule("drop:0.02", "drop", 0.02)),
        ("drop:0", Rule("drop:0", "drop", 0.0)),
        ("significant-drop:0.05", Rule("significant-drop:0.05", "significant-drop", 0.05)),
        ("min:0.8", Rule("min:0.8", "min", 0.8)),
        ("min:combined:0.8", Rule("min:combined:0.8", "min", 0.8, "combined")),
        ("min:max_combined@2:0.8", Rule("min:max_combined@2:0.8", "min", 0.8, "max_combined@2")),
        ("min:f1@2:.5@Text*%gpt:7b@x", Rule("min:f1@2:.5@Text*%gpt:7b@x", "min", 0.5, "f1@2", "Text*", "gpt:7b@x")),
        ("errors:3", Rule("errors:3", "errors", 3.0)),
        ("max-cost:1.5%a/*", Rule("max-cost:1.5%a/*", "max-cost", 1.5, None, None, "a/*")),
        ("max-seconds:1e1@A", Rule("max-seconds:1e1@A", "max-seconds", 10.0, None, "A")),
    ],
)
def test_rules(text: str, rule: Rule) -> None:
    assert parse(text) == [rule]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("errors:\uff11", "is not of the form errors:NUMBER"),
        ("drip:0.1", "did you mean 'drop'"),
        ("", "unknown gate rule ''"),
        ("drop", "not of the form drop:NUMBER"),
        ("drop:", "not of the form"),
        ("drop:-0.1", "a number from 0"),
        ("drop:much", "not of the form"),
        ("drop:1e999", "a number from 0"),
        ("drop:..", "a number from 0"),
        ("significant-drop:0.5", "a level above 0 and below 0.5"),
        ("significant-drop:0", "a level above 0 and below 0.5"),
        ("errors:1.5", "a whole number"),
        ("max-seconds:0", "a number of seconds"),
        ("min:a:b:0.5", "min:[SCORE:]NUMBER"),
        ("allow:everything", "unknown finding to allow"),
        ("drop:0.1@", "not of the form"),
    ],
)
def test_slips_are_told(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_default_rule() -> None:
    assert [rule.text for rule in parse()] == [DEFAULT_RULE]
    assert [rule.text for rule in parse("allow:missing")] == [DEFAULT_RULE, "allow:missing"]
    assert [rule.text for rule in parse("errors:0", "allow:missing", "errors:0")] == ["errors:0", "allow:missing"]
    assert parse(baseline=False) == []


@pytest.mark.parametrize("text", ["drop:0.1", "significant-drop:0.05"])
def test_comparisons_need_a_baseline(text: str) -> None:
    with pytest.raises(UserError, match="none is given"):
        parse(text, baseline=False)


def test_rules_that_judge_nothing() -> None:
    with pytest.raises(UserError, match="judge nothing"):
        parse("allow:missing", baseline=False)


def test_scopes() -> None:
    rule = parse("drop:0.1@Text2Sparql*%gpt-[45]*")[0]
    assert rule.takes_label("Text2SparqlOrga", "x")
    assert rule.takes_label("orga", "Text2SparqlList")
    assert not rule.takes_label("text2sparql", "x")
    assert rule.takes_model("gpt-4o")
    assert not rule.takes_model("gpt-3")
    everything = parse("drop:0.1")[0]
    assert everything.takes_label("any", "task")
    assert everything.takes_model("model")


def told(text: str) -> str | None:
    """What is said of a slip; None for a rule."""
    try:
        parse(text)
    except UserError as error:
        return str(error)
    return None


@given(st.text(max_size=30) | st.from_regex(r"(drop|min|errors|allow):[\w.:@%-]{0,12}", fullmatch=True))
def test_any_text_is_a_rule_or_told(text: str) -> None:
    said = told(text)
    assert said or parse(text)[-1].text == text.strip()


def test_help_names_every_rule() -> None:
    for kind in ("drop:", "significant-drop:", "min:", "errors:", "max-cost:", "max-seconds:"):
        assert kind in RULES_HELP
    assert all(f"allow:{kind}" in RULES_HELP for kind in ALLOWED)
