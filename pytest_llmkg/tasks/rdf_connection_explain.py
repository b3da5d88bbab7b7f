"""RdfConnectionExplainStatic: list the nodes on the shortest way between two nodes of a graph.

Rules as published with LLM-KG-Bench 3 (task version 3.2); they reproduce all recorded scores.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import GraphText, KgEngine, Task, Term
from pytest_llmkg.errors import RecordError, UserError
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.kg.graphs import parse_triples
from pytest_llmkg.metrics.paths import match_path, path_notes, path_scores, shortest_path
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Outcome, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="RdfConnectionExplainStatic",
    version="1.0",
    family="RDF",
    summary="Lists the nodes on the shortest connection between two nodes of a graph.",
    headline="listTrimF1",
    bloom=("Understand", "Analyze"),
    knowledge=("Conceptual",),
    complexity="Medium",
)

_PROMPT = """\
Below is an RDF graph in {title}. Find the shortest connection between <{start}> and <{end}>. Every triple may be \
followed in both directions, but rdf:type does not count as a connection.

```{fence}
{graph}
```

Reply with the IRIs of the nodes on that connection in order, from <{start}> to <{end}>, both included: one complete \
IRI per line without angle brackets. Leave blank nodes out, and write nothing else."""


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Shows the graph and names both ends."""
    form = format_named(case.text("format"))
    return Prompt.user(
        _PROMPT.format(
            title=form.title,
            fence=form.fence,
            graph=case.text("graph").rstrip("\n"),
            start=case.text("start"),
            end=case.text("end"),
        )
    )


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    """Scores the listed nodes against the path that is computed from the graph.

    Published: lines as a set of IRIs, every other line counts against precision. Corrected (``listTrimF1@2``): the
    order counts, fences and blank lines do not, list marks and angle brackets are read over.
    """
    path = _path(case)
    values, counts = path_scores(answer.text, path)
    info: dict[str, Json] = {**counts}
    match = match_path(answer.text, path)
    corrected: dict[str, Number] = {
        "listTrimPrecision@2": match.precision,
        "listTrimRecall@2": match.recall,
        "listTrimF1@2": match.f1,
    }
    empty = not answer.text.strip()
    if empty:
        values = dict.fromkeys(values, 0)
    notes = path_notes(answer.text) if abs(values["listTrimF1"] - match.f1) > 1e-9 else ()
    score_sets = (
        ScoreSet(build_signature(INFO, "published", ("pyoxigraph",)), values),
        ScoreSet(build_signature(INFO, "corrected", ("pyoxigraph",)), corrected, notes),
    )
    outcome: Outcome = "no_answer" if empty else "scored" if counts["textHttpCount"] else "unparsable"
    return Evaluation(outcome, score_sets, info)


def _path(case: Case) -> tuple[str, ...]:
    graph = GraphText(case.text("graph"), case.text("format"))
    try:
        path = _shortest(graph, case.text("start"), case.text("end"))
    except UserError as error:
        raise RecordError(f"case {case.label}/{case.id}: the field 'graph' does not parse: {error}") from error
    if not path:
        raise RecordError(f"case {case.label}/{case.id}: no connection between the fields 'start' and 'end'")
    return path


# The graph belongs to the case, not to an answer, so it may be read in this process.
@functools.lru_cache(maxsize=64)
def _shortest(graph: GraphText, start: str, end: str) -> tuple[str, ...]:
    labels: dict[str, str] = {}

    def written(term: Term) -> str:
        if term.kind == "bnode":
            return labels.setdefault(term.value, f"_:b{len(labels):06}")
        return f"<{term.value}>" if term.kind == "iri" else '""'

    lines = [" ".join((*map(written, triple), ".")) for triple in parse_triples(graph)]
    return shortest_path(lines, start, end)


TASK = Task(
    info=INFO,
    fields={"format": "text", "graph": "text", "start": "text", "end": "text", "note?": "text"},
    prompt=prompt,
    evaluate=evaluate,
)
