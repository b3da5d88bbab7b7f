"""What a worker is told, keeps and sends back, and how it looks at its tests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import Case, Transcript
from pytest_llmkg.session.wire import INPUT
from pytest_llmkg.session.workers import PartKeeper, WorkerInput, WorkQueue, known_run, read_input
from pytest_llmkg.store import FILE_NAME, RunWriter, key_of, read_run
from pytest_llmkg.store.parts import absorb_parts
from tests.builders import make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

CASE = Case("c1", "Flat", "Flat", {"word": "kelp"})


def one(number: int = 1) -> Transcript:
    return make_transcript(make_turn({"f1": 1.0}), iteration=number)


@pytest.fixture
def keepers() -> Iterator[Callable[[WorkerInput], PartKeeper]]:
    made: list[PartKeeper] = []

    def make(given_input: WorkerInput) -> PartKeeper:
        made.append(PartKeeper(given_input, "gw0"))
        return made[-1]

    yield make
    for keeper in made:
        keeper.close()


def test_what_the_controller_tells_arrives() -> None:
    told = WorkerInput(4, "/run", {"salt": "x"}, 1234, "secret", knows_more=True, finished=("a/b",), suspects=("c",))
    config: Any = SimpleNamespace(workerinput={INPUT: to_plain(told), "workerid": "gw0"})
    assert read_input(config) == told
    assert read_input(cast("Any", SimpleNamespace(workerinput={"workerid": "gw0"}))) is None
    assert read_input(cast("Any", SimpleNamespace())) is None


def test_a_worker_beside_the_run_writes_a_part_that_the_controller_finds(
    tmp_path: Path, keepers: Callable[[WorkerInput], PartKeeper]
) -> None:
    keeper = keepers(WorkerInput(2, str(tmp_path / "run")))
    reads = [keeper.record(CASE, one(number)) for number in range(1, 4)]
    assert [read() for read in reads] == [one(1), one(2), one(3)]
    assert keeper.unreported() == []  # the controller reads the part
    keeper.close()
    with RunWriter(tmp_path / "run" / FILE_NAME) as writer:
        writer.header(make_header("m"))
    assert absorb_parts(tmp_path / "run") == 3
    assert list(read_run(tmp_path / "run").transcripts) == [one(1), one(2), one(3)]


def test_a_worker_on_another_machine_sends_what_no_test_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keepers: Callable[[WorkerInput], PartKeeper]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    keeper = keepers(WorkerInput(2))
    for number in range(1, 4):
        assert keeper.record(CASE, one(number))() == one(number)
    keeper.reported(one(2))
    keeper.reported(one(9))  # that was held by another session
    assert keeper.unreported() == [(CASE, one(1)), (CASE, one(3))]
    (folder,) = tmp_path.iterdir()
    assert folder.is_dir()
    keeper.close()
    assert not folder.exists()


@pytest.mark.parametrize("is_local", [True, False])
def test_what_cannot_be_written_is_kept_in_memory_and_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keepers: Callable[[WorkerInput], PartKeeper],
    is_local: bool,
) -> None:
    """A full disk: no test may have asked for the dialogue yet, so nobody else has it."""
    keeper = keepers(WorkerInput(2, str(tmp_path) if is_local else None))
    written = keeper.record(CASE, one(1))

    def full(_writer: RunWriter, _line: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "_append", full)
        assert keeper.record(CASE, one(2))() == one(2)
        assert keeper.record(CASE, one(3))() == one(3)
    assert keeper.record(CASE, one(4))() == one(4)  # there is room again
    assert written() == one(1)
    keeper.reported(one(2))
    expected = [3] if is_local else [1, 3, 4]
    assert keeper.unreported() == [(CASE, one(number)) for number in expected]


def test_a_folder_that_cannot_be_made_costs_nothing(
    tmp_path: Path, keepers: Callable[[WorkerInput], PartKeeper]
) -> None:
    (tmp_path / "file").write_text("no folder")
    keeper = keepers(WorkerInput(2, str(tmp_path / "file" / "run")))
    assert keeper.record(CASE, one())() == one()
    assert keeper.unreported() == [(CASE, one())]


def test_nothing_is_made_before_there_is_something_to_keep_and_closing_twice_is_fine(tmp_path: Path) -> None:
    keeper = PartKeeper(WorkerInput(2, str(tmp_path / "run")), "gw1")
    keeper.close()
    assert not (tmp_path / "run").exists()
    keeper.record(CASE, one(1))
    keeper.close()
    keeper.close()
    keeper.record(CASE, one(2))  # later than anything should come
    assert keeper.unreported() == [(CASE, one(2))]


def test_threads_may_record_and_report_at_the_same_time(keepers: Callable[[WorkerInput], PartKeeper]) -> None:
    keeper = keepers(WorkerInput(2))

    def work(number: int) -> bool:
        read = keeper.record(CASE, one(number))
        if number % 2:
            keeper.reported(one(number))
        return all(len(pair) == 2 for pair in keeper.unreported()) and read() == one(number)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(1, 81)))
    assert {key_of(transcript)[3] for _, transcript in keeper.unreported()} == set(range(2, 81, 2))


def test_a_run_that_cannot_be_seen_or_has_not_begun_tells_nothing(tmp_path: Path) -> None:
    assert known_run(WorkerInput(2), None) is None
    assert known_run(WorkerInput(2, str(tmp_path / "none")), None) is None
    (tmp_path / FILE_NAME).write_text("")
    assert known_run(WorkerInput(2, str(tmp_path)), None) is None


def test_a_run_tells_what_it_and_its_parts_hold(tmp_path: Path, keepers: Callable[[WorkerInput], PartKeeper]) -> None:
    with RunWriter(tmp_path / FILE_NAME) as writer:
        writer.header(make_header("m"))
        writer.case(CASE)
        writer.transcript(one(1))
    keepers(WorkerInput(2, str(tmp_path))).record(CASE, one(2))
    for known in (known_run(WorkerInput(2, str(tmp_path)), None), known_run(WorkerInput(2), tmp_path)):
        assert known is not None
        assert known.finished() == {key_of(one(1)), key_of(one(2))}


class Worker:
    """The inside of a worker of pytest-xdist: a queue of test numbers, of which the next one is taken off early."""

    def __init__(self) -> None:
        remote = pytest.importorskip("xdist.remote")
        self.torun = remote.TestQueue(SimpleNamespace(RLock=threading.RLock, Event=threading.Event))
        self.shutdown = remote.Marker.SHUTDOWN
        self.item_index: object = None
        self.nextitem_index: object = None


def look_with(*plugins: object) -> WorkQueue:
    manager = SimpleNamespace(get_plugins=lambda: set(plugins))
    return WorkQueue(cast("Any", SimpleNamespace(pluginmanager=manager)))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=25))
def test_every_test_is_seen_as_soon_as_it_is_given(shares: Sequence[int]) -> None:
    """Some tests are given, one runs (and looks), some more are given, and so on to the end."""
    worker = Worker()
    session: Any = SimpleNamespace(items=list(range(sum(shares) + 2)))
    queue, given_so_far, seen = look_with(object(), worker), 0, set[int]()

    def give(count: int) -> None:
        nonlocal given_so_far
        for _ in range(count):
            worker.torun.put(given_so_far)
            given_so_far += 1

    give(2)
    worker.nextitem_index = worker.torun.get()
    for number, count in enumerate(shares):
        give(count)
        if given_so_far < number + 2:
            return  # the worker waits for a test that never comes
        worker.item_index, worker.nextitem_index = worker.nextitem_index, worker.torun.get()
        seen |= set(cast("list[int]", queue.new_items(session)))
        assert set(range(number, given_so_far)) <= seen
    worker.torun.put(worker.shutdown)
    assert set(cast("list[int]", queue.new_items(session))) <= set(session.items)


def test_the_tests_come_in_their_order_and_the_end_is_no_test() -> None:
    worker = Worker()
    for index in (2, 3, 5):
        worker.torun.put(index)
    worker.torun.put(worker.shutdown)
    worker.item_index, worker.nextitem_index = 0, 1
    items: list[Any] = ["t0", "t1", "t2", "t3", "t4", "t5"]
    session: Any = SimpleNamespace(items=items)
    queue = look_with(worker)
    assert queue.new_items(session) == [*items[:4], items[5]]
    while worker.nextitem_index is not worker.shutdown:
        worker.item_index, worker.nextitem_index = worker.nextitem_index, worker.torun.get()
        assert queue.new_items(session) == []  # nothing came, one went


@pytest.mark.parametrize("plugin", [object(), SimpleNamespace(torun=None), SimpleNamespace(torun=[1, 2])])
def test_an_inside_that_is_not_known_is_an_empty_queue(plugin: object) -> None:
    class Plugin:
        torun = getattr(plugin, "torun", None)

    session: Any = SimpleNamespace(items=["t0", "t1", "t2"])
    assert look_with(Plugin()).new_items(session) == []
    assert look_with().new_items(session) == []
