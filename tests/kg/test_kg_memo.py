from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg import Limits, Sandbox
from pytest_llmkg.kg.memo import Memo


def test_it_computes_once_and_forgets_what_was_not_used_for_longest() -> None:
    memo: Memo[str] = Memo(100)
    calls = []

    def value(key: str) -> str:
        def compute() -> tuple[str, int]:
            calls.append(key)
            return key.upper(), 10

        return memo.once(key, compute)

    assert [value(key) for key in "abcdefghij"] == list("ABCDEFGHIJ")
    assert (value("a"), value("k"), value("a")) == ("A", "K", "A")
    assert "".join(calls) == "abcdefghijk", "a was used again and stays, b made room for k"
    value("b")
    assert calls[-1] == "b"


@pytest.mark.parametrize("weight", [None, 11])
def test_what_may_not_be_kept_is_computed_again(weight: int | None) -> None:
    memo: Memo[int] = Memo(100)
    values = iter((1, 2))
    assert [memo.once("x", lambda: (next(values), weight)) for _ in range(2)] == [1, 2]


def test_threads_that_ask_for_the_same_compute_it_once() -> None:
    memo: Memo[int] = Memo(100)
    inside, on = threading.Event(), threading.Event()
    calls = []

    def compute() -> tuple[int, int]:
        calls.append(threading.get_ident())
        inside.set()
        on.wait(30)
        return len(calls), 1

    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(memo.once, "x", compute) for _ in range(8)]
        assert inside.wait(30)
        assert memo.once("another", lambda: (7, 1)) == 7, "other keys do not wait"
        on.set()
        assert [future.result() for future in waiting] == [1] * 8
    assert len(calls) == 1


def test_a_failure_is_the_callers_own() -> None:
    memo: Memo[int] = Memo(100)
    inside, on = threading.Event(), threading.Event()

    def fail() -> tuple[int, int]:
        inside.set()
        on.wait(30)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as threads:
        failing = threads.submit(memo.once, "x", fail)
        assert inside.wait(30)
        waiting = threads.submit(memo.once, "x", lambda: (5, 1))
        on.set()
        assert waiting.result() == 5
        with pytest.raises(KeyboardInterrupt):
            failing.result()


def test_a_text_that_hits_its_time_limit_does_so_once() -> None:
    text = "".join(f"<a:a> <a:b> {i} .\n" for i in range(40_000))
    query = "ASK { VALUES ?x { " + "1 " * 100_000 + "} }"
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }"
    graph = GraphText("".join(f"<a:{i}> <a:b> <c:{i}> .\n" for i in range(3000)), "nt")
    with Sandbox(Limits(parse_seconds=0.2, query_seconds=0.2)) as box:

        def seen() -> tuple[object, ...]:
            turtle = GraphText(text, "turtle")
            return (
                box.check_rdf(turtle),
                box.parse_tolerantly(turtle),
                box.check_query(query),
                box.run_query(graph, endless, {}),
            )

        first = seen()
        assert [getattr(verdict, "error", None) for verdict in first] == [
            "parsing the text took longer than 0.2 s",
            "parsing the text took longer than 0.2 s",
            "parsing the query took longer than 0.2 s",
            "the query ran longer than 0.2 s",
        ]
        box.close()
        assert seen() == first
        assert box.worker_pid is None, "no process was needed to say it again"
