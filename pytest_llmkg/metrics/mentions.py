"""Scores of an answer that should name exactly one node."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_llmkg.metrics.sets import harmonic_mean
from pytest_llmkg.records import Number

__all__ = ["MentionMatch", "final_mention", "match_mentions", "room_for"]

_PERSON = re.compile(r"person-0*(\w+)")
# Without the underscore, which may be a mark of emphasis around the name.
_ANY_PERSON = re.compile(r"person-0*([^\W_]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MentionMatch:
    """All persons that a text mentions (their numbers, in order) and the scores of naming the right one."""

    mentioned: tuple[str, ...]
    precision: Number
    recall: int
    f1: Number


def match_mentions(text: str, local_name: str) -> MentionMatch:
    """How well ``text`` names only ``local_name``, e.g. ``person-00000004`` (LLM-KG-Bench 3, RdfFriendCount).

    Recall is 1 if the name occurs at all; precision is one over the number of mentions of any person, repeated ones
    counted. The zero values are integers, as published.
    """
    mentioned = tuple(_PERSON.findall(text))
    recall = 1 if local_name in text else 0
    precision = 1 / max(1, len(mentioned)) if recall else 0
    return MentionMatch(mentioned, precision, recall, harmonic_mean(precision, recall) if recall else 0)


def final_mention(text: str) -> str | None:
    """The number of the person that ``text`` gives as its answer, without leading zeros; None if it is not clear.

    The corrected reading: an explanation may name others. The answer is the only person named, or else the only one
    in the last line that names any, or else the only one in the first such line.
    """
    named = [line for line in (_named(line) for line in text.splitlines()) if line]
    if not named:
        return None
    for persons in (set().union(*named), named[-1], named[0]):
        if len(persons) == 1:
            return next(iter(persons))
    return None


def _named(line: str) -> set[str]:
    return {name.lower() for name in _ANY_PERSON.findall(line)}


def room_for(iri: str, text: str) -> Number:
    """``brevity``: 1 (an integer, as published) if ``text`` is no longer than ``<iri>``, else the share of it."""
    room = len(iri) + 2
    return 1 if len(text) <= room else room / len(text)
