"""Queries from examples: that of a similar question, with the names, numbers and properties that differ exchanged.

The words of a question are laid beside those of an example. A constant of the example's query that the example's
question names is a slot; it takes what stands in its place in the question asked. A property or class that the
example's question names and the asked one does not is exchanged for one that the shown schema has and the asked
question names. All else stays as it is, whether it fits or not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.lexicon import TYPE
from pytest_llmkg.connectors.symbolic.prefixes import expand, shorten
from pytest_llmkg.connectors.symbolic.words import FILLERS, split_name, stem, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_llmkg.connectors.symbolic.outlines import Outline

__all__ = ["Adapted", "adapted_queries"]

_TOKEN = re.compile(r"\w+(?:[-.,'\u2019]\w+)*")
_CONSTANT = re.compile(
    r'"(?P<double>(?:[^"\\\n]|\\.)*)"|\'(?P<single>(?:[^\'\\\n]|\\.)*)\'|<[^<>\s]*>|[?$]\w+'
    r"|(?P<prefix>[A-Za-z][\w-]*)?:(?P<local>[A-Za-z_][\w-]*)|(?<![\w.:-])(?P<number>\d+(?:\.\d+)?)(?![\w.])"
)
_DECLARED = re.compile(r"\bPREFIX\s+([\w-]*):\s*<([^<>\s]*)>", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_LONGEST, _SLOT = 6, "\0"


@dataclass(frozen=True, slots=True)
class Adapted:
    """A query made from an example, and how much of the two questions agrees, from 0 to 1."""

    query: str
    score: float


@dataclass(frozen=True, slots=True)
class _Slot:
    """A constant at ``[start, end)`` of the query, which words ``[first, last)`` of the example's question name."""

    start: int
    end: int
    first: int
    last: int
    is_number: bool


def adapted_queries(question: str, examples: Sequence[tuple[str, str]], outline: Outline | None) -> tuple[Adapted, ...]:
    """A query from each example, the most similar first; of equally similar ones in the order of the prompt."""
    rarity = Counter(word for text, _ in examples for word in {token.casefold() for token in _TOKEN.findall(text)})
    found = [_adapted(question, text, query, outline, rarity) for text, query in examples]
    return tuple(sorted(found, key=lambda one: -one.score))


def _adapted(question: str, example: str, query: str, outline: Outline | None, rarity: Mapping[str, int]) -> Adapted:
    given, asked = list(_TOKEN.finditer(example)), list(_TOKEN.finditer(question))
    slots = _slots(query, [m.group().casefold() for m in given])
    masked = _masked(given, slots)
    words = [m.group().casefold() for m in asked]
    common: list[str] = []
    gone: list[str] = []
    new: list[str] = []
    values: dict[int, str] = {}
    for tag, i, j, k, m in SequenceMatcher(None, masked, words, autojunk=False).get_opcodes():
        if tag == "equal":
            common += words[k:m]
            continue
        gone += [word for word in masked[i:j] if word[0] != _SLOT]
        for number in [int(word[1:]) for word in masked[i:j] if word[0] == _SLOT]:
            taken = _place_of(asked, (k, m), given[slots[number].first].group(), alone=j - i == 1)
            if taken is not None:
                values[number] = question[asked[taken[0]].start() : asked[taken[1] - 1].end()]
                new += words[k : taken[0]]
                k = taken[1]  # noqa: PLW2901  (the words before are used up)
        new += words[k:m]
    changed, exchanged = _exchanged(_filled(query, slots, values), gone, new, outline)
    return Adapted(changed, _agreement(common, (*gone, *new), exchanged, rarity) / (1 + len(slots) - len(values)))


def _agreement(common: Sequence[str], others: Sequence[str], exchanged: int, rarity: Mapping[str, int]) -> float:
    """The share of words that both questions have, rare ones counting more; an exchanged name counts as one of them."""
    same, other = (sum(1 / max(1, rarity[word]) for word in words) for words in (common, others))
    known = 2 * (same + exchanged)
    total = max(2 * same + other, known)
    return known / total if total else 0.0


def _slots(query: str, words: Sequence[str]) -> list[_Slot]:
    found: list[_Slot] = []
    for match in _CONSTANT.finditer(query):
        text = match["double"] or match["single"] or match["number"]
        tokens = [token.casefold() for token in _TOKEN.findall(text or "")]
        if not tokens:
            continue
        for first in range(len(words) - len(tokens) + 1):
            last = first + len(tokens)
            if list(words[first:last]) == tokens and not any(s.first < last and first < s.last for s in found):
                is_number = match["number"] is not None
                start = match.start() if is_number else match.start() + 1
                end = start + len(text or "")
                found.append(_Slot(start, end, first, last, is_number))
                break
    return found


def _masked(given: Sequence[re.Match[str]], slots: Sequence[_Slot]) -> list[str]:
    """The words of the example's question, one sign in place of the words of each slot."""
    starts = {slot.first: number for number, slot in enumerate(slots)}
    inside = {i for slot in slots for i in range(slot.first, slot.last)}
    return [
        f"{_SLOT}{starts[i]}" if i in starts else match.group().casefold()
        for i, match in enumerate(given)
        if i in starts or i not in inside
    ]


def _place_of(
    asked: Sequence[re.Match[str]], room: tuple[int, int], old: str, *, alone: bool
) -> tuple[int, int] | None:
    """The words in ``room`` that take the place of what begins with the word ``old``.

    That is a number for a number, and a name for a name. Other words only take the place of a slot that stands
    ``alone`` between words that both questions have.
    """
    first, last = room
    if old[0].isdecimal():
        return next(((i, i + 1) for i in range(first, last) if _NUMBER.fullmatch(asked[i].group())), None)
    while alone and first < last and asked[first].group().casefold() in FILLERS:
        first += 1
    if alone and 0 < last - first <= _LONGEST and asked[first].group()[0].isupper() == old[0].isupper():
        return first, last
    if not old[0].isupper():
        return None
    runs: list[tuple[int, int]] = []
    for i in range(first, last):
        text = asked[i].group()
        if i and (text[0].isupper() or (text[0].isdigit() and runs and runs[-1][1] == i)):
            runs[-1:] = [(runs[-1][0], i + 1)] if runs and runs[-1][1] == i else [*runs[-1:], (i, i + 1)]
    return max(runs, key=lambda run: run[1] - run[0], default=None)


def _filled(query: str, slots: Sequence[_Slot], values: Mapping[int, str]) -> str:
    for number, slot in sorted(enumerate(slots), key=lambda item: -item[1].start):
        if number in values:
            value = values[number].replace(",", ".") if slot.is_number else values[number]
            query = query[: slot.start] + value.replace("\\", "\\\\").replace('"', '\\"') + query[slot.end :]
    return query


def _exchanged(query: str, gone: Sequence[str], new: Sequence[str], outline: Outline | None) -> tuple[str, int]:
    """``query`` with names of the schema exchanged, and how many."""
    if outline is None or not gone or not new:
        return query, 0
    prefixes = {**outline.prefixes, **dict(_DECLARED.findall(query))}
    used = dict.fromkeys(
        iri
        for m in _CONSTANT.finditer(query)
        if m["local"] and (iri := expand(m["prefix"] or "", m["local"], prefixes)) and iri != TYPE
    )
    swaps = _exchanges(list(used), gone, new, outline)
    return _swapped(query, swaps, prefixes), len(swaps)


def _exchanges(used: Sequence[str], gone: Sequence[str], new: Sequence[str], outline: Outline) -> dict[str, str]:
    """What takes the place of the names in ``used`` that the words that are gone name; only what fits together.

    A class is exchanged for one that has all properties in use, a property for another one of the same class.
    """
    named = [iri for iri in used if _is_named(iri, gone, outline)]
    classes: dict[str, str] = {}
    for iri in named:
        if iri in outline.classes and (other := _longest(outline.classes, new, outline, used)):
            classes[iri] = other
    swaps = dict(classes)
    for iri in named:
        owners = [classes.get(name, name) for name, uses in outline.classes.items() if iri in uses]
        others = dict.fromkeys(one for name in owners for one in outline.classes[name])
        if other := _longest(others, new, outline, used):
            swaps[iri] = other
    for old, other in classes.items():
        kept = {swaps.get(iri, iri) for iri in used if iri in outline.classes[old]}
        if not kept <= outline.classes[other].keys():
            return {}
    return swaps


def _longest(names: Iterable[str], words: Sequence[str], outline: Outline, used: Sequence[str]) -> str | None:
    found = [one for one in names if one not in used and _is_named(one, words, outline)]
    return max(found, key=lambda one: len(_stems(one)), default=None)


def _swapped(query: str, swaps: Mapping[str, str], prefixes: Mapping[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        iri = expand(match["prefix"] or "", match["local"], prefixes) if match["local"] else None
        return shorten(swaps[iri], prefixes) if iri and iri in swaps else match.group()

    return _CONSTANT.sub(shown, query)


def _is_named(iri: str, words: Sequence[str], outline: Outline) -> bool:
    stems = {stem(part) for word in words for part in (word.replace("-", ""), *split_name(word))}
    names = [_stems(iri), *([stems_of(outline.labels[iri])] if iri in outline.labels else [])]
    return any(name and set(name) - FILLERS <= stems and set(name) - FILLERS for name in names)


def _stems(iri: str) -> tuple[str, ...]:
    return stems_of(re.split(r"[/#:]", iri)[-1])
