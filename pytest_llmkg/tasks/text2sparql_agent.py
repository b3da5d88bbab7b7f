"""Text2SparqlAgent: answer a question on a live graph, with a few queries to look around before the final one.

The protocol is one of fenced blocks, so that any model can follow it, and each step is a turn of the usual dialogue:

- a reply with a block opened by ```` ```try ```` is a step: its first such block is run on the graph, read-only and
  inside the limits of all untrusted queries, wherever the graph is and with the case's ``services``, as the final one
  will be; the next message shows the result, cut to a size, or the error;
- a reply with any other block that holds a query commits to that query, which ends the dialogue and is scored as in
  `Text2SparqlKgqa`; blocks to try beside it are not run;
- a reply with neither is answered by a reminder, once in a row.

How many queries may be tried is the case's field ``queries``. A dialogue that ends without a commitment has the scores
of no query, and so has every turn before the last one, so only ``last_*`` tell anything. Function calling by providers
is no part of this: a `pytest_llmkg.contracts.Connector` passes on messages of text only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import FieldType, KgEngine, Task
from pytest_llmkg.errors import RecordError
from pytest_llmkg.extraction import fenced_blocks, shortened
from pytest_llmkg.records import Answer, Case, Evaluation, Feedback, Prompt, Question, TaskInfo, Turn
from pytest_llmkg.tasks.kgqa_context import prefix_lines, shown_context
from pytest_llmkg.tasks.kgqa_scoring import (
    checked_reference,
    evaluate_kgqa,
    find_any_query,
    question_of,
    result_lines,
    run_on_case,
)
from pytest_llmkg.tasks.text2sparql_kgqa import FIELDS as KGQA_FIELDS

if TYPE_CHECKING:
    from pytest_llmkg.contracts import QueryResult

__all__ = ["TASK", "Step", "read_step", "shown_result"]

_TURNS = 12
_QUERIES = 5
_REMINDERS = 2  # turns that are kept free for them, and one for the final query

INFO = TaskInfo(
    name="Text2SparqlAgent",
    version="1.0",
    family="SPARQL",
    summary="Explores a knowledge graph by queries of its own before it commits to the one that answers the question.",
    headline="last_set_F@2",
    max_turns=_TURNS,
    aggregated=("set_F", "row_f1"),
    bloom=("Understand", "Analyze", "Create"),
    knowledge=("Conceptual", "Procedural"),
    complexity="High",
    aspects=("syntax create", "semantic create"),
)

FIELDS: dict[str, FieldType] = {**KGQA_FIELDS, "queries?": "integer"}

_TAG = "try"
_PROMPT = """\
You can query the knowledge graph "{kg}" and are asked a question about it. Find the one SPARQL query that answers it.

Question: {question}
{schema}
These prefixes are declared for all your queries:
{prefixes}

In each reply do one of two things.
1. Look around: write one query in a fenced block opened by ```try and closed by ```. It is run on the graph, and you
are shown the beginning of its result. Nothing but SELECT and ASK is of use here, and only the first such block counts.
2. Answer: write the final query in a fenced block opened by ```sparql and closed by ```. It ends the conversation.
Let it return just what is asked for: the IRI of a thing unless the question wants its name, a number for a count; for a
question that is answered by yes or no write ASK.

{left}"""
_LEFT = "Queries left to try: {count}."
_LAST = " Please send your final query now."
_LEFT_PATTERN = re.compile(r"Queries left to try: (\d+)\.")
_SPENT = "That query was not run, since none is left to try."
_MISSING = (
    "Your reply holds no query. Write one in a fenced block, opened by ```try to look around, by ```sparql to answer."
)
_MOST_ROWS, _LONGEST_ROW, _LONGEST_RESULT, _LONGEST_ERROR = 20, 300, 4_000, 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """What a reply does: ``final`` is its text without blocks to try if it commits, ``tried`` the query to run else."""

    final: str | None = None
    tried: str | None = None


def read_step(text: str) -> Step:
    """The step of a reply by the protocol above; both fields are None when it holds no query. An open fence counts."""
    plain = text.replace("\r\n", "\n")
    if plain.count("```") % 2:
        plain += "\n```"
    tries = [block for block in fenced_blocks(plain) if block.tag.lower() == _TAG]
    rest = plain
    for block in tries:
        rest = rest.replace(block.text, "", 1)
    if find_any_query(rest) is not None:
        return Step(final=rest)
    return Step(tried=tries[0].content) if tries else Step()


def shown_result(result: QueryResult) -> str:
    """A result as the next message shows it: rows up to a number and a size, or the error. Never holds a fence."""
    if result.error is not None:
        return f"The query does not run to its end: {_quoted(shortened(result.error, _LONGEST_ERROR))}"
    lines = result_lines(result)
    if result.boolean is not None:
        return f"The answer is {lines[0]}."
    if not lines:
        return "The query runs, but its result is empty."
    shown: list[str] = []
    for line in lines[:_MOST_ROWS]:
        row = _quoted(shortened(line, _LONGEST_ROW))
        if sum(map(len, shown)) + len(row) > _LONGEST_RESULT:
            break
        shown.append(row)
    more = f", of which the first {len(shown)} are" if len(shown) < len(lines) else ""
    head = " | ".join(f"?{name}" for name in result.variables)
    rows = "1 row" if len(lines) == 1 else f"{len(lines)} rows"
    return f"The result has {rows}{more}:\n```\n{_quoted(head)}\n" + "\n".join(shown) + "\n```"


def _quoted(text: str) -> str:
    return text.replace("```", "'''")


def _budget(case: Case) -> int:
    budget = case.integer("queries") if "queries" in case.data else _QUERIES
    if not 0 <= budget <= _TURNS - 1 - _REMINDERS:
        raise RecordError(
            f"case {case.label}/{case.id}: field 'queries' must be 0 to {_TURNS - 1 - _REMINDERS}, found {budget}"
        )
    return budget


def prompt(case: Case, kg: KgEngine) -> Prompt:
    """Shows the question, the prefixes, the protocol and, as ``context`` says, what there is to query."""
    checked_reference(case, kg)
    prefixes = case.mapping("prefixes")
    text = _PROMPT.format(
        kg=case.text("kg"),
        question=question_of(case),
        schema=shown_context(case, kg),
        prefixes=prefix_lines(prefixes),
        left=_left_text(_budget(case)),
    )
    dataset = case.text("dataset") if "dataset" in case.data else None
    return Prompt.user(text, Question(question_of(case), case.text("kg"), case.text("language"), dataset, prefixes))


def _left_text(count: int) -> str:
    return _LEFT.format(count=count) + (_LAST if count == 0 else "")


def evaluate(case: Case, answer: Answer, kg: KgEngine) -> Evaluation:
    """Scores a final query as in `Text2SparqlKgqa`; a query to try is run and has the scores of no query.

    ``info`` then holds ``tried``, the query, and ``shown``, what the next message shows of its result.
    """
    step = read_step(answer.text)
    scored = evaluate_kgqa(case, replace(answer, text=step.final or ""), INFO, kg)
    if step.final is not None:
        return scored
    if step.tried is None:
        outcome = "unparsable" if answer.text.strip() else "no_answer"
        return replace(scored, outcome=outcome)  # type: ignore[arg-type]  # one of the literals
    result = run_on_case(case, step.tried, kg)
    info = {**scored.info, "failure": "undecided", "tried": step.tried, "shown": shown_result(result)}
    return replace(scored, outcome="unparsable", info=info)


def feedback(case: Case, turn: Turn) -> Feedback | None:
    """What a tried query gave, with the number of queries that are left; or a reminder of the protocol."""
    info, before = turn.evaluation.info, turn.prompt.messages[-1].text
    left = _left(before, _budget(case))
    if "tried" in info:
        if left > 0:
            return Feedback("observation", f"{info['shown']}\n\n{_left_text(left - 1)}")
        return None if before.startswith(_SPENT) else Feedback("spent", f"{_SPENT}\n\n{_left_text(0)}")
    if info["failure"] == "missing" and not before.startswith(_MISSING):
        return Feedback("missing", f"{_MISSING}\n\n{_left_text(left)}")
    return None


def _left(text: str, most: int) -> int:
    """The number that the end of a message of this task told; what a question or a result says stands before it."""
    told = _LEFT_PATTERN.findall(text)
    return min(int(told[-1][:4]), most) if told else 0


TASK = Task(info=INFO, fields=FIELDS, prompt=prompt, evaluate=evaluate, feedback=feedback, asks_question=True)
