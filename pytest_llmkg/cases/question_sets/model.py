"""Questions on a knowledge graph with their reference queries, whatever file they came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.plain import clean_text

__all__ = ["WELL_KNOWN", "Entry", "Question", "QuestionSet", "checked_set", "complain", "slug"]

WELL_KNOWN: Mapping[str, str] = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
}
"""Prefixes that the endpoints of published question sets know without a declaration."""

# ISO 639-1.
_CODES = frozenset(
    re.findall(
        "[a-z]{2}",
        "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
        "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
        "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
        "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl "
        "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo "
        "za zh zu ",
    )
)
_THREE_LETTERS = re.compile(r"[a-z]{3}")
_LONGEST_ID = 200
_MOST_CHARACTERS = 100_000  # of a question or query


@dataclass(frozen=True, slots=True)
class Question:
    """A question in one or more languages.

    Attributes:
        id: unique in its set, as the file has it.
        texts: the question by language code (``en``, ``pt-br``).
        query: the reference query.
        features: what the set says of the query, e.g. ``RESULT_ORDER_MATTERS``.
        line: where the question begins in its file, None when that is unknown.
        prefixes: namespaces that its query uses without declaring them.
    """

    id: str
    texts: Mapping[str, str]
    query: str
    features: tuple[str, ...] = ()
    line: int | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file or folder on one graph.

    Attributes:
        name: of the set and its graph, e.g. ``ck25``: the file's own prefix, else its name.
        path: the file or folder.
        questions: in the order of the file.
        dataset: IRI by which systems know the graph, None when the file names none.
        prefixes: namespaces that the file declares for all questions.
    """

    name: str
    path: Path
    questions: tuple[Question, ...]
    dataset: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, in the order of their first use."""
        return tuple(dict.fromkeys(code for question in self.questions for code in question.texts))

    def qname(self, question: Question, language: str) -> str:
        """The challenge's name of a question in a language: ``ck25:1-en``."""
        return f"{self.name}:{question.id}-{language}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A question as a file has it, before anything was checked; ``id`` is None where the file has none."""

    id: object
    texts: object
    query: object
    features: object = ()
    line: int | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)


def checked_set(
    path: Path,
    entries: Sequence[Entry],
    name: str,
    *,
    dataset: str | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> QuestionSet:
    """The set of ``entries``; questions without ids are numbered from 1 when no question has one.

    Raises:
        CaseFileError: no question at all, ids that only some have or that two share, an unknown language, a text or
            query that is none; says the file, the line and the id.
    """
    if not entries:
        raise CaseFileError(f"{path}: holds no question")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise CaseFileError(f"{path}: the name of the set must be of letters, digits, '.', '_' and '-', found {name!r}")
    without = [entry for entry in entries if entry.id is None]
    if without and len(without) < len(entries):
        raise complain(path, without[0].line, None, "only some questions have an id; give all of them one, or none")
    questions: dict[str, Question] = {}
    for number, entry in enumerate(entries, 1):
        question = _question(path, entry, str(number))
        if question.id in questions:
            before = questions[question.id].line
            raise complain(path, entry.line, question.id, f"the id exists already{f' (line {before})' * bool(before)}")
        questions[question.id] = question
    slugs: dict[str, str] = {}
    for question in questions.values():
        other = slugs.setdefault(slug(question.id), question.id)
        if other != question.id:
            raise complain(
                path, question.line, question.id, f"the id differs from {other!r} by punctuation or case only"
            )
    return QuestionSet(name, path, tuple(questions.values()), dataset, dict(prefixes or {}))


def _question(path: Path, entry: Entry, number: str) -> Question:
    identifier = number if entry.id is None else entry.id
    name = _name(identifier)
    if name is None:
        # Numbers may have more digits than Python writes.
        shown = hex(identifier) if type(identifier) is int else repr(identifier)
        raise complain(path, entry.line, None, f"an id is a whole number or a text, found {shown:.60}")
    if not isinstance(entry.query, str) or not entry.query.strip():
        raise complain(path, entry.line, name, f"a reference query is needed, found {entry.query!r:.60}")
    texts = _texts(path, entry, name)
    if max(len(entry.query), *map(len, texts.values())) > _MOST_CHARACTERS:
        raise complain(path, entry.line, name, f"a text has more than {_MOST_CHARACTERS} characters")
    features = () if entry.features is None else entry.features
    if not isinstance(features, list | tuple) or not all(isinstance(feature, str) for feature in features):
        raise complain(path, entry.line, name, f"features are a list of texts, found {features!r:.60}")
    return Question(name, texts, entry.query.strip(), tuple(features), entry.line, entry.prefixes)


def _texts(path: Path, entry: Entry, name: str) -> dict[str, str]:
    if not isinstance(entry.texts, Mapping) or not entry.texts:
        raise complain(path, entry.line, name, "the question is missing; write it as language: text")
    texts: dict[str, str] = {}
    for key, text in entry.texts.items():
        code = _language(key)
        if code is None:
            raise complain(path, entry.line, name, f"unknown language {key!r:.40}; use a code of ISO 639, e.g. en")
        if not isinstance(text, str) or not text.strip():
            raise complain(path, entry.line, name, f"the question in {code!r} is no text, found {text!r:.60}")
        if code in texts:
            raise complain(path, entry.line, name, f"the question stands there twice in {code!r}")
        if clean_text(text) != text:
            raise complain(
                path, entry.line, name, f"the question in {code!r} holds half a character, found {text!r:.60}"
            )
        texts[code] = text.strip()
    return texts


def _name(identifier: object) -> str | None:
    """An id as a text, None if it cannot be one."""
    if isinstance(identifier, bool) or not isinstance(identifier, int | str):
        return None
    if isinstance(identifier, int) and abs(identifier) >= 10**_LONGEST_ID:
        return None
    name = str(identifier)
    return name if slug(name) and len(name) <= _LONGEST_ID and clean_text(name) == name else None


def _language(key: object) -> str | None:
    # YAML 1.1 reads the code of Norwegian as a truth value.
    code = "no" if key is False else key
    if not isinstance(code, str) or not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*", code):
        return None
    code = code.lower().replace("_", "-")
    main = code.partition("-")[0]
    return code if main in _CODES or _THREE_LETTERS.fullmatch(main) else None


def slug(text: str) -> str:
    """``text`` as an id of a case: lower-case letters and digits, anything else a single hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def complain(path: Path, line: int | None, identifier: str | None, text: str) -> CaseFileError:
    """The error that names file, line and question."""
    place = f"{path}:{line}" if line else str(path)
    return CaseFileError(f"{place}: {'' if identifier is None else f'question {identifier!r}: '}{text}")
