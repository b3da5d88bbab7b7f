"""The language of the gate's rules: ``RULE[:SCORE][:LIMIT][@LABEL][%MODEL]``, e.g. ``drop:0.02@Text2Sparql*``."""

from __future__ import annotations

import fnmatch
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError
from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["ALLOWED", "DEFAULT_RULE", "RULES_HELP", "Rule", "parse_rules"]

DEFAULT_RULE = "significant-drop:0.05"
"""What is judged when a baseline is given and no rule that judges."""

ALLOWED = ("missing", "signature", "prices")
"""Findings that ``allow:`` can let pass."""

_BASELINE_RULES = ("drop", "significant-drop")

RULES_HELP = (
    "drop:X: the mean score of no model falls by more than X; "
    "significant-drop:ALPHA: no drop is significant (paired one-sided test on the same cases, Holm's correction over "
    "all that is tested); "
    "min:X or min:SCORE:X: the mean of the headline score, or of a score by its published name, is at least X for each "
    "model; "
    "errors:N: at most N dialogues ended as errors; "
    "max-cost:USD: all answers together cost at most that; "
    "max-seconds:S: 95 of 100 dialogues of each model took at most S seconds of answering; "
    "allow:missing, allow:signature, allow:prices: what is missing on one side, was measured otherwise or was priced "
    "otherwise does not fail the gate. "
    "RULE@GLOB judges each matching task variant (by label or task) by itself, RULE%GLOB only matching models, "
    "e.g. drop:0.05@Text2Sparql*%gpt-*"
)
"""For ``--help``."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        text: as it was given.
        kind: e.g. ``drop``.
        limit: its number; 0 for ``allow``.
        name: the score of ``min``, None for the headline; what ``allow`` allows.
        label: glob of task variants that are judged one by one, None for all together.
        model: glob of models, None for all.
    """

    text: str
    kind: str
    limit: float
    name: str | None = None
    label: str | None = None
    model: str | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether it compares with another run."""
        return self.kind in _BASELINE_RULES

    def takes_model(self, model: str) -> bool:
        """Whether it judges ``model``."""
        return self.model is None or fnmatch.fnmatchcase(model, self.model)

    def takes_label(self, label: str, task: str) -> bool:
        """Whether it judges task variant ``label`` of ``task``, as ``--tasks`` chooses them."""
        return self.label is None or any(fnmatch.fnmatchcase(name, self.label) for name in (label, task))


def parse_rules(texts: Iterable[str], *, has_baseline: bool) -> tuple[Rule, ...]:
    """The rules of ``texts``; with a baseline, and no rule that judges, the default one comes first.

    Raises:
        UserError: an unknown rule, a wrong limit, or a rule that needs a baseline without one.
    """
    rules = [_parse(text) for text in dict.fromkeys(part.strip() for part in texts)]
    if has_baseline and all(rule.kind == "allow" for rule in rules):
        rules.insert(0, _parse(DEFAULT_RULE))
    for rule in rules:
        if rule.needs_baseline and not has_baseline:
            raise UserError(f"gate rule {rule.text!r} compares with a baseline, but none is given; name one")
    if rules and all(rule.kind == "allow" for rule in rules):
        raise UserError("the gate's rules only allow and judge nothing; add one that judges, e.g. min:0.8")
    return tuple(rules)


def _parse(text: str) -> Rule:
    kind, colon, rest = text.partition(":")
    if kind not in (*_LIMITS, "allow"):
        raise unknown_name("gate rule", kind, (*_LIMITS, "allow"))
    if kind == "allow":
        if rest not in ALLOWED:
            raise unknown_name("finding to allow", rest, ALLOWED)
        return Rule(text, kind, 0, rest)
    score = r"(?:(?P<score>[^:%]+):)?" if kind == "min" else ""
    pattern = rf"{score}(?P<limit>[-+.0-9eE]+)(?:@(?P<label>[^%]+))?(?:%(?P<model>.+))?"
    match = re.fullmatch(pattern, rest) if colon else None
    if match is None:
        raise UserError(f"gate rule {text!r} is not of the form {_FORMS.get(kind, f'{kind}:NUMBER')}[@LABEL][%MODEL]")
    found = match.groupdict()
    return Rule(text, kind, _limit(text, kind, found["limit"]), found.get("score"), found["label"], found["model"])


def _limit(text: str, kind: str, number: str) -> float:
    fits, wanted = _LIMITS[kind]
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit) or not fits(limit):
        raise UserError(f"gate rule {text!r}: expected {wanted}, found {number!r}")
    return limit


_FORMS = {"min": "min:[SCORE:]NUMBER"}
_LIMITS: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "drop": (lambda x: x >= 0, "a number from 0"),
    "significant-drop": (lambda x: 0 < x < 0.5, "a level above 0 and below 0.5"),
    "min": (lambda _: True, "a number"),
    "errors": (lambda x: x >= 0 and x == int(x), "a whole number from 0"),
    "max-cost": (lambda x: x >= 0, "an amount of US dollars"),
    "max-seconds": (lambda x: x > 0, "a number of seconds"),
}
