"""The pytest plugin: hooks of a few lines each, handing over to `suite` and `session`.

Nothing here imports a graph or model library; a session that has nothing to do with models pays for this module only.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg import options
from pytest_llmkg.errors import UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pytest_llmkg.records import Transcript
    from pytest_llmkg.session import FinishedRun, Keeper, Runner
    from pytest_llmkg.suite import Suite

__all__ = ["BoundDialogue", "dialogue"]

_MARKER = (
    "llmkg(*tasks): a benchmark test; runs once for each case of the named tasks (of all tasks when none is named), "
    "model and iteration, which it gets as 'case', 'model' and 'iteration', or bound together as 'dialogue'"
)
_ATTRIBUTE = "llmkg_dialogues"


class _State:
    """What this plugin holds for one session."""

    def __init__(self) -> None:
        self.suite: Suite | None = None
        self.runner: Runner | None = None
        self.finished: FinishedRun | None = None
        self.problem: str | None = None


_STATE = pytest.StashKey[_State]()
_HELD = pytest.StashKey["list[tuple[Case, Transcript]]"]()


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
    config.stash[_STATE] = _State()
    if options.is_active(config) and not config.option.help:
        _suite(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes connectors, event loop and graph engine."""
    state = config.stash.get(_STATE, None)
    if state is not None and state.runner is not None:
        state.runner.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Models, cases, seed and versions, in sessions that are about models."""
    suite = config.stash[_STATE].suite
    return [] if suite is None else [f"llmkg: {line}" for line in suite.header_lines()]


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
    with _usage_errors():
        rows = _suite(metafunc.config).plan(marker.args, names)
    metafunc.parametrize(names, [[getattr(row, name) for name in names] for row in rows], ids=[row.id for row in rows])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drops the placeholders of marked tests without any case, e.g. those of tasks that ``--tasks`` excludes."""
    empty = [item for item in items if item.get_closest_marker("llmkg") and item.name.endswith("[NOTSET]")]
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = [item for item in items if item not in empty]


@dataclass(frozen=True, slots=True)
class BoundDialogue:
    """A case, a model and an iteration, ready to be asked by a test."""

    item: pytest.Item
    case: Case
    model: ModelSpec
    iteration: int

    def hold(self) -> Transcript:
        """Holds the dialogue and records it; fails the test when it broke off or scored below ``--llmkg-min-score``."""
        runner = _runner(self.item.config)
        transcript = runner.hold(self.case, self.model, self.iteration)
        self.item.stash.setdefault(_HELD, []).append((self.case, transcript))
        # A rerun of the test must not pile its properties upon those of the first attempt.
        self.item.user_properties[:] = [p for p in self.item.user_properties if not p[0].startswith("llmkg.")]
        self.item.user_properties.extend(runner.properties(transcript))
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
    held = item.stash.get(_HELD, [])
    item.stash[_HELD] = []
    if not held and report.failed and report.when != "teardown" and item.get_closest_marker("llmkg"):
        held = _broken_off(item, f"{call.excinfo.typename}: {call.excinfo.value}" if call.excinfo else "failed")
    if held:
        setattr(report, _ATTRIBUTE, to_plain(held))
    return report


class _Controller:
    """Hooks of the one process that writes: the controller of pytest-xdist, or the only process without it."""

    def __init__(self, state: _State, keeper: Keeper) -> None:
        self._state = state
        self._keeper = keeper

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Appends the dialogues of a report to the run file, at once."""
        for case, transcript in report.__dict__.pop(_ATTRIBUTE, ()):
            self._keeper.keep(case, transcript)
        if report.failed and report.when not in ("setup", "call", "teardown"):
            self._keeper.keep_lost(report.nodeid, report.longreprtext)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the reports; what fails here must not hide the results of the tests."""
        try:
            self._state.finished = self._keeper.finish()
        except Exception as error:  # noqa: BLE001  (recorded, shown in the summary, and the session fails)
            self._state.problem = f"no report was written: {type(error).__name__}: {error}"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Shows the leaderboard and where the page is."""
        finished, problem = self._state.finished, self._state.problem
        if finished is None and problem is None:
            return
        terminalreporter.write_sep("=", "llmkg leaderboard")
        for line in [] if finished is None else finished.lines(shutil.get_terminal_size((100, 24)).columns):
            terminalreporter.write_line(line)
        if problem is not None:
            terminalreporter.write_line(problem, red=True)
        terminalreporter.write_line(f"run file: {self._keeper.directory / 'run.jsonl'}")


def _suite(config: pytest.Config) -> Suite:
    """The suite of this session, built when first needed."""
    state = config.stash[_STATE]
    if state.suite is None:
        from pytest_llmkg.session import Keeper
        from pytest_llmkg.suite import build_suite

        hook = config.hook
        with _usage_errors():
            state.suite = build_suite(
                options.parse_settings(config),
                config.rootpath,
                [task for tasks in hook.pytest_llmkg_tasks(config=config) for task in tasks],
                [factory for factories in hook.pytest_llmkg_connectors(config=config) for factory in factories],
            )
            if not hasattr(config, "workerinput"):
                controller = _Controller(state, Keeper(state.suite, config.rootpath))
                config.pluginmanager.register(controller, "llmkg-controller")
    return state.suite


def _runner(config: pytest.Config) -> Runner:
    state = config.stash[_STATE]
    if state.runner is None:
        from pytest_llmkg.session import Runner

        state.runner = Runner(_suite(config))
    return state.runner


def _broken_off(item: pytest.Item, error: str) -> list[tuple[Case, Transcript]]:
    """The record of a dialogue that was never held, since the test failed before."""
    from pytest_llmkg.session import error_transcript

    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return []
    params: dict[str, Any] = item.callspec.params
    if not {"case", "model", "iteration"} <= params.keys():
        return []
    return [(params["case"], error_transcript(params["case"], params["model"].id, params["iteration"], error))]


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """Turns what the user can mend into pytest's own usage error: one line, exit status 4."""
    try:
        yield
    except UserError as error:
        raise pytest.UsageError(str(error)) from error
