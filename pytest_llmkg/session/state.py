"""What the plugin holds for one pytest session, each part made when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_llmkg.scheduling.ahead import Job
    from pytest_llmkg.scheduling.desk import LocalDesk
    from pytest_llmkg.scheduling.loop_thread import LoopThread
    from pytest_llmkg.scheduling.remote_desk import RemoteDesk
    from pytest_llmkg.session.holding import Runner
    from pytest_llmkg.session.keeping import Keeper
    from pytest_llmkg.session.run_reports import Written
    from pytest_llmkg.session.workers import PartKeeper, WorkerInput, WorkQueue
    from pytest_llmkg.suite import Suite

__all__ = ["STATE", "SessionState", "job_of", "parameters"]

STATE = pytest.StashKey["SessionState"]()


class SessionState:
    """The parts of one session; the process that controls it has a keeper, a worker of pytest-xdist has a part.

    Attributes:
        given: what this worker was told, None in the controlling process.
        problems: sentences for the end of the session, which fails because of them.
        without_cases: benchmark tests that had nothing to ask.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.given: WorkerInput | None = None
        self.finished: Written | None = None
        self.problems: list[str] = []
        self.without_cases = 0
        self.part: PartKeeper | None = None
        self._suite: Suite | None = None
        self._keeper: Keeper | None = None
        self._loop: LoopThread | None = None
        self._desk: LocalDesk | None = None
        self._remote_desk: RemoteDesk | None = None
        self._runner: Runner | None = None
        self._upcoming: AllTests | WorkQueue | None = None

    @property
    def is_controller(self) -> bool:
        """Whether this is the one process that writes the run: the controller of pytest-xdist, or the only process."""
        return not hasattr(self.config, "workerinput")

    @property
    def built_suite(self) -> Suite | None:
        """The suite, if this session has needed one."""
        return self._suite

    @property
    def built_keeper(self) -> Keeper | None:
        """The keeper, if this session has needed one."""
        return self._keeper

    def suite(self) -> Suite:
        """The suite of this session.

        Raises:
            UserError: see `pytest_llmkg.suite.build_suite`.
        """
        if self._suite is None:
            from pytest_llmkg.suite import build_suite

            hook, settings = self.config.hook, options.parse_settings(self.config)
            tasks = hook.pytest_llmkg_tasks(config=self.config)
            connectors = hook.pytest_llmkg_connectors(config=self.config)
            self._suite = build_suite(settings, self.config.rootpath, tasks, connectors)
        return self._suite

    def keeper(self) -> Keeper:
        """What writes this session's run; needed late, since only the tests may tell that models are asked.

        Raises:
            UserError: see `pytest_llmkg.session.keeping.Keeper`.
        """
        if self._keeper is None:
            from pytest_llmkg.session.keeping import Keeper

            self._keeper = Keeper(self.suite(), self.config.rootpath)
        return self._keeper

    def loop(self) -> LoopThread:
        """The event loop of this process."""
        if self._loop is None:
            from pytest_llmkg.scheduling.loop_thread import LoopThread

            self._loop = LoopThread()
        return self._loop

    def desk(self, processes: int = 1) -> LocalDesk:
        """The desk of this run; the first call says over how many processes."""
        if self._desk is None:
            from pytest_llmkg.session.holding import make_desk

            self._desk = make_desk(self.suite(), processes)
            if self.suite().settings.max_cost is not None:
                from pytest_llmkg.session.tally import spent_before

                for model, cost in spent_before(self.keeper().resumed):
                    self._desk.budget.remember(model, cost)
        return self._desk

    @property
    def built_desk(self) -> LocalDesk | None:
        """The desk, if this session has needed one."""
        return self._desk

    @property
    def built_runner(self) -> Runner | None:
        """The runner, if this session has needed one."""
        return self._runner

    def runner(self, session: pytest.Session) -> Runner:
        """What holds dialogues; begins to hold those of all tests that this process is known to run.

        Raises:
            LlmkgError: the run cannot be read or written.
        """
        first = self._runner is None
        if self._runner is None or self._upcoming is None:
            self._runner, self._upcoming = self._new_runner()
        items = self._upcoming.new_items(session)
        if items:
            if not first and self.given is not None:
                # Tests that another worker was given first, and may have finished.
                from pytest_llmkg.session.workers import known_run

                self._runner.keep(known_run(self.given, self.suite().settings.resume))
                if self._remote_desk is not None:
                    self._runner.suspect(self.loop().run(self._remote_desk.lost()))
            self._runner.plan(_jobs(items))
        return self._runner

    def stop(self, why: str) -> None:
        """Begins no dialogue any more."""
        if self._runner is not None:
            self._runner.stop(why)
            self.problems += [text for text in dict.fromkeys(self._runner.problems) if text not in self.problems]

    def give_up(self, problem: str) -> None:
        """Ends the session: answers that cannot be kept should not be paid for."""
        if problem not in self.problems:
            self.problems.append(problem)
        for name in ("session", "dsession"):  # pytest's own session, and the one of pytest-xdist's controller
            running = self.config.pluginmanager.getplugin(name)
            if running is not None:
                running.shouldstop = f"llmkg: {problem}"

    def close(self) -> None:
        """Closes all that was made; may be called twice."""
        runner, loop, self._runner, self._loop = self._runner, self._loop, None, None
        if runner is not None:
            runner.close()
        if self._keeper is not None:
            self._keeper.close()
        if self.part is not None:
            self.part.close()
        if loop is not None:
            loop.close()
        if self._suite is not None:
            self._suite.close()

    def _new_runner(self) -> tuple[Runner, AllTests | WorkQueue]:
        if self.is_controller:
            return self._controlling_runner(), AllTests()
        from pytest_llmkg.session.workers import WorkerInput, WorkQueue

        if self.given is None:
            # When the workers began, the controller could not know that this session is about models.
            self.given = WorkerInput(self.config.workerinput["workercount"])  # type: ignore[attr-defined]
        return self._working_runner(self.given), WorkQueue(self.config)

    def _controlling_runner(self) -> Runner:
        from pytest_llmkg.session.holding import Runner

        keeper = self.keeper()
        keeper.open()  # a run that is killed before its first dialogue ends can be resumed, too
        return Runner(self.suite(), self.loop(), self.desk(), keeper.record, keeper.resumed)

    def _working_runner(self, given: WorkerInput) -> Runner:
        from pytest_llmkg.scheduling.remote_desk import DeskAddress, RemoteDesk
        from pytest_llmkg.session.holding import Runner, make_desk
        from pytest_llmkg.session.workers import PartKeeper, known_run

        self.part = PartKeeper(given, self.config.workerinput["workerid"])  # type: ignore[attr-defined]
        if given.port:
            self._remote_desk = RemoteDesk(DeskAddress(given.port, given.token))
        desk = self._remote_desk or make_desk(self.suite(), 1, share=given.processes)
        known = known_run(given, self.suite().settings.resume) if given.knows_more else None
        return Runner(self.suite(), self.loop(), desk, self.part.record, known, given.suspects)


class AllTests:
    """The tests of a session that has only one process."""

    def __init__(self) -> None:
        self._is_known = False

    def new_items(self, session: pytest.Session) -> list[pytest.Item]:
        """All tests at the first call, then none."""
        known, self._is_known = self._is_known, True
        return [] if known else session.items


def job_of(item: pytest.Item) -> Job | None:
    """The dialogue that a test is made for, None when it is none or not told apart."""
    from pytest_llmkg.scheduling.ahead import Job

    row = parameters(item)
    if row.get("case") is None or not {"model", "iteration"} <= row.keys():
        return None
    return Job(row["case"], row["model"], row["iteration"])


def parameters(item: pytest.Item) -> dict[str, Any]:
    """The values that a test was made for, by name; empty for one without."""
    call = item.callspec if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    return {} if call is None else dict(call.params)


def _jobs(items: Iterable[pytest.Item]) -> Iterator[Job]:
    """The dialogues that are sure to be asked for: a test that may be skipped must not cost anything."""
    for item in items:
        marker = item.get_closest_marker("llmkg")
        doubtful = any(item.get_closest_marker(name) for name in ("skip", "skipif"))
        if marker is None or doubtful or not marker.kwargs.get("ahead", True):
            continue
        job = job_of(item)
        if job is not None and "dialogue" in getattr(item, "fixturenames", ()):
            yield job
