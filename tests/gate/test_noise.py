"""The gate's false alarms: runs of the same model against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats

from pytest_llmkg.gate import judge, parse_rules
from tests.run_pairs import side

if TYPE_CHECKING:
    from pytest_llmkg.analysis.comparability import Side

ALPHA = 0.05
RUNS = 200
CASES = 12


def answers(rng: np.random.Generator, chance: float, kind: str) -> tuple[float, float]:
    """Two answers to a case: right or wrong (``binary``), or more or less right (``graded``)."""
    drawn = rng.random(2) < chance if kind == "binary" else np.clip(chance + rng.normal(0, 0.2, 2), 0, 1)
    return float(drawn[0]), float(drawn[1])


def two_runs(rng: np.random.Generator, size: tuple[int, int], kind: str, drop: float) -> tuple[Side, Side]:
    """Two runs of ``size`` (labels, models) on the same cases; the second is worse by ``drop``."""
    keys = [(f"m{m}", f"L{n}", f"{n}-{case}") for m in range(size[1]) for n in range(size[0]) for case in range(CASES)]
    chances = rng.beta(2, 1, len(keys))
    old = {key: answers(rng, chance, kind) for key, chance in zip(keys, chances, strict=True)}
    new = {key: answers(rng, max(chance - drop, 0), kind) for key, chance in zip(keys, chances, strict=True)}
    return side(old, "the baseline"), side(new, "this run")


def alarms(size: tuple[int, int] = (1, 1), kind: str = "graded", drop: float = 0.0, runs: int = RUNS) -> int:
    """How many of the runs fail."""
    rules = parse_rules([f"significant-drop:{ALPHA}{'@*' if size[0] > 1 else ''}"], has_baseline=True)
    found = 0
    for seed in range(runs):
        before, now = two_runs(np.random.default_rng([seed, *size]), size, kind, drop)
        result = judge(now, before, rules, seed=seed)
        assert not result.findings
        found += not result.passed
    return found


def test_false_alarms_come_at_the_stated_level() -> None:
    """As often as alpha says: not more, as far as 200 runs can tell, and not less."""
    found = alarms()
    assert scipy.stats.binomtest(found, RUNS, ALPHA).pvalue > 0.01, found


@pytest.mark.parametrize(("size", "kind"), [((1, 1), "binary"), ((2, 2), "graded"), ((2, 2), "binary")])
def test_never_more(size: tuple[int, int], kind: str) -> None:
    """Scores of 0 and 1 are too coarse to reach the level, and Holm's correction is careful."""
    found = alarms(size, kind)
    assert scipy.stats.binomtest(found, RUNS, ALPHA, alternative="greater").pvalue > 0.01, found


def test_a_real_drop_is_found() -> None:
    assert alarms(drop=0.3) > RUNS * 0.9
