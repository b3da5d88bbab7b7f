"""Question sets as cases of the task `Text2SparqlKgqa`: a label for each language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.cases.question_sets.model import Question, QuestionSet, slug
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.records import Case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.cases.graph_files import GraphFile
    from pytest_llmkg.plain import Json

__all__ = ["CONTEXTS", "KGQA_TASK", "question_cases"]

KGQA_TASK = "Text2SparqlKgqa"
CONTEXTS = ("schema", "none")
"""What the prompt shows of the graph besides its name and prefixes."""

_DECLARATION = re.compile(r"(?im)^\s*PREFIX\s+([A-Za-z][\w.-]*)?:\s*<([^<>\"{}|^`\\\s]*)>")


def question_cases(
    questions: QuestionSet, graphs: Mapping[str, GraphFile], context: str = "schema"
) -> tuple[Case, ...]:
    """The cases of ``questions``, language by language.

    Args:
        questions: the set.
        graphs: graphs by name; the one with the name of the set is asked about.
        context: one of `CONTEXTS`.

    Raises:
        CaseFileError: no graph has the name of the set.
    """
    graph = graphs.get(questions.name)
    if graph is None:
        known = f"; known are: {', '.join(sorted(graphs))}" if graphs else ""
        option = f"--kg {questions.name}=FILE or =URL of an endpoint"
        raise CaseFileError(f"{questions.path}: the set {questions.name!r} needs its graph: give {option}{known}")
    prefixes = _prefixes(questions)
    return tuple(
        _case(questions, question, language, {**_common(questions, graph, context), "prefixes": {**prefixes}})
        for language in questions.languages
        for question in questions.questions
        if language in question.texts
    )


def _common(questions: QuestionSet, graph: GraphFile, context: str) -> dict[str, Json]:
    place: dict[str, Json] = (
        {"endpoint": graph.reference} if graph.is_remote else {"graph": graph.reference, "format": graph.graph.format}
    )
    data: dict[str, Json] = {"kg": questions.name, **place, "context": context}
    return data if questions.dataset is None else {**data, "dataset": questions.dataset}


def _case(questions: QuestionSet, question: Question, language: str, common: Mapping[str, Json]) -> Case:
    source = questions.path.name + (f":{question.line}" if question.line else "")
    data: dict[str, Json] = {
        **common,
        "question": question.texts[language],
        "language": language,
        "query": question.query,
        "features": list(question.features),
        "qname": questions.qname(question, language),
        "source": source,
    }
    return Case(slug(question.id), KGQA_TASK, f"{KGQA_TASK}-{questions.name}-{language}", data)


def _prefixes(questions: QuestionSet) -> dict[str, str]:
    """The prefixes of the file and of its queries, which the prompt names; a prefix with two meanings is left out."""
    found: dict[str, set[str]] = {}
    for question in questions.questions:
        for prefix, namespace in _DECLARATION.findall(question.query):
            found.setdefault(prefix, set()).add(namespace)
    declared = {prefix: next(iter(names)) for prefix, names in found.items() if len(names) == 1}
    return {**declared, **questions.prefixes}
