"""Scoring shared by the tasks whose answer is a result written down, one value a line.

Published rules: LLM-KG-Bench 3, Sparql2AnswerList and Text2AnswerList (task version 2.0.2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.metrics.answer_lines import READINGS, match_lines
from pytest_llmkg.metrics.sets import SetMatch
from pytest_llmkg.metrics.value_lines import EMPTY, match_values, value_lines
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_llmkg.plain import Json

__all__ = ["NOTATION", "ask_for_values", "evaluate_lines"]

NOTATION = """\
Reply with the values of the result only, one value per line and without any other text. Write IRIs as prefixed names: \
for <{base}example> write :example. Write literals as their bare text without quotation marks, e.g. Example. Write \
numbers in digits, e.g. 3. If the result is empty, reply with the single word EMPTY."""

_ORDERED = re.compile(r"\border\s+by\b[^{}]*$", re.IGNORECASE)


def ask_for_values(case: Case, template: str, field: str) -> Prompt:
    """The prompt that fills ``template`` with the case's ``field`` (query or question), its graph and `NOTATION`."""
    form = format_named(case.text("format"))
    return Prompt.user(
        template.format(
            notation=NOTATION.format(base=case.mapping("prefixes").get("", "")),
            title=form.title,
            fence=form.fence,
            graph=case.text("graph").rstrip("\n"),
            **{field: case.text(field).strip()},
        )
    )


def evaluate_lines(case: Case, answer: Answer, task: TaskInfo) -> Evaluation:
    """Scores the lines of ``answer``.

    Published: four readings from strict to relaxed, each as a set; ``combinedF1`` is the mean of their F1.
    Corrected (``combinedF1@2``): one reading as a multiset, in order where the query orders its one column.
    """
    text, reference = answer.text, case.texts("result")
    prefixes = case.mapping("prefixes")
    values, info = _published(text, reference, prefixes.get("", ""))
    match = match_values(text, reference, prefixes, ordered=_is_ordered(case))
    corrected: dict[str, Number] = {
        "precision@2": match.precision,
        "recall@2": match.recall,
        "combinedF1@2": match.f1,
    }
    empty = not text.strip()
    if empty:
        values, corrected = dict.fromkeys(values, 0.0), dict.fromkeys(corrected, 0.0)
    notes = _notes(text, reference) if abs(values["combinedF1"] - corrected["combinedF1@2"]) > 1e-9 else ()
    score_sets = (
        ScoreSet(build_signature(task, "published"), values),
        ScoreSet(build_signature(task, "corrected"), corrected, notes),
    )
    return Evaluation("no_answer" if empty else "scored", score_sets, {"testUid": case.id, **info})


def _published(text: str, reference: Sequence[str], base: str) -> tuple[dict[str, Number], dict[str, Json]]:
    lines = text.splitlines()
    values: dict[str, Number] = {}
    if reference:
        matches = match_lines(lines, reference, base)
    else:
        # No published case has an empty result, so its rule is this project's.
        right = float(value_lines(text) == [EMPTY])
        matches = dict.fromkeys(READINGS, SetMatch(right, right, right))
    for reading, match in matches.items():
        names = ("precision", "recall", "f1") if reading == "plain" else _names(reading)
        values |= dict(zip(names, (match.precision, match.recall, match.f1), strict=True))
    values["brevity"] = 1 / (1 + text.count(" "))
    values["combinedF1"] = (values["f1"] + values["trimF1"] + values["fixedF1"] + values["relaxedF1"]) / 4
    return values, {
        "answerResultLength": len(lines),
        "answerSetSize": len(set(lines)),
        "answerSet": list(dict.fromkeys(lines)),
        "errorHttp": int("http" in text),
        "errorGreaterThan": int(">" in text),
        "errorQuotationMark": int('"' in text),
        "errorNumber": int(_is_number(reference) and len(lines) > 1),
        "errorF1Spaces": int(values["trimF1"] > values["f1"]),
        "errorF1Format": int(values["fixedF1"] > values["trimF1"]),
        "errorF1Minor": int(values["relaxedF1"] > values["fixedF1"]),
    }


def _is_ordered(case: Case) -> bool:
    """Whether the reference query orders its rows and each row is one line."""
    query = str(case.data.get("query", ""))
    columns = re.split(r"\bwhere\b|\{", query, maxsplit=1, flags=re.IGNORECASE)[0].count("?")
    return bool(_ORDERED.search(query)) and columns == 1


def _notes(text: str, reference: Sequence[str]) -> tuple[str, ...]:
    """What the corrected reading treats otherwise in this answer; at least one entry."""
    lines = text.splitlines()
    causes = {
        "empty result": not reference,
        "fences": any(line.strip().startswith(("```", "~~~")) for line in lines),
        "blank lines": any(not line.strip() for line in lines),
        "notation": any(mark in text for mark in ('"', "<", "0:", "`")) or [s.strip() for s in lines] != lines,
        "count of lines": _is_number(reference) and len(value_lines(text)) != 1,
        "doubles": len(set(value_lines(text))) != len(value_lines(text)),
    }
    return tuple(cause for cause, applies in causes.items() if applies) or ("relaxed reading",)


def _names(reading: str) -> tuple[str, str, str]:
    return f"{reading}Precision", f"{reading}Recall", f"{reading}F1"


def _is_number(reference: Sequence[str]) -> bool:
    return len(reference) == 1 and reference[0].isdecimal()
