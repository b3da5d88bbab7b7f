"""The newcomer's way: a task, a model and cases of one's own, from outside this package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

# A conftest.py with a task and a model.
CONFTEST = '''\
from pytest_llmkg.contracts import ConnectorFactory, Task
from pytest_llmkg.records import Answer, Evaluation, Feedback, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

INFO = TaskInfo("CountTriples", "1.0", "RDF", "Counts the triples of a graph.", "max_right", max_turns=2)


def prompt(case, kg):
    return Prompt.user(f"How many triples are there? Reply with a number.\\n\\n{case.text('graph')}")


def evaluate(case, answer, kg):
    right = answer.text.strip() == str(case.integer("triples"))
    outcome = "scored" if answer.text.strip().isdecimal() else "unparsable"
    return Evaluation(outcome, (ScoreSet(build_signature(INFO, "own"), {"right": int(right)}),))


def feedback(case, turn):
    return None if turn.evaluation.scores()["right"] else Feedback("wrong", "That is wrong. Count again.")


def pytest_llmkg_tasks(config):
    return [Task(INFO, {"graph": "text", "triples": "integer"}, prompt, evaluate, feedback)]


class FullStops:
    """Counts full stops; at first one too many."""

    def __init__(self, spec):
        self.extra = int(spec.model or 0)

    async def ask(self, request):
        first = len(request.messages) == 1
        return Answer(str(request.messages[0].text.count(" .") + first * self.extra))

    async def close(self):
        pass


def pytest_llmkg_connectors(config):
    return [ConnectorFactory("fullstops", "Counts full stops.", make=FullStops)]
'''

CASES = """\
schema = 1
task = "CountTriples"

[[variant]]
label = "CountTriples-nt"

[[case]]
id = "two-triples"
graph = '''
<a:a> <a:b> <a:c> .
<a:a> <a:b> <a:d> .
'''
triples = 2
"""

BENCHMARK = """\
import pytest

@pytest.mark.llmkg("CountTriples")
def test_count(dialogue):
    dialogue.hold()
"""


def test_own_task_and_own_model(project: Project, mode: tuple[str, ...]) -> None:
    project.pytester.makeconftest(CONFTEST)
    project.pytester.makepyfile(test_bench=BENCHMARK)
    (project.path / "count.toml").write_text(CASES)
    args = ("--llmkg-cases=count.toml", "--models=fullstops,fullstops:1", "--llmkg-run-dir=run")
    result = project.pytester.runpytest_inprocess(*mode, *args)
    result.assert_outcomes(passed=2)
    exact, late = sorted(project.stored().transcripts, key=lambda transcript: transcript.model)
    assert [turn.evaluation.scores()["right"] for turn in exact.turns] == [1]
    assert [turn.evaluation.scores()["right"] for turn in late.turns] == [0, 1]
    assert [turn.feedback for turn in late.turns] == ["wrong", None]
    assert late.turns[1].prompt.messages[0].text == "That is wrong. Count again."
    assert exact.turns[0].evaluation.score_sets[0].signature.startswith("task:CountTriples|")
    assert "CountTriples-nt" in (project.path / "run" / "leaderboard.html").read_text()


def test_own_cases_of_a_shipped_task(project: Project) -> None:
    assert project.run("--models=symbolic", "--llmkg-run-dir=run").ret == 0
    assert {scores["combinedF1"] for scores in project.scores().values()} == {1}


def test_own_model_in_a_table(project: Project) -> None:
    project.script("right", [":bob"])
    table = '[models.house-model]\nmodel = "right.json"\nconnector = "scripted"\nprice_in = 1\nprice_out = 2\n'
    (project.path / "llmkg.toml").write_text(table)
    project.run("--models=house-model", "--llmkg-run-dir=run").assert_outcomes(passed=3)
    header = project.stored().header
    assert [(model.id, model.connector, model.price_out) for model in header.models] == [("house-model", "scripted", 2)]


def test_two_tasks_of_one_name_are_refused(project: Project) -> None:
    project.pytester.makeconftest(CONFTEST.replace('TaskInfo("CountTriples"', 'TaskInfo("RdfFriendCount"'))
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: task 'RdfFriendCount' is registered twice; rename one of the two"])


OWN_TESTS = """\
import json
import pytest

@pytest.mark.llmkg("Text2SparqlList")
def test_all_three(case, model, iteration):
    print("ALL", case.task, model.id, iteration)

@pytest.mark.llmkg("Text2SparqlList")
def test_model_only(model):
    print("MODEL", model.id)

@pytest.mark.llmkg("Text2SparqlList")
def test_case_only(case):
    print("CASE", case.label)

@pytest.mark.parametrize("style", ["terse", "long"])
@pytest.mark.llmkg("Text2SparqlList")
def test_with_parameters_of_its_own(model, style):
    print("STYLE", model.id, style)

@pytest.mark.llmkg("Text2SparqlList")
class TestClass:
    def test_method(self, model):
        print("METHOD", model.id)
"""


def test_own_tests_choose_what_they_tell_apart(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "never-used")
    project.pytester.makepyfile(test_bench=OWN_TESTS)
    label = "Text2SparqlExecEvalListOrganizational"
    result = project.pytester.runpytest_inprocess(
        "-s", "--models=symbolic,gpt-4o", f"--tasks={label}", "--iterations=2"
    )
    assert result.ret == 0
    output = result.stdout.str()
    cases = output.count(f"CASE {label}")
    assert cases >= 10
    assert output.count("ALL Text2SparqlList gpt-4o 2") == cases
    assert output.count("ALL ") == cases * 4
    assert output.count("MODEL ") == output.count("METHOD ") == 2
    assert output.count("STYLE symbolic terse") == output.count("STYLE gpt-4o long") == 1
    assert "leaderboard" not in output, "no dialogue was held, so there is nothing to show"


def test_a_dialogue_gives_its_transcript_to_the_test(project: Project) -> None:
    model = project.script("right", [":bob"])
    project.pytester.makepyfile(
        test_bench="""\
        import pytest

        @pytest.mark.llmkg("Sparql2AnswerList")
        def test_answer(dialogue, case, model, iteration):
            transcript = dialogue.hold()
            assert (transcript.case, transcript.model) == (case.id, model.id)
            assert transcript.turns[-1].evaluation.scores()["combinedF1"] == 1
            assert (dialogue.case, dialogue.model, dialogue.iteration) == (case, model, iteration)
        """
    )
    project.run(f"--models={model}").assert_outcomes(passed=3)


def test_a_test_that_is_run_again_reports_its_last_attempt(project: Project) -> None:
    """Properties do not pile up, and of several records the last one counts."""
    project.pytester.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                item._initrequest()
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    )
    project.run("-k", "one", "--llmkg-run-dir=run", "--json-report", "--json-report-file=report.json")
    (test,) = json.loads((project.path / "report.json").read_text())["tests"]
    names = [name for entry in test["user_properties"] for name in entry]
    assert len(names) == len(set(names)) > 5
    assert len(project.stored().transcripts) == 1
