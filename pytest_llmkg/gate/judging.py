"""Verdicts on a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.changes import put_side_by_side
from pytest_llmkg.analysis.comparability import Finding, Side, compare_sides, gaps_of, same_models
from pytest_llmkg.analysis.values import headline_values
from pytest_llmkg.gate.drops import DropJudge
from pytest_llmkg.gate.measures import answering_seconds, cost_of, mean_score, percentile
from pytest_llmkg.gate.verdicts import GateResult, Verdict
from pytest_llmkg.records import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_llmkg.gate.rules import Rule

__all__ = ["GateResult", "Verdict", "judge"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Scope:
    """What one verdict is on: None stands for all; ``dialogues`` are those of the run."""

    model: str | None
    label: str | None
    dialogues: Sequence[Transcript]


def judge(now: Side, before: Side | None, rules: Sequence[Rule], *, seed: int) -> GateResult:
    """The verdicts of ``rules`` on ``now``, and what was found on the way.

    Args:
        now: the run to judge.
        before: the baseline; None when no rule needs one.
        rules: see `pytest_llmkg.gate.rules.parse_rules`; those that need a baseline fail without one.
        seed: of the permutation tests.
    """
    verdicts: dict[Rule, list[Verdict]] = {}
    tasks = {one.label: one.task for side in (now, before) if side for one in side.transcripts}
    drops = [rule for rule in rules if rule.needs_baseline]
    if drops and before is not None:
        pairs = same_models(before, now)
        old, new = (headline_values(side.transcripts, side.header.tasks) for side in (before, now))
        may_lack = any(rule.kind == "allow" and rule.name == "missing" for rule in rules)
        verdicts |= DropJudge(put_side_by_side(old, new, pairs), tasks, seed, may_lack).judge(drops)
    for rule in rules:
        if rule.kind in _SINGLE:
            verdicts[rule] = [_SINGLE[rule.kind](rule, scope, now) for scope in _scopes(rule, now, tasks)]
    judged = tuple(
        verdict for rule in rules if rule.kind != "allow" for verdict in verdicts.get(rule) or [_nothing(rule, before)]
    )
    return GateResult(
        run=now.header.run,
        baseline=None if before is None else before.header.run,
        rules=tuple(rule.text for rule in rules),
        verdicts=judged,
        findings=_findings(now, before, rules, judged),
        allowed=tuple(rule.name for rule in rules if rule.kind == "allow" and rule.name),
    )


def _findings(now: Side, before: Side | None, rules: Sequence[Rule], judged: Sequence[Verdict]) -> tuple[Finding, ...]:
    found = list(gaps_of(now) if before is None else compare_sides(before, now))
    if not any(rule.kind == "errors" and rule.label is None and rule.model is None for rule in rules):
        found += _lost(now, before)
    for rule in rules:
        own = [verdict for verdict in judged if verdict.rule == rule.text]
        if blind := sum(verdict.blind for verdict in own):
            text = f"{blind} of {len(own)} verdicts of {rule.text!r} rest on too few values to fail whatever they are"
            found.append(Finding("note", f"{text}; ask more cases, or add a rule like drop:0.1"))
    return tuple(found)


def _lost(now: Side, before: Side | None) -> Iterator[Finding]:
    """Dialogues that ended as errors and are judged by no rule, but for those that the baseline has values of.

    Those are told as missing by `compare_sides`.
    """
    told = {_dialogue(one) for one in (before.transcripts if before else ()) if one.outcome != "error"}
    asked = Counter((one.model, one.label) for one in now.transcripts)
    lost = Counter(
        (one.model, one.label) for one in now.transcripts if one.outcome == "error" and _dialogue(one) not in told
    )
    for (model, label), number in sorted(lost.items()):
        text = f"{number} of {asked[model, label]} dialogues of model {model!r} on {label!r} ended as errors"
        yield Finding("missing", f"{now.name}: {text}, which no rule errors:N judges")


def _dialogue(one: Transcript) -> tuple[str, str, str, int]:
    return one.model, one.label, one.case, one.iteration


def _nothing(rule: Rule, before: Side | None) -> Verdict:
    if rule.needs_baseline and before is None:
        text = "no baseline to compare with"
    elif rule.label is None and rule.model is None:
        text = "the run holds no dialogue" if before is None else "the two runs have no dialogues of the same model"
    else:
        text = "the rule fits no model or no task variant of the run"
    return Verdict(rule.text, None, None, passed=False, value=None, limit=rule.limit, text=text)


def _scopes(rule: Rule, now: Side, tasks: Mapping[str, str]) -> Iterator[_Scope]:
    """What ``rule`` judges: each model by itself, unless it is about the whole run; each label that it names."""
    taken = [one for one in now.transcripts if rule.takes_model(one.model)]
    own = {one.label for one in taken}
    labels = [label for label in sorted(own) if rule.takes_label(label, tasks[label])]
    models = [None] if rule.kind in _OF_THE_RUN else [model for model in now.models if rule.takes_model(model)]
    for label in [None] if rule.label is None else labels:
        for model in models:
            dialogues = [one for one in taken if label in (None, one.label) and model in (None, one.model)]
            if dialogues or label is None:
                yield _Scope(model, label, dialogues)


def _min(rule: Rule, scope: _Scope, now: Side) -> Verdict:
    found = mean_score(scope.dialogues, now.header.tasks, rule.name)
    name = "headline score" if rule.name is None else rule.name
    if found.mean is None:
        return _verdict(rule, scope, None, f"no dialogue has the {name}", passed=False)
    if rule.name is None and found.missing:
        text = f"{found.missing} evaluated dialogues have no {name}, so the mean cannot be judged"
        return _verdict(rule, scope, None, text, passed=False)
    notes = []
    if found.missing:
        notes.append(f"{found.missing} dialogues have no such score and are left out")
    if found.errors:
        notes.append(f"{found.errors} dialogues ended as errors and are left out")
    if found.without:
        notes.append(f"{len(found.without)} task variants have no such score and are left out")
    passed = found.mean >= rule.limit - _ROUNDING
    text = f"mean {name} {found.mean:.4f} of {found.dialogues} dialogues (at least {rule.limit:g})"
    return _verdict(rule, scope, found.mean, text, passed=passed, note="; ".join(notes) or None)


def _errors(rule: Rule, scope: _Scope, _now: Side) -> Verdict:
    errors = sum(one.outcome == "error" for one in scope.dialogues)
    text = f"{errors} of {len(scope.dialogues)} dialogues ended as errors (at most {rule.limit:g})"
    return _verdict(rule, scope, errors, text, passed=bool(scope.dialogues) and errors <= rule.limit)


def _cost(rule: Rule, scope: _Scope, _now: Side) -> Verdict:
    cost = cost_of(scope.dialogues)
    text = f"${cost.known:.4f} for {cost.answers} answers (at most ${rule.limit:g})"
    if cost.unknown:
        text += f"; the price of {cost.unknown} answers is unknown, so the limit cannot be checked"
    note = f"what {cost.failed_unknown} failed calls cost is unknown" if cost.failed_unknown else None
    passed = cost.answers > 0 and not cost.unknown and cost.known <= rule.limit + _ROUNDING
    return _verdict(rule, scope, cost.known, text, passed=passed, note=note)


def _seconds(rule: Rule, scope: _Scope, _now: Side) -> Verdict:
    seconds = answering_seconds(scope.dialogues)
    if not seconds:
        return _verdict(rule, scope, None, "no evaluated dialogue", passed=False)
    value = percentile(seconds, 0.95)
    text = f"95 % of {len(seconds)} dialogues took at most {value:.2f} s of answering (limit {rule.limit:g} s)"
    return _verdict(rule, scope, value, text, passed=value <= rule.limit)


def _verdict(
    rule: Rule, scope: _Scope, value: float | None, text: str, *, passed: bool, note: str | None = None
) -> Verdict:
    return Verdict(
        rule.text, scope.model, scope.label, passed=passed, value=value, limit=rule.limit, text=text, note=note
    )


_SINGLE: Mapping[str, Callable[[Rule, _Scope, Side], Verdict]] = {
    "min": _min,
    "errors": _errors,
    "max-cost": _cost,
    "max-seconds": _seconds,
}
_OF_THE_RUN = {"errors", "max-cost"}
