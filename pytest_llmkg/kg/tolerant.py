"""Turtle with faulty lines left out, as the construction tasks of LLM-KG-Bench (2023) read answers. Runs in the worker.

The rule was found from recorded results and is an approximation of the original: it gives the recorded triples for
every text that parses and for about 97 of 100 of those that do not.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import TolerantRdf
from pytest_llmkg.kg.limits import BASE_IRI
from pytest_llmkg.kg.rdf_check import ntriples_lines, parse_in_order

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.plugins.parsers.notation3 import SinkParser

__all__ = ["MOST_CHARACTERS", "parse_tolerantly"]

MOST_CHARACTERS = 2_000_000
"""Characters that one call may parse in all its attempts together, some ten seconds of work."""

_ATTEMPT_SHARE = 2000  # copying a text costs this many times less than parsing it
_ATTEMPT_COST = 20  # what an attempt costs besides, in characters
_CLEAN, _USELESS = float("inf"), -1.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where a statement starts: offset, lines as the parser counted them, its name spaces, whether triples came before.

    rdflib counts some line ends twice; its number decides which line is dropped, so it is kept and not mended.
    """

    offset: int = 0
    lines: int = 0
    base: str = BASE_IRI
    bindings: dict[str, str] = field(default_factory=dict)
    filled: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What parsing some lines gave.

    Attributes:
        reached: index of the line of the first error; infinity when all lines parse and hold a triple; -1 when they
            hold none or made the parser fail.
        error: the index again, None when nothing is left to drop.
        marks: the statements that were read, in order, also those before the place where reading started.
    """

    reached: float
    error: int | None = None
    marks: tuple[_Mark, ...] = ()


class _BudgetSpentError(Exception):
    """More characters were parsed than one call may."""


class _Reader:
    """Parses lines again and again, each time from a place up to which nothing has changed, and counts the cost."""

    def __init__(self, most: int) -> None:
        self.left = most

    def attempt(self, lines: list[str], before: tuple[_Mark, ...]) -> _Attempt:
        """Parses ``lines`` from the last of the marks ``before`` on.

        Raises:
            _BudgetSpentError: the limit was reached.
        """
        from rdflib import Graph
        from rdflib.plugins.parsers.notation3 import BadSyntax

        text, graph, start, marks = "\n".join(lines), Graph(), before[-1], list(before)
        self._spend(_ATTEMPT_COST + len(text) // _ATTEMPT_SHARE)
        try:
            _read_statements(_parser(graph, start), text, marks)
        except BadSyntax as error:
            place = min(error.lines, len(lines) - 1)
            self._spend(sum(map(len, lines[: place + 1])) - start.offset)
            return _Attempt(place, place, tuple(marks))
        except MemoryError:  # not the text's fault for sure: earlier texts may have filled the process
            raise
        except Exception:  # noqa: BLE001  (by the rule, whatever else the parser raises means an empty graph)
            return _Attempt(_USELESS)
        self._spend(len(text) - start.offset)
        return _Attempt(_CLEAN if start.filled or any(True for _ in graph) else _USELESS)

    def _spend(self, characters: int) -> None:
        self.left -= max(characters, 0)
        if self.left < 0:
            raise _BudgetSpentError


def _parser(graph: Graph, start: _Mark) -> SinkParser:
    from rdflib.plugins.parsers.notation3 import RDFSink, SinkParser

    parser = SinkParser(RDFSink(graph), baseURI=start.base, turtle=True)
    parser.lines = start.lines
    parser._bindings = dict(start.bindings)  # noqa: SLF001  (no other way to go on in the middle of a text)
    return parser


def _read_statements(parser: SinkParser, text: str, marks: list[_Mark]) -> None:
    """The parser's own loop over statements, with a mark before each."""
    graph, offset = parser._store.graph, marks[-1].offset  # noqa: SLF001
    filled = marks[-1].filled
    while True:
        start = parser.skipSpace(text, offset)
        if start < 0:
            return
        filled = filled or any(True for _ in graph)
        bindings, base = dict(parser._bindings), parser._baseURI or BASE_IRI  # noqa: SLF001
        marks.append(_Mark(start, parser.lines, base, bindings, filled))
        offset = parser.directiveOrStatement(text, start)
        if offset < 0:
            parser.BadSyntax(text, start, "expected directive or statement")


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
        current = reader.attempt(lines, (_Mark(),))
        while current.error is not None:
            index, current = _choice(reader, lines, current)
            del lines[index]
            dropped.append(numbers.pop(index))
    except _BudgetSpentError:
        return TolerantRdf((), (), f"the text has too many faulty lines: {most_characters} characters were parsed")
    return TolerantRdf(_triples(lines) if current.reached == _CLEAN else (), tuple(sorted(dropped)))


def _choice(reader: _Reader, lines: list[str], current: _Attempt) -> tuple[int, _Attempt]:
    """The index of the line to drop, and what parsing without it gives."""
    error = current.error or 0
    unchanged = _unchanged(current.marks, sum(len(line) + 1 for line in lines[: max(error - 2, 0)]))

    def without(index: int) -> _Attempt:
        rest = lines[:index] + lines[index + 1 :]
        return reader.attempt(rest, unchanged) if rest else _Attempt(_USELESS)

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


def _unchanged(marks: tuple[_Mark, ...], offset: int) -> tuple[_Mark, ...]:
    """The marks up to ``offset``; nothing before the last one is touched by dropping what starts there."""
    return marks[: max(bisect_right(marks, offset, key=lambda mark: mark.offset), 1)]


def _triples(lines: list[str]) -> tuple[str, ...]:
    try:
        return tuple(sorted(ntriples_lines(parse_in_order("\n".join(lines), "turtle", BASE_IRI))))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  (the rule again: e.g. a prefix that rdflib refuses to remember)
        return ()
