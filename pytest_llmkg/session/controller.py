"""The plugin's hooks in the process that controls the run."""

from __future__ import annotations

import signal
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.errors import LlmkgError
from pytest_llmkg.session.last_word import NotRun, columns_of, shown_path, unfinished
from pytest_llmkg.session.wire import DIALOGUES, INPUT, MISUSED, NOT_RUN, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from pytest_llmkg.gatekeeper import Judged
    from pytest_llmkg.plain import Json
    from pytest_llmkg.reporting.progress import ModelProgress
    from pytest_llmkg.scheduling.remote_desk import DeskServer
    from pytest_llmkg.session.keeping import Keeper
    from pytest_llmkg.session.state import SessionState

__all__ = ["Controller"]

_RERUN = "rerun"
_LOSS_SECONDS = 0.5


class Controller:
    """Hooks of the one process that writes: the controller of pytest-xdist, or the only process without it."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._config = state.config
        self._not_run = NotRun()
        self._server: DeskServer | None = None
        self._address: tuple[int, str] = (0, "")
        self._run_again: dict[str, bool] = {}  # and whether it did
        self._lost, self._deaths = 0, 0
        self._planned = self._misused = False
        self._judged: Judged | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notes that a mark names something unknown."""
        self._misused |= getattr(report, MISUSED, False)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Notes which dialogues are to be held, without pytest-xdist."""
        self._plan([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Notes which dialogues are to be held; all workers collect the same."""
        if not self._planned:
            self._plan(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> object | None:
        """Deals the tests out in whole shares, unless another way was asked for that says where a test must run."""
        suite = self._state.built_suite
        if suite is None or config.getoption("dist") not in ("load", "worksteal"):
            return None
        from xdist.workermanage import parse_tx_spec_config

        from pytest_llmkg.session.sharing import ShareScheduling

        workers = len(parse_tx_spec_config(config))
        return ShareScheduling(config, workers, len(suite.models) * suite.settings.iterations)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker where to write and whom to ask for leave."""
        state = self._state
        if state.built_suite is None:
            return
        from pytest_llmkg.plain import to_plain
        from pytest_llmkg.session.workers import WorkerInput

        processes, resumed = node.workerinput["workercount"], state.keeper().resumed
        given = WorkerInput(processes, knows_more=resumed is not None)
        if node.gateway.spec.popen:
            self._serve_desk(processes)
            suspects = () if self._server is None else tuple(sorted(name for _, name in self._server.lost))
            given = WorkerInput(
                processes,
                str(state.keeper().directory),
                state.keeper().lock,
                *self._address,
                knows_more=resumed is not None or self._deaths > 0,
                suspects=suspects,
            )
        elif resumed is not None:
            names = tuple("/".join(map(str, key)) for key in sorted(resumed.finished()))
            given = WorkerInput(processes, finished=names)
        node.workerinput[INPUT] = to_plain(given)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Takes what a worker held for no test; one that died left it in a file, and dialogues that it was holding."""
        output = getattr(node, "workeroutput", None) or {}
        self._state.problems += [text for text in output.get(PROBLEMS, []) if text not in self._state.problems]
        self._record(output.get(DIALOGUES, []))
        self._deaths += error is not None
        if error is not None and self._server is not None:
            self._lost = self._state.loop().run(self._server.wait_for_loss(self._lost, _LOSS_SECONDS))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Runs a test again whose worker died: it may have been one of the other dialogues that were being held.

        Those are held alone from now on, so that the second death names the right one. When no worker will take the
        dead one's place, nothing is run again.
        """
        option = self._config.option
        most = option.maxworkerrestart or (option.numprocesses * 4 if option.numprocesses else self._deaths)
        if self._server is None or not self._server.lost or crashitem in self._run_again or self._deaths > int(most):
            return
        self._run_again[crashitem] = False
        report.outcome = _RERUN  # type: ignore[assignment]
        sched.mark_test_pending(crashitem)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A test that will run again is neither passed nor failed."""
        if getattr(report, "outcome", None) == _RERUN and report.nodeid in self._run_again:
            return _RERUN, "R", "RERUN"
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Appends the dialogues of a report to the run file, at once, and takes them off the report."""
        held = report.__dict__.pop(DIALOGUES, ())
        reason = report.__dict__.pop(NOT_RUN, None)
        if reason is not None:
            self._not_run.add(reason)
        self._record(held)
        if report.nodeid in self._run_again and report.outcome != _RERUN:
            self._run_again[report.nodeid] = True
        # A test whose process died is reported by pytest-xdist, in no phase.
        if report.failed and report.when not in ("setup", "call", "teardown") and self._state.built_suite is not None:
            self._guarded(lambda: self._state.keeper().record_lost(report.nodeid, report.longreprtext))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Ends what is held ahead when the tests end, in whatever way; SIGTERM, as CI sends it, is like Ctrl-C."""
        in_main = threading.current_thread() is threading.main_thread()
        is_ours = in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if is_ours:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            return (yield)
        finally:
            self._guarded(lambda: self._state.stop("the session ends"))
            if is_ours:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the reports; what fails here must not hide the results of the tests."""
        if self._server is not None:
            self._state.loop().run(self._server.stop())
        state = self._state
        for node_id in (node_id for node_id, did in self._run_again.items() if not did):
            problem = f"{node_id} was not run again after its worker died"
            state.problems.append(problem)
            self._guarded(partial(state.keeper().record_lost, node_id, problem))
        if state.built_keeper is not None:
            state.problems += self._not_run.sentences(shown_path(state.built_keeper.directory, self._config))
            try:
                state.finished = state.built_keeper.finish(columns_of(self._config))
                if self._server is not None:
                    state.built_keeper.tally.complete(state.built_keeper.directory, state.built_keeper.resumed)
            except Exception as error:  # noqa: BLE001  (recorded, shown in the summary, and the session fails)
                state.problems.append(f"no report was written: {type(error).__name__}: {error}")
        if state.finished is not None and state.finished.problem:
            state.problems.append(state.finished.problem)
        passed = state.built_keeper is None or state.built_keeper.gate is None or self._judge(state.built_keeper)
        if state.problems or not passed:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        if self._misused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Shows the leaderboard and where the page is."""
        state = self._state
        if self._judged is not None:
            terminalreporter.write_sep("=", "llmkg gate")
            for line in self._judged.lines:
                terminalreporter.write_line(line, red=line.startswith("FAIL"))
        if state.finished is None and not state.problems:
            return
        terminalreporter.write_sep("=", "llmkg leaderboard")
        if state.finished is not None:
            for line in state.finished.lines:
                terminalreporter.write_line(line)
            terminalreporter.write_line("")
            terminalreporter.write_line(f"leaderboard: {shown_path(Path(state.finished.page), config)}")
        if state.built_keeper is not None:
            terminalreporter.write_line(f"run file: {shown_path(state.built_keeper.directory / 'run.jsonl', config)}")
        for problem in state.problems:
            terminalreporter.write_line(f"llmkg: {problem}", red=True)

    def last_words(self) -> list[str]:
        """What is to be said below pytest's last line: of the gate, and of dialogues that were not run."""
        from pytest_llmkg.reporting.verdicts import last_line

        keeper, words = self._state.built_keeper, []
        if self._judged is not None:
            words.append(last_line(self._judged.result))
        missing = None if keeper is None else unfinished(self.progress(), shown_path(keeper.directory, self._config))
        if missing is not None and keeper is not None and (keeper.directory / "run.jsonl").is_file():
            words.append(missing)
        return words

    def progress(self) -> list[ModelProgress]:
        """How far each model is; may be called from any thread."""
        from pytest_llmkg.reporting.progress import ModelProgress

        keeper, desk, suite = self._state.built_keeper, self._state.built_desk, self._state.built_suite
        if keeper is None or suite is None:
            return []
        return [
            ModelProgress(
                model=model.id,
                planned=count.planned,
                done=count.ended + count.kept,
                kept=count.kept,
                in_flight=0 if desk is None else desk.dialogues(model.id),
                limit=None if desk is None else desk.calls_at_once(model.id),
                errors=count.errors,
                retries=0 if desk is None else desk.retries(model.id),
                mean=count.mean,
                tokens=count.tokens or None,
                cost=count.cost,
            )
            for model in suite.models
            for count in [keeper.tally.of(model.id)]
        ]

    def _judge(self, keeper: Keeper) -> bool:
        """Whether the run passed the gate; what hinders its judgement is a problem of the session."""
        if keeper.gate is None or not any(row.done for row in self.progress()):
            self._state.problems.append("the gate judged nothing, since no dialogue was held")
            return False
        try:
            self._judged = keeper.gate.judge_and_tell(keeper.directory)
        except Exception as error:  # noqa: BLE001  (recorded, shown in the summary, and the session fails)
            self._state.problems.append(f"the gate could not judge: {type(error).__name__}: {error}")
            return False
        self._state.problems += self._judged.problems
        return self._judged.result.passed

    def _plan(self, node_ids: Sequence[str]) -> None:
        suite = self._state.built_suite
        if suite is not None and not self._config.getoption("collectonly", default=False):
            self._planned = True
            try:
                self._state.keeper().plan(suite.find(node_ids).values())
            except (LlmkgError, OSError) as error:
                raise pytest.UsageError(str(error)) from error

    def _record(self, held: Iterable[tuple[Json, Json]]) -> None:
        for case, transcript in held:
            self._guarded(partial(self._record_one, case, transcript))

    def _record_one(self, case: Json, transcript: Json) -> None:
        from pytest_llmkg.plain import from_plain
        from pytest_llmkg.records import Case, Transcript

        self._state.keeper().record(from_plain(Case, case), from_plain(Transcript, transcript))

    def _guarded(self, work: Any) -> bool:
        """Does ``work``; what cannot be written ends the session with one sentence. Whether it was done."""
        try:
            work()
        except (LlmkgError, OSError) as error:
            self._state.give_up(f"no dialogue was recorded from here on: {error}")
            return False
        return True

    def _begin_run_file(self) -> str | None:
        """What workers write is worth nothing without a header, so that comes first; tells why if it cannot."""
        return None if self._guarded(self._state.keeper().open) else "the run file cannot be written"

    def _serve_desk(self, processes: int) -> None:
        if self._server is None:
            from pytest_llmkg.scheduling.remote_desk import DeskServer

            self._server = DeskServer(self._state.desk(processes), self._begin_run_file)
            address = self._state.loop().run(self._server.start())
            self._address = (address.port, address.token)
