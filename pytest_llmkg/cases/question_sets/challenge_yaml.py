"""Question files of the TEXT2SPARQL challenge (YAML)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_llmkg.cases.question_sets.model import Entry, QuestionSet, checked_set
from pytest_llmkg.errors import CaseFileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_challenge_yaml"]


def read_challenge_yaml(path: Path, text: str) -> QuestionSet:
    """The set in ``text``: ``dataset`` (``id``, ``prefix``, ``defaultNamespace``) and ``questions``, each with ``id``,
    ``question`` by language, ``features`` and ``query.sparql``; other keys are ignored.

    Raises:
        CaseFileError: no such file, or a question that `checked_set` complains of.
    """  # noqa: D205  (the fields belong together)
    data, lines = _parsed(path, text)
    questions = data.get("questions")
    if not isinstance(questions, list):
        raise CaseFileError(f"{path}: a question file has a list 'questions', found {type(questions).__name__}")
    dataset = data.get("dataset")
    dataset = dataset if isinstance(dataset, dict) else {}
    name, namespace = dataset.get("prefix"), dataset.get("defaultNamespace")
    entries = [_entry(path, question, line) for question, line in zip(questions, lines, strict=True)]
    return checked_set(
        path,
        entries,
        name if isinstance(name, str) and name else path.stem,
        dataset=dataset["id"] if isinstance(dataset.get("id"), str) else None,
        prefixes={"": namespace} if isinstance(namespace, str) else {},
    )


def _entry(path: Path, question: object, line: int) -> Entry:
    if not isinstance(question, dict):
        raise CaseFileError(f"{path}:{line}: a question has id, question and query, found {question!r:.60}")
    query = question.get("query")
    return Entry(
        question.get("id"),
        question.get("question"),
        query.get("sparql") if isinstance(query, dict) else query,
        question.get("features", ()),
        line,
    )


def _parsed(path: Path, text: str) -> tuple[dict[Any, Any], list[int]]:
    """The data, and the line at which each question begins."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        # A date such as 2025-13-01 is a ValueError.
        raise CaseFileError(f"{path}: not a YAML file: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise CaseFileError(f"{path}: not a YAML file: nested too deeply") from error
    if not isinstance(data, dict) or not isinstance(node, yaml.MappingNode):
        raise CaseFileError(f"{path}: a question file has 'dataset' and 'questions', found {type(data).__name__}")
    lists = [value for key, value in node.value if key.value == "questions" and isinstance(value, yaml.SequenceNode)]
    return data, [item.start_mark.line + 1 for item in lists[-1].value] if lists else []
