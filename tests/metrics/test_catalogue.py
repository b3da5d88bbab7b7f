"""The catalogue describes every score that a shipped task gives, and no other."""

from __future__ import annotations

import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.metrics.catalogue import REDUCERS, score_entries
from pytest_llmkg.records import Answer, Case
from pytest_llmkg.tasks import discover_tasks

TASKS = tuple(task.info.name for task in discover_tasks())
ENTRIES = {(task, entry.name): entry for entry in score_entries() for task in entry.tasks}


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    data = fixtures_root()
    return load_case_files((data / "cases",), data / "graphs", discover_tasks(), 42)


@pytest.fixture(scope="module")
def kg() -> Sandbox:
    return Sandbox()


def answers(case: Case) -> list[str]:
    """Nothing, nonsense, and what is right for the tasks whose scores depend on it."""
    right = [str(case.data[name]) for name in ("reference", "query") if name in case.data]
    return ["", "x", *(f"```\n{text}\n```" for text in right)]


@pytest.mark.parametrize("name", TASKS)
def test_every_score_is_described_with_its_range_and_rules(name: str, cases: tuple[Case, ...], kg: Sandbox) -> None:
    task = discover_tasks().get(name)
    own = [case for case in cases if case.task == name]
    ordered = [case for case in own if "RESULT_ORDER_MATTERS" in case.data.get("features", [])]  # type: ignore[operator]
    seen = set()
    for case in (own[0], *ordered[:1]):
        for text in answers(case):
            for scores in task.evaluate(case, Answer(text), kg).score_sets:
                rules = "corrected" if "rules:corrected" in scores.signature else "published"
                for score, value in scores.values.items():
                    entry = ENTRIES[name, score]
                    low, high = entry.bounds
                    assert entry.rules == rules
                    assert low is None or value >= low
                    assert high is None or value <= high + 1e-9
                    seen.add(score)
    assert seen == {score for of, score in ENTRIES if of == name}


def test_headlines_and_aggregated_scores_are_in_it() -> None:
    for task in discover_tasks():
        names = {prefix + score for of, score in ENTRIES if of == task.info.name for prefix in ("", *REDUCERS)}
        assert task.info.headline in names
        assert names.issuperset(task.info.aggregated)


def test_entries_are_told_apart_by_name_and_task_and_say_something() -> None:
    entries = score_entries()
    assert len({(task, entry.name) for entry in entries for task in entry.tasks}) == sum(len(e.tasks) for e in entries)
    assert all(entry.meaning and entry.source for entry in entries)
    assert all(entry.name.endswith("@2") == (entry.rules == "corrected") for entry in entries)
