"""The gate: rules that a run must keep, by itself or against a baseline, and the verdicts on them.

Nothing here reads a file or ends a program: two runs go in, verdicts and findings come out. A rule that cannot be
judged is not kept: what is missing never passes in silence.
"""

from pytest_llmkg.gate.judging import GateResult, Verdict, judge
from pytest_llmkg.gate.rules import DEFAULT_RULE, RULES_HELP, Rule, parse_rules

__all__ = ["DEFAULT_RULE", "RULES_HELP", "GateResult", "Rule", "Verdict", "judge", "parse_rules"]
