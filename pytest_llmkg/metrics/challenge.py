"""Scores of the TEXT2SPARQL challenge by its exact rules, flaws included.

A result is the set of the lexical values of all rows and projected variables: rows, columns, datatypes, languages and
multiplicity are gone, ``3`` and ``3.0`` differ, an IRI equals a string of the same characters. The result of ASK is
the one value ``true``, which a true reference holds for relevant and a false one for irrelevant; so ``false``
answered for ``true`` gets 1, ``false`` answered for ``false`` gets 0. A query that fails has the empty result; an
empty reference gives 0 whatever is answered.

Source: the challenge's client (AKSW/text2sparql-client 1.x and 2.x) on the set measures of trec_eval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.metrics.ndcg import trec_ndcg
from pytest_llmkg.metrics.sets import harmonic_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.contracts import QueryResult

__all__ = ["challenge_scores", "flatten_json", "flatten_result"]


def flatten_result(result: QueryResult) -> dict[str, int]:
    """``result`` as an entry of the challenge's result files: value -> 1, or ``true`` -> 0 or 1 for ASK.

    Values come column by column, as the challenge lists them. A failed query gives the empty set.
    """
    if result.error is not None:
        return {}
    if result.boolean is not None:
        return {"true": int(result.boolean)}
    columns = range(len(result.variables))
    return {term.value: 1 for column in columns for row in result.rows if (term := row[column]) is not None}


def flatten_json(found: object) -> dict[str, int]:
    """A result in the SPARQL 1.1 JSON format as an entry of the challenge's result files.

    Raises:
        ValueError: ``found`` is no such result.
    """
    if not isinstance(found, dict):
        raise ValueError("a SPARQL JSON result is an object")
    if "boolean" in found:
        return {"true": 1 if found["boolean"] else 0}
    try:
        names, rows = found["head"]["vars"], found["results"]["bindings"]
        return {row[name]["value"]: 1 for name in names for row in rows if name in row}
    except (KeyError, TypeError) as error:
        raise ValueError(f"a SPARQL JSON result has head.vars and results.bindings with values: {error!r}") from error


def challenge_scores(answered: Mapping[str, int], reference: Mapping[str, int], *, ordered: bool) -> dict[str, float]:
    """``set_P``, ``set_recall`` and ``set_F`` of one question, and ``ndcg`` when its result is ``ordered``.

    Args:
        answered: entry of a result file; whatever its keys map to, all of them count as answered.
        reference: the entry for the reference query; keys that map to less than 1 are not relevant.
        ordered: whether the question has the feature RESULT_ORDER_MATTERS.
    """
    relevant = {key for key, value in reference.items() if value >= 1}
    hits = len(relevant & answered.keys())
    precision = hits / len(answered) if answered else 0.0
    recall = hits / len(relevant) if relevant else 0.0
    scores = {"set_P": precision, "set_recall": recall, "set_F": harmonic_mean(precision, recall)}
    return scores | ({"ndcg": trec_ndcg(answered, reference)} if ordered else {})
