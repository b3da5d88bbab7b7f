"""Question files of the TEXT2SPARQL challenge (YAML)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_llmkg.cases.question_sets.model import Entry, QuestionSet, checked_set
from pytest_llmkg.errors import CaseFileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_challenge_yaml"]

_MOST_NODES = 1_000_000
_ENDLESS = -1  # of a node whose parts are being counted


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
    iri, name, namespace = _about(path, data.get("dataset"))
    entries = [_entry(path, question, line) for question, line in zip(questions, lines, strict=True)]
    return checked_set(
        path,
        entries,
        name or path.stem,
        dataset=iri,
        prefixes={} if namespace is None else {"": namespace},
    )


def _about(path: Path, dataset: object) -> list[str | None]:
    """The dataset's IRI, its prefix and its namespace; None for what is not told."""
    if not isinstance(dataset, dict | None):
        raise CaseFileError(f"{path}: 'dataset' has id, prefix and defaultNamespace, found {dataset!r:.60}")
    found: list[str | None] = []
    for key in ("id", "prefix", "defaultNamespace"):
        value = (dataset or {}).get(key)
        if not isinstance(value, str | None):
            raise CaseFileError(f"{path}: dataset: {key} is a text, found {value!r:.60}")
        found.append(value)
    return found


def _entry(path: Path, question: object, line: int | None) -> Entry:
    if not isinstance(question, dict):
        raise CaseFileError(
            f"{path}{f':{line}' * bool(line)}: a question has id, question and query, found {question!r:.60}"
        )
    query = question.get("query")
    return Entry(
        question.get("id"),
        question.get("question"),
        query.get("sparql") if isinstance(query, dict) else query,
        question.get("features", ()),
        line,
    )


def _parsed(path: Path, text: str) -> tuple[dict[Any, Any], list[int | None]]:
    """The data, and the line at which each question begins."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None and _size(node, {}) > _MOST_NODES:
            raise CaseFileError(f"{path}: its aliases stand for more than {_MOST_NODES} values; write them out")
        lines = _lines(node)
        data = None if node is None else loader.construct_document(node)
    except RecursionError as error:
        raise CaseFileError(f"{path}: not a YAML file: nested too deeply, or in itself") from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
        # All but the first are what the constructors of impossible dates, numbers and truth values end in.
        told = str(error) if isinstance(error, yaml.YAMLError | ValueError) else "a value does not fit its tag"
        raise CaseFileError(f"{path}: not a YAML file: {' '.join(told.split())}") from error
    if not isinstance(data, dict):
        raise CaseFileError(f"{path}: a question file has 'dataset' and 'questions', found {type(data).__name__}")
    questions = data.get("questions")
    count = len(questions) if isinstance(questions, list) else 0
    return data, lines if len(lines) == count else [None] * count  # a list that another place is merged in from


def _size(node: Any, known: dict[int, int]) -> int:
    """How many nodes there are once each alias is replaced by what it stands for (few bytes can be billions).

    Raises:
        RecursionError: a node stands in itself.
    """
    key = id(node)
    if key not in known:
        known[key] = _ENDLESS
        children = node.value if isinstance(node.value, list) else []
        inner = (one for child in children for one in (child if isinstance(child, tuple) else (child,)))
        known[key] = 1 + sum(_size(one, known) for one in inner)
    elif known[key] == _ENDLESS:
        raise RecursionError
    return known[key]


def _lines(node: Any) -> list[int | None]:
    pairs = node.value if getattr(node, "id", "") == "mapping" else []
    lists = [value.value for key, value in pairs if key.value == "questions" and value.id == "sequence"]
    return [item.start_mark.line + 1 for item in lists[-1]] if lists else []
