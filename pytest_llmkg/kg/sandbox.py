"""Parses and queries texts that nobody vouches for, in a process of their own and inside limits."""

from __future__ import annotations

import copy
import functools
import hashlib
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pytest_llmkg.contracts import GraphText, QueryResult, QueryVerdict, RdfVerdict, TolerantRdf
from pytest_llmkg.errors import EngineError, UserError
from pytest_llmkg.kg.formats import SerializationFormat, format_named
from pytest_llmkg.kg.lanes import Lane, Lanes, was_killed
from pytest_llmkg.kg.limits import DEFAULT_LIMITS, Limits
from pytest_llmkg.kg.memo import Memo
from pytest_llmkg.kg.process import Ended
from pytest_llmkg.kg.profile import GraphProfile, profile_from_frame
from pytest_llmkg.kg.protocol import Frame, query_result, query_verdict, rdf_verdict, tolerant_rdf
from pytest_llmkg.kg.query_patterns import QueryPatterns, patterns_from_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

__all__ = ["EngineName", "Sandbox"]

EngineName = Literal["pyoxigraph", "rdflib", "exact"]

_LOADS = 3
_REMEMBERED = 20_000_000  # characters, of verdicts and of results each


class _Memory:
    """What texts came to: verdicts, results, and that a text hit a limit, which costs most to find out."""

    def __init__(self) -> None:
        self.rdf: Memo[RdfVerdict] = Memo(_REMEMBERED)
        self.tolerant: Memo[TolerantRdf] = Memo(_REMEMBERED)
        self.queries: Memo[QueryVerdict] = Memo(_REMEMBERED)
        self.results: Memo[QueryResult] = Memo(_REMEMBERED)
        self.patterns: Memo[QueryPatterns] = Memo(_REMEMBERED)
        self.profiles: Memo[GraphProfile] = Memo(_REMEMBERED)


class Sandbox:
    """The graph engine that tasks use (`pytest_llmkg.contracts.KgEngine`).

    One worker process does the work, one call at a time; it starts at the first call. A call that exceeds
    its time limit gets the process killed, and the next call starts a new one. Whatever a text does becomes
    a verdict or a result with an error, which is remembered: a text that hits a limit does so once. Safe to call
    from several threads, and after `close` (which just ends the process).

    Args:
        limits: what a text may cost.
        engine: what runs queries: ``pyoxigraph``; ``rdflib``; or ``exact``, which gives rdflib's results and asks
            pyoxigraph where both surely agree.
        processes: at most so many worker processes (`pytest_llmkg.kg.SandboxPool`).

    Raises:
        EngineError: from any call, if the worker cannot be started or breaks the protocol; never for a text.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, engine: EngineName = "pyoxigraph", processes: int = 1) -> None:
        self.limits = limits
        self.engine = engine
        self._lanes = Lanes(limits, processes)
        self._memory = _Memory()
        self.origin: Sandbox | None = None
        self._finalizer = weakref.finalize(self, self._lanes.stop)

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
        """A sandbox with another engine for queries that shares this one's processes and memory of verdicts."""
        other = copy.copy(self)
        other.engine = engine
        other.origin = self  # or the shared processes would end with the first of the two
        return other

    def close(self) -> None:
        """Ends the worker process, if there is one, once the call that it works on is over."""
        self._lanes.close()

    @property
    def worker_pid(self) -> int | None:
        """Process id of the (first) worker, None while none runs."""
        return next(iter(self.worker_pids), None)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return self._lanes.pids

    def check_rdf(self, graph: GraphText) -> RdfVerdict:
        """Parses ``graph`` with rdflib; the rules are told at `pytest_llmkg.kg.rdf_check.check_rdf`.

        Raises:
            UnknownNameError: an unknown format.
            EngineError: the worker cannot be started.
        """
        name = format_named(graph.format).rdflib_name

        def parsed() -> tuple[RdfVerdict, int | None]:
            request = {"call": "check_rdf", "text": graph.text, "format": name}
            answer, weight = self._checked("text", graph.text, request)
            verdict = RdfVerdict(answer) if isinstance(answer, str) else rdf_verdict(answer)
            return verdict, None if weight is None else weight + sum(map(len, verdict.triples))

        return self._memory.rdf.once((name, graph.text), parsed)

    def parse_tolerantly(self, graph: GraphText) -> TolerantRdf:
        """Parses Turtle line-wise tolerantly; the rules are told at `pytest_llmkg.kg.tolerant.parse_tolerantly`.

        Raises:
            UnknownNameError: an unknown format.
            UserError: another format than Turtle, for which the rule makes no sense.
            EngineError: the worker cannot be started.
        """
        if format_named(graph.format).name != "turtle":
            raise UserError(f"only Turtle can be parsed tolerantly, not {graph.format}")

        def parsed() -> tuple[TolerantRdf, int | None]:
            answer, weight = self._checked("text", graph.text, {"call": "parse_tolerantly", "text": graph.text})
            rest = TolerantRdf((), (), answer) if isinstance(answer, str) else tolerant_rdf(answer)
            return rest, None if weight is None else weight + sum(map(len, rest.triples))

        return self._memory.tolerant.once(graph.text, parsed)

    def check_query(self, query: str) -> QueryVerdict:
        """Parses ``query`` with rdflib; the rules are told at `pytest_llmkg.kg.query_check.check_query`.

        Raises:
            EngineError: the worker cannot be started.
        """

        def parsed() -> tuple[QueryVerdict, int | None]:
            answer, weight = self._checked("query", query, {"call": "check_query", "query": query})
            verdict = QueryVerdict(answer) if isinstance(answer, str) else query_verdict(answer)
            return verdict, None if weight is None else weight + len(query)

        return self._memory.queries.once(query, parsed)

    def read_patterns(self, query: str, prefixes: Mapping[str, str]) -> QueryPatterns:
        """The triple patterns of ``query``; the rules are told at `pytest_llmkg.kg.query_patterns`.

        Raises:
            EngineError: the worker cannot be started.
        """

        def read() -> tuple[QueryPatterns, int | None]:
            request = {"call": "read_patterns", "query": query, "prefixes": dict(prefixes)}
            answer, weight = self._checked("query", query, request)
            found = QueryPatterns(answer) if isinstance(answer, str) else patterns_from_frame(answer)
            return found, None if weight is None else weight + 200 * len(found.patterns)

        return self._memory.patterns.once((query, tuple(sorted(prefixes.items()))), read)

    def _checked(self, what: str, text: str, request: Frame) -> tuple[Frame | str, int | None]:
        """The answer to ``request``, or why there is none; and how much memory may be spent on remembering it."""
        if len(text) > self.limits.characters:
            return _too_long(what, text, self.limits.characters), None
        with self._lanes.taken() as lane:
            answer = lane.ask(request, self.limits.parse_seconds)
        weight = None if was_killed(answer) else len(text) + 1000
        failed = _failure(answer, f"parsing the {what}", self.limits.parse_seconds)
        return failed if failed or isinstance(answer, Ended) else answer, weight

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

        def ran() -> tuple[QueryResult, int | None]:
            request = {"call": "run_query", "query": query, "prefixes": dict(prefixes), "engine": self.engine}
            with self._lanes.taken() as lane:
                answer = self._loaded_and_asked(lane, _Loading(key, graph, known), request)
            if isinstance(answer, _Failed):
                return QueryResult(answer.why, timed_out=answer.timed_out), 1000 if answer.lasting else None
            result = query_result(answer)
            return result, len(query) + 1000 + _length(result)

        return self._memory.results.once((self.engine, key, query, tuple(sorted(prefixes.items()))), ran)

    def profile(self, graph: GraphText, *, ranges: bool = True) -> GraphProfile:
        """The classes and properties of ``graph``, counted; see `pytest_llmkg.kg.profile.profile_store`.

        It may take as long as loading a graph (``parse_seconds``); what cannot be done within the limits is told in
        the profile's ``error``.

        Raises:
            UnknownNameError: an unknown format.
            EngineError: the worker cannot be started.
        """
        known = format_named(graph.format)
        if len(graph.text) > self.limits.graph_characters:
            return GraphProfile(error=_too_long("graph", graph.text, self.limits.graph_characters))
        key = _content_hash(graph, known.name)

        def made() -> tuple[GraphProfile, int | None]:
            with self._lanes.taken() as lane:
                answer = self._loaded_and_asked(
                    lane, _Loading(key, graph, known), {"call": "profile", "ranges": ranges}
                )
            if isinstance(answer, _Failed):
                return GraphProfile(error=answer.why), 1000 if answer.lasting else None
            return profile_from_frame(answer), 100 * sum(map(len, answer.values()))

        return self._memory.profiles.once((key, ranges), made)

    def _loaded_and_asked(self, lane: Lane, loading: _Loading, request: Frame) -> Frame | _Failed:
        """Asks; loads the graph and asks again while the worker does not hold it (it may be replaced meanwhile)."""
        run, known = {**request, "graph": loading.key}, loading.known
        what = "the query" if request["call"] == "run_query" else "counting the graph"
        seconds = self.limits.query_seconds if request["call"] == "run_query" else self.limits.parse_seconds
        load = {"call": "load", "graph": loading.key, "text": loading.graph.text, "format": known.name}
        for _ in range(_LOADS):
            answer = lane.ask(run, seconds)
            failed = _failure(answer, what, seconds)
            if failed or isinstance(answer, Ended):
                return _Failed.of(answer, failed)
            if "missing" not in answer:
                return answer
            answer = lane.ask({**load, "engine": self.engine}, self.limits.parse_seconds)
            failed = _failure(answer, "loading the graph", self.limits.parse_seconds)
            if failed or isinstance(answer, Ended):
                return _Failed.of(answer, failed)
            if answer["error"] is not None:
                return _Failed(f"the graph is no {known.title}: {answer['error']}")
        raise EngineError(f"the graph engine's process ended {_LOADS} times between loading a graph and a query")


@dataclass(frozen=True, slots=True)
class _Loading:
    """A graph with its hash and format."""

    key: str
    graph: GraphText
    known: SerializationFormat


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why there is no answer; ``lasting`` when asking again would surely give the same."""

    why: str
    timed_out: bool = False
    lasting: bool = True

    @classmethod
    def of(cls, answer: Frame | Ended, why: str) -> _Failed:
        return cls(why, isinstance(answer, Ended) and answer.timed_out, not was_killed(answer))


@functools.lru_cache(maxsize=8)
def _content_hash(graph: GraphText, name: str) -> str:
    # A graph of several megabytes is queried once per answer; hashing it each time would cost more than the query.
    return hashlib.sha256(f"{name}\n{graph.text}".encode("utf-8", "surrogatepass")).hexdigest()


def _too_long(what: str, text: str, most: int) -> str:
    return f"the {what} has {len(text)} characters, more than the limit of {most}"


def _length(result: QueryResult) -> int:
    return sum(100 + len(term.value) for row in result.rows for term in row if term)


def _failure(answer: Frame | Ended, what: str, seconds: float) -> str:
    """Why ``answer`` is none, empty if it is one."""
    if not isinstance(answer, Ended):
        return f"{what} failed: {answer['gave_up']}" if "gave_up" in answer else ""
    if answer.timed_out:
        return f"{what} {'ran' if what == 'the query' else 'took'} longer than {seconds:g} s"
    return f"{what} ended the engine's process (status {answer.status}): out of memory or nested too deeply"
