"""Likeness of texts: how near a repaired text is to the reference repair."""

from __future__ import annotations

import difflib
import functools

from rapidfuzz.distance import Indel

__all__ = ["diff_ratio", "edit_ratio", "similarity_gain", "unified_diff"]

# difflib needs time in proportion to the product of both lengths. Beyond this multiple of the reference the ratio
# could not exceed 2/21, and one hostile answer could stop a whole run.
_LONGEST_MULTIPLE = 20
_ALWAYS_COMPARED = 20_000
# Its "autojunk" rule, which keeps it from the worst, begins at this length of the reference; below, less is compared.
_AUTOJUNK = 200
_SHORT_COMPARED = 4_000


def diff_ratio(answer: str, reference: str) -> float:
    """Ratcliff-Obershelp ratio of the stripped texts, from 0 to 1, as ``difflib.SequenceMatcher`` computes it.

    Not symmetric, and with difflib's ``autojunk`` rule on: both are part of the published score (LLM-KG-Bench 3,
    RdfSyntaxFixList). An answer that is longer than 20 times the reference and than 20,000 characters (4,000 for
    a reference below 200 characters) counts as 0.
    """
    answer, reference = answer.strip(), reference.strip()
    always = _ALWAYS_COMPARED if len(reference) >= _AUTOJUNK else _SHORT_COMPARED
    if len(answer) > max(always, _LONGEST_MULTIPLE * len(reference)):
        return 0.0
    return _ratio(answer, reference)


# The same texts come back: the question and the reference of a case with every answer, equal answers of many models.
# Only texts that are compared are kept: two thousand answers of a megabyte would fill the memory.
@functools.lru_cache(maxsize=2048)
def _ratio(answer: str, reference: str) -> float:
    return difflib.SequenceMatcher(None, answer, reference).ratio()


def edit_ratio(answer: str, reference: str) -> float:
    """Share of both stripped texts that a shortest edit by insertions and deletions keeps, from 0 to 1; symmetric."""
    return Indel.normalized_similarity(answer.strip(), reference.strip())


def similarity_gain(answer: float, question: float) -> float:
    """``strSimilarity``: where the answer's ratio lies between the question's (0.2) and the perfect one (1).

    Args:
        answer: `diff_ratio` of the answer to the reference.
        question: `diff_ratio` of the unrepaired text to the reference.

    Returns:
        0.2 for the unchanged question, 1 for the reference itself (or 1 + 2e-16, by the published order of
        operations), down to 0 for an answer further away than the question.
    """
    if question >= 1:
        return 1.0 if answer >= 1 else 0.2 * answer / question
    if answer >= question:
        return 0.2 + 0.8 * (answer - question) / (1 - question)
    return 0.2 * answer / question


def unified_diff(reference: str, answer: str) -> str:
    """The published form of a difference, for reading: header lines keep their own line ends."""
    return "\n".join(difflib.unified_diff(reference.splitlines(), answer.splitlines(), "optimal", "answer"))
