"""SparqlSyntaxFixingList: repair a SPARQL query that does not parse, with up to two hints.

Rules as published with LLM-KG-Bench 3 (SparqlSyntaxFixingListLcQuad, task version 5.1.2), and corrected ones; see
`query_answers`.
"""

from __future__ import annotations

from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.errors import RecordError
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
    name="SparqlSyntaxFixingList",
    version="1.0",
    family="SPARQL",
    summary="Repairs the syntax of a SPARQL query; the repaired query is executed.",
    headline="max_combined",
    max_turns=3,
    aggregated=AGGREGATED,
    bloom=("Understand", "Apply"),
    knowledge=("Factual", "Procedural"),
    complexity="Low",
    aspects=("syntax read", "syntax create"),
)

_PROMPT = """\
This SPARQL query does not parse. Repair it: correct every syntax error and leave its meaning as it is.

```sparql
{broken}
```

It is meant to answer the question: {question}
The prefixes {prefixes} are already declared.

The parser says:
{error}

{form}"""


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the broken query, what it is meant to answer, and the parser's message."""
    check_query_case(case, kg)
    broken = case.text("broken")
    error = kg.check_query(broken).error
    if error is None:
        raise RecordError(f"case {case.label}/{case.id}: the field 'broken' parses; there is nothing to repair")
    return Prompt.user(
        _PROMPT.format(
            broken=broken.strip(),
            question=case.text("question"),
            prefixes=", ".join(f"{prefix}:" for prefix in case.mapping("prefixes")),
            error=error,
            form=QUERY_FORM,
        )
    )


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the query of ``answer`` by its result; see `query_answers`."""
    return evaluate_query(case, answer, INFO, kg)


TASK = Task(
    info=INFO,
    fields={**QUERY_FIELDS, "question": "text", "broken": "text", "note?": "text"},
    prompt=prompt,
    evaluate=evaluate,
    feedback=query_feedback,
)
