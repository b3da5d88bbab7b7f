"""Parses and queries texts that nobody vouches for, in a process of their own and inside limits."""

from __future__ import annotations

import hashlib
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Self

from pytest_llmkg.contracts import GraphText, QueryResult, QueryVerdict, RdfVerdict
from pytest_llmkg.errors import EngineError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.limits import DEFAULT_LIMITS, Limits
from pytest_llmkg.kg.process import Ended, WorkerProcess
from pytest_llmkg.kg.protocol import Frame, query_result, query_verdict, rdf_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

__all__ = ["Sandbox"]


class Sandbox:
    """The graph engine that tasks use (`pytest_llmkg.contracts.KgEngine`).

    One worker process does the work, one call at a time; it starts at the first call. A call that exceeds
    its time limit gets the process killed, and the next call starts a new one. Whatever a text does becomes
    a verdict or a result with an error. Safe to call from several threads, and after `close` (which just
    ends the process).

    Raises:
        EngineError: from any call, if the worker cannot be started or breaks the protocol; never for a text.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._lock = threading.RLock()
        self._held: list[WorkerProcess] = []
        self._finalizer = weakref.finalize(self, _stop, self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker process, if there is one."""
        with self._lock:
            _stop(self._held)

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker, None while none runs."""
        held = [worker.pid for worker in self._held if worker.alive()]
        return held[0] if held else None

    def check_rdf(self, graph: GraphText) -> RdfVerdict:
        """Parses ``graph`` with rdflib; the rules are told at `pytest_llmkg.kg.rdf_check.check_rdf`.

        Raises:
            UnknownNameError: an unknown format.
            EngineError: the worker cannot be started.
        """
        name = format_named(graph.format).rdflib_name
        too_long = _too_long("text", graph.text, self.limits.characters)
        if too_long:
            return RdfVerdict(too_long)
        request = {"call": "check_rdf", "text": graph.text, "format": name}
        answer = self._ask(request, self.limits.parse_seconds)
        if isinstance(answer, Ended):
            return RdfVerdict(_why(answer, "parsing the text", self.limits.parse_seconds))
        return rdf_verdict(answer)

    def check_query(self, query: str) -> QueryVerdict:
        """Parses ``query`` with rdflib; the rules are told at `pytest_llmkg.kg.query_check.check_query`.

        Raises:
            EngineError: the worker cannot be started.
        """
        too_long = _too_long("query", query, self.limits.characters)
        if too_long:
            return QueryVerdict(too_long)
        answer = self._ask({"call": "check_query", "query": query}, self.limits.parse_seconds)
        if isinstance(answer, Ended):
            return QueryVerdict(_why(answer, "parsing the query", self.limits.parse_seconds))
        return query_verdict(answer)

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph``; the rules are told at `pytest_llmkg.kg.query_run.execute`.

        Loading the graph has its own time limit (``parse_seconds``) and is done once per graph and worker.

        Raises:
            UnknownNameError: an unknown format.
            EngineError: the worker cannot be started.
        """
        known = format_named(graph.format)
        too_long = _too_long("query", query, self.limits.characters) or _too_long(
            "graph", graph.text, self.limits.graph_characters
        )
        if too_long:
            return QueryResult(too_long)
        key = _content_hash(graph, known.name)
        request = {"call": "run_query", "graph": key, "query": query, "prefixes": dict(prefixes)}
        load = {"call": "load", "graph": key, "text": graph.text, "format": known.name}
        with self._lock:
            answer = self._ask(request, self.limits.query_seconds)
            if not isinstance(answer, Ended) and "missing" in answer:
                loaded = self._ask(load, self.limits.parse_seconds)
                if isinstance(loaded, Ended):
                    return _ended(loaded, "loading the graph", self.limits.parse_seconds)
                if loaded["error"] is not None:
                    return QueryResult(f"the graph is no {known.title}: {loaded['error']}")
                answer = self._ask(request, self.limits.query_seconds)
        if isinstance(answer, Ended):
            return _ended(answer, "the query", self.limits.query_seconds)
        if "missing" in answer:
            raise EngineError("the graph engine's process was replaced while a query ran; ask again")
        return query_result(answer)

    def _ask(self, request: Frame, seconds: float) -> Frame | Ended:
        """Asks once more with a new worker if the first one was ended from outside."""
        with self._lock:
            answer = self._worker().ask(request, seconds)
            if isinstance(answer, Ended) and not answer.timed_out and not _crashed(answer):
                answer = self._worker().ask(request, seconds)
            return answer

    def _worker(self) -> WorkerProcess:
        if not self._held or not self._held[0].alive():
            _stop(self._held)
            self._held.append(self._started())
        return self._held[0]

    def _started(self) -> WorkerProcess:
        try:
            return WorkerProcess(self.limits)
        except EngineError:  # a machine short of memory or processes may have recovered
            return WorkerProcess(self.limits)


def _stop(held: list[WorkerProcess]) -> None:
    while held:
        held.pop().kill()


def _content_hash(graph: GraphText, name: str) -> str:
    return hashlib.sha256(f"{name}\n{graph.text}".encode("utf-8", "surrogatepass")).hexdigest()


def _too_long(what: str, text: str, most: int) -> str | None:
    return (
        f"the {what} has {len(text)} characters, more than the limit of {most}" if len(text) > most else None
    )


def _crashed(ended: Ended) -> bool:
    """Whether the text did it (an abort for want of memory, an overflown stack), not a kill from outside."""
    own = {-signal.SIGABRT, -signal.SIGSEGV, -getattr(signal, "SIGBUS", signal.SIGSEGV), -signal.SIGILL}
    return ended.status in own


def _why(ended: Ended, what: str, seconds: float) -> str:
    if ended.timed_out:
        return f"{what} took longer than {seconds:g} s"
    return f"{what} ended the engine's process (status {ended.status}): out of memory or nested too deeply"


def _ended(ended: Ended, what: str, seconds: float) -> QueryResult:
    if ended.timed_out and what == "the query":
        return QueryResult(f"the query ran longer than {seconds:g} s", timed_out=True)
    return QueryResult(_why(ended, what, seconds), timed_out=ended.timed_out)
