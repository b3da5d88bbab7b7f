"""The process in which unvouched texts are parsed and run; started by `pytest_llmkg.kg.process`."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import signal
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from pytest_llmkg.contracts import GraphText, RdfVerdict, TolerantRdf
from pytest_llmkg.kg.limits import Limits
from pytest_llmkg.kg.lockdown import lock_down
from pytest_llmkg.kg.protocol import Frame, packed, read_frame, result_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from pytest_llmkg.kg.query_run import GraphCache
    from pytest_llmkg.kg.query_trees import QueryTrees

__all__ = ["main"]

_GRACE_SECONDS = 2.0


def main() -> None:
    """Answers frames from standard input until it ends."""
    requests, answers = _private_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    parent = os.getppid()
    first = read_frame(requests)
    if first is None:
        return
    limits = Limits(**first["limits"])
    cache, trees = _warm_up(limits)
    lock_down(limits.memory_bytes)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    write_frame(answers, {"ready": True})
    _quiet_errors()
    while (request := read_frame(requests)) is not None:
        with _alarm(request["seconds"]):
            answer = _guarded(request, cache, trees, limits)
        answers.write(answer)
        answers.flush()


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes under numbers of their own, so that a stray print cannot garble a frame."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, answers


def _quiet_errors() -> None:
    """Sends the error stream, which would tell of a failed start, to nowhere: nobody reads it any more."""
    os.dup2(1, 2)


def _warm_up(limits: Limits) -> tuple[GraphCache, QueryTrees]:
    """Imports the engines and uses each part once, so that nothing is left to import without rights."""
    # Its messages differ from those of the standard library that published runs record.
    modules: Any = sys.modules  # None there makes an import fail, which its type does not tell
    modules["orjson"] = None
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    from pytest_llmkg.kg.profile import profile_store
    from pytest_llmkg.kg.query_check import check_query
    from pytest_llmkg.kg.query_patterns import read_patterns
    from pytest_llmkg.kg.query_run import GraphCache, Query, run_query
    from pytest_llmkg.kg.query_trees import QueryTrees
    from pytest_llmkg.kg.rdf_check import check_rdf
    from pytest_llmkg.kg.tolerant import parse_tolerantly

    samples = {
        "turtle": '<a:a> <a:b> "x"@en, 1, 1.5, 1e0, true, "1"^^<http://www.w3.org/2001/XMLSchema#date>, [] .',
        "json-ld": '{"@context": {"b": "a:b"}, "@id": "a:a", "b": [{"@value": "x", "@language": "en"}, 1]}',
        "xml": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Bag r:about="a:a"/></r:RDF>',
        "nt": '<a:a> <a:b> "x" .',
    }
    for name, text in samples.items():
        for part in (text, f"{text} <", ""):
            check_rdf(part, name)
    parse_tolerantly("<a:a> <a:b> .\n<a:a> <a:b> <a:c> .")
    check_query("SELECT * { ?s ?p ?o }")
    check_query("SELECT { } }")
    read_patterns("SELECT * { ?s <a:b>/(<a:c>|^<a:d>)*/!<a:e> 1, [] }", {}, QueryTrees())
    cache = GraphCache(limits)
    warm = GraphCache(limits)
    warm.load("sample", GraphText(samples["turtle"], "turtle"))
    loaded = warm.get("sample")
    if loaded is not None:
        for engine in ("pyoxigraph", "rdflib", "exact"):
            query = Query("SELECT (STR(?o) AS ?x) { ?s ?p ?o } ORDER BY ?o", {}, engine)
            run_query(loaded, query, QueryTrees(), limits)
        profile_store(loaded.store())
    return cache, QueryTrees()


def _end_with(parent: int) -> None:
    """Ends this process soon after its parent, also while the engine's compiled code runs a query."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """The kernel's own time limit, should the parent be gone and no Python code run here any more."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _guarded(request: Frame, cache: GraphCache, trees: QueryTrees, limits: Limits) -> bytes:
    """The answer's bytes; a failure of this program is told apart from an engine that gave up on a text."""
    try:
        return packed(_answer(request, cache, trees, limits))
    except MemoryError:
        return packed({"gave_up": "out of memory"})
    except Exception as error:  # noqa: BLE001  (recorded: the parent raises it as an EngineError)
        return packed({"fault": f"{type(error).__name__}: {error}"})
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # pyoxigraph's, which is no Exception
            raise
        return packed({"gave_up": f"the engine panicked: {error}"})


def _answer(request: Frame, cache: GraphCache, trees: QueryTrees, limits: Limits) -> Frame:
    from pytest_llmkg.kg.profile import profile_store
    from pytest_llmkg.kg.query_check import check_query
    from pytest_llmkg.kg.query_patterns import read_patterns
    from pytest_llmkg.kg.query_run import Query, run_query
    from pytest_llmkg.kg.rdf_check import check_rdf
    from pytest_llmkg.kg.tolerant import parse_tolerantly

    match request["call"]:
        case "check_rdf":
            return dataclasses.asdict(_short(check_rdf(request["text"], request["format"]), limits))
        case "parse_tolerantly":
            return dataclasses.asdict(_short_rest(parse_tolerantly(request["text"]), limits))
        case "check_query":
            return dataclasses.asdict(check_query(request["query"], trees))
        case "read_patterns":
            return read_patterns(request["query"], request["prefixes"], trees)
        case "profile":
            studied = cache.get(request["graph"])
            return {"missing": True} if studied is None else profile_store(studied.store(), ranges=request["ranges"])
        case "load":
            graph = GraphText(request["text"], request["format"])
            return {"error": cache.load(request["graph"], graph, request["engine"])}
        case "run_query":
            loaded = cache.get(request["graph"])
            if loaded is None:
                return {"missing": True}
            query = Query(request["query"], request["prefixes"], request["engine"])
            return result_frame(run_query(loaded, query, trees, limits))
        case unknown:
            raise ValueError(f"unknown call {unknown!r}")


def _short(verdict: RdfVerdict, limits: Limits) -> RdfVerdict:
    if sum(map(len, verdict.triples)) > limits.result_characters:
        return RdfVerdict(f"the triples are longer than {limits.result_characters} characters, which is the limit")
    return verdict


def _short_rest(rest: TolerantRdf, limits: Limits) -> TolerantRdf:
    if sum(map(len, rest.triples)) > limits.result_characters:
        message = f"the triples are longer than {limits.result_characters} characters, which is the limit"
        return TolerantRdf((), (), message)
    return rest
