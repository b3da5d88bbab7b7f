"""Question files in JSON: QALD, LC-QuAD 2 and GRASP's lines."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pytest_llmkg.cases.question_sets.model import Entry, QuestionSet, checked_set
from pytest_llmkg.errors import CaseFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["read_grasp_lines", "read_json"]

_LIST = re.compile(r'"questions"\s*:\s*\[|\A\s*\[')


def read_json(path: Path, text: str) -> QuestionSet:
    """A QALD file (``questions`` with ``question: [{language, string}]``) or an LC-QuAD 2 file (a list).

    QALD's ``answertype``, ``aggregation`` and ``answers`` are not used: the graph at hand tells the answers.

    Raises:
        CaseFileError: neither of both, or a question that `checked_set` complains of.
    """
    data = _loaded(path, None, text)
    if isinstance(data, dict) and isinstance(data.get("questions"), list):
        items, make = data["questions"], _qald
    elif isinstance(data, list):
        items, make = data, _lcquad
    else:
        raise CaseFileError(f"{path}: neither a QALD file (an object with 'questions') nor an LC-QuAD 2 file (a list)")
    entries = []
    for item, line in zip(items, _lines(text, len(items)), strict=True):
        if not isinstance(item, dict):
            raise CaseFileError(f"{path}{f':{line}' * bool(line)}: a question is an object, found {item!r:.60}")
        entries.append(make(item, line))
    dataset = data.get("dataset") if isinstance(data, dict) else None
    name = dataset.get("id") if isinstance(dataset, dict) else None
    known = isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)
    return checked_set(path, entries, str(name) if known else path.stem)


def read_grasp_lines(path: Path, text: str) -> QuestionSet:
    """Lines of objects with ``id``, ``question`` and ``sparql``, as GRASP keeps its samples; all of them English.

    Raises:
        CaseFileError: a line is no such object, or a question that `checked_set` complains of.
    """
    entries = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            item = _loaded(path, number, line)
            if not isinstance(item, dict):
                raise CaseFileError(f"{path}:{number}: a line holds an object, found {line!r:.60}")
            entries.append(Entry(item.get("id"), {"en": item.get("question")}, item.get("sparql"), (), number))
    return checked_set(path, entries, path.stem)


def _qald(item: dict[str, Any], line: int | None) -> Entry:
    strings = item.get("question")
    texts: dict[object, object] = {}
    for found in strings if isinstance(strings, list) else []:
        # A language without a text is a translation that is still to be made.
        if isinstance(found, dict) and found.get("string"):
            language = found.get("language")
            texts[language if isinstance(language, str) else repr(language)] = found["string"]
    query = item.get("query")
    return Entry(item.get("id"), texts, query.get("sparql") if isinstance(query, dict) else None, (), line)


def _lcquad(item: dict[str, Any], line: int | None) -> Entry:
    """The question of people where there is one, else the one that was made by rule."""
    choices = (item.get(key) for key in ("question", "paraphrased_question", "NNQT_question"))
    question = next((text for text in choices if isinstance(text, str) and text.strip() not in {"", "n/a"}), None)
    query = item.get("sparql_wikidata", item.get("sparql"))
    return Entry(item.get("uid", item.get("id")), {"en": question} if question else None, query, (), line)


def _loaded(path: Path, line: int | None, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f"{path}:{line}" if line else f"{path}:{getattr(error, 'lineno', 1)}"
        raise CaseFileError(f"{place}: not JSON: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number has too many digits"


def _lines(text: str, count: int) -> Sequence[int | None]:
    """The line at which each item of the list of questions begins; None where that cannot be told."""
    for start in _LIST.finditer(text):
        found = list(_starts(text, start.end()))
        if len(found) == count:
            places, line, before = [], 1, 0
            for place in found:
                line += text.count("\n", before, place)
                before = place
                places.append(line)
            return places
    return [None] * count


def _starts(text: str, place: int) -> Iterator[int]:
    decoder, blank = json.JSONDecoder(), re.compile(r"[\s,]*")
    while True:
        match = blank.match(text, place)
        place = match.end() if match else place
        if place >= len(text) or text[place] == "]":
            return
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield place
        place = end
