"""Why answers of the task Text2SparqlKgqa are wrong: the categories of SPARQL-LLM's error analysis, found by rule.

The published categories are seven, assigned by hand: namespace, alternative predicate, redundant projection, wrong
encoding, wrong query type, empty query and top-k. Here each has a rule on what was observed when the answer was scored
(fields of `pytest_llmkg.records.Evaluation.info`), and the empty query is two: no query at all, and one that finds
nothing. Further categories of our own say more where those say nothing. An answer may belong to several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Evaluation, Transcript

__all__ = ["CATEGORIES", "Category", "CategoryRow", "ErrorExample", "category_rows", "error_categories"]

TASK = "Text2SparqlKgqa"
_RIGHT = 1.0 - 1e-9
Scores = Mapping[str, float]
Info = Mapping[str, "Json"]


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of error.

    Attributes:
        name: short, in words.
        meaning: one sentence.
        applies: whether it applies to an answer with these scores and observations.
        is_published: whether it is one of SPARQL-LLM's seven (the empty query counts as two).
    """

    name: str
    meaning: str
    applies: Callable[[Scores, Info], bool]
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """A wrong answer: where it is, its question's id and both queries as far as they are known."""

    label: str
    case: str
    iteration: int
    query: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """How often a category applies to a model's answers.

    Attributes:
        model: its id.
        category: name of the category.
        is_published: see `Category`.
        count: wrong answers that belong to it.
        wrong: wrong answers of the model; a category's share is ``count / wrong``.
        answers: all scored answers of the model.
        examples: the first ones, in the order of the transcripts.
    """

    model: str
    category: str
    is_published: bool
    count: int
    wrong: int
    answers: int
    examples: tuple[ErrorExample, ...]


def error_categories(evaluation: Evaluation) -> tuple[str, ...]:
    """The categories of a scored answer, the most telling first; none when it is right by the corrected rules."""
    scores, info = evaluation.scores(), evaluation.info
    if scores.get("set_F@2", 0.0) >= _RIGHT:
        return ()
    found = tuple(category.name for category in CATEGORIES if category.applies(scores, info))
    return found or tuple(category.name for category in _LAST if category.applies(scores, info))[:1]


def category_rows(transcripts: Iterable[Transcript], examples: int = 3) -> tuple[CategoryRow, ...]:
    """Counts and examples for each model that was asked, of the final answer of each dialogue.

    Args:
        transcripts: of any tasks; those of others and those that broke off are left out.
        examples: the most that a category shows.
    """
    by_model: dict[str, list[Transcript]] = {}
    for transcript in transcripts:
        if transcript.task == TASK and transcript.outcome != "error":
            by_model.setdefault(transcript.model, []).append(transcript)
    return tuple(row for model, held in by_model.items() for row in _rows(model, held, examples))


def _rows(model: str, held: Sequence[Transcript], examples: int) -> Iterable[CategoryRow]:
    found: dict[str, list[Transcript]] = {category.name: [] for category in (*CATEGORIES, *_LAST)}
    wrong = 0
    for transcript in held:
        names = error_categories(transcript.turns[-1].evaluation)
        wrong += bool(names)
        for name in names:
            found[name].append(transcript)
    for category in (*CATEGORIES, *_LAST):
        of_it = found[category.name]
        shown = tuple(map(_example, of_it[:examples]))
        if of_it:
            yield CategoryRow(model, category.name, category.is_published, len(of_it), wrong, len(held), shown)


def _example(transcript: Transcript) -> ErrorExample:
    info = transcript.turns[-1].evaluation.info
    query, error = info.get("sparql"), info.get("error")
    return ErrorExample(
        transcript.label,
        transcript.case,
        transcript.iteration,
        query if isinstance(query, str) else None,
        error if isinstance(error, str) else None,
    )


def _failure(info: Info) -> str:
    return str(info.get("failure") or "")


def _number(info: Info, name: str) -> float:
    """An observed F1; -1 where it was not observed, which is below all."""
    value = info.get(name)
    return float(value) if isinstance(value, int | float) else -1.0


def _names(info: Info, name: str) -> frozenset[str]:
    value = info.get(name)
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()


def _lacks_prefix(info: Info) -> bool:
    return bool(_names(info, "undeclaredPrefixes")) and _failure(info) in {"syntax", "execution"}


def _is_namespace(scores: Scores, info: Info) -> bool:
    return _number(info, "namespaceF") > scores["set_F"]


def _is_alternative(_scores: Scores, info: Info) -> bool:
    same = info.get("shape") == info.get("referenceShape") and _failure(info) in {"", "empty"}
    return same and _names(info, "predicates") != _names(info, "referencePredicates")


def _is_redundant(scores: Scores, info: Info) -> bool:
    return scores["set_F"] < _RIGHT <= _number(info, "projectionF")


def _is_encoding(scores: Scores, info: Info) -> bool:
    return scores["set_F"] < _RIGHT <= _number(info, "encodingF")


def _is_type(_scores: Scores, info: Info) -> bool:
    if _failure(info) not in {"", "empty"}:
        return False
    number = info.get("kind") == "number", info.get("referenceKind") == "number"
    return info.get("form") != info.get("referenceForm") or (number[0] != number[1] and info.get("kind") != "empty")


def _is_top_k(scores: Scores, info: Info) -> bool:
    own, reference = ((info.get(a), info.get(b) or 0) for a, b in (("limit", "offset"), _REFERENCE_WINDOW))
    if own == reference or _failure(info) not in {"", "empty"} or _is_type(scores, info):
        return False
    # Another way to write a superlative, without LIMIT, is no error of its own unless all else is alike.
    return own[0] is not None or _names(info, "predicates") == _names(info, "referencePredicates")


def _is_order(scores: Scores, _info: Info) -> bool:
    return "ndcg@2" in scores and scores["set_F"] >= _RIGHT


_REFERENCE_WINDOW = ("referenceLimit", "referenceOffset")
CATEGORIES: tuple[Category, ...] = (
    Category("no query", "the reply holds no query", lambda _, info: _failure(info) == "missing", is_published=True),
    Category("undeclared prefix", "the query uses a prefix that nobody declared", lambda _, info: _lacks_prefix(info)),
    Category(
        "syntax", "the query does not parse", lambda _, info: _failure(info) == "syntax" and not _lacks_prefix(info)
    ),
    Category("time limit", "the query ran too long", lambda _, info: info.get("timedOut") is True),
    Category(
        "refused or failed",
        "the query reaches outside of the graph (SERVICE, FROM), changes it, or fails otherwise",
        lambda _, info: _failure(info) == "execution" and info.get("timedOut") is not True and not _lacks_prefix(info),
    ),
    Category(
        "empty result",
        "the query finds nothing, the reference does",
        lambda _, info: _failure(info) == "empty" and info.get("referenceKind") != "empty",
        is_published=True,
    ),
    Category("namespace", "a name is right but for its namespace", _is_namespace, is_published=True),
    Category(
        "unknown name",
        "a property of the query does not occur in the graph",
        lambda scores, info: bool(_names(info, "unknownNames")) and not _is_namespace(scores, info),
    ),
    Category("alternative predicate", "the same patterns with other properties", _is_alternative, is_published=True),
    Category("redundant projection", "right but for columns that were not asked for", _is_redundant, is_published=True),
    Category("wrong encoding", "right but for percent signs, dashes, Unicode or case", _is_encoding, is_published=True),
    Category("wrong query type", "ASK, SELECT or a count in place of another", _is_type, is_published=True),
    Category("top-k", "another LIMIT or OFFSET", _is_top_k, is_published=True),
    Category("wrong order", "the right values in the wrong order", _is_order),
    Category(
        "incomplete",
        "only right values, but not all",
        lambda scores, info: scores["set_P"] >= _RIGHT > scores["set_recall"] > 0 and not _failure(info),
    ),
    Category(
        "too much",
        "all right values and others",
        lambda scores, info: scores["set_recall"] >= _RIGHT > scores["set_P"] and not _is_redundant(scores, info),
    ),
)
"""All categories with a rule, the most telling first."""
_LAST = (
    Category(
        "wrong patterns",
        "other triple patterns than the reference's",
        lambda _, info: not _failure(info) and info.get("shape") != info.get("referenceShape"),
    ),
    Category("other", "none of the rules applies", lambda _scores, _info: True),
)
