"""Scoring of an answered query on a knowledge graph: by the challenge's rules, by GRASP's rows, and corrected."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import resolve_graph
from pytest_llmkg.cases.graph_files import NamedGraphs, is_reference
from pytest_llmkg.cases.question_sets.model import WELL_KNOWN
from pytest_llmkg.contracts import GraphText, KgEngine, QueryResult
from pytest_llmkg.endpoints import FederatedEngine, endpoint_graph, store_graph
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import fenced_blocks
from pytest_llmkg.metrics.challenge import challenge_scores, flatten_result
from pytest_llmkg.metrics.challenge_rows import corrected_scores
from pytest_llmkg.metrics.result_rows import term_key
from pytest_llmkg.metrics.rows_f1 import rows_f1
from pytest_llmkg.records import Answer, Case, Evaluation, Number, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature
from pytest_llmkg.tasks.kgqa_observations import observations
from pytest_llmkg.tasks.kgqa_ties import reference_groups

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Term
    from pytest_llmkg.plain import Json

__all__ = [
    "checked_reference",
    "engine_of",
    "evaluate_kgqa",
    "find_any_query",
    "graph_of",
    "is_ordered",
    "question_of",
    "result_hash",
    "result_lines",
    "run_on_case",
    "services_of",
]

_QUERY_WORD = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_BARE_QUERY = re.compile(r"\s*(PREFIX\s|BASE\s|SELECT\b|ASK\b|CONSTRUCT\b|DESCRIBE\b)", re.IGNORECASE)
_OPEN_FENCE = re.compile(r"```[^\n`]*\n(?P<content>.*)\Z", re.DOTALL)
_ORDER_MATTERS = "RESULT_ORDER_MATTERS"


def question_of(case: Case) -> str:
    """The question in the case's language.

    Raises:
        RecordError: the case has none in it.
    """
    if "question" in case.data:
        return case.text("question")
    texts, language = case.mapping("questions"), case.text("language")
    if language not in texts:
        raise RecordError(f"{_place(case)}: no question in {language!r}; it has {', '.join(texts) or 'none at all'}")
    return texts[language]


def graph_of(case: Case) -> GraphText:
    """The graph, or what stands for it: for one named by ``--kg`` (`pytest_llmkg.cases.graph_files`), at an endpoint.

    Raises:
        RecordError: the case has none or two, or does not tell its format.
    """
    if ("graph" in case.data) == ("endpoint" in case.data):
        seen = "both" if "graph" in case.data else "neither"
        raise RecordError(f"{_place(case)}: a case has either the field 'graph' or the field 'endpoint', found {seen}")
    if "endpoint" in case.data:
        return endpoint_graph(case.text("endpoint"))
    return GraphText(resolve_graph(case.text("graph")), _format_of(case))


def _format_of(case: Case) -> str:
    if "format" not in case.data:
        raise RecordError(f"{_place(case)}: the field 'format' is missing; it tells how the graph is written")
    return case.text("format")


def services_of(case: Case) -> dict[str, GraphText]:
    """The stores that queries may name in SERVICE, by name; none for most cases.

    Raises:
        RecordError: the case does not tell the format of its graphs.
    """
    if "services" not in case.data:
        return {}
    form = "turtle" if "endpoint" in case.data else _format_of(case)
    return {name: store_graph(resolve_graph(text), form) for name, text in case.mapping("services").items()}


def engine_of(case: Case, kg: KgEngine) -> KgEngine:
    """``kg``, or around it what lets queries name the case's ``services`` in SERVICE.

    Raises:
        RecordError: the case does not tell the format of its graphs.
        UserError: a service is named by something that is no IRI.
    """
    services = services_of(case)
    if not services:
        return kg
    if isinstance(kg, NamedGraphs):
        return FederatedEngine(kg, services, kg.found)
    return FederatedEngine(kg, services)


def is_ordered(case: Case) -> bool:
    """Whether the question asks for an order, as the challenge marks it."""
    return _ORDER_MATTERS in (case.texts("features") if "features" in case.data else ())


def find_any_query(text: str) -> str | None:
    """The query of an answer: the last fenced block with a query word, or a fence that is left open; else a text that
    begins as a query does, without any fence.
    """  # noqa: D205  (one rule)
    blocks = [block.content for block in fenced_blocks(text) if _QUERY_WORD.search(block.content)]
    if blocks:
        return blocks[-1]
    opened = _OPEN_FENCE.search(text.replace("\r\n", "\n"))
    if opened and _QUERY_WORD.search(opened["content"]) and not fenced_blocks(text):
        return opened["content"].strip()
    return text.strip() if _BARE_QUERY.match(text) and "```" not in text else None


def checked_reference(case: Case, kg: KgEngine) -> QueryResult:
    """The result of the reference query.

    Raises:
        RecordError: it does not run, or gives another result than the case has frozen; names the question's file.
    """
    if "graph" in case.data and is_reference(case.text("graph")) and not isinstance(kg, NamedGraphs):
        raise RecordError(f"{_place(case)}: the graph is a file: give --kg {case.text('kg')}=FILE")
    result = run_on_case(case, case.text("query"), kg)
    if result.error is not None:
        raise RecordError(f"{_place(case)}: the reference query does not run: {result.error}")
    if "resultHash" in case.data and result_hash(result, ordered=is_ordered(case)) != case.text("resultHash"):
        raise RecordError(f"{_place(case)}: the reference query gives another result than the frozen one")
    return result


def _place(case: Case) -> str:
    source = f" ({case.text('source')})" if "source" in case.data else ""
    return f"case {case.label}/{case.id}{source}"


def run_on_case(case: Case, query: str, kg: KgEngine) -> QueryResult:
    """What ``query`` gives on the case's graph, wherever it is, with its ``services`` and prefixes and the usual ones.

    Raises:
        RecordError: the case does not tell where its graphs are.
        UserError: some graphs are embedded and some behind endpoints.
        EndpointError: an endpoint gave no result that could be scored.
    """
    # Endpoints know the usual prefixes, so an answer may leave them out.
    return engine_of(case, kg).run_query(graph_of(case), query, {**WELL_KNOWN, **case.mapping("prefixes")})


def evaluate_kgqa(case: Case, answer: Answer, task: TaskInfo, kg: KgEngine) -> Evaluation:
    """Scores the query of ``answer``.

    A query that does not parse or run has the empty result by the published rules, and 0 by the corrected ones.
    """
    wanted, query, ordered = checked_reference(case, kg), find_any_query(answer.text), is_ordered(case)
    result = QueryResult("no query") if query is None else run_on_case(case, query, kg)
    verdict = None if query is None else kg.check_query(query)
    failure = _failure(query, result, parses=verdict is not None and verdict.error is None)
    published: dict[str, Number] = {
        **challenge_scores(flatten_result(result), flatten_result(wanted), ordered=ordered),
        "row_f1": rows_f1(result, wanted),
    }
    groups = reference_groups(case.text("query"), wanted, lambda text: run_on_case(case, text, kg), ordered=ordered)
    corrected = corrected_scores(result, wanted, groups, ordered=ordered)
    notes = _notes(result, wanted) if abs(corrected["set_F@2"] - published["set_F"]) > 1e-9 else ()
    info: dict[str, Json] = {"sparql": query, "failure": failure, "error": None if query is None else result.error}
    info["timedOut"] = result.timed_out
    info |= observations(
        case.text("query"),
        wanted,
        query,
        result,
        lambda text: run_on_case(case, text, kg),
        ({**WELL_KNOWN, **case.mapping("prefixes")}, (graph_of(case), *services_of(case).values()), kg),
    )
    outcome = "scored" if failure not in {"missing", "syntax"} else "unparsable"
    score_sets = (
        ScoreSet(_signature(task, "published", kg), published),
        ScoreSet(_signature(task, "corrected", kg), dict(corrected), notes),
    )
    return Evaluation("no_answer" if not answer.text.strip() else outcome, score_sets, info)  # type: ignore[arg-type]


def _failure(query: str | None, result: QueryResult, *, parses: bool) -> str | None:
    if query is None:
        return "missing"
    if result.error is not None:
        return "execution" if parses or result.timed_out else "syntax"
    return "empty" if result.boolean is None and not result.rows else None


def _notes(given: QueryResult, wanted: QueryResult) -> tuple[str, ...]:
    """What the corrected rules treat otherwise here; at least one entry."""
    causes = {
        "truth values": given.boolean is not None or wanted.boolean is not None,
        "empty result": wanted.boolean is None and not wanted.rows,
        "columns": given.error is None and len(given.variables) != len(wanted.variables),
    }
    return tuple(cause for cause, applies in causes.items() if applies) or ("rows, order, ties and typed values",)


def result_lines(result: QueryResult) -> list[str]:
    """``result`` as texts, one for each row: columns joined by `` | ``, or ``true`` and ``false``."""
    if result.boolean is not None:
        return [str(result.boolean).lower()]
    return [" | ".join(map(_text, row)) for row in result.rows]


def _text(term: Term | None) -> str:
    if term is None:
        return ""
    if term.kind == "iri":
        return f"<{term.value}>"
    quoted = json.dumps(term.value, ensure_ascii=False)
    return f"{quoted}@{term.language}" if term.language else f"{quoted}^^<{term.datatype}>" if term.datatype else quoted


def result_hash(result: QueryResult, *, ordered: bool) -> str:
    """The SHA-256 of what the rows of ``result`` are compared by, sorted unless their order counts.

    Numbers enter by value, so that no engine's way to write them matters.
    """
    rows: list[object] = [[*map(term_key, row)] for row in result.rows]
    if result.boolean is not None:
        rows = [result.boolean]
    lines = [json.dumps(row, ensure_ascii=True) for row in rows]
    text = "\n".join(lines if ordered else sorted(lines))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _signature(task: TaskInfo, rules: str, kg: KgEngine) -> str:
    runs = getattr(kg, "engine", "pyoxigraph")
    return build_signature(task, rules, ("rdflib", "pyoxigraph") if runs == "pyoxigraph" else ("rdflib",))
