from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, KgEngine
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import Limits, Sandbox, SandboxPool
from tests.kg.test_kg_sandbox import gone, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

GRAPH = GraphText("<a:a> <a:b> 1, 2 .", "turtle")
BIG = GraphText("".join(f"<a:{i}> <a:b> <c:{i}> .\n" for i in range(3000)), "nt")
PATIENT = Limits(query_seconds=300)
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.fixture(scope="module")
def pool() -> Iterator[SandboxPool]:
    with SandboxPool(2) as found:
        yield found


@pytest.fixture(scope="module")
def single() -> Iterator[Sandbox]:
    with Sandbox() as found:
        yield found


terms = st.sampled_from(["<a:a>", "<a:b>", "<a:c>", "1", '"x"@en', "_:b"])
triples = st.tuples(st.sampled_from(["<a:a>", "<a:b>", "_:b"]), st.sampled_from(["<a:p>", "<a:q>"]), terms)
texts = st.lists(triples, max_size=6).map(lambda rows: "".join(f"{' '.join(row)} .\n" for row in rows)) | st.just("<a:")
patterns = st.lists(
    st.tuples(*[st.sampled_from(["?s", "?o", "<a:a>", "<a:p>", "<a:p>/<a:q>", "1"])] * 3), min_size=1, max_size=3
).map(lambda rows: " . ".join(map(" ".join, rows)))
forms = st.sampled_from(["SELECT *", "SELECT DISTINCT ?s", "ASK", "CONSTRUCT { ?s <a:r> ?o }", "SELECT (1/0 AS ?z)"])
queries = st.builds("{} {{ {} }}".format, forms, patterns)


@settings(max_examples=40, deadline=None)
@given(work=st.lists(st.tuples(texts, queries), min_size=1, max_size=6))
def test_it_gives_what_a_sandbox_gives(pool: SandboxPool, single: Sandbox, work: list[tuple[str, str]]) -> None:
    def verdicts(engine: KgEngine, text: str, query: str) -> tuple[object, ...]:
        graph = GraphText(text, "turtle")
        result = engine.run_query(graph, query, {})
        rows = sorted(map(repr, result.rows)) if "_:b" not in text else len(result.rows)
        shown = (result.error, result.variables, rows, result.boolean)
        return engine.check_rdf(graph), engine.parse_tolerantly(graph), engine.check_query(query), shown

    expected = [verdicts(single, *item) for item in work]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda item: verdicts(pool, *item), work)) == expected


def test_processes_start_when_they_are_needed() -> None:
    with SandboxPool(3) as pool:
        assert pool.worker_pids == ()
        for number in range(5):
            assert pool.run_query(GRAPH, f"ASK {{ ?s ?p {number} }}", {}).boolean is (number in {1, 2})
        assert len(pool.worker_pids) == 1, "one call after another needs one process"


@posix
def test_one_slow_query_does_not_hold_up_other_calls() -> None:
    with SandboxPool(2, PATIENT) as pool, ThreadPoolExecutor(1) as threads:
        assert pool.run_query(GRAPH, "ASK { ?s ?p ?o }", {}).boolean
        (first,) = pool.worker_pids
        os.kill(first, signal.SIGSTOP)  # what it is asked now takes as long as we like
        slow = threads.submit(pool.run_query, GRAPH, "ASK { ?s ?p 1 }", {})
        assert wait_until(lambda: pool.busy == 1)
        done = [pool.run_query(GRAPH, f"ASK {{ ?s ?p {number} }}", {}).boolean for number in range(2, 4)]
        assert done == [True, False]
        assert pool.check_rdf(GRAPH).error is None
        assert not slow.done()
        assert len(pool.worker_pids) == 2
        os.kill(first, signal.SIGCONT)
        assert slow.result().boolean is True


@posix
def test_a_call_waits_when_all_are_busy() -> None:
    with SandboxPool(1, PATIENT) as pool, ThreadPoolExecutor(2) as threads:
        assert pool.run_query(GRAPH, "ASK { ?s ?p ?o }", {}).boolean
        (only,) = pool.worker_pids
        os.kill(only, signal.SIGSTOP)
        waiting = [threads.submit(pool.run_query, GRAPH, f"ASK {{ ?s ?p {number} }}", {}) for number in (2, 3)]
        wait_until(lambda: any(future.done() for future in waiting), 0.5)
        assert pool.worker_pids == (only,)
        os.kill(only, signal.SIGCONT)
        assert [future.result().boolean for future in waiting] == [True, False]
        assert pool.worker_pids == (only,)


def test_close_ends_all_processes() -> None:
    pool = SandboxPool(3)
    gate = threading.Barrier(3)

    def work(number: int) -> bool | None:
        gate.wait()
        return pool.run_query(BIG, f"ASK {{ ?s ?p ?o . ?o ?q {number} }}", {}).boolean

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(work, range(3))) == [False] * 3
    pids = pool.worker_pids
    assert pids
    pool.close()
    assert pool.worker_pids == ()
    assert all(wait_until(partial(gone, pid)) for pid in pids)
    assert pool.check_query("ASK {}").form == "ASK"
    pool.close()


def test_engines_share_processes_and_verdicts() -> None:
    with SandboxPool(2) as pool:
        other = pool.using("rdflib")
        assert other.check_query("ASK {}").form == "ASK"
        assert other.worker_pids == pool.worker_pids
        pool.close()
        assert other.check_query("ASK {}").form == "ASK"
        assert pool.worker_pids == (), "the verdict was remembered"


def test_a_pool_without_processes_is_refused() -> None:
    with pytest.raises(UserError, match="at least 1 process, not 0"):
        SandboxPool(0)


@posix
def test_a_forgotten_pool_ends_its_processes() -> None:
    pool = SandboxPool(2)
    pool.check_query("ASK {}")
    (pid,) = pool.worker_pids
    del pool
    assert wait_until(lambda: gone(pid))
