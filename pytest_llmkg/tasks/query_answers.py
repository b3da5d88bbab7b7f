"""Scoring shared by the tasks whose answer is a SPARQL query: it is parsed, run, and its result compared.

Published rules: LLM-KG-Bench 3, Text2SparqlExecEval tasks and SparqlSyntaxFixingList.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import resolve_graph
from pytest_llmkg.contracts import FieldType, GraphText, KgEngine, QueryResult, QueryVerdict
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import fenced_blocks, find_query, shortened
from pytest_llmkg.metrics.result_rows import match_rows
from pytest_llmkg.metrics.results import answer_set, match_names, match_result, shown_answer_set
from pytest_llmkg.metrics.similarity import unified_diff
from pytest_llmkg.records import Answer, Case, Evaluation, Feedback, Number, ScoreSet, TaskInfo, Turn
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.metrics.results import Value
    from pytest_llmkg.plain import Json

__all__ = ["AGGREGATED", "QUERY_FIELDS", "QUERY_FORM", "check_query_case", "evaluate_query", "query_feedback"]

AGGREGATED = ("answerParse", "f1measure", "combined")
# Fields of a case that scoring needs. "correctedPrefixes" are those of the corrected rules, where a recorded run
# predefined wrong ones; "recordedResults" holds results by query, where the queried graph is out of reach.
QUERY_FIELDS: Mapping[str, FieldType] = {
    "format": "text",
    "graph": "text",
    "graphFormat?": "text",
    "prefixes": "mapping",
    "query": "text",
    "result": "texts",
}
QUERY_FORM = (
    "Reply with exactly one fenced code block that holds the query, opened by ```sparql and closed by ```, and write "
    "nothing outside that block."
)
_HINTS = {
    "syntax": "Your query cannot be parsed: {error}\n\nYour query was:\n```sparql\n{query}\n```\n\nPlease correct it.",
    "missing": "Your reply holds no fenced code block with a SELECT query. Please reply with exactly one.",
    "empty": "Your query runs, but it finds nothing in the graph. Please check it against the graph and try again.",
}
_LONGEST_QUOTE = 10_000  # characters of what a hint repeats
# The published text for an answer without any query (a Python message); kept, since recorded runs hold it.
_NO_QUERY = "expected string or bytes-like object"
_NO_ERROR = "The SPARQL query syntax is correct."
_FOUND = re.compile(r"found '(.*?)'(?:  \(at char|\s|$)", re.DOTALL)
_ORDERED = re.compile(r"\border\s+by\b[^{}]*$", re.IGNORECASE)


def evaluate_query(case: Case, answer: Answer, task: TaskInfo, kg: KgEngine) -> Evaluation:
    """Scores the query of ``answer``.

    Published: the values of all rows as one set, an empty result has precision 1. Corrected (names with ``@2``):
    rows of typed terms, in order where the reference orders them, against the result of the reference query.
    """
    query = find_query(answer.text)
    verdict = QueryVerdict(_NO_QUERY) if query is None else kg.check_query(query)
    info = _parse_info(case, query, verdict)
    if query is None or verdict.error is not None:
        unread: dict[str, Number] = {"answerParse": 0.0, "combined": 0.0}
        notes = _unread_notes(answer.text, query)
        corrected = ScoreSet(_signature(task, "corrected", kg), {"f1measure@2": 0.0, "combined@2": 0.0}, notes)
        score_sets = (ScoreSet(_signature(task, "published", kg), unread), corrected)
        return Evaluation("unparsable" if answer.text.strip() else "no_answer", score_sets, info)
    info |= _names_info(case, verdict, kg)
    values, rows, found = _result(case, query, kg)
    info |= found
    match = match_result(values, case.texts("result"))
    published: dict[str, Number] = {
        "answerParse": 1.0,
        "combined": 0.2 * 1.0 + 0.8 * match.f1,
        "f1measure": match.f1,
        "precision": match.precision,
        "recall": match.recall,
    }
    score_sets = (
        ScoreSet(_signature(task, "published", kg), published),
        _corrected(case, query, rows, published, kg, task),
    )
    return Evaluation("scored", score_sets, info)


def check_query_case(case: Case, kg: KgEngine) -> None:
    """Runs the reference query, before anything is asked: a faulty case must not cost an answer.

    Raises:
        RecordError: the field ``query`` does not parse or run, or gives other values than the field ``result``.
    """
    place = f"case {case.label}/{case.id}"
    error = kg.check_query(case.text("query")).error
    prefixes = case.mapping("prefixes")
    rows = kg.run_query(_graph(case), case.text("query"), prefixes)
    if error is not None or rows.error is not None:
        raise RecordError(f"{place}: the field 'query' cannot be used: {error or rows.error}")
    values = sorted(value if isinstance(value, str) else value[0] for value in answer_set(rows, prefixes))
    if rows.boolean is None and values != sorted(set(case.texts("result"))):
        shown = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
        raise RecordError(f"{place}: the field 'result' is not what the field 'query' gives: {shown or 'nothing'}")


def query_feedback(_case: Case, turn: Turn) -> Feedback | None:
    """A hint when there is no query, when it does not parse or when it finds nothing; a wrong result gets none."""
    info = turn.evaluation.info
    if info["sparql"] is None:
        return Feedback("syntax", _HINTS["missing"])
    if not turn.evaluation.scores()["answerParse"]:
        error, query = (shortened(str(info[name]), _LONGEST_QUOTE) for name in ("parseError", "sparql"))
        return Feedback("syntax", _HINTS["syntax"].format(error=error, query=query))
    if not info["answerSetSize"]:
        return Feedback("empty", _HINTS["empty"])
    return None


def _parse_info(case: Case, query: str | None, verdict: QueryVerdict) -> dict[str, Json]:
    unexpected = _FOUND.search(verdict.error or "")
    return {
        "testUid": case.id,
        "sparql": query,
        "diffSparql": unified_diff(case.text("query"), query or ""),
        "parseError": verdict.error or _NO_ERROR,
        "parseErrorPrefix": "",
        "parseErrorUnexpected": unexpected[1] if unexpected else "",
        "parseErrorEmpty": query is None,
        "parseErrorSPARQL": False,
    }


def _names_info(case: Case, answered: QueryVerdict, kg: KgEngine) -> dict[str, Json]:
    reference = kg.check_query(case.text("query"))
    if reference.error is not None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'query' does not parse: {reference.error}")
    names, suffixes = match_names(answered.names, reference.names, case.mapping("prefixes"))
    info: dict[str, Json] = {}
    for prefix, match in (("sparqlIris", names), ("sparqlIrisSuffix", suffixes)):
        info |= {
            f"{prefix}Precision": match.precision,
            f"{prefix}Recall": match.recall,
            f"{prefix}F1measure": match.f1,
        }
    return info


def _result(case: Case, query: str, kg: KgEngine) -> tuple[frozenset[Value], QueryResult | None, dict[str, Json]]:
    """The values and rows of ``query`` with their info; no rows when only a recorded result is at hand."""
    recorded = case.data.get("recordedResults")
    if isinstance(recorded, dict) and isinstance(result := recorded.get(query), dict):
        known: list[Value] = [str(value) for value in _texts(result.get("answerSet"))]
        return frozenset(known), None, dict(result)
    prefixes = case.mapping("prefixes")
    rows = kg.run_query(_graph(case), query, prefixes)
    values = answer_set(rows, prefixes)
    info: dict[str, Json] = {} if rows.error is None else {"EvaluationException": rows.error}
    shown: list[Json] = [*shown_answer_set(values)]
    length = len(rows.rows) if rows.boolean is None else 1
    return values, rows, {**info, "answerResultLength": length, "answerSetSize": len(values), "answerSet": shown}


def _corrected(
    case: Case, query: str, rows: QueryResult | None, published: Mapping[str, Number], kg: KgEngine, task: TaskInfo
) -> ScoreSet:
    """The corrected scores; equal to the published ones where no graph is at hand to run the reference query on."""
    if rows is None:
        values = {f"{name}@2": published[name] for name in ("f1measure", "combined")}
        return ScoreSet(_signature(task, "corrected", kg), values, ("recorded result only",))
    prefixes = case.mapping("correctedPrefixes" if "correctedPrefixes" in case.data else "prefixes")
    graph = _graph(case)
    wanted = kg.run_query(graph, case.text("query"), prefixes)
    if wanted.error is not None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'query' does not run: {wanted.error}")
    given = rows if "correctedPrefixes" not in case.data else kg.run_query(graph, query, prefixes)
    ordered = bool(_ORDERED.search(case.text("query")))
    match = match_rows(given, wanted, ordered=ordered)
    values = {
        "precision@2": match.precision,
        "recall@2": match.recall,
        "f1measure@2": match.f1,
        "combined@2": 0.2 * 1.0 + 0.8 * match.f1,
    }
    differs = abs(match.f1 - published["f1measure"]) > 1e-9
    notes = _notes(case, rows, given, wanted, ordered=ordered) if differs else ()
    return ScoreSet(_signature(task, "corrected", kg), values, notes)


def _notes(case: Case, rows: QueryResult, given: QueryResult, wanted: QueryResult, *, ordered: bool) -> tuple[str, ...]:
    """What the corrected rules treat otherwise here; at least one entry."""
    reference = frozenset(case.texts("result"))
    causes = {
        "prefixes": rows != given,
        "reference": frozenset(answer_set(wanted, case.mapping("prefixes"))) != reference,
        "empty result": not wanted.rows and wanted.boolean is None,
        "columns": len(given.variables) != len(wanted.variables),
        "order": ordered and match_rows(given, wanted, ordered=False) != match_rows(given, wanted, ordered=True),
        "doubles": len(given.rows) != len(frozenset(given.rows)) or len(wanted.rows) != len(frozenset(wanted.rows)),
        "truth values": given.boolean is not None or wanted.boolean is not None,
    }
    return tuple(cause for cause, applies in causes.items() if applies) or ("rows and typed values",)


def _unread_notes(text: str, query: str | None) -> tuple[str, ...]:
    return ("no query in a block",) if query is None and fenced_blocks(text) else ()


def _graph(case: Case) -> GraphText:
    form = case.text("graphFormat" if "graphFormat" in case.data else "format")
    return GraphText(resolve_graph(case.text("graph")), form)


def _texts(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _signature(task: TaskInfo, rules: str, kg: KgEngine) -> str:
    """Names rdflib, which parses, and the engine whose results count (``exact`` gives those of rdflib)."""
    runs = getattr(kg, "engine", "pyoxigraph")
    return build_signature(task, rules, ("rdflib", "pyoxigraph") if runs == "pyoxigraph" else ("rdflib",))
