from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.contracts import GraphText, KgEngine
from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg import Limits, Sandbox, engine_versions, process

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPH = GraphText("<a:a> <a:b> 1, 2 .", "turtle")
BIG = GraphText("".join(f"<a:{i % 999}> <b:{i % 7}> <c:{i}> .\n" for i in range(100_000)), "nt")
CROSS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i"
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def gone(pid: int) -> bool:
    """Whether the process has ended; one that nobody waits for counts as ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    return False


def wait_until(true: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def test_it_is_a_kg_engine_and_starts_lazily() -> None:
    box = Sandbox()
    engine: KgEngine = box
    pids = [box.worker_pid]
    assert engine.check_rdf(GRAPH).error is None
    pids.append(box.worker_pid)
    assert engine.check_query("ASK {}").form == "ASK"
    pids.append(box.worker_pid)
    box.close()
    box.close()
    pids.append(box.worker_pid)
    assert pids == [None, pids[1], pids[1], None]
    assert pids[1]
    assert gone(pids[1])
    assert engine.check_query("ASK { }").form == "ASK"
    box.close()


@posix
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}",
        f"SELECT * {{ {CROSS} }} ORDER BY ?a",
        f"SELECT DISTINCT ?a ?f ?g {{ {CROSS} FILTER(?c > ?f) }}",
        "ASK { ?a (<b:1>|!<b:1>)* ?b . ?c (<b:2>|!<b:2>)* ?d FILTER(?a = ?d && ?a != ?d) }",
    ],
)
def test_a_query_without_end_is_stopped_for_real_and_the_next_call_works(query: str) -> None:
    with Sandbox(Limits(query_seconds=1.5, memory_bytes=3 * 1024**3)) as box:
        count = box.run_query(BIG, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", {})
        assert [t.value for t in count.rows[0] if t] == ["100000"]
        pid = box.worker_pid
        assert pid is not None
        result = box.run_query(BIG, query, {})
        assert result.error is not None
        assert result.timed_out == (result.error == "the query ran longer than 1.5 s")
        assert result.timed_out or "out of memory" in result.error
        assert gone(pid)
        again = box.run_query(BIG, "SELECT (COUNT(*) AS ?all) { ?s ?p ?o }", {})
        assert again.rows == count.rows
        assert box.worker_pid not in {None, pid}


@posix
def test_counting_a_cross_product_hits_the_time_limit() -> None:
    with Sandbox(Limits(query_seconds=1)) as box:
        result = box.run_query(BIG, f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}", {})
        assert (result.error, result.timed_out) == ("the query ran longer than 1 s", True)


@posix
def test_a_memory_bomb_is_a_result_with_an_error() -> None:
    with Sandbox(Limits(query_seconds=60, memory_bytes=150 * 1024**2)) as box:
        result = box.run_query(BIG, f"SELECT * {{ {CROSS} }} ORDER BY ?a", {})
        assert result.error is not None
        assert "memory" in result.error
        assert not result.timed_out
        assert box.run_query(GRAPH, "ASK { ?s ?p ?o }", {}).boolean is True


def test_parsing_has_a_time_limit() -> None:
    text = "".join(f"<a:a> <a:b> {i} .\n" for i in range(40_000))
    with Sandbox(Limits(parse_seconds=0.05)) as box:
        error = "parsing the text took longer than 0.05 s"
        assert box.check_rdf(GraphText(text, "turtle")).error == error
        values = "ASK { VALUES ?x { " + "1 " * 100_000 + "} }"
        assert box.check_query(values).error == "parsing the query took longer than 0.05 s"


@posix
def test_what_earlier_texts_left_in_memory_does_not_count_against_a_text() -> None:
    graphs = [GraphText(BIG.text.replace("<c:", f"<c:{n}/"), "nt") for n in range(8)]
    pids = set()
    with Sandbox(Limits(memory_bytes=240 * 1024**2)) as box:
        for graph in graphs:
            result = box.run_query(graph, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", {})
            assert result.error is None
            assert [t.value for t in result.rows[0] if t] == ["100000"]
            pids.add(box.worker_pid)
    assert len(pids) > 1, "the memory was enough for all graphs, so this showed nothing"


@posix
def test_a_worker_killed_from_outside_is_replaced() -> None:
    with Sandbox() as box:
        assert box.run_query(GRAPH, "ASK { ?s ?p ?o }", {}).boolean is True
        for query in ("ASK { ?s ?p 1 }", "ASK { ?s ?p 2 }"):
            pid = box.worker_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            assert box.run_query(GRAPH, query, {}).boolean is True
            assert box.worker_pid not in {None, pid}


@posix
def test_a_worker_killed_while_it_works_is_replaced() -> None:
    query = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?a ?e ?f . ?d <b:3> ?f FILTER(?c != ?f) }"
    with Sandbox(Limits(query_seconds=60)) as box:
        box.run_query(BIG, "ASK { ?s ?p ?o }", {})
        pid = box.worker_pid
        assert pid is not None
        timer = threading.Timer(0.1, os.kill, (pid, signal.SIGKILL))
        timer.start()
        result = box.run_query(BIG, query, {})
        timer.join()
        assert result.error is None
        assert len(result.rows) == 1


def test_threads_may_share_it() -> None:
    graphs = [GraphText(f"<a:a> <a:b> {i} .", "turtle") for i in range(6)]

    def one(number: int) -> str | None:
        graph = graphs[number % len(graphs)]
        row = box.run_query(graph, f"SELECT ?o {{ ?s ?p ?o }} # {number}", {}).rows[0][0]
        return row.value if row else None

    with Sandbox() as box, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(60))) == [str(n % len(graphs)) for n in range(60)]


def test_an_interrupted_call_does_not_leave_its_answer_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_stream: object) -> None:
        raise KeyboardInterrupt

    with Sandbox() as box:
        assert box.check_query("ASK { ?a ?b ?c }").form == "ASK"
        with monkeypatch.context() as patch:
            patch.setattr(process, "read_frame", interrupt)
            with pytest.raises(KeyboardInterrupt):
                box.check_query("SELECT ?interrupted { ?a ?b ?c }")
        assert box.check_query("DESCRIBE <a:a>").form == "DESCRIBE"


def test_a_worker_that_cannot_start_is_an_engine_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BOOT", "raise SystemExit('no such engine')")
    with Sandbox() as box, pytest.raises(EngineError, match="ended at its start: no such engine"):
        box.check_query("ASK {}")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Sandbox() as box, pytest.raises(EngineError, match="cannot be started"):
        box.check_query("ASK {}")


def test_a_worker_that_talks_nonsense_is_an_engine_error(monkeypatch: pytest.MonkeyPatch) -> None:
    nonsense = "import sys; sys.stdout.buffer.write((3).to_bytes(8, 'big') + b'xyz'); sys.stdout.flush()"
    monkeypatch.setattr(process, "_BOOT", nonsense)
    with Sandbox() as box, pytest.raises(EngineError, match="something unreadable"):
        box.check_query("ASK {}")


def test_a_forgotten_sandbox_ends_its_worker() -> None:
    box = Sandbox()
    box.check_query("ASK {}")
    pid = box.worker_pid
    assert pid is not None
    del box
    gc.collect()
    assert wait_until(lambda: gone(pid))


PARENT = """
import sys, threading, time
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg import Limits, Sandbox
box = Sandbox(Limits(query_seconds=600))
graph = GraphText("".join(f"<a:{i}> <a:b> <c:{i}> .\\n" for i in range(3000)), "nt")
box.run_query(graph, "ASK {}", {})
print(box.worker_pid, flush=True)
if sys.argv[1] == "busy":
    box.run_query(graph, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", {})
time.sleep(600)
"""


@posix
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_the_worker_dies_with_a_killed_parent(state: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert not gone(pid)
    time.sleep(0.3)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_until(lambda: gone(pid))


def run_script(tmp_path: Path, text: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_callers_main_is_not_imported_again_and_no_engine_is(tmp_path: Path) -> None:
    lines = run_script(
        tmp_path,
        "print('once')\n"
        "import json, sys\n"
        "from pytest_llmkg.contracts import GraphText\n"
        "from pytest_llmkg.kg import Sandbox, engine_versions\n"
        "box = Sandbox()\n"
        "graph = GraphText('<a:a> <a:b> 1 .', 'turtle')\n"
        "print(box.check_rdf(graph).error, box.run_query(graph, 'ASK { ?s ?p ?o }', {}).boolean)\n"
        "heavy = {'rdflib', 'pyoxigraph', 'pyparsing', 'ctypes'}\n"
        "print(json.dumps([sorted(heavy & set(sys.modules)), engine_versions()]))\n",
    )
    assert lines[:2] == ["once", "None True"]
    assert json.loads(lines[2]) == [[], engine_versions()]


@posix
def test_the_worker_holds_no_secret_of_the_callers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    with Sandbox() as box:
        box.check_query("ASK {}")
        environment = Path(f"/proc/{box.worker_pid}/environ")
        if not environment.exists():
            pytest.skip("needs /proc")
        try:
            held = environment.read_bytes()
        except PermissionError:
            pytest.skip("this kernel hides a process in another user name space even from its owner")
    assert b"PYTHONHASHSEED" in held
    assert b"not-a-real-key" not in held


def test_versions_are_those_of_the_libraries() -> None:
    import pyoxigraph
    import rdflib

    assert engine_versions() == {"pyoxigraph": pyoxigraph.__version__, "rdflib": rdflib.__version__}
