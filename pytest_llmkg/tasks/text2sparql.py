"""Text2SparqlList: write a SPARQL query for a question about a graph, with up to two hints.

Rules as published with LLM-KG-Bench 3 (Text2SparqlExecEval tasks), and corrected ones; see `query_answers`.
"""

from __future__ import annotations

from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, TaskInfo
from pytest_llmkg.tasks.query_answers import (
    AGGREGATED,
    QUERY_FIELDS,
    QUERY_FORM,
    check_query_case,
    evaluate_query,
    query_feedback,
)

__all__ = ["TASK"]

INFO = TaskInfo(
    name="Text2SparqlList",
    version="1.0",
    family="SPARQL",
    summary="Writes a SPARQL query that answers a question on a graph.",
    headline="max_combined",
    max_turns=3,
    aggregated=AGGREGATED,
    bloom=("Understand", "Create"),
    knowledge=("Conceptual", "Procedural"),
    complexity="Low",
    aspects=("syntax create", "semantic create"),
)

_PROMPT = """\
Write one SPARQL SELECT query that answers a question on an RDF graph.

Question: {question}

{shown}
{labels}
The prefixes {prefixes} are already declared for your query. {form}"""

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


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the question, what the case shows of the graph, and, for numeric names, the label table."""
    check_query_case(case, kg)
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
            form=QUERY_FORM,
        )
    )


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the query of ``answer`` by its result; see `query_answers`."""
    return evaluate_query(case, answer, INFO, kg)


TASK = Task(
    info=INFO,
    fields={**QUERY_FIELDS, "question": "text", "labels?": "text", "shown?": "text", "kgInfo?": "text"},
    prompt=prompt,
    evaluate=evaluate,
    feedback=query_feedback,
)
