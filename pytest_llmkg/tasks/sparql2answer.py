"""Sparql2AnswerList: evaluate a SPARQL query on a small graph by reading both.

Rules as published with LLM-KG-Bench 3 (task version 2.0.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.metrics.answer_lines import match_lines
from pytest_llmkg.records import Answer, Case, Evaluation, Feedback, Number, Prompt, ScoreSet, TaskInfo, Turn
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="Sparql2AnswerList",
    version="1.0",
    family="SPARQL",
    summary="Works out the result of a SPARQL query on a small graph by reading both.",
    headline="combinedF1",
)

_PROMPT = """\
Work out the result of a SPARQL query on an RDF graph.

Reply with the values of the result only, one value per line and without any other text. Write IRIs as prefixed names: \
for <{base}example> write :example. Write literals as their bare text without quotation marks, e.g. Example. Write \
numbers in digits, e.g. 3. The prefixes of the graph hold in the query, too.

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
    form = format_named(case.text("format"))
    return Prompt.user(
        _PROMPT.format(
            base=case.mapping("prefixes").get("", ""),
            query=case.text("query").strip(),
            title=form.title,
            fence=form.fence,
            graph=case.text("graph").rstrip("\n"),
        )
    )


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    """Scores the answer's lines in four readings; ``combinedF1`` is the mean of their F1."""
    lines, reference = answer.text.splitlines(), case.texts("result")
    matches = match_lines(lines, reference, case.mapping("prefixes").get("", ""))
    values: dict[str, Number] = {}
    for reading, match in matches.items():
        names = ("precision", "recall", "f1") if reading == "plain" else _names(reading)
        values |= dict(zip(names, (match.precision, match.recall, match.f1), strict=True))
    values["brevity"] = 1 / (1 + answer.text.count(" "))
    values["combinedF1"] = (values["f1"] + values["trimF1"] + values["fixedF1"] + values["relaxedF1"]) / 4
    info: dict[str, Json] = {
        "testUid": case.id,
        "answerResultLength": len(lines),
        "answerSetSize": len(set(lines)),
        "answerSet": list(dict.fromkeys(lines)),
        "errorHttp": int("http" in answer.text),
        "errorGreaterThan": int(">" in answer.text),
        "errorQuotationMark": int('"' in answer.text),
        "errorNumber": int(_is_number(reference) and len(lines) > 1),
        "errorF1Spaces": int(values["trimF1"] > values["f1"]),
        "errorF1Format": int(values["fixedF1"] > values["trimF1"]),
        "errorF1Minor": int(values["relaxedF1"] > values["fixedF1"]),
    }
    signature = build_signature(INFO, "published")
    if not answer.text.strip():
        return Evaluation("no_answer", (ScoreSet(signature, dict.fromkeys(values, 0.0)),), info)
    return Evaluation("scored", (ScoreSet(signature, values),), info)


def feedback(_case: Case, _turn: Turn) -> Feedback | None:
    """None: the task asks once."""
    return None


def _names(reading: str) -> tuple[str, str, str]:
    return f"{reading}Precision", f"{reading}Recall", f"{reading}F1"


def _is_number(reference: Sequence[str]) -> bool:
    return len(reference) == 1 and reference[0].isdecimal()


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
    feedback=feedback,
)
