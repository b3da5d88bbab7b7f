"""What the gate hands back."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_llmkg.analysis.comparability import Finding

__all__ = ["GateResult", "Verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one rule is kept by one model under one label.

    Attributes:
        rule: as it was given.
        model: None for all models together.
        label: task variant, None for all together.
        passed: whether the rule is kept.
        value: what was measured: the difference of means (drop), the corrected one-sided p (significant-drop), a mean
            score, a number of errors, US dollars or seconds; None when it could not be.
        limit: the rule's number.
        text: one sentence.
        note: what to know beside it, else None.
        blind: passed, and would have whatever the scores were, since they are too few.
    """

    rule: str
    model: str | None
    label: str | None
    passed: bool
    value: float | None
    limit: float
    text: str
    note: str | None = None
    blind: bool = False


@dataclass(frozen=True, slots=True)
class GateResult:
    """All verdicts on one run.

    Attributes:
        run, baseline: names of the runs; no baseline was given when it is None.
        rules: as they were given, with the default one if it was taken.
        verdicts: at least one for each rule that judges.
        findings: what is missing, or was measured or priced otherwise.
        allowed: kinds of findings that do not fail the gate.
    """

    run: str
    baseline: str | None
    rules: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    allowed: tuple[str, ...]

    def hinders(self, finding: Finding) -> bool:
        """Whether ``finding`` fails the gate."""
        return finding.kind != "note" and finding.kind not in self.allowed

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The rules that are not kept."""
        return tuple(verdict for verdict in self.verdicts if not verdict.passed)

    @property
    def passed(self) -> bool:
        """Whether all rules are kept and no finding fails the gate."""
        return bool(self.verdicts) and not self.failed and not any(map(self.hinders, self.findings))
