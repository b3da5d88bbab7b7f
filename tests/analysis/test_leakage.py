"""Scores with and without questions that examples gave away, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_llmkg.analysis.leakage import LeakRow, leak_of, leak_rows
from pytest_llmkg.records import Answer, Evaluation, Prompt, ScoreSet, TaskInfo, Transcript, Turn

INFO = TaskInfo("Task", "1", "SPARQL", "Asks.", "f1")


def transcript(case: str, score: float, *leaks: Any, error: str | None = None) -> Transcript:
    turns = tuple(
        Turn(
            Prompt.user("?"),
            Answer("x", notes={} if leak is None else {"leak": leak}),
            Evaluation("scored", (ScoreSet("s", {"f1": score}),)),
        )
        for leak in leaks
    )
    return Transcript(case, "Label", "Task", "rag:m", 1, turns, "2026-01-01T00:00:00+00:00", 1.0, error)


NO: dict[str, list[str]] = {"same_query": [], "same_result": []}
QUERY = {"same_query": ["e1"], "same_result": []}
RESULT = {"same_query": [], "same_result": ["e2"]}


@pytest.mark.parametrize(
    ("leaks", "expected"),
    [
        ([None], None),
        ([NO], "none"),
        ([NO, RESULT], "result"),
        ([RESULT, QUERY], "query"),
        ([{"error": "x"}], "none"),
        (["nonsense"], None),
    ],
)
def test_what_examples_gave_away(leaks: list[Any], expected: str | None) -> None:
    assert leak_of(transcript("c", 1.0, *leaks)) == expected


def test_means_with_and_without() -> None:
    found = leak_rows(
        [
            transcript("a", 1.0, QUERY),
            transcript("b", 0.5, RESULT),
            transcript("c", 0.25, NO),
            transcript("d", 0.75, NO),
            transcript("e", 1.0, None),
            transcript("f", 1.0, QUERY, error="broken"),
        ],
        [INFO],
    )
    assert found == (LeakRow("rag:m", "Label", 4, 1, 1, 0.625, 0.5, 0.75),)
    assert leak_rows([transcript("c", 0.25, NO)], [INFO])[0].mean_with is None
    noted = transcript("c", 0.25, NO)
    turn = noted.turns[0]
    answer = replace(turn.answer, notes={**turn.answer.notes, "recall": {"schema": 0.5, "prompt": 1}})
    row = leak_rows([replace(noted, turns=(replace(turn, answer=answer),))], [INFO])[0]
    assert (row.recall_schema, row.recall) == (0.5, 1.0)
    assert leak_rows([transcript("c", 0.25, NO)], []) == ()
