"""The categories of SPARQL-LLM's error analysis, each with a rule on what was observed when an answer was scored.

The published categories are seven, assigned by hand: namespace, alternative predicate, redundant projection, wrong
encoding, wrong query type, empty query and top-k. Here each has a rule, and the empty query is two: no query at all,
and one that finds nothing. Further categories of our own say more where those say nothing.

The observations are those of `pytest_llmkg.records.Evaluation.info` of the tasks Text2SparqlKgqa and Text2SparqlAgent;
what other tasks tell is put into their words by `seen`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Evaluation

__all__ = ["ALL_CATEGORIES", "CATEGORIES", "LAST", "RIGHT", "Category", "seen"]

RIGHT = 1.0 - 1e-9
"""An F1 that is one but for rounding."""

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


def seen(evaluation: Evaluation, task: str) -> tuple[dict[str, float], Info] | None:
    """Scores and observations of an answer in the words that the rules use.

    Args:
        evaluation: of a turn.
        task: name of its task.

    Returns:
        ``set_F@2``, ``set_F``, ``set_P`` and ``set_recall`` with the observations; None when the task is none that
        turns questions into queries, or lacks the corrected score, without which nobody knows whether it is right.
    """
    read = _READERS.get(task)
    return None if read is None else read(evaluation.scores(), evaluation.info)


def _of_questions(scores: Scores, info: Info) -> tuple[dict[str, float], Info] | None:
    if "set_F@2" not in scores:
        return None
    return {"set_F": 0.0, "set_P": 0.0, "set_recall": 0.0, **scores}, info


def _of_small_graphs(scores: Scores, info: Info) -> tuple[dict[str, float], Info] | None:
    """Text2SparqlList tells less: whether its query parses, runs and finds anything, and which names it uses."""
    if "f1measure@2" not in scores:
        return None
    kinds = (
        ("missing", info.get("sparql") is None),
        ("syntax", not scores.get("answerParse", 0.0)),
        ("execution", "EvaluationException" in info),
        ("empty", info.get("answerSetSize") == 0),
    )
    failure = next((kind for kind, applies in kinds if applies), None)
    error = info.get("parseError") if failure == "syntax" else info.get("EvaluationException")
    found = {"set_F@2": scores["f1measure@2"], "set_F": scores.get("f1measure", 0.0)}
    found |= {"set_P": scores.get("precision", 0.0), "set_recall": scores.get("recall", 0.0)}
    told = {"sparql": info.get("sparql"), "failure": failure, "error": error, "namesF": info.get("sparqlIrisF1measure")}
    return found, told


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
    return scores["set_F"] < RIGHT <= _number(info, "projectionF")


def _is_encoding(scores: Scores, info: Info) -> bool:
    return scores["set_F"] < RIGHT <= _number(info, "encodingF")


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
    return "ndcg@2" in scores and scores["set_F"] >= RIGHT


_REFERENCE_WINDOW = ("referenceLimit", "referenceOffset")
CATEGORIES: tuple[Category, ...] = (
    Category("no query", "the reply holds no query", lambda _, info: _failure(info) == "missing", is_published=True),
    Category(
        "no final query",
        "the model looked around, but sent no query to be scored",
        lambda _, info: _failure(info) == "undecided",
    ),
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
        lambda scores, info: scores["set_P"] >= RIGHT > scores["set_recall"] > 0 and not _failure(info),
    ),
    Category(
        "too much",
        "all right values and others",
        lambda scores, info: scores["set_recall"] >= RIGHT > scores["set_P"] and not _is_redundant(scores, info),
    ),
)
"""All categories with a rule, the most telling first."""
LAST: tuple[Category, ...] = (
    Category(
        "wrong patterns",
        "other triple patterns than the reference's",
        lambda _, info: not _failure(info) and info.get("shape") != info.get("referenceShape"),
    ),
    Category(
        "other names",
        "it uses names (IRIs) that the reference does not use, or lacks some of its",
        lambda _, info: not _failure(info) and 0.0 <= _number(info, "namesF") < RIGHT,
    ),
    Category("other", "none of the rules applies", lambda _scores, _info: True),
)
"""For answers that no other rule fits: the first of these that does."""
ALL_CATEGORIES: tuple[Category, ...] = (*CATEGORIES, *LAST)
"""All categories, in the order in which they are shown."""

_READERS: Mapping[str, Callable[[Scores, Info], tuple[dict[str, float], Info] | None]] = {
    "Text2SparqlKgqa": _of_questions,
    "Text2SparqlAgent": _of_questions,
    "Text2SparqlList": _of_small_graphs,
}
