"""Which tests are made, how they are called, and how pytest's own choices work on them."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

FIRST = "test_bench.py::test_answer[tiny-one-symbolic-r01]"


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_order_is_case_model_iteration_and_ids_are_slugs(project: Project) -> None:
    model = project.script("Ünï-model", [":bob"])
    result = project.run("--co", "-q", f"--models=symbolic,{model}", "--iterations=2")
    assert [re.sub(r".*\[(.*)\]", r"\1", line) for line in collected(result)][:5] == [
        "tiny-one-symbolic-r01",
        "tiny-one-symbolic-r02",
        "tiny-one-scripted_n_model.json-r01",
        "tiny-one-scripted_n_model.json-r02",
        "tiny-two-symbolic-r01",
    ]
    assert len(collected(result)) == 12


def test_published_label_and_alias_in_an_id(project: Project, request: pytest.FixtureRequest) -> None:
    benchmarks = request.config.rootpath / "benchmarks"
    args = ("--co", "-q", "--models=gpt-4o", "--iterations=3", "--tasks=Text2SparqlExecEvalListOrganizational")
    result = project.pytester.runpytest_inprocess(str(benchmarks), *args)
    ids = [line.partition("::")[2] for line in collected(result)]
    assert all(re.fullmatch(r"test_text2sparql\[[a-z0-9]+-[a-z0-9-]+-gpt_4o-r0[123]\]", name) for name in ids)
    assert any(
        name.startswith("test_text2sparql[text2sparqlexecevallistorganizational-") and name.endswith("-gpt_4o-r03]")
        for name in ids
    )
    assert len(ids) == len(set(ids)) > 0


def test_models_and_labels_with_equal_slugs_are_told_apart(project: Project) -> None:
    text = (project.path / "tiny.toml").read_text().replace('"Tiny"', '"Tiny"\n\n[[variant]]\nlabel = "tiny"', 1)
    (project.path / "tiny.toml").write_text(text)
    models = ",".join([project.script("a-b", ["x"]), project.script("a_b", ["x"])])
    result = project.run("--co", "-q", f"--models={models}", "--tasks=Tiny,tiny")
    ids = collected(result)
    assert len(set(ids)) == len(ids) == 12
    assert any("[tiny-one-scripted_a_b.json.2-r01]" in name for name in ids)
    assert any("[tiny.2-one-scripted_a_b.json-r01]" in name for name in ids)


def test_same_tests_in_the_same_order_whatever_the_hash_seed(
    project: Project, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        benchmarks = str(request.config.rootpath / "benchmarks")
        result = project.pytester.runpytest_subprocess("--co", "-q", "--models=symbolic,gpt-4o", benchmarks)
        outputs.append(collected(result))
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100


def test_one_test_can_be_named_on_the_command_line(project: Project, spread: tuple[str, ...]) -> None:
    result = project.run(*spread, "--llmkg-run-dir=run", FIRST)
    result.assert_outcomes(passed=1)
    assert set(project.scores()) == {("one", "symbolic", 1)}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (("-k", "two"), {"two"}),
        (("-k", "tiny and not two"), {"one", "three"}),
        (("-m", "llmkg"), {"one", "two", "three"}),
        (("--deselect", FIRST), {"two", "three"}),
    ],
)
def test_choices_of_pytest(project: Project, chosen: tuple[str, str], expected: set[str]) -> None:
    project.pytester.makepyfile(test_other="def test_other():\n    pass\n")
    project.run("--llmkg-run-dir=run", *chosen)
    assert {case for case, _, _ in project.scores()} == expected


def test_the_mark_can_be_excluded(project: Project) -> None:
    project.pytester.makepyfile(test_other="def test_other():\n    pass\n")
    project.run("-m", "not llmkg").assert_outcomes(passed=1, deselected=3)
    assert "reports" not in project.files()


def test_stops_at_the_first_failure(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("wrong", [{"error": "no"}])
    result = project.run(*spread, "-x", "--llmkg-run-dir=run", f"--models={model}")
    assert result.ret == (pytest.ExitCode.INTERRUPTED if spread else pytest.ExitCode.TESTS_FAILED)
    # The others were on their way already.
    assert 1 <= len(project.errors()) <= 3
    assert spread or ("one", model) in project.errors()


def test_last_failed_runs_only_what_failed(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("half", [":bob"], two=[{"error": "no"}])
    project.run(*spread, f"--models={model}", "--llmkg-run-dir=run").assert_outcomes(passed=2, failed=1)
    project.script("half", [":bob"])
    result = project.run(*spread, "--lf", f"--models={model}", "--llmkg-run-dir=again")
    result.assert_outcomes(passed=1)
    assert {case for case, _, _ in project.scores("again")} == {"two"}


def test_tests_of_excluded_tasks_are_dropped(project: Project, spread: tuple[str, ...]) -> None:
    bench = project.path / "test_bench.py"
    extra = '\n@pytest.mark.llmkg("RdfFriendCount")\ndef test_friends(dialogue):\n    dialogue.hold()\n'
    bench.write_text(bench.read_text() + extra)
    result = project.run(*spread, "-o", "empty_parameter_set_mark=fail_at_collect")
    assert result.ret == 0
    result.assert_outcomes(passed=3, deselected=0 if spread else 1)


def test_without_a_task_the_mark_means_all_of_them(project: Project) -> None:
    project.pytester.makepyfile(
        test_bench="import pytest\n\n@pytest.mark.llmkg\ndef test_any(dialogue):\n    dialogue.hold()\n"
    )
    result = project.pytester.runpytest_inprocess("--co", "-q", "--tasks=*Friend*turtle-1,Sparql2AnswerList*")
    labels = {re.sub(r".*\[([^-]*)-.*", r"\1", line) for line in collected(result)}
    assert "rdffriendcount_turtle_1" in labels
    assert len(labels) >= 2


def test_group_suffix_of_xdist_does_not_hide_a_lost_dialogue(project: Project) -> None:
    project.pytester.makepyfile(
        test_bench="""\
        import os
        import pytest

        @pytest.mark.xdist_group("g")
        @pytest.mark.llmkg("Sparql2AnswerList")
        def test_answer(dialogue):
            if dialogue.case.id == "two":
                os._exit(3)
            dialogue.hold()
        """
    )
    # pytest-xdist hands the rest of a group to the next worker again and again, so that one is enough.
    args = ("-n", "2", "--dist", "loadgroup", "--max-worker-restart=0", "--llmkg-run-dir=run")
    assert project.run(*args).ret != 0
    assert list(project.errors()) == [("two", "symbolic")]
    assert ("one", "symbolic", 1) in project.scores()


LOADED = """\
import sys, pytest
status = pytest.main(sys.argv[2:])
print("LOADED", *[name for name in sys.argv[1].split(",") if name in sys.modules])
sys.exit(status)
"""
NOT_FOR_COLLECTING = "litellm,matplotlib,scipy,numpy,xllamacpp,openai,pandas"
NOT_FOR_HELP = f"{NOT_FOR_COLLECTING},rdflib,pyoxigraph,jinja2,aiohttp,httpx"


@pytest.mark.parametrize(
    ("names", "arguments"),
    [(NOT_FOR_HELP, ("--help",)), (NOT_FOR_COLLECTING, ("--co", "-q"))],
    ids=["help", "collect"],
)
def test_looking_around_loads_nothing_heavy(
    project: Project, request: pytest.FixtureRequest, names: str, arguments: tuple[str, ...]
) -> None:
    folder = str(request.config.rootpath / "benchmarks")
    result = project.pytester.run(sys.executable, "-c", LOADED, names, *arguments, "--models=gpt-4o,symbolic", folder)
    assert result.ret == 0
    assert [line for line in result.outlines if line.startswith("LOADED")] == ["LOADED"]
