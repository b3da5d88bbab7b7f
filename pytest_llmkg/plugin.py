"""The pytest plugin: hooks of a few lines each, handing over to `suite` and `session`.

Nothing here imports a graph or model library; a session that has nothing to do with models pays for this module only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg import options
from pytest_llmkg.errors import LlmkgError, UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

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
        self.keeper: Keeper | None = None
        self.finished: FinishedRun | None = None
        self.problems: list[str] = []
        self.without_cases = 0


_STATE = pytest.StashKey[_State]()
# Dialogues that no report carries yet, and whether the test has held any.
_HELD = pytest.StashKey["list[tuple[Case, Transcript]]"]()
_HAS_HELD = pytest.StashKey[bool]()


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
    is_controller = not hasattr(config, "workerinput")
    if is_controller:
        config.pluginmanager.register(_Controller(config), "llmkg-controller")
    if options.is_active(config) and not config.getoption("help", default=False):
        try:
            suite = _suite(config)
            if is_controller and not config.getoption("collectonly", default=False):
                suite.check_models()
                _keeper(config)
        except UserError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes connectors, event loop and graph engine."""
    state = config.stash.get(_STATE, None)
    if state is not None and state.runner is not None:
        state.runner.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Models, cases, seed and versions, in sessions that are about models."""
    suite = config.stash[_STATE].suite
    if suite is None:
        return []
    from pytest_llmkg.session import versions

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
        rows = _suite(metafunc.config).plan(marker.args, names)
    except UserError as error:
        pytest.fail(str(error), pytrace=False)
    values = [[getattr(row, name) for name in names] for row in rows]
    # Without any case there is a placeholder, which the next hook drops.
    metafunc.parametrize(names, values or [[None] * len(names)], ids=[row.id for row in rows] or ["none"])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drops the placeholders of marked tests without any case, e.g. those of tasks that ``--tasks`` excludes."""
    empty = [item for item in items if item.get_closest_marker("llmkg") and _parameters(item).get("case", item) is None]
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = [item for item in items if item not in empty]
    config.stash[_STATE].without_cases = len(empty)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Says so when benchmark tests have nothing to ask, which ``--tasks`` does not explain."""
    state = config.stash[_STATE]
    if not state.without_cases or state.suite is None or state.suite.settings.tasks:
        return []
    hint = "name a case file of their tasks by --llmkg-cases=FILE or by llmkg_cases in the ini file"
    return [f"llmkg: {state.without_cases} benchmark test(s) have no cases; {hint}"]


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
        self.item.stash[_HAS_HELD] = True
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
    broke_off = report.failed and report.when != "teardown" and _HAS_HELD not in item.stash
    if broke_off and item.get_closest_marker("llmkg"):
        held = _broken_off(item, f"{call.excinfo.typename}: {call.excinfo.value}" if call.excinfo else "failed")
    if held:
        setattr(report, _ATTRIBUTE, to_plain(held))
    return report


class _Controller:
    """Hooks of the one process that writes: the controller of pytest-xdist, or the only process without it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._state = config.stash[_STATE]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Appends the dialogues of a report to the run file, at once, and takes them off the report."""
        held = report.__dict__.pop(_ATTRIBUTE, ())
        # A test whose process died is reported by pytest-xdist, in no phase.
        lost = report.failed and report.when not in ("setup", "call", "teardown") and self._state.suite is not None
        if self._state.problems or not (held or lost):
            return
        try:
            for case, transcript in held:
                _keeper(self._config).keep(case, transcript)
            if lost:
                _keeper(self._config).keep_lost(report.nodeid, report.longreprtext)
        except (LlmkgError, OSError) as error:
            self._give_up(f"no dialogue was recorded from here on: {error}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the reports; what fails here must not hide the results of the tests."""
        state = self._state
        if state.keeper is None:
            return
        try:
            state.finished = state.keeper.finish()
        except Exception as error:  # noqa: BLE001  (recorded, shown in the summary, and the session fails)
            state.problems.append(f"no report was written: {type(error).__name__}: {error}")
        if state.finished is not None and state.finished.problem:
            state.problems.append(state.finished.problem)
        if state.problems:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Shows the leaderboard and where the page is."""
        state = self._state
        if state.finished is None and not state.problems:
            return
        terminalreporter.write_sep("=", "llmkg leaderboard")
        if state.finished is not None:
            for line in state.finished.lines(max(config.get_terminal_writer().fullwidth, 60)):
                terminalreporter.write_line(line)
            terminalreporter.write_line("")
            terminalreporter.write_line(f"leaderboard: {_shown(state.finished.page, config)}")
        if state.keeper is not None:
            terminalreporter.write_line(f"run file: {_shown(state.keeper.directory / 'run.jsonl', config)}")
        for problem in state.problems:
            terminalreporter.write_line(f"llmkg: {problem}", red=True)

    def _give_up(self, problem: str) -> None:
        """Ends the session: answers that cannot be kept should not be paid for."""
        self._state.problems.append(problem)
        for name in ("session", "dsession"):  # pytest's own session, and the one of pytest-xdist's controller
            running = self._config.pluginmanager.getplugin(name)
            if running is not None:
                running.shouldstop = f"llmkg: {problem}"


def _suite(config: pytest.Config) -> Suite:
    """The suite of this session, built when first needed."""
    state = config.stash[_STATE]
    if state.suite is None:
        from pytest_llmkg.suite import build_suite

        hook, settings = config.hook, options.parse_settings(config)
        tasks, connectors = hook.pytest_llmkg_tasks(config=config), hook.pytest_llmkg_connectors(config=config)
        state.suite = build_suite(settings, config.rootpath, tasks, connectors)
    return state.suite


def _keeper(config: pytest.Config) -> Keeper:
    """What writes this session's run; made when first needed, since only the tests may tell that models are asked."""
    state = config.stash[_STATE]
    if state.keeper is None:
        from pytest_llmkg.session import Keeper

        state.keeper = Keeper(_suite(config), config.rootpath)
    return state.keeper


def _runner(config: pytest.Config) -> Runner:
    state = config.stash[_STATE]
    if state.runner is None:
        from pytest_llmkg.session import Runner

        state.runner = Runner(_suite(config))
    return state.runner


def _broken_off(item: pytest.Item, error: str) -> list[tuple[Case, Transcript]]:
    """The record of a dialogue that was never held, since the test failed before."""
    from pytest_llmkg.session import error_transcript

    row = _parameters(item)
    if not {"case", "model", "iteration"} <= row.keys():
        return []
    return [(row["case"], error_transcript(row["case"], row["model"].id, row["iteration"], error))]


def _parameters(item: pytest.Item) -> dict[str, Any]:
    """The values that a test was made for, by name; empty for one without."""
    call = item.callspec if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    return {} if call is None else dict(call.params)


def _shown(path: Path, config: pytest.Config) -> Path:
    """``path`` from where the user stands, if it is below."""
    here = config.invocation_params.dir
    return path.relative_to(here) if path.is_relative_to(here) else path
