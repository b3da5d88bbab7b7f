"""Scores of a path given as lines of IRIs, and the path itself.

The published measures are those of LLM-KG-Bench 3, RdfConnectionExplainStatic.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_llmkg.metrics.sequences import match_sequences
from pytest_llmkg.metrics.sets import SetMatch, harmonic_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_llmkg.records import Number

__all__ = ["answered_path", "match_path", "path_notes", "path_scores", "shortest_path"]

_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
# What stands before an IRI may not reach over a line end: it finds the same as the published ``^[\s:\-]*``, which takes
# time in proportion to the square of the number of blank lines.
_LIST_LINE = re.compile(r"^(?:[^\S\n]|[:\-])*(https?://\S+\s*)$", re.MULTILINE)
_HTTP = re.compile(r"https?://[^\s<>`\"']+")
# In front of an IRI; published rules read over a colon or a hyphen there, too.
_MARKS = re.compile(r"^(?:(?:[-*+•]|\d+[.)])\s*|:)+(?=`?<?[a-z][a-z0-9+.-]*:/)")


def shortest_path(triples: Iterable[str], start: str, end: str) -> tuple[str, ...]:
    """The nodes of the shortest connection from ``start`` to ``end``, edges taken in both directions.

    rdf:type and literals are no way; blank nodes may lie on the way but are left out of the result. Among paths of
    equal length the first by sorted names is taken. Empty when there is none.

    Args:
        triples: N-Triples lines.
        start: IRI.
        end: IRI.
    """
    neighbours: dict[str, set[str]] = defaultdict(set)
    for line in triples:
        subject, predicate, rest = line.strip().split(" ", 2)
        target = rest.removesuffix(".").rstrip()
        if predicate != _TYPE and not target.startswith('"'):
            neighbours[subject].add(target)
            neighbours[target].add(subject)
    before: dict[str, str | None] = {f"<{start}>": None}
    frontier = [f"<{start}>"]
    while frontier and f"<{end}>" not in before:
        reached = []
        for node in frontier:
            for neighbour in sorted(neighbours[node] - before.keys()):
                before[neighbour] = node
                reached.append(neighbour)
        frontier = reached
    way: list[str] = []
    at = f"<{end}>" if f"<{end}>" in before else None
    while at is not None:
        way.append(at)
        at = before[at]
    return tuple(name[1:-1] for name in reversed(way) if name.startswith("<"))


def path_scores(text: str, path: Sequence[str]) -> tuple[dict[str, Number], dict[str, int]]:
    """The published scores and counts of ``text`` against the nodes of ``path``; ``listTrimF1`` is the main one.

    A line counts when it is an IRI, perhaps after ``:`` or ``-``; precision is the share of all lines, fences, blank
    lines and prose included. ``listF1`` also counts white space behind an IRI against it.
    """
    right = frozenset(path)
    lines = text.splitlines()
    listed = _LIST_LINE.findall(text)
    found: list[str] = _HTTP.findall(text)
    names = [
        name for name in (re.split(r"[/#]", iri)[-1] for iri in path) if re.search(f"[:/#]{re.escape(name)}", text)
    ]
    info = {
        "lineCount": len(lines),
        "listLineCount": len(listed),
        "listCorrectCount": len(frozenset(listed) & right),
        "listTrimCorrectCount": len(frozenset(iri.strip() for iri in listed) & right),
        "textHttpCount": len(found),
        "textHttpCountCorrect": len(frozenset(found) & right),
        "textShortCount": len(names),
        "textShortCountCorrect": len(names),
    }
    scores: dict[str, Number] = {}
    for name, total in (("list", "lineCount"), ("listTrim", "lineCount"), ("textHttp", ""), ("textShort", "")):
        correct = info[f"{name}CorrectCount" if total else f"{name}CountCorrect"]
        scores |= _measures(name, correct, info[total or f"{name}Count"], len(right))
    scores["lineBrevity"] = len(listed) / len(lines) if lines else 0
    return scores, info


def answered_path(text: str) -> list[str]:
    """The corrected reading: one IRI a line without list marks and angle brackets; what else is said stays a line.

    Fences, blank lines and lines that only name a blank node are no lines of the answer: the first two are no
    content, the third is shown by some serialization formats and hidden by others.
    """
    lines = [_MARKS.sub("", line.strip()).strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("```", "~~~", "_:"))]
    return [line.removeprefix("`").removesuffix("`").removeprefix("<").removesuffix(">") for line in kept]


def match_path(text: str, path: Sequence[str]) -> SetMatch:
    """Agreement of `answered_path` with ``path``, order included."""
    return match_sequences(answered_path(text), tuple(path))


def path_notes(text: str) -> tuple[str, ...]:
    """What the corrected reading treats otherwise in ``text``; at least one entry."""
    lines = [line.strip() for line in text.splitlines()]
    fences = [line for line in lines if line.startswith(("```", "~~~"))]
    causes = {
        "fences": bool(fences),
        "blank lines": "" in lines,
        "blank nodes": any(line.startswith("_:") for line in lines),
        "notation": any(line.startswith(("<", "`")) or _MARKS.match(line) for line in lines if line not in fences),
        "doubles": len(set(answered_path(text))) != len(answered_path(text)),
    }
    return tuple(cause for cause, applies in causes.items() if applies) or ("order",)


def _measures(name: str, correct: int, total: int, wanted: int) -> dict[str, Number]:
    precision: Number = correct / total if total else 1
    recall = correct / wanted if wanted else 0.0
    f1: Number = harmonic_mean(precision, recall) if precision + recall else 0
    return {f"{name}Precision": precision, f"{name}Recall": recall, f"{name}F1": f1}
