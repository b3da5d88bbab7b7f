"""What is said last of dialogues that were not run."""

from __future__ import annotations

from pathlib import Path

from pytest_llmkg.reporting.progress import ModelProgress
from pytest_llmkg.session.last_word import NotRun, unfinished

RUN = Path("reports/runs/r")


def progress(model: str, planned: int, done: int) -> ModelProgress:
    return ModelProgress(model, planned, done, 0, 0, None, 0, 0, None, None, None)


def test_what_is_missing_of_all_models_and_how_to_resume() -> None:
    models = [progress("a", 10, 4), progress("b", 10, 10), progress("c", 5, 4)]
    assert unfinished(models, RUN) == "7 of 25 dialogues not run; resume with --llmkg-resume=reports/runs/r"
    assert unfinished([progress("b", 10, 10)], RUN) is None
    # More than was planned of one model makes up for nothing of another.
    assert unfinished([progress("a", 1, 3), progress("b", 2, 1)], RUN) == (
        "1 of 3 dialogues not run; resume with --llmkg-resume=reports/runs/r"
    )


def test_a_budget_that_ends_for_each_worker_is_told_once() -> None:
    counts = NotRun()
    for reason in (
        "--llmkg-max-cost=5 would be passed: 4.9 US dollars are spent",
        "the model was stopped: no key",
        "--llmkg-max-cost=5 would be passed: 5 US dollars are spent",
    ):
        counts.add(reason)
    how = "; resume with --llmkg-resume=reports/runs/r"
    assert counts.sentences(RUN) == [
        f"2 dialogue(s) were not run, since --llmkg-max-cost=5 would be passed: 5 US dollars are spent{how}",
        f"1 dialogue(s) were not run, since the model was stopped: no key{how}",
    ]
