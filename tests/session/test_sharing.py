"""Sharing tests out: a simulation of pytest-xdist, whose workers start, run, die and are replaced at random."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.session.sharing import ShareScheduling

if TYPE_CHECKING:
    from collections.abc import Callable

SHUTDOWN = -1
NO_CHANCE = Random(0)  # noqa: S311  (no secret)
"""For simulations whose steps a test goes itself."""


class FakeNode:
    """A worker as its controller sees it, and the worker itself: it runs a test only when it knows what follows."""

    def __init__(self, name: str, collection: list[str]) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.collection = collection
        self.state = "starting"
        self.inbox: deque[int] = deque()
        self.shutting_down = False
        self.ever_given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down, "a worker that was told to end would never run it"
        if self.state == "dead":
            raise OSError("cannot send (already closed?)")
        self.inbox.extend(indices)
        self.ever_given += indices

    def shutdown(self) -> None:
        self.inbox.append(SHUTDOWN)
        self.shutting_down = True

    @property
    def can_run(self) -> bool:
        return self.state == "collected" and len(self.inbox) >= 2 and self.inbox[0] != SHUTDOWN

    @property
    def can_end(self) -> bool:
        return self.state == "collected" and bool(self.inbox) and self.inbox[0] == SHUTDOWN


@dataclass
class Simulation:
    """The controller's loop of pytest-xdist 3.8 (`xdist.dsession.DSession`), with chance for time."""

    tests: int
    workers: int
    block: int
    crashes: int
    random: Random
    odd_replacements: bool = False
    most_restarts: int | None = None
    repeats_crashed: bool = False
    events: deque[tuple[str, FakeNode, int]] = field(default_factory=deque)
    active: list[FakeNode] = field(default_factory=list)
    all_nodes: list[FakeNode] = field(default_factory=list)
    completed: Counter[int] = field(default_factory=Counter)
    crashed: Counter[int] = field(default_factory=Counter)
    reports: list[pytest.CollectReport] = field(default_factory=list)
    is_ending: bool = False
    restarts: int = 0

    def __post_init__(self) -> None:
        hook = SimpleNamespace(pytest_collectreport=self._note)
        config: Any = SimpleNamespace(hook=hook)
        self.ids = [f"test_{number}" for number in range(self.tests)]
        self.scheduler: Any = ShareScheduling(config, self.workers, self.block)
        for _ in range(self.workers):
            self._start(self.ids)

    def run(self) -> str:
        """Plays to the end; whether it came regularly or since no worker is left."""
        while not (self.is_ending and not self.active):
            if not self.active and not self.events:
                return "no worker left"
            choices = [*self._work(), *([self._handle] if self.events else [])]
            assert choices, f"hangs: {[(n.gateway.id, n.state, list(n.inbox)) for n in self.active]}"
            self.random.choice(choices)()
        return "ended"

    def _note(self, report: pytest.CollectReport) -> None:
        self.reports.append(report)

    def _start(self, collection: list[str]) -> None:
        node = FakeNode(f"gw{len(self.all_nodes)}", collection)
        self.all_nodes.append(node)
        self.active.append(node)

    def _work(self) -> list[Callable[[], None]]:
        """What the workers may do next."""
        work: list[Callable[[], None]] = []
        for node in self.active:
            if node.state == "starting":
                work.append(partial(self._tell, "ready", node, state="ready"))
            elif node.state == "ready":
                work.append(partial(self._tell, "collected", node, state="collected"))
            elif node.can_run:
                work += 3 * [partial(self._complete, node)]
            elif node.can_end:
                work.append(partial(self._tell, "finished", node, state="gone"))
            if self.crashes and node.state in ("starting", "ready", "collected"):
                work.append(partial(self._crash, node))
        return work

    def _complete(self, node: FakeNode) -> None:
        self._tell("complete", node, node.inbox.popleft())

    def _tell(self, event: str, node: FakeNode, index: int = 0, state: str | None = None) -> None:
        node.state = state or node.state
        self.events.append((event, node, index))

    def _crash(self, node: FakeNode) -> None:
        self.crashes -= 1
        self._tell("errordown", node, state="dead")

    def _handle(self) -> None:
        event, node, index = self.events.popleft()
        getattr(self, f"_on_{event}")(node, index)
        if self.scheduler.tests_finished:
            self._end()

    def _end(self) -> None:
        if not self.is_ending:
            self.is_ending = True
            for node in self.scheduler.nodes:
                node.shutdown()

    def _on_ready(self, node: FakeNode, _index: int) -> None:
        if self.is_ending:
            node.shutdown()
        else:
            self.scheduler.add_node(node)

    def _on_collected(self, node: FakeNode, _index: int) -> None:
        if not self.is_ending:
            self.scheduler.add_node_collection(node, node.collection)
            if self.scheduler.collection_is_completed:
                self.scheduler.schedule()

    def _on_complete(self, node: FakeNode, index: int) -> None:
        self.completed[index] += 1
        self.scheduler.mark_test_complete(node, index, 0.1)

    def _on_finished(self, node: FakeNode, _index: int) -> None:
        if node in self.scheduler.nodes:
            assert self.scheduler.remove_node(node) is None
        self.active.remove(node)

    def _on_errordown(self, node: FakeNode, _index: int) -> None:
        try:
            item = self.scheduler.remove_node(node)
        except KeyError:
            item = None
        if item is not None:
            index = self.ids.index(item)
            self.crashed[index] += 1
            if self.repeats_crashed and self.crashed[index] == 1:
                self.scheduler.mark_test_pending(item)
        self.restarts += 1
        if self.most_restarts is not None and self.restarts > self.most_restarts:
            self._end()
        else:
            self.is_ending = False
            is_late = self.scheduler._collection is not None
            odd = self.odd_replacements and is_late and self.random.random() < 0.5
            self._start([*self.ids, "test_odd"] if odd else self.ids)
        self.active.remove(node)


simulations = st.builds(
    Simulation,
    tests=st.integers(0, 40),
    workers=st.integers(1, 5),
    block=st.integers(1, 12),
    crashes=st.integers(0, 6),
    random=st.randoms(),
    repeats_crashed=st.booleans(),
)


@settings(max_examples=400)
@given(simulations)
def test_every_test_runs_once_or_is_told_as_crashed_and_nothing_hangs(simulation: Simulation) -> None:
    assert simulation.run() == "ended"
    assert set(simulation.completed.values()) <= {1}
    for index in range(simulation.tests):
        allowed = 2 if simulation.repeats_crashed else 1
        told = simulation.crashed[index] >= allowed
        assert told != (simulation.completed[index] == 1)
    assert not simulation.scheduler.has_pending
    assert simulation.reports == []


@settings(max_examples=200)
@given(simulations, st.integers(0, 3))
def test_with_a_limit_of_restarts_it_ends_as_well(simulation: Simulation, most: int) -> None:
    simulation.most_restarts = most
    assert simulation.run() == "ended"
    assert set(simulation.completed.values()) <= {1}
    if simulation.restarts <= most:
        assert set(simulation.completed) | set(simulation.crashed) == set(range(simulation.tests))


@settings(max_examples=200)
@given(simulations)
def test_a_replacement_that_collects_other_tests_gets_none_and_is_told(simulation: Simulation) -> None:
    simulation.odd_replacements = True
    ending = simulation.run()
    odd = [node for node in simulation.all_nodes if "test_odd" in node.collection]
    assert set(simulation.completed.values()) <= {1}
    assert all(not node.ever_given for node in odd)
    if ending == "ended":
        assert set(simulation.completed) | set(simulation.crashed) == set(range(simulation.tests))
    if ending != "ended":
        assert simulation.reports, "it ends early, and nobody knows why"
    for report in simulation.reports:
        assert report.outcome == "failed"
        assert "test_odd" in str(report.longrepr)


def first_shares(tests: int, workers: int, block: int) -> list[list[int]]:
    simulation = Simulation(tests, workers, block, 0, NO_CHANCE)
    for node in simulation.all_nodes:
        simulation._on_ready(node, 0)
    for node in simulation.all_nodes:
        simulation._on_collected(node, 0)
    return [node.ever_given for node in simulation.all_nodes]


def test_blocks_stay_together_and_are_dealt_in_turns() -> None:
    first, second = first_shares(24, 2, 3)
    assert first == [0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20]
    assert second == [3, 4, 5, 9, 10, 11, 15, 16, 17, 21, 22, 23]


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 50))
def test_all_tests_are_dealt_at_once_and_evenly(tests: int, workers: int, block: int) -> None:
    shares = first_shares(tests, workers, block)
    assert sorted(index for share in shares for index in share) == list(range(tests))
    assert all(share == sorted(share) for share in shares)
    used = max(1, min(block, tests // (4 * workers)))
    assert max(map(len, shares)) - min(map(len, shares)) <= used


def test_workers_that_collect_different_tests_run_none() -> None:
    simulation = Simulation(5, 2, 1, 0, NO_CHANCE)
    simulation.all_nodes[1].collection = ["test_0", "test_9"]
    for node in simulation.all_nodes:
        simulation._on_ready(node, 0)
    for node in simulation.all_nodes:
        simulation._on_collected(node, 0)
    assert [node.ever_given for node in simulation.all_nodes] == [[], []]
    (report,) = simulation.reports
    assert "test_9" in str(report.longrepr)
    assert simulation.scheduler.tests_finished


def test_what_a_dead_worker_leaves_goes_to_all_that_are_idle() -> None:
    """Two idle workers and two tests: each gets one at once, or one test would stay and both would wait for ever."""
    simulation = Simulation(12, 3, 1, 0, NO_CHANCE)
    for node in simulation.all_nodes:
        simulation._on_ready(node, 0)
    for node in simulation.all_nodes:
        simulation._on_collected(node, 0)
    dying, *others = simulation.all_nodes
    for node in others:
        for index in node.ever_given[:3]:
            simulation._on_complete(node, index)
    simulation._on_complete(dying, 0)
    dying.state = "dead"
    simulation._on_errordown(dying, 0)
    assert dying.ever_given == [0, 3, 6, 9]
    assert [node.ever_given[4:] for node in others] == [[6], [9]]
    assert simulation.crashed == {3: 1}


def test_the_protocol_of_xdist_is_complete() -> None:
    """Every member that the controller of pytest-xdist may use is there."""
    protocol = pytest.importorskip("xdist.scheduler.protocol").Scheduling
    wanted = {name for name in vars(protocol) if not name.startswith("_")}
    assert wanted <= set(dir(ShareScheduling))
    # pytest-rerunfailures uses what all schedulers of pytest-xdist have, too.
    config: Any = SimpleNamespace(hook=None)
    assert ShareScheduling(config, 1, 1).config is config
    simulation = Simulation(1, 1, 1, 0, NO_CHANCE)
    with pytest.raises(NotImplementedError):
        simulation.scheduler.remove_pending_tests_from_node(simulation.all_nodes[0], [0])
