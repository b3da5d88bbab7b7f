"""Turtle with faulty lines left out, as the construction tasks of LLM-KG-Bench (2023) read answers. Runs in the worker.

The rule was found from recorded results and is an approximation of the original: it gives the recorded triples for
every text that parses and for 98 of 100 of those that do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_llmkg.contracts import TolerantRdf
from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.rdf_check import ntriples_lines, parse_in_order

__all__ = ["MOST_CHARACTERS", "parse_tolerantly"]

MOST_CHARACTERS = 8_000_000
"""Characters that one call may read in all its attempts together, some 8 seconds of work."""

_ATTEMPT_SHARE = 20  # reading on to the end of a text costs this many times less than parsing it
_CLEAN, _USELESS = float("inf"), -1.0


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What parsing some lines gave: how far it came, and the index of the line of the first error, if any.

    Attributes:
        reached: the index again; infinity when all lines parse and hold a triple; -1 when they hold none or made the
            parser fail.
        error: None when nothing is left to drop.
        lines: the triples as N-Triples; only of a clean attempt.
    """

    reached: float
    error: int | None
    triples: tuple[str, ...] = ()


class _BudgetSpentError(Exception):
    """More characters were read than one call may."""


class _Reader:
    """Parses lines again and again, and counts what that costs."""

    def __init__(self, most: int) -> None:
        self.left = most

    def attempt(self, lines: list[str]) -> _Attempt:
        """Parses ``lines``.

        Raises:
            _BudgetSpentError: the limit was reached.
        """
        from rdflib.plugins.parsers.notation3 import BadSyntax

        text = "\n".join(lines)
        self._spend(1 + len(text) // _ATTEMPT_SHARE)
        try:
            triples = parse_in_order(text, "turtle", BASE_IRI)
        except BadSyntax as error:
            place = min(error.lines, len(lines) - 1)
            self._spend(sum(map(len, lines[: place + 1])))
            return _Attempt(place, place)
        except MemoryError:  # not the text's fault for sure: earlier texts may have filled the process
            raise
        except Exception:  # noqa: BLE001  (by the rule, whatever else the parser raises means an empty graph)
            return _Attempt(_USELESS, None)
        self._spend(len(text))
        rows = tuple(sorted(ntriples_lines(triples)))
        return _Attempt(_CLEAN if rows else _USELESS, None, rows)

    def _spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise _BudgetSpentError


def parse_tolerantly(text: str, most_characters: int = MOST_CHARACTERS) -> TolerantRdf:
    """The triples of ``text`` (Turtle) after dropping one line for each syntax error, until the rest parses.

    With the first error on line e: of the texts without e and without e-1 that one is kept whose next error comes
    later (parsing to the end is latest, e wins a tie); if neither brings the error beyond e, line e-2 is dropped when
    that does; otherwise line e. Relative IRIs are resolved against ``BASE_IRI``.

    Args:
        text: an answer of a model.
        most_characters: the limit of the work, see `MOST_CHARACTERS`.
    """
    reader = _Reader(most_characters)
    lines, numbers = text.split("\n"), list(range(1, text.count("\n") + 2))
    dropped: list[int] = []
    try:
        current = reader.attempt(lines)
        while current.error is not None:
            index, current = _choice(reader, lines, current.error)
            del lines[index]
            dropped.append(numbers.pop(index))
    except _BudgetSpentError:
        return TolerantRdf((), (), f"the text has too many faulty lines: {most_characters} characters were read")
    return TolerantRdf(current.triples, tuple(sorted(dropped)))


def _choice(reader: _Reader, lines: list[str], error: int) -> tuple[int, _Attempt]:
    """The index of the line to drop, and what parsing without it gives."""

    def without(index: int) -> _Attempt:
        rest = lines[:index] + lines[index + 1 :]
        return reader.attempt(rest) if rest else _Attempt(_USELESS, None)

    itself = without(error)
    if error == 0 or itself.reached == _CLEAN:
        return error, itself
    before = without(error - 1)
    index, best = (error - 1, before) if before.reached > itself.reached else (error, itself)
    if best.reached > error:
        return index, best
    if error > 1 and (earlier := without(error - 2)).reached > error:
        return error - 2, earlier
    return error, itself
