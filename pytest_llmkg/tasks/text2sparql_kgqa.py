"""Text2SparqlKgqa: write a SPARQL query for a question about a real knowledge graph, in one of several languages.

Question and reference come from a question set (`pytest_llmkg.cases.question_sets`) or a case file. The graph is a text
(``graph`` with ``format``) or behind a SPARQL endpoint (``endpoint``); ``services`` are further stores that queries may
name in SERVICE, by the name that they use there: texts in ``format``, or addresses beside an endpoint. Published rules
are those of the TEXT2SPARQL challenge and GRASP's row F1; corrected ones stand beside them, see `kgqa_scoring`.
"""

from __future__ import annotations

from pytest_llmkg.contracts import FieldType, KgEngine, Task
from pytest_llmkg.extraction import shortened
from pytest_llmkg.records import Answer, Case, Evaluation, Feedback, Prompt, Question, TaskInfo, Turn
from pytest_llmkg.tasks.kgqa_context import prefix_lines, shown_context
from pytest_llmkg.tasks.kgqa_scoring import checked_reference, evaluate_kgqa, question_of

__all__ = ["TASK"]

INFO = TaskInfo(
    name="Text2SparqlKgqa",
    version="1.0",
    family="SPARQL",
    summary="Writes a SPARQL query for a question in some language on a knowledge graph that the prompt does not show.",
    headline="last_set_F@2",
    max_turns=3,
    aggregated=("set_P", "set_recall", "set_F", "ndcg", "row_f1"),
    bloom=("Understand", "Create"),
    knowledge=("Conceptual", "Procedural"),
    complexity="High",
    aspects=("syntax create", "semantic create"),
)

FIELDS: dict[str, FieldType] = {
    "kg": "text",
    "graph?": "text",
    "format?": "text",
    "endpoint?": "text",
    "services?": "mapping",
    "prefixes": "mapping",
    "language": "text",
    "query": "text",
    "question?": "text",
    "questions?": "mapping",
    "features?": "texts",
    "result?": "texts",
    "resultHash?": "text",
    "context?": "text",
    "feedback?": "text",
    "dataset?": "text",
    "qname?": "text",
    "source?": "text",
    "note?": "text",
}

_PROMPT = """\
Write one SPARQL query that answers a question about the knowledge graph "{kg}".

Question: {question}
{schema}
These prefixes are declared for your query already:
{prefixes}

Let the query return just what is asked for: the IRI of a thing unless the question wants its name, a number for a
count; for a question that is answered by yes or no write ASK. Reply with exactly one fenced code block that holds the
query, opened by ```sparql and closed by ```, and write nothing outside that block."""
_HINTS = {
    "missing": "Your reply holds no SPARQL query. Please reply with one fenced code block that holds it.",
    "syntax": "Your query cannot be parsed: {error}\n\nYour query was:\n```sparql\n{query}\n```\n\nPlease correct it.",
    "execution": "Your query does not run to its end: {error}\n\nPlease write another one.",
    "empty": "Your query runs, but its result is empty. Please look whether it fits the graph and correct it; if it is "
    "right that there is nothing, send it again.",
}
_LONGEST_QUOTE = 10_000  # characters of what a hint repeats


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the question, the name of the graph, its prefixes and, as ``context`` says, its classes and properties."""
    checked_reference(case, kg)
    prefixes = case.mapping("prefixes")
    text = _PROMPT.format(
        kg=case.text("kg"),
        question=question_of(case),
        schema=shown_context(case, kg),
        prefixes=prefix_lines(prefixes),
    )
    dataset = case.text("dataset") if "dataset" in case.data else None
    return Prompt.user(text, Question(question_of(case), case.text("kg"), case.text("language"), dataset, prefixes))


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores the query of ``answer`` by its result; see `kgqa_scoring`."""
    return evaluate_kgqa(case, answer, INFO, kg)


def feedback(case: Case, turn: Turn) -> Feedback | None:
    """A hint when there is no query, it does not parse or run, or finds nothing; none when the case turns them off.

    A query that finds nothing and is sent again is taken as meant: the same query gets no second hint.
    """
    if case.data.get("feedback") == "none":
        return None
    info = turn.evaluation.info
    kind, query, error = str(info["failure"] or ""), info["sparql"], info["error"]
    if kind not in _HINTS or (kind == "empty" and _is_repeated(turn, str(query))):
        return None
    quoted = (shortened(str(text), _LONGEST_QUOTE) for text in (error, query))
    return Feedback(kind, _HINTS[kind].format(**dict(zip(("error", "query"), quoted, strict=True))))


def _is_repeated(turn: Turn, query: str) -> bool:
    """Whether the prompt of this turn was the hint on an empty result already."""
    return any(message.text == _HINTS["empty"] for message in turn.prompt.messages) and bool(query)


TASK = Task(info=INFO, fields=FIELDS, prompt=prompt, evaluate=evaluate, feedback=feedback, asks_question=True)
