"""Collects the solutions of a query within limits. Runs inside the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.contracts import QueryResult, Term

if TYPE_CHECKING:
    from pytest_llmkg.kg.limits import Limits

__all__ = ["Rows"]


class Rows:
    """The rows of a result as they come, blank nodes renamed, solutions without any value left out."""

    def __init__(self, names: tuple[str, ...], limits: Limits) -> None:
        self._names = names
        self._limits = limits
        self._rows: list[tuple[Term | None, ...]] = []
        self._labels: dict[str, Term] = {}
        self._size = 0
        self._error: str | None = None

    def add(self, row: tuple[Term | None, ...]) -> bool:
        """Takes one solution; False when a limit is hit and no further one is wanted."""
        if all(term is None for term in row):
            return True
        self._size += sum(len(term.value) for term in row if term)
        self._rows.append(tuple(self._relabelled(term) for term in row))
        if len(self._rows) > self._limits.rows:
            self._error = f"the query has more than {self._limits.rows} results, which is the limit"
        elif self._size > self._limits.result_characters:
            most = self._limits.result_characters
            self._error = f"the query's result is longer than {most} characters, which is the limit"
        return self._error is None

    def result(self) -> QueryResult:
        """All rows, or the error that a limit was hit."""
        return QueryResult(self._error) if self._error else QueryResult(None, self._names, tuple(self._rows))

    def _relabelled(self, term: Term | None) -> Term | None:
        """The engines invent another label for an unlabelled blank node in every process."""
        if term is None or term.kind != "bnode":
            return term
        return self._labels.setdefault(term.value, Term("bnode", f"b{len(self._labels)}"))
