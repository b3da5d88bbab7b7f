"""The pytest plugin: hooks of a few lines each, handing over to `session.state` and `session.controller`.

Nothing here imports a graph or model library; a session that has nothing to do with models pays for this module only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_llmkg import options
from pytest_llmkg.errors import UserError
from pytest_llmkg.session.controller import Controller
from pytest_llmkg.session.last_word import LastWord
from pytest_llmkg.session.state import STATE, SessionState, job_of, parameters
from pytest_llmkg.session.wire import DIALOGUES, MISUSED, NOT_RUN
from pytest_llmkg.session.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_llmkg.records import Case, ModelSpec, Transcript

__all__ = ["BoundDialogue", "dialogue"]

_MARKER = (
    "llmkg(*tasks, ahead=True): a benchmark test; runs once for each case of the named tasks (of all tasks when none "
    "is named), model and iteration, which it gets as 'case', 'model' and 'iteration', or bound together as "
    "'dialogue'. With ahead=False its dialogues are held only when it asks for them, e.g. since it may skip"
)


# Dialogues that no report carries yet, and whether the test has held any.
_HELD = pytest.StashKey["list[tuple[Case, Transcript]]"]()
_HAS_HELD = pytest.StashKey[bool]()
_NOT_RUN = pytest.StashKey[str]()
# Whether the collector at work came upon a mark that names something unknown.
_MISUSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of `pytest_llmkg.options`."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Makes the hooks of `pytest_llmkg.hookspecs` known."""
    from pytest_llmkg import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Checks models, tasks and case files before anything runs; only in sessions that are about models."""
    config.addinivalue_line("markers", _MARKER)
    state = config.stash[STATE] = SessionState(config)
    hooks = Controller(state) if state.is_controller else Worker(state)
    config.pluginmanager.register(hooks, "llmkg-hooks")
    if isinstance(hooks, Controller):
        config.pluginmanager.register(LastWord(config, hooks.last_words), "llmkg-last-word")
    if options.is_active(config) and not config.getoption("help", default=False):
        try:
            from pytest_llmkg.session.live import LiveProgress

            suite = state.suite()
            if state.is_controller and not config.getoption("collectonly", default=False):
                suite.check_models()
                state.keeper()
                if isinstance(hooks, Controller):
                    config.pluginmanager.register(LiveProgress(config, hooks.progress), "llmkg-progress")
        except (UserError, OSError) as error:  # a name that is too long, a folder that may not be looked into
            raise pytest.UsageError(str(error)) from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes connectors, event loop and graph engine."""
    state = config.stash.get(STATE, None)
    if state is not None:
        state.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Models, cases, seed and versions, in sessions that are about models."""
    suite = config.stash[STATE].built_suite
    if suite is None:
        return []
    from pytest_llmkg.session.keeping import versions

    found = ", ".join(f"{name} {version}" for name, version in versions().items())
    return [f"llmkg: {line}" for line in (*suite.header_lines(), f"versions {found}")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test per case, model and iteration of every test function marked ``llmkg``."""
    marker = metafunc.definition.get_closest_marker("llmkg")
    if marker is None:
        return
    names = [name for name in ("case", "model", "iteration") if name in metafunc.fixturenames]
    if not names:
        pytest.fail(
            f"{metafunc.function.__name__}: a test marked llmkg must use dialogue, case or model",
            pytrace=False,
        )
    try:
        rows = metafunc.config.stash[STATE].suite().plan(marker.args, names)
    except UserError as error:
        metafunc.config.stash[_MISUSED] = True
        pytest.fail(str(error), pytrace=False)
    values = [[getattr(row, name) for name in names] for row in rows]
    # Without any case there is a placeholder, which the next hook drops.
    metafunc.parametrize(names, values or [[None] * len(names)], ids=[row.id for row in rows] or ["none"])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Tells the controller of a mark that names an unknown task, which is a usage error."""
    report = yield
    if collector.config.stash.get(_MISUSED, False):
        collector.config.stash[_MISUSED] = False
        setattr(report, MISUSED, True)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drops the placeholders of marked tests without any case, e.g. those of tasks that ``--tasks`` excludes."""
    empty = [item for item in items if item.get_closest_marker("llmkg") and parameters(item).get("case", item) is None]
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = [item for item in items if item not in empty]
    config.stash[STATE].without_cases = len(empty)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Says so when benchmark tests have nothing to ask, which ``--tasks`` does not explain."""
    state = config.stash[STATE]
    if not state.without_cases or state.built_suite is None or state.built_suite.settings.tasks:
        return []
    hint = "name a case file of their tasks by --llmkg-cases=FILE or by llmkg_cases in the ini file"
    return [f"llmkg: {state.without_cases} benchmark test(s) have no cases; {hint}"]


class BoundDialogue(NamedTuple):
    """A case, a model and an iteration, ready to be asked by a test."""

    item: pytest.Item
    case: Case
    model: ModelSpec
    iteration: int

    def hold(self) -> Transcript:
        """Holds the dialogue and records it; fails the test when it broke off or scored below ``--llmkg-min-score``.

        The test is skipped when the dialogue was not run, since the budget is spent or the session ends.
        """
        from pytest_llmkg.scheduling.ahead import Job, NotRunError

        state, item = self.item.config.stash[STATE], self.item
        try:
            runner = state.runner(item.session)
            job = Job(self.case, self.model, self.iteration)
            if state.given is not None and job.name in state.given.finished:
                pytest.skip("held in the session that this one resumes")
            transcript = runner.transcript(job)
        except NotRunError as error:
            item.stash[_NOT_RUN] = str(error)
            pytest.skip(f"not run: {error}")
        except (UserError, OSError) as error:
            state.give_up(f"no dialogue was recorded from here on: {error}")
            pytest.fail(str(error), pytrace=False)
        if not runner.is_in_run_file(job):
            item.stash.setdefault(_HELD, []).append((self.case, transcript))
        item.stash[_HAS_HELD] = True
        # A rerun of the test must not pile its properties upon those of the first attempt.
        item.user_properties[:] = [p for p in item.user_properties if not p[0].startswith("llmkg.")]
        item.user_properties.extend(runner.properties(transcript))
        complaint = transcript.error or runner.shortfall(transcript)
        if complaint:
            pytest.fail(complaint, pytrace=False)
        return transcript


@pytest.fixture
def dialogue(request: pytest.FixtureRequest, case: Case, model: ModelSpec, iteration: int) -> BoundDialogue:
    """The dialogue of this test's case, model and iteration; ``dialogue.hold()`` holds it."""
    return BoundDialogue(request.node, case, model, iteration)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts cases and transcripts on the report, which carries them to the process that writes the run file."""
    report = yield
    held, state = item.stash.get(_HELD, []), item.config.stash[STATE]
    item.stash[_HELD] = []
    if state.is_controller:
        held = []  # in the run file already
    elif state.part is not None:
        for _, transcript in held:
            state.part.reported(transcript)
    broke_off = report.failed and report.when != "teardown" and _HAS_HELD not in item.stash
    if broke_off and item.get_closest_marker("llmkg"):
        held = _broken_off(item, f"{call.excinfo.typename}: {call.excinfo.value}" if call.excinfo else "failed")
    if held:
        from pytest_llmkg.plain import to_plain

        setattr(report, DIALOGUES, to_plain(held))
    if report.when == "call" and _NOT_RUN in item.stash:
        setattr(report, NOT_RUN, item.stash[_NOT_RUN])
    return report


def _broken_off(item: pytest.Item, error: str) -> list[tuple[Case, Transcript]]:
    """The record of a dialogue that was never held, since the test failed before."""
    from pytest_llmkg.session.holding import error_transcript

    job, runner = job_of(item), item.config.stash[STATE].built_runner
    if job is None or (runner is not None and runner.is_known(job)):
        return []  # held ahead of its test, so there is more to record than an error
    return [(job.case, error_transcript(job.case, job.model.id, job.iteration, error))]
