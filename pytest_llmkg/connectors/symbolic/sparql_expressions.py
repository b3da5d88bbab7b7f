"""Parts of the SPARQL recogniser: tokens taken one by one, and expressions. Source: SPARQL 1.1, section 19.8."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.symbolic.grammar import Token
from pytest_llmkg.connectors.symbolic.sparql_tokens import AGGREGATES, FUNCTIONS, sparql_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IRIS", "ExpressionReader", "QueryFaultError"]

IRIS = frozenset({"iri", "name"})
_DEEPEST = 40
_OPERATORS = frozenset(["||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"])


class QueryFaultError(Exception):
    """Leaves the recogniser at the first token that does not fit; ``at`` is its place in the text."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class _Tokens:
    """The tokens of one text, taken one by one."""

    def __init__(self, text: str) -> None:
        self._tokens = sparql_tokens(text)
        self._end = Token("end", "", len(text))
        self._token = next(self._tokens, self._end)
        self._depth = 0

    @property
    def _kind(self) -> str:
        return self._token.kind

    def _fail(self) -> QueryFaultError:
        return QueryFaultError(self._token.start)

    def _step(self) -> Token:
        passed, self._token = self._token, next(self._tokens, self._end)
        return passed

    def _take(self, *kinds: str) -> Token:
        if self._kind not in kinds:
            raise self._fail()
        return self._step()

    def _skip(self, *kinds: str) -> bool:
        """Steps over a token of one of ``kinds``, if it is next."""
        if self._kind not in kinds:
            return False
        self._step()
        return True

    def _inside(self, read: Callable[[], None]) -> None:
        """Reads one level deeper; deep texts are a fault, so that no text exhausts the stack."""
        if self._depth > _DEEPEST:
            raise self._fail()
        self._depth += 1
        read()
        self._depth -= 1


class ExpressionReader(_Tokens, ABC):
    """Expressions, and the constraints made of them; a group of patterns inside one is the subclass's."""

    def _expression(self) -> None:
        self._inside(self._operands)

    def _operands(self) -> None:
        self._operand()
        while True:
            if self._kind in _OPERATORS:
                self._step()
                self._operand()
            elif self._kind in {"IN", "NOT"}:
                if self._skip("NOT") and self._kind != "IN":
                    raise self._fail()
                self._step()
                self._arguments()
            else:
                return

    def _operand(self) -> None:
        while self._skip("!", "-", "+"):
            pass
        if self._kind == "(":
            self._bracketed()
        elif self._kind in {"EXISTS", "NOT"}:
            self._existence()
        elif self._kind in FUNCTIONS:
            self._call()
        elif self._kind in IRIS:
            self._step()
            if self._kind == "(":
                self._arguments()
        elif not self._skip("variable"):
            self._literal()

    def _bracketed(self) -> None:
        self._take("(")
        self._expression()
        self._take(")")

    def _existence(self) -> None:
        self._skip("NOT")
        self._take("EXISTS")
        self._inside(self._group)

    def _call(self) -> None:
        aggregate = self._step().text.upper() in AGGREGATES
        self._arguments(aggregate=aggregate)

    def _arguments(self, *, aggregate: bool = False) -> None:
        self._take("(")
        if aggregate:
            self._skip("DISTINCT")
        if not (aggregate and self._skip("*")) and self._kind != ")":
            self._expression()
            while not aggregate and self._skip(","):
                self._expression()
            if aggregate and self._skip(";"):
                self._take("SEPARATOR")
                self._take("=")
                self._take("string")
        self._take(")")

    def _literal(self) -> None:
        if self._kind == "word" and self._token.text.lower() in {"true", "false"}:
            self._step()
        elif self._kind == "string":
            self._step()
            if not self._skip("language") and self._skip("^^"):
                self._take(*IRIS)
        else:
            self._take("number")

    def _constraint(self) -> None:
        if self._kind == "(":
            self._bracketed()
        elif self._kind in {"EXISTS", "NOT"}:
            self._existence()
        elif self._kind in FUNCTIONS:
            self._call()
        else:
            self._take(*IRIS)
            self._arguments()

    def _named_expression(self) -> None:
        """``(expression AS ?variable)``."""
        self._take("(")
        self._expression()
        self._take("AS")
        self._take("variable")
        self._take(")")

    @abstractmethod
    def _group(self) -> None:
        """Reads a group of patterns with its braces."""
