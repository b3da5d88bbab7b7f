"""pass@k and pass^k: can it at all, and can it every time.

With n answers to a case, c of them good: pass@k is the chance that at least one of k answers drawn from them is good,
``1 - C(n-c, k) / C(n, k)`` (Chen et al. 2021, Evaluating Large Language Models Trained on Code, section 2.1); pass^k is
the chance that all k are good, ``C(c, k) / C(n, k)`` (Yao et al. 2024, tau-bench, section 3). Both are unbiased for
k answers of the model; ``1 - (1 - c/n) ** k`` would not be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from pytest_llmkg.analysis.values import CaseValues

__all__ = ["PassRow", "pass_all", "pass_any", "pass_rows"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PassRow:
    """One model under one label, or over all its labels.

    Attributes:
        model: its name.
        label: None for the mean over labels, each with the same weight.
        k: number of answers.
        threshold: an answer is good when its score is at least this.
        any_of: pass@k, None when no case has k values.
        all_of: pass^k, likewise.
        cases: number of cases with at least k values, which are those counted.
        short: number of cases with fewer, which are left out.
        labels: number of labels in the mean; 1 or 0 for a single label.
        reason: why there is no number or what it leaves out, else None.
    """

    model: str
    label: str | None
    k: int
    threshold: float
    any_of: float | None
    all_of: float | None
    cases: int
    short: int
    labels: int
    reason: str | None = None


def pass_any(n: int, good: int, k: int) -> float:
    """pass@k of one case with ``n`` answers of which ``good`` are good.

    Raises:
        ValueError: not ``0 <= good <= n`` and ``1 <= k <= n``.
    """
    _check(n, good, k)
    return 1 - math.comb(n - good, k) / math.comb(n, k)


def pass_all(n: int, good: int, k: int) -> float:
    """pass^k of one case with ``n`` answers of which ``good`` are good.

    Raises:
        ValueError: not ``0 <= good <= n`` and ``1 <= k <= n``.
    """
    _check(n, good, k)
    return math.comb(good, k) / math.comb(n, k)


def _check(n: int, good: int, k: int) -> None:
    if not 0 <= good <= n or not 1 <= k <= n:
        raise ValueError(f"{good} good of {n} answers, {k} at a time: needs 0 <= good <= n and 1 <= k <= n")


def pass_rows(values: CaseValues, k: int, threshold: float = 1.0) -> tuple[PassRow, ...]:
    """Rows by model: first the mean over labels, then each label.

    Cases with fewer than k values (asked less often, or lost to errors) are left out and counted.

    Raises:
        UserError: ``k`` is below 1.
    """
    if k < 1:
        raise UserError(f"pass@k needs a k of at least 1, found {k}")
    cells: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for (model, label, _), found in values.by_case.items():
        cells.setdefault(model, {}).setdefault(label, []).append(found)
    rows: list[PassRow] = []
    for model, labels in sorted(cells.items()):
        own = [_label_row(model, label, k, threshold, labels[label]) for label in sorted(labels)]
        rows += [_model_row(model, k, threshold, own), *own]
    return tuple(rows)


def _label_row(model: str, label: str, k: int, threshold: float, cases: list[tuple[float, ...]]) -> PassRow:
    pairs = [(len(found), sum(v >= threshold - _ROUNDING for v in found)) for found in cases if len(found) >= k]
    n, short = len(pairs), len(cases) - len(pairs)
    if not pairs:
        reason = f"none of {short} cases has {k} values"
        return PassRow(model, label, k, threshold, None, None, 0, short, 0, reason)
    any_of = math.fsum(pass_any(*pair, k) for pair in pairs) / n
    all_of = math.fsum(pass_all(*pair, k) for pair in pairs) / n
    left_out = f"{short} of {len(cases)} cases have fewer than {k} values" if short else None
    return PassRow(model, label, k, threshold, any_of, all_of, n, short, 1, left_out)


def _model_row(model: str, k: int, threshold: float, rows: list[PassRow]) -> PassRow:
    any_of = [row.any_of for row in rows if row.any_of is not None]
    all_of = [row.all_of for row in rows if row.all_of is not None]
    cases, short = sum(row.cases for row in rows), sum(row.short for row in rows)
    if not any_of:
        return PassRow(model, None, k, threshold, None, None, 0, short, 0, f"none of {short} cases has {k} values")
    n = len(any_of)
    notes = [f"{len(rows) - n} of {len(rows)} labels have no case with {k} values"] if n < len(rows) else []
    notes += [f"{short} of {cases + short} cases have fewer than {k} values"] if short else []
    means = math.fsum(any_of) / n, math.fsum(all_of) / n
    return PassRow(model, None, k, threshold, *means, cases, short, n, "; ".join(notes) or None)
