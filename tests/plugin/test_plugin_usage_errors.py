"""What the user can mend is one sentence and exit status 4, before a model is asked and before a file is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project


def refused(result: pytest.RunResult) -> str:
    """The one line that says why."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    lines = [line for line in result.errlines if line.startswith("ERROR: ") or ": error: " in line]
    # What argparse itself refuses has a line of usage before it.
    told = [line for line in lines if not line.startswith("ERROR: usage: ")]
    assert len(told) == 1, result.errlines
    return told[0]


BAD_OPTIONS = {
    "--models=gpt-4oo": "unknown model 'gpt-4oo', did you mean 'gpt-4o'?",
    "--models=": "no model is named",
    f"--llmkg-cases={'x' * 300}": "File name too long",
    "--models=scripted:missing.json": "missing.json: the script cannot be read",
    "--models=scripted:": "names no file",
    "--models=replay:missing": "missing",
    "--tasks=Tinny": "unknown task 'Tinny', did you mean 'Tiny'?",
    "--tasks=,": "--tasks names no task",
    "--iterations=0": "expected a whole number from 1, found '0'",
    "--iterations=three": "expected a whole number from 1, found 'three'",
    "--llmkg-seed=x": "invalid int value: 'x'",
    "--llmkg-min-score=1.5": "expected a number from 0 to 1, found '1.5'",
    "--llmkg-min-score=nan": "expected a number from 0 to 1, found 'nan'",
    "--llmkg-timeout=0": "expected a number of seconds",
    "--llmkg-timeout=inf": "expected a number of seconds",
    "--llmkg-max-turns=-1": "expected a whole number from 1, found '-1'",
    f"--llmkg-cache={__file__}": "is a file; name a folder",
    "--llmkg-cases=missing.toml": "missing.toml: cannot be read",
    "--llmkg-cases=empty": "empty: the folder holds no case file",
    "--llmkg-run-dir=tiny.toml/run": "tiny.toml is no folder",
    "--llmkg-run-dir=": "--llmkg-run-dir names no folder",
    f"--llmkg-run-dir={'a' * 300}": "File name too long",
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_bad_options(project: Project, option: str) -> None:
    project.pytester.mkdir("empty")
    before = project.files()
    assert BAD_OPTIONS[option] in refused(project.run(option))
    assert project.files() == before


@pytest.mark.parametrize("option", ["--models=gpt-4oo", "--tasks=Tinny", "--llmkg-cases=missing.toml"])
def test_bad_options_with_workers(project: Project, option: str) -> None:
    before = project.files()
    assert BAD_OPTIONS[option] in refused(project.run("-n", "2", option))
    assert project.files() == before


BROKEN_CASES = {
    "no TOML": ("schema = 1", "schema = = 1", "tiny.toml: not a TOML file"),
    "schema": ("schema = 1", "schema = 7", "tiny.toml: field 'schema' must be 1, found 7"),
    "task": ('task = "Sparql2AnswerList"', 'task = "Sparql2AnswerLst"', "did you mean 'Sparql2AnswerList'?"),
    "missing field": ('result = [":bob"]', "", "tiny.toml: case 'one' (Tiny): field 'result' is missing"),
    "wrong type": ('result = [":bob"]', "result = 3", "case 'one' (Tiny): field 'result' must be a list of texts"),
    "unknown field": ('id = "two"', 'id = "two"\nresults = "x"', "case 'two' (Tiny): unknown field 'results'"),
    "bad id": ('id = "two"', 'id = "Two!"', "case 2: field 'id' must be of a-z, 0-9 and single hyphens, found 'Two!'"),
    "same id": ('id = "two"', 'id = "one"', "case 'one' of Tiny exists already"),
}


@pytest.mark.parametrize("fault", BROKEN_CASES)
def test_broken_case_files_name_file_entry_and_field(project: Project, fault: str) -> None:
    old, new, expected = BROKEN_CASES[fault]
    path = project.path / "tiny.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    before = project.files()
    line = refused(project.run())
    assert expected in line
    assert "tiny.toml" in line
    assert project.files() == before


def test_a_case_file_that_is_no_text(project: Project) -> None:
    (project.path / "tiny.toml").write_bytes(b"\xff\xfe\x00schema")
    assert "tiny.toml: not a text in UTF-8" in refused(project.run())


def test_a_directory_that_holds_a_run_is_left_alone(project: Project, spread: tuple[str, ...]) -> None:
    project.run("--llmkg-run-dir=run", "-k", "one").assert_outcomes(passed=1, deselected=2)
    before = (project.path / "run" / "run.jsonl").read_bytes()
    assert "holds a run already; choose another --llmkg-run-dir" in refused(project.run(*spread, "--llmkg-run-dir=run"))
    assert (project.path / "run" / "run.jsonl").read_bytes() == before


def test_collecting_needs_no_place_for_a_run(project: Project) -> None:
    project.run("--llmkg-run-dir=run", "-k", "one")
    assert project.run("--co", "-q", "--llmkg-run-dir=run").ret == 0


def test_a_broken_model_table(project: Project) -> None:
    (project.path / "llmkg.toml").write_text('[models.mine]\nmodel = "openai/x"\ntemprature = 0\n')
    line = refused(project.run("--models=mine"))
    assert "llmkg.toml" in line
    assert "'temprature'" in line
    assert "did you mean 'temperature'" in line


def test_a_key_in_a_model_table_is_refused(project: Project) -> None:
    (project.path / "llmkg.toml").write_text('[models.mine]\nmodel = "openai/x"\napi_key = "sk-secret"\n')
    line = refused(project.run("--models=mine"))
    assert "environment" in line
    assert "sk-secret" not in line


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("def pytest_llmkg_tasks(config):\n    return 'mine'", "pytest_llmkg_tasks must return a list of Task"),
        ("def pytest_llmkg_connectors(config):\n    return [int]", "must return a list of ConnectorFactory"),
    ],
)
def test_hooks_that_return_something_else(project: Project, hook: str, expected: str) -> None:
    project.pytester.makeconftest(hook)
    assert expected in refused(project.run())


def test_an_unknown_task_in_a_mark_is_one_line(project: Project, spread: tuple[str, ...]) -> None:
    bench = project.path / "test_bench.py"
    bench.write_text(bench.read_text().replace("Sparql2AnswerList", "Sparql2AnswrList"))
    result = project.run(*spread)
    assert result.ret == pytest.ExitCode.USAGE_ERROR  # and none of the two others that pytest-xdist has for it
    result.stdout.fnmatch_lines(["*unknown task 'Sparql2AnswrList', did you mean 'Sparql2AnswerList'?*"])
    assert "Traceback" not in result.stdout.str()


def test_a_marked_test_that_uses_nothing_is_told_so(project: Project) -> None:
    project.pytester.makepyfile(test_bench="import pytest\n\n@pytest.mark.llmkg\ndef test_x():\n    pass\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*test_x: a test marked llmkg must use dialogue, case or model*"])
