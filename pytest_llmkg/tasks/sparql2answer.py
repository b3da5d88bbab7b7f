"""Sparql2AnswerList: evaluate a SPARQL query on a small graph by reading both.

Rules as published with LLM-KG-Bench 3 (task version 2.0.2), and corrected ones; see `line_answers`.
"""

from __future__ import annotations

from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, TaskInfo
from pytest_llmkg.tasks.line_answers import ask_for_values, evaluate_lines

__all__ = ["TASK"]

INFO = TaskInfo(
    name="Sparql2AnswerList",
    version="1.0",
    family="SPARQL",
    summary="Works out the result of a SPARQL query on a small graph by reading both.",
    headline="combinedF1",
    bloom=("Understand", "Apply"),
    knowledge=("Conceptual", "Procedural"),
    complexity="Low",
    aspects=("syntax read", "semantic read"),
)

_PROMPT = """\
Work out the result of a SPARQL query on an RDF graph.

{notation} The prefixes of the graph hold in the query, too.

Query:
```sparql
{query}
```

Graph in {title}:
```{fence}
{graph}
```"""


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Shows query and graph and fixes the notation of the answer."""
    return ask_for_values(case, _PROMPT, "query")


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    """Scores the answer's lines; see `pytest_llmkg.tasks.line_answers`."""
    return evaluate_lines(case, answer, INFO)


TASK = Task(
    info=INFO,
    fields={
        "format": "text",
        "graph": "text",
        "prefixes": "mapping",
        "query": "text",
        "result": "texts",
        "question?": "text",
    },
    prompt=prompt,
    evaluate=evaluate,
)
