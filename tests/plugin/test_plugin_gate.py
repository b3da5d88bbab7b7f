"""The gate at the end of a session: exit status, summary, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.baselines import read_slim, write_baseline

if TYPE_CHECKING:
    from tests.plugin.conftest import Project


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def baseline(project: Project, *answers: str, name: str = "main") -> str:
    """A run with these answers to the three cases, kept as a baseline; returns its model."""
    model = project.script("model", None, **{k: [a] for k, a in zip(("one", "two", "three"), answers, strict=False)})
    project.run(f"--models={model}", f"--llmkg-run-dir={name}-run")
    write_baseline(read_slim(project.path / f"{name}-run"), name, project.path)
    return model


def worse(project: Project) -> str:
    """From now on the model answers two of three cases wrongly."""
    return project.script("model", [":eve"], one=[":bob"])


def test_equal_run_passes(project: Project, spread: tuple[str, ...]) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    rules = "significant-drop:0.05,drop:0,min:1,errors:0,max-seconds:60"
    result = project.run(
        *spread, f"--models={model}", "--llmkg-baseline=main", f"--llmkg-gate={rules}", "--llmkg-run-dir=run"
    )
    assert result.ret == pytest.ExitCode.OK
    blind = "1 of 5 verdicts could not have failed (too few cases)"
    result.stdout.fnmatch_lines(
        ["*= llmkg gate =*", f"gate passed against baseline main (made from run main-run): 5 verdicts*{blind}"]
    )
    report = json.loads((project.path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["gate"]["passed"] is True
    assert [finding["fails"] for finding in report["gate"]["findings"]] == [False]
    assert (project.path / "run" / "gate.xml").is_file()


def test_worse_run_fails_though_every_test_passes(project: Project, spread: tuple[str, ...]) -> None:
    baseline(project, ":bob", ":bob", ":bob")
    result = project.run(
        *spread, f"--models={worse(project)}", "--llmkg-baseline=main", "--llmkg-gate=drop:0.5", "--llmkg-run-dir=run"
    )
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "gate FAILED against baseline main (made from run main-run): 1 of 1 verdict failed",
            "FAIL  drop:0.5*mean 0.3333, was 1.0000*",
            "*= 3 passed in *",
        ]
    )
    assert result.outlines[-1] == (
        "llmkg: gate FAILED against baseline main (made from run main-run): 1 of 1 verdict failed"
    )
    assert json.loads((project.path / "run" / "report.json").read_text(encoding="utf-8"))["gate"]["passed"] is False


def test_default_rule_with_a_baseline(project: Project) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    result = project.run(f"--models={model}", "--llmkg-baseline=main")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["gate passed *, but nothing could be judged: *", "n/a   significant-drop:0.05*"])


def test_rules_without_a_baseline(project: Project) -> None:
    model = worse(project)
    assert project.run(f"--models={model}", "--llmkg-gate=min:0.3,errors:0").ret == pytest.ExitCode.OK
    assert project.run(f"--models={model}", "--llmkg-gate=min:0.9@Tiny").ret == pytest.ExitCode.TESTS_FAILED


def test_missing_case_fails_unless_allowed(project: Project, spread: tuple[str, ...]) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    given = (*spread, f"--models={model}", "--llmkg-baseline=main", "-k", "not three")
    result = project.run(*given)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL  missing: this run lacks 1 of 3 dialogues of model*three*"])
    assert project.run(*given, "--llmkg-gate=allow:missing").ret == pytest.ExitCode.OK


def test_other_seed_is_another_signature(project: Project) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    given = (f"--models={model}", "--llmkg-baseline=main", "--llmkg-seed=7")
    result = project.run(*given)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL  signature: seed is 7, was *"])
    assert project.run(*given, "--llmkg-gate=allow:signature").ret == pytest.ExitCode.OK


def test_other_model_is_missing_on_both_sides(project: Project) -> None:
    baseline(project, ":bob", ":bob", ":bob")
    result = project.run("--models=symbolic", "--llmkg-baseline=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL*no dialogues of the same model*", "FAIL  missing: model*"])


def test_baseline_by_path(project: Project) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    for path in ("main-run", "main-run/run.jsonl", str(project.path / "main-run")):
        assert project.run(f"--models={model}", f"--llmkg-baseline={path}").ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--llmkg-gate=drap:0.1"], "unknown gate rule 'drap', did you mean 'drop'?"),
        (["--llmkg-gate=drop:0.1"], "compares with a baseline, but none is given"),
        (["--llmkg-gate=min:lots"], "is not of the form min:"),
        (["--llmkg-gate=min:1@Tinny"], "fits no task variant"),
        (["--llmkg-gate=min:1%gpt"], "fits none of the models"),
        (["--llmkg-baseline=mian"], "did you mean 'main'?"),
        (["--llmkg-baseline="], "has no name"),
        (["--llmkg-baseline=tiny.toml"], "tiny.toml"),
        (["--llmkg-baseline=no/where"], "no such run"),
    ],
)
def test_usage_errors_before_any_model_is_called(project: Project, options: list[str], said: str) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    before = project.files()
    result = project.run(f"--models={model}", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert project.files() == before


def test_a_gate_that_judged_nothing_fails(project: Project) -> None:
    project.pytester.makepyfile(test_other="def test_other():\n    pass\n")
    result = project.run("test_other.py", "--models=symbolic", "--llmkg-gate=errors:0")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["llmkg: the gate judged nothing, since no dialogue was held"])


def test_a_gate_that_cannot_judge_fails_and_hides_nothing(project: Project) -> None:
    project.pytester.makeconftest(
        """
        from pytest_llmkg import gatekeeper

        def broken(*args, **options):
            raise ZeroDivisionError("no luck")

        gatekeeper.judge = broken
        """
    )
    result = project.run_apart("--models=symbolic", "--llmkg-gate=errors:0", "--llmkg-run-dir=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*= llmkg leaderboard =*", "llmkg: the gate could not judge: ZeroDivisionError: no luck"]
    )


def test_failed_dialogues_fail_the_gate_too(project: Project) -> None:
    model = project.script("short", None, one=[":bob"])
    result = project.run(f"--models={model}", "--llmkg-gate=errors:0")
    result.assert_outcomes(passed=1, failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL  errors:0*2 of 3 dialogues ended as errors*"])


def test_github(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    result = project.run(f"--models={worse(project)}", "--llmkg-gate=min:0.9")
    assert [line for line in result.outlines if line.startswith("::")] == [
        (
            "::error title=llmkg gate%3A min%3A0.9::scripted:model.json, all together: mean headline score 0.3333 of 3 "
            "dialogues (at least 0.9)"
        )
    ]
    assert (project.path / "summary.md").read_text(encoding="utf-8").startswith("## ❌ gate FAILED")


def test_resuming_a_finished_run_is_judged(project: Project) -> None:
    model = baseline(project, ":bob", ":bob", ":bob")
    result = project.run(f"--models={model}", "--llmkg-baseline=main", "--llmkg-resume=main-run")
    result.stdout.fnmatch_lines(
        ["gate passed against baseline main (made from run main-run), but nothing could be judged: 1 of 1 verdict *"]
    )
    assert result.ret == pytest.ExitCode.OK
