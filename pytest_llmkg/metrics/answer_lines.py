"""Agreement of an answer given as lines with a reference result: four readings from strict to relaxed.

Source: LLM-KG-Bench 3, Sparql2AnswerList and Text2AnswerList; reproduces all 800 recorded evaluations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sets import SetMatch, match_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["READINGS", "match_lines", "relaxed_set"]

READINGS = ("plain", "trim", "fixed", "relaxed")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def match_lines(lines: Sequence[str], reference: Sequence[str], base: str) -> dict[str, SetMatch]:
    """The agreement under each of `READINGS`.

    ``plain`` takes lines as they are, ``trim`` strips them, ``fixed`` also drops ``"<>`` and shortens the base IRI to
    ``:``, ``relaxed`` further ignores case and colons on both sides and knows counts (see `relaxed_set`).

    Args:
        lines: the answer's lines.
        reference: the values of the right result.
        base: namespace of the empty prefix.
    """
    right = frozenset(reference)
    return {
        "plain": match_sets(frozenset(lines), right),
        "trim": match_sets(frozenset(line.strip() for line in lines), right),
        "fixed": match_sets(frozenset(_fixed(line, base) for line in lines), right),
        "relaxed": match_sets(relaxed_set(lines, reference, base), frozenset(_relaxer(base)(r) for r in reference)),
    }


def relaxed_set(lines: Sequence[str], reference: Sequence[str], base: str) -> frozenset[str]:
    """The relaxed reading of ``lines``, with the published count rule.

    When the reference is one number, the answer counts as the number in its first line, or else, if that line is no
    number, as the number of its lines (the model listed the things that it should have counted).
    """
    relax = _relaxer(base)
    if lines and len(reference) == 1 and _NUMBER.fullmatch(relax(reference[0])):
        first = relax(lines[0])
        return frozenset({first if _NUMBER.fullmatch(first) else str(len(lines))})
    return frozenset(relax(line) for line in lines)


def _fixed(line: str, base: str) -> str:
    bare = re.sub(r'["<>]', "", line.strip())
    # "0:" is how a JSON-LD serialiser of the published benchmark named the empty prefix.
    return bare.replace(base, ":").replace("0:", ":") if base else bare.replace("0:", ":")


def _relaxer(base: str) -> Callable[[str], str]:
    return lambda line: _fixed(line, base).replace(":", "").lower()
