"""Text2SparqlList: write a SPARQL query for a question about a shown graph, with up to two hints.

Rules as published with LLM-KG-Bench 3 (Text2SparqlExecEval tasks); the query is executed and its result compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.generated import resolve_graph
from pytest_llmkg.contracts import GraphText, KgEngine, QueryVerdict, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import find_query
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.metrics.results import answer_set, match_names, match_result, shown_answer_set
from pytest_llmkg.metrics.similarity import unified_diff
from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    Feedback,
    Number,
    Outcome,
    Prompt,
    ScoreSet,
    TaskInfo,
    Turn,
)
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="Text2SparqlList",
    version="1.0",
    family="SPARQL",
    summary="Writes a SPARQL query that answers a question on a shown graph.",
    headline="max_combined",
    max_turns=3,
    aggregated=("answerParse", "f1measure", "combined"),
)

_PROMPT = """\
Write one SPARQL SELECT query that answers a question on an RDF graph.

Question: {question}

{shown}
{labels}
The prefixes {prefixes} are already declared for your query. Reply with exactly one fenced code block that holds the \
query, opened by ```sparql and closed by ```, and write nothing outside that block."""

# What the prompt shows of the graph, by the kind of information. "iris" is a plain list, not RDF.
_SHOWN = {
    "graph": "The graph in {title}:\n```{fence}\n{text}\n```",
    "subgraph": "The part of the graph that matters for the question, in {title}:\n```{fence}\n{text}\n```",
    "schema": "The schema of the graph (its classes and properties, no data) in {title}:\n```{fence}\n{text}\n```",
    "subschema": "The part of the graph's schema that matters for the question, in {title}:\n```{fence}\n{text}\n```",
    "iris": "The IRIs in the graph that matter for the question, with their labels:\n```\n{text}\n```",
}
_LABELS = """
The names of the graph are numbers. This table tells what they stand for:
```csv
{labels}
```
"""
_HINTS = {
    "syntax": "Your query cannot be parsed: {error}\n\nYour query was:\n```sparql\n{query}\n```\n\nPlease correct it.",
    "missing": "Your reply holds no fenced code block with a SELECT query. Please reply with exactly one.",
    "empty": "Your query runs, but it finds nothing in the graph. Please check it against the graph and try again.",
}
# The published text for an answer without any query (a Python message); kept, since recorded runs hold it.
_NO_QUERY = "expected string or bytes-like object"
_NO_ERROR = "The SPARQL query syntax is correct."
_FOUND = re.compile(r"found '(.*?)'(?:  \(at char|\s|$)", re.DOTALL)


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Shows the question, what the case shows of the graph, and, for numeric names, the label table."""
    form = format_named(case.text("format"))
    kind = case.text("kgInfo") if "kgInfo" in case.data else "graph"
    if kind not in _SHOWN:
        raise RecordError(
            f"case {case.label}/{case.id}: field 'kgInfo' must be one of {', '.join(_SHOWN)}, found {kind!r}"
        )
    text = case.text("shown") if "shown" in case.data else case.text("graph")
    labels = _LABELS.format(labels=case.text("labels").strip()) if "labels" in case.data else ""
    return Prompt.user(
        _PROMPT.format(
            question=case.text("question"),
            shown=_SHOWN[kind].format(title=form.title, fence=form.fence, text=text.rstrip("\n")),
            labels=labels,
            prefixes=", ".join(f"{prefix}:" for prefix in case.mapping("prefixes")),
        )
    )


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Parses and runs the answered query and compares its values with the reference result."""
    query = find_query(answer.text)
    verdict = QueryVerdict(_NO_QUERY) if query is None else kg.check_query(query)
    unexpected = _FOUND.search(verdict.error or "")
    info: dict[str, Json] = {
        "testUid": case.id,
        "sparql": query,
        "diffSparql": unified_diff(case.text("query"), query or ""),
        "parseError": verdict.error or _NO_ERROR,
        "parseErrorPrefix": "",
        "parseErrorUnexpected": unexpected[1] if unexpected else "",
        "parseErrorEmpty": query is None,
        "parseErrorSPARQL": False,
    }
    if query is None or verdict.error is not None:
        outcome: Outcome = "unparsable" if answer.text.strip() else "no_answer"
        return _evaluation(outcome, {"answerParse": 0.0, "combined": 0.0}, info)
    prefixes = case.mapping("prefixes")
    info |= _names_info(case, verdict, kg, prefixes)
    result = kg.run_query(GraphText(resolve_graph(case.text("graph")), case.text("format")), query, prefixes)
    if result.error is not None:
        info["EvaluationException"] = result.error
    values = answer_set(result, prefixes)
    info |= {
        "answerResultLength": len(result.rows),
        "answerSetSize": len(values),
        "answerSet": list(shown_answer_set(values)),
    }
    match = match_result(values, case.texts("result"))
    scores = {
        "answerParse": 1.0,
        "combined": 0.2 * 1.0 + 0.8 * match.f1,
        "f1measure": match.f1,
        "precision": match.precision,
        "recall": match.recall,
    }
    return _evaluation("scored", scores, info)


def feedback(_case: Case, turn: Turn) -> Feedback | None:
    """A hint when there is no query, when it does not parse or when it finds nothing; a wrong result gets none."""
    info = turn.evaluation.info
    if info["sparql"] is None:
        return Feedback("syntax", _HINTS["missing"])
    if not turn.evaluation.scores()["answerParse"]:
        return Feedback("syntax", _HINTS["syntax"].format(error=info["parseError"], query=info["sparql"]))
    if not info["answerSetSize"]:
        return Feedback("empty", _HINTS["empty"])
    return None


def _names_info(case: Case, answered: QueryVerdict, kg: KgEngine, prefixes: dict[str, str]) -> dict[str, Json]:
    reference = kg.check_query(case.text("query"))
    if reference.error is not None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'query' does not parse: {reference.error}")
    names, suffixes = match_names(answered.names, reference.names, prefixes)
    info: dict[str, Json] = {}
    for prefix, match in (("sparqlIris", names), ("sparqlIrisSuffix", suffixes)):
        info |= {
            f"{prefix}Precision": match.precision,
            f"{prefix}Recall": match.recall,
            f"{prefix}F1measure": match.f1,
        }
    return info


def _evaluation(outcome: Outcome, values: dict[str, Number], info: dict[str, Json]) -> Evaluation:
    signature = build_signature(INFO, "published", ("rdflib", "pyoxigraph"))
    return Evaluation(outcome, (ScoreSet(signature, values),), info)


TASK = Task(
    info=INFO,
    fields={
        "format": "text",
        "graph": "text",
        "prefixes": "mapping",
        "question": "text",
        "query": "text",
        "result": "texts",
        "labels?": "text",
        "shown?": "text",
        "kgInfo?": "text",
    },
    prompt=prompt,
    evaluate=evaluate,
    feedback=feedback,
)
