"""What a session leaves: run file, reports, properties of tests, the terminal's summary."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from tests.openai_server import OpenAIServer
    from tests.plugin.conftest import Project

LAYOUT = ["leaderboard.html", "leaderboard.md", "report.json", "run.jsonl", "scores.csv"]


def test_workers_change_no_score(project: Project, server: OpenAIServer) -> None:
    """The issue's own words: the same scores with ``-n 2`` as without, and both rows in the page."""
    models = "--models=symbolic,openai/test-model"
    plain = project.run_apart(models, "--llmkg-run-dir=plain")
    asked = server.count
    spread = project.run_apart(models, "--llmkg-run-dir=spread", "-n", "2")
    plain.assert_outcomes(passed=6)
    spread.assert_outcomes(passed=6)
    assert (asked, server.count) == (3, 6)
    assert project.scores("plain") == project.scores("spread")
    assert {model for _, model, _ in project.scores("spread")} == {"symbolic", "openai/test-model"}
    assert all(scores["combinedF1"] == 1 for scores in project.scores("spread").values())
    for page in (project.path / "spread" / "leaderboard.html", project.path / "reports" / "leaderboard.html"):
        text = page.read_text(encoding="utf-8")
        assert "openai/test-model" in text
        assert "symbolic" in text


def test_layout_of_the_run_directory(project: Project, mode: tuple[str, ...]) -> None:
    result = project.run(*mode, "--iterations=3", "--llmkg-run-dir=deep/run")
    result.assert_outcomes(passed=9)
    assert sorted(path.name for path in (project.path / "deep" / "run").iterdir()) == LAYOUT
    lines = [json.loads(line) for line in (project.path / "deep/run/run.jsonl").read_text().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds[0] == "header"
    assert lines[0]["schema"] == 1
    assert (kinds.count("header"), kinds.count("case"), kinds.count("transcript")) == (1, 3, 9)
    assert len({line["id"] for line in lines if line["kind"] == "case"}) == 3
    for number, line in enumerate(lines):  # a case stands before its dialogues
        if line["kind"] == "transcript":
            assert any(k["kind"] == "case" and k["id"] == line["case"] for k in lines[:number])
    assert sorted(project.scores("deep/run")) == sorted(
        (case, "symbolic", iteration) for case in ("one", "two", "three") for iteration in (1, 2, 3)
    )
    with (project.path / "deep/run/scores.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) >= 9


def test_default_directories_differ_and_the_newest_page_is_kept(project: Project) -> None:
    model = project.script("right", [":bob"])
    project.run("-k", "one")
    project.run("-k", "one")
    project.run("-k", "two", f"--models=symbolic,{model}")
    runs = sorted(path.name for path in (project.path / "reports" / "runs").iterdir())
    assert len(runs) == 3
    assert sum(name.endswith("Z-symbolic+1") for name in runs) == 1
    newest = (project.path / "reports" / "leaderboard.html").read_bytes()
    last = next((project.path / "reports" / "runs").glob("*+1")) / "leaderboard.html"
    way = quote(last.parent.relative_to(project.path / "reports").as_posix())
    # It finds dialogues that stand in files beside the other one.
    assert newest.replace(f'content="{way}/"'.encode(), b'content=""') == last.read_bytes()


def test_properties_in_junit_xml(project: Project, spread: tuple[str, ...]) -> None:
    answer = {"text": ":bob", "usage": {"input_tokens": 10, "output_tokens": 2, "cost": 0.25}}
    model = project.script("dear", [answer], two=[":eve"])
    result = project.run(*spread, "-W", "error::pytest.PytestWarning", "--junitxml=junit.xml", f"--models={model}")
    result.assert_outcomes(passed=3, warnings=0)
    found = {}
    for test in ET.parse(project.path / "junit.xml").iter("testcase"):  # noqa: S314  (written by pytest just now)
        properties = {p.attrib["name"]: p.attrib["value"] for p in test.iter("property")}
        found[properties["llmkg.case"]] = properties
    assert found["one"]["llmkg.model"] == model
    assert found["one"]["llmkg.task"] == "Tiny"
    assert found["one"]["llmkg.iteration"] == "1"
    assert found["one"]["llmkg.outcome"] == "scored"
    assert found["one"]["llmkg.turns"] == "1"
    assert found["one"]["llmkg.cost"] == "0.25"
    assert float(found["one"]["llmkg.seconds"]) >= 0
    assert float(found["one"]["llmkg.combinedF1"]) == 1
    assert float(found["two"]["llmkg.combinedF1"]) == 0
    assert "llmkg.cost" not in found["two"], "an unknown price is left out"


def test_properties_in_json_report(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("mixed", [":bob"], two=[{"error": "down"}])
    project.run(*spread, "--json-report", "--json-report-file=report.json", f"--models={model}")
    tests = json.loads((project.path / "report.json").read_text())["tests"]
    found = {}
    for test in tests:
        properties = {name: value for entry in test["user_properties"] for name, value in entry.items()}
        found[properties["llmkg.case"]] = (test["outcome"], properties)
    assert found["one"][0] == "passed"
    assert found["one"][1]["llmkg.combinedF1"] == 1
    assert found["two"][0] == "failed"
    assert found["two"][1]["llmkg.outcome"] == "error"
    assert "llmkg.combinedF1" not in found["two"][1], "an error has no score"


def test_dialogues_stay_out_of_other_plugins_reports(project: Project) -> None:
    project.pytester.makeconftest(
        """
        SEEN = []

        def pytest_runtest_logreport(report):
            SEEN.extend(name for name in vars(report) if name.startswith("llmkg"))

        def pytest_sessionfinish(session):
            print("SEEN", SEEN)
        """
    )
    project.run("-s").stdout.fnmatch_lines(["*SEEN [[][]]*"])


def test_min_score(project: Project, spread: tuple[str, ...]) -> None:
    model = project.script("half", [":bob"], two=[":eve"])
    result = project.run(*spread, "--llmkg-min-score=0.5", "--llmkg-run-dir=run", f"--models={model}")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*combinedF1 is 0*, wanted at least 0.5 (--llmkg-min-score)*"])
    assert project.errors() == {}, "a low score is a score, not an error"
    assert len(project.scores()) == 3


@pytest.mark.parametrize(("limit", "turns"), [((), 3), (("--llmkg-max-turns=1",), 1), (("--llmkg-max-turns=9",), 3)])
def test_max_turns(project: Project, limit: tuple[str, ...], turns: int) -> None:
    model = project.script("never", ["no graph", "no graph", "no graph", "no graph"])
    bench = project.path / "test_bench.py"
    bench.write_text(bench.read_text().replace("Sparql2AnswerList", "RdfSyntaxFixList"))
    args = (f"--models={model}", "--tasks=RdfSyntaxFixList*urtle*", "--llmkg-run-dir=run", "--maxfail=1", *limit)
    first = project.pytester.runpytest_inprocess("--co", "-q", *args).outlines[0]
    project.pytester.runpytest_inprocess(first, *args)
    (transcript,) = project.stored().transcripts
    assert len(transcript.turns) == turns
    assert project.stored().header.settings["max_turns"] == (int(limit[0][-1]) if limit else None)


def test_seed_changes_generated_cases_only(project: Project, request: pytest.FixtureRequest) -> None:
    folder = str(request.config.rootpath / "benchmarks")
    model = project.script("any", ["x"])
    chosen = (
        "-k",
        "friend or sparql2answer",
        "--tasks=RdfFriendCount-turtle-1,Sparql2AnswerList*",
        f"--models={model}",
    )
    data = []
    for name, seed in (("a", "1"), ("b", "2"), ("c", "1")):
        args = (folder, *chosen, f"--llmkg-seed={seed}", f"--llmkg-run-dir={name}", f"--rootdir={project.path}")
        project.pytester.runpytest_inprocess(*args)
        run = project.stored(name)
        assert run.header.seed == int(seed)
        data.append({key: case.data for key, case in run.cases.items()})
    changed = {key.partition("/")[0] for key in data[0] if data[0][key] != data[1][key]}
    assert data[0] == data[2]
    assert changed == {"RdfFriendCount-turtle-1"}


def test_header_tells_what_runs(project: Project, spread: tuple[str, ...]) -> None:
    result = project.run(*spread, "--iterations=2", "--llmkg-seed=11", "-k", "one")
    result.stdout.fnmatch_lines(
        [
            "llmkg: models symbolic",
            "llmkg: cases 3 to choose from, of 1 task variants; each asked 2 times",
            "llmkg: seed 11",
            "llmkg: versions pytest-llmkg *, python *, rdflib *, pyoxigraph *",
        ]
    )


def test_summary_fits_the_terminal_and_names_paths_from_here(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    models = ",".join(project.script(f"a-model-with-a-long-name-number-{n}", [":bob"]) for n in range(4))
    result = project.run(f"--models={models}", "--llmkg-run-dir=run")
    result.stdout.fnmatch_lines(
        ["=* llmkg leaderboard =*", "leaderboard: run/leaderboard.html", "run file: run/run.jsonl"]
    )
    lines = result.outlines
    table = lines[next(i for i, line in enumerate(lines) if "llmkg leaderboard" in line) :]
    assert max(map(len, table)) <= 72


def test_paths_elsewhere_are_whole(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    result = project.run("-k", "one", f"--llmkg-run-dir={elsewhere}")
    assert f"run file: {elsewhere / 'run.jsonl'}" in result.outlines


def test_collecting_leaves_nothing(project: Project, spread: tuple[str, ...]) -> None:
    before = project.files()
    assert project.run(*spread, "--co", "-q", "--llmkg-run-dir=run").ret == 0
    assert project.files() == before


def test_ini_settings_and_benchmark_folders(project: Project) -> None:
    model = project.script("right", [":bob"])
    project.pytester.makeini(f"[pytest]\nllmkg_models = {model}\nllmkg_cases = tiny.toml\nllmkg_suites = .\n")
    result = project.pytester.runpytest_inprocess("-k", "tiny and one")
    result.assert_outcomes(passed=1, deselected=None)
    result.stdout.fnmatch_lines([f"llmkg: models {model}"])


def test_marked_tests_are_recorded_although_nothing_on_the_command_line_is_ours(
    project: Project, spread: tuple[str, ...]
) -> None:
    """With workers, the controller hears of models for the first time when a dialogue comes in."""
    model = project.script("right", [":bob"])
    project.pytester.makeini(f"[pytest]\nllmkg_models = {model}\nllmkg_cases = tiny.toml\n")
    project.pytester.runpytest_inprocess(*spread, "-k", "tiny").assert_outcomes(passed=3, deselected=None)
    (run,) = (project.path / "reports" / "runs").iterdir()
    assert len(project.scores(str(run))) == 3


def test_benchmarks_and_other_tests_together(project: Project, spread: tuple[str, ...]) -> None:
    project.pytester.mkdir("tests").joinpath("test_other.py").write_text("def test_other():\n    assert 1 + 1 == 2\n")
    project.run(*spread, "--llmkg-run-dir=run", ".", "tests").assert_outcomes(passed=4)
    assert len(project.scores()) == 3
