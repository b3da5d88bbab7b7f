"""Parses and queries texts that nobody vouches for, in a process of their own and inside limits."""

from __future__ import annotations

import copy
import functools
import hashlib
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Literal, Self

from pytest_llmkg.contracts import GraphText, QueryResult, QueryVerdict, RdfVerdict, TolerantRdf
from pytest_llmkg.errors import EngineError, UserError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.limits import DEFAULT_LIMITS, Limits
from pytest_llmkg.kg.memo import Memo
from pytest_llmkg.kg.process import Ended, WorkerProcess
from pytest_llmkg.kg.protocol import Frame, query_result, query_verdict, rdf_verdict, tolerant_rdf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from pytest_llmkg.kg.formats import SerializationFormat

__all__ = ["EngineName", "Sandbox"]

EngineName = Literal["pyoxigraph", "rdflib", "exact"]

_LOADS = 3
_FRESH = 3  # answers: ready, graph missing, graph loaded; nothing of earlier texts fills its memory
_REMEMBERED = 20_000_000  # characters, of verdicts and of results each


class Sandbox:
    """The graph engine that tasks use (`pytest_llmkg.contracts.KgEngine`).

    One worker process does the work, one call at a time; it starts at the first call. A call that exceeds
    its time limit gets the process killed, and the next call starts a new one. Whatever a text does becomes
    a verdict or a result with an error. Safe to call from several threads, and after `close` (which just
    ends the process).

    Args:
        limits: what a text may cost.
        engine: what runs queries: ``pyoxigraph``; ``rdflib``; or ``exact``, which gives rdflib's results and asks
            pyoxigraph where both surely agree.

    Raises:
        EngineError: from any call, if the worker cannot be started or breaks the protocol; never for a text.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, engine: EngineName = "pyoxigraph") -> None:
        self.limits = limits
        self.engine = engine
        self._lock = threading.RLock()
        self._held: list[WorkerProcess] = []
        self._rdf: Memo[RdfVerdict] = Memo(_REMEMBERED)
        self._tolerant: Memo[TolerantRdf] = Memo(_REMEMBERED)
        self._queries: Memo[QueryVerdict] = Memo(_REMEMBERED)
        self._results: Memo[QueryResult] = Memo(_REMEMBERED)
        self.origin: Sandbox | None = None
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

    def using(self, engine: EngineName) -> Sandbox:
        """A sandbox with another engine for queries that shares this one's process and memory of verdicts."""
        other = copy.copy(self)
        other.engine = engine
        other.origin = self  # or the shared process would end with the first of the two
        return other

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
        kept = self._rdf.get((name, graph.text))
        if kept is not None:
            return kept
        request = {"call": "check_rdf", "text": graph.text, "format": name}
        answer = self._checked("text", graph.text, request)
        if isinstance(answer, str):
            return RdfVerdict(answer)
        return self._rdf.put(
            (name, graph.text), rdf_verdict(answer), lambda v: len(graph.text) + sum(map(len, v.triples))
        )

    def parse_tolerantly(self, graph: GraphText) -> TolerantRdf:
        """Parses Turtle line-wise tolerantly; the rules are told at `pytest_llmkg.kg.tolerant.parse_tolerantly`.

        Raises:
            UnknownNameError: an unknown format.
            UserError: another format than Turtle, for which the rule makes no sense.
            EngineError: the worker cannot be started.
        """
        if format_named(graph.format).name != "turtle":
            raise UserError(f"only Turtle can be parsed tolerantly, not {graph.format}")
        kept = self._tolerant.get(graph.text)
        if kept is not None:
            return kept
        answer = self._checked("text", graph.text, {"call": "parse_tolerantly", "text": graph.text})
        if isinstance(answer, str):
            return TolerantRdf((), (), answer)
        return self._tolerant.put(
            graph.text, tolerant_rdf(answer), lambda r: len(graph.text) + sum(map(len, r.triples))
        )

    def check_query(self, query: str) -> QueryVerdict:
        """Parses ``query`` with rdflib; the rules are told at `pytest_llmkg.kg.query_check.check_query`.

        Raises:
            EngineError: the worker cannot be started.
        """
        kept = self._queries.get(query)
        if kept is not None:
            return kept
        answer = self._checked("query", query, {"call": "check_query", "query": query})
        if isinstance(answer, str):
            return QueryVerdict(answer)
        return self._queries.put(query, query_verdict(answer), lambda _: 2 * len(query) + 1000)

    def _checked(self, what: str, text: str, request: Frame) -> Frame | str:
        """The answer to ``request``, or why there is none."""
        if len(text) > self.limits.characters:
            return _too_long(what, text, self.limits.characters)
        answer = self._ask(request, self.limits.parse_seconds)
        failed = _failure(answer, f"parsing the {what}", self.limits.parse_seconds)
        return failed if failed or isinstance(answer, Ended) else answer

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph``; the rules are told at `pytest_llmkg.kg.query_run.execute`.

        Loading the graph has its own time limit (``parse_seconds``) and is done once per graph and worker.

        Raises:
            UnknownNameError: an unknown format.
            EngineError: the worker cannot be started.
        """
        known = format_named(graph.format)
        if len(query) > self.limits.characters:
            return QueryResult(_too_long("query", query, self.limits.characters))
        if len(graph.text) > self.limits.graph_characters:
            return QueryResult(_too_long("graph", graph.text, self.limits.graph_characters))
        key = _content_hash(graph, known.name)
        place = (self.engine, key, query, tuple(sorted(prefixes.items())))
        kept = self._results.get(place)
        if kept is not None:
            return kept
        with self._lock:
            answer = self._loaded_and_asked(
                key, graph, known, {"query": query, "prefixes": dict(prefixes), "engine": self.engine}
            )
        if isinstance(answer, QueryResult):
            return answer
        weight = len(query) + 1000
        return self._results.put(place, query_result(answer), lambda r: weight + _length(r))

    def _loaded_and_asked(
        self, key: str, graph: GraphText, known: SerializationFormat, request: Frame
    ) -> Frame | QueryResult:
        """Asks; loads the graph and asks again while the worker does not hold it (it may be replaced meanwhile)."""
        run = {"call": "run_query", "graph": key, **request}
        load = {"call": "load", "graph": key, "text": graph.text, "format": known.name, "engine": self.engine}
        for _ in range(_LOADS):
            answer = self._ask(run, self.limits.query_seconds)
            failed = _failure(answer, "the query", self.limits.query_seconds)
            if failed or isinstance(answer, Ended):
                return QueryResult(failed, timed_out=isinstance(answer, Ended) and answer.timed_out)
            if "missing" not in answer:
                return answer
            answer = self._ask(load, self.limits.parse_seconds)
            failed = _failure(answer, "loading the graph", self.limits.parse_seconds)
            if failed or isinstance(answer, Ended):
                return QueryResult(failed, timed_out=isinstance(answer, Ended) and answer.timed_out)
            if answer["error"] is not None:
                return QueryResult(f"the graph is no {known.title}: {answer['error']}")
        raise EngineError(f"the graph engine's process ended {_LOADS} times between loading a graph and a query")

    def _ask(self, request: Frame, seconds: float) -> Frame | Ended:
        """Asks once more with a new worker if the first one failed for a reason that may not lie in the text."""
        with self._lock:
            worker = self._worker()
            fresh = worker.answered <= _FRESH
            answer = worker.ask(request, seconds)
            if _killed(answer) or (_exhausted(answer) and not fresh):
                worker.kill()
                answer = self._worker().ask(request, seconds)
        if isinstance(answer, Ended) and not answer.timed_out and (answer.status or 0) >= 0:
            raise EngineError(f"the graph engine's process ended twice by itself, with status {answer.status}")
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


@functools.lru_cache(maxsize=8)
def _content_hash(graph: GraphText, name: str) -> str:
    # A graph of several megabytes is queried once per answer; hashing it each time would cost more than the query.
    return hashlib.sha256(f"{name}\n{graph.text}".encode("utf-8", "surrogatepass")).hexdigest()


def _too_long(what: str, text: str, most: int) -> str:
    return f"the {what} has {len(text)} characters, more than the limit of {most}"


def _length(result: QueryResult) -> int:
    return sum(100 + len(term.value) for row in result.rows for term in row if term)


def _exhausted(answer: Frame | Ended) -> bool:
    """Whether the worker ran out of memory or stack (or panicked)."""
    if not isinstance(answer, Ended):
        return "gave_up" in answer
    own = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL, -getattr(signal, "SIGBUS", signal.SIGSEGV)}
    return not answer.timed_out and answer.status in own


def _killed(answer: Frame | Ended) -> bool:
    """Whether something else ended the worker, perhaps from outside."""
    return isinstance(answer, Ended) and not answer.timed_out and not _exhausted(answer)


def _failure(answer: Frame | Ended, what: str, seconds: float) -> str:
    """Why ``answer`` is none, empty if it is one."""
    if not isinstance(answer, Ended):
        return f"{what} failed: {answer['gave_up']}" if "gave_up" in answer else ""
    if answer.timed_out:
        return f"{what} {'ran' if what == 'the query' else 'took'} longer than {seconds:g} s"
    return f"{what} ended the engine's process (status {answer.status}): out of memory or nested too deeply"
