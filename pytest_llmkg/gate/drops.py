"""Verdicts of the rules that compare with a baseline: ``drop`` and ``significant-drop``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.analysis.changes import SideBySide, compare_models
from pytest_llmkg.analysis.power import detectable
from pytest_llmkg.analysis.signflip import holm
from pytest_llmkg.gate.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.analysis.paired import Comparison
    from pytest_llmkg.gate.rules import Rule

__all__ = ["DropJudge", "one_sided"]

_ROUNDING = 1e-9
_POWER = 0.8


def one_sided(comparison: Comparison) -> float | None:
    """The p-value of "no drop" (first minus second is not below 0), from the two-sided one; None without a test.

    Under the null hypothesis each sign pattern is as likely as its opposite, so each tail holds half of the p-value.
    """
    mean = comparison.difference.mean
    if comparison.p is None or mean is None:
        return None
    if abs(mean) <= _ROUNDING:
        return 1.0
    return comparison.p / 2 if mean < 0 else 1 - comparison.p / 2


@dataclass(frozen=True, slots=True)
class DropJudge:
    """Judges drops; each comparison is made once, however many rules ask for it.

    Attributes:
        both: the values of the two runs.
        tasks: label to task.
        seed: of the permutation tests.
        may_lack: whether a label that one of the runs lacks is passed over; it is a finding all the same.
    """

    both: SideBySide
    tasks: Mapping[str, str]
    seed: int
    may_lack: bool = False

    def judge(self, rules: Sequence[Rule]) -> dict[Rule, list[Verdict]]:
        """The verdicts of ``rules``; a rule that fits nothing has none."""
        made: dict[str | None, tuple[Comparison, ...]] = {}
        found = {rule: self._compared(rule, made) for rule in rules}
        tested = [one for rule, row in found.items() if rule.kind == "significant-drop" for _, one in row]
        corrected = iter(holm(one_sided(one) for one in tested))
        verdicts: dict[Rule, list[Verdict]] = {}
        for rule, row in found.items():
            verdicts[rule] = [
                _drop(rule, label, one)
                if rule.kind == "drop"
                else _significant(rule, label, one, next(corrected), len(tested))
                for label, one in row
            ]
        return verdicts

    def _compared(
        self, rule: Rule, made: dict[str | None, tuple[Comparison, ...]]
    ) -> list[tuple[str | None, Comparison]]:
        """What ``rule`` judges: label (None for all) and comparison of a model, which comes first."""
        own = {label for _, label, _ in self.both.values.by_case}
        labels = [label for label in sorted(own) if rule.takes_label(label, self.tasks.get(label, ""))]
        chosen = [number for number, (_, model) in enumerate(self.both.pairs) if rule.takes_model(model)]
        found: list[tuple[str | None, Comparison]] = []
        for label in [None] if rule.label is None else labels:
            if label not in made:
                made[label] = compare_models(self.both, seed=self.seed, labels=None if label is None else {label})
            found += [(label, made[label][number]) for number in chosen]
        # A label that a model was never asked in either run is nothing to judge.
        return [
            (label, one)
            for label, one in found
            if label is None or one.cases or (one.unmatched.total and not self.may_lack)
        ]


def _drop(rule: Rule, label: str | None, one: Comparison) -> Verdict:
    mean = one.difference.mean
    if mean is None:
        return _no_case(rule, label, one)
    text = f"{_change(one)} (may fall by {rule.limit:g})"
    passed = -mean <= rule.limit + _ROUNDING
    return Verdict(
        rule.text, one.first, label, passed=passed, value=mean, limit=rule.limit, text=text, note=_left_out(one)
    )


def _significant(rule: Rule, label: str | None, one: Comparison, p: float | None, tests: int) -> Verdict:
    if p is None:
        return _no_case(rule, label, one)
    passed = p > rule.limit
    corrected = f", corrected for {tests} tests" if tests > 1 else ""
    text = f"{_change(one)}; one-sided p {p:.4f}{corrected} (a drop when at most {rule.limit:g})"
    notes = [_left_out(one), _blind_spot(one, rule.limit, tests) if passed else None]
    return Verdict(
        rule.text,
        one.first,
        label,
        passed=passed,
        value=p,
        limit=rule.limit,
        text=text,
        note=" ".join(note for note in notes if note) or None,
        blind=passed and _is_blind(one, rule.limit, tests),
    )


def _no_case(rule: Rule, label: str | None, one: Comparison) -> Verdict:
    text = "no case has a score in both runs"
    return Verdict(rule.text, one.first, label, passed=False, value=None, limit=rule.limit, text=text)


def _change(one: Comparison) -> str:
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    interval = "" if low is None or high is None else f" [{low:+z.4f}, {high:+z.4f}]"
    means = f"mean {one.first_mean:.4f}, was {one.second_mean:.4f}"
    return f"{means}: {mean:+z.4f}{interval} on {_number(one.cases, 'case')}"


def _left_out(one: Comparison) -> str | None:
    return f"{_number(one.unmatched.total, 'case')} could not be compared." if one.unmatched.total else None


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _is_blind(one: Comparison, alpha: float, tests: int) -> bool:
    """Whether even a drop of all values could not be significant: 0.5^n is the smallest p of n values."""
    return bool(0.5**one.difference.clusters > alpha / tests)


def _blind_spot(one: Comparison, alpha: float, tests: int) -> str:
    """What the test could not have seen; the first step of Holm's correction tests at alpha by the number of tests."""
    level, units = alpha / tests, one.difference.clusters
    if _is_blind(one, alpha, tests):
        return f"{units} independent values are too few for any drop to be significant."
    # A one-sided test at this level rejects drops as often as a two-sided one at twice the level.
    found = detectable(one.difference, alpha=2 * level, power=_POWER) if 2 * level < _POWER else None
    if found is None or found.difference is None:
        reason = "the level is too high" if found is None else found.reason
        return f"How small a drop could be seen is unknown: {reason}."
    return f"With these {units} values, a drop smaller than {found.difference:.3f} is likely to go unseen."
