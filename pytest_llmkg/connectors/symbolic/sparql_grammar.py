"""Where a SPARQL query first goes wrong: a recogniser that names the exact token.

The graph library's own message often names the place where it gave up a larger part. The verdict on a repaired query
is still the library's. Source of the grammar: SPARQL 1.1, section 19.8; prefixes need not be declared.
"""

from __future__ import annotations

from pytest_llmkg.connectors.symbolic.grammar import Fault
from pytest_llmkg.connectors.symbolic.sparql_expressions import IRIS, ExpressionReader, QueryFaultError
from pytest_llmkg.connectors.symbolic.sparql_tokens import FUNCTIONS

__all__ = ["first_query_fault"]

_PARTS = frozenset({"FILTER", "OPTIONAL", "MINUS", "GRAPH", "SERVICE", "BIND", "VALUES", "{"})
_VERBS = IRIS | {"variable", "word", "^", "!", "("}
_CONSTRAINTS = FUNCTIONS | {"("}
_CONDITIONS = FUNCTIONS | IRIS | {"variable", "(", "ASC", "DESC"}


def first_query_fault(text: str) -> Fault | None:
    """The first fault of a query, None if there is none."""
    reader = _Reader(text)
    try:
        reader.query()
    except QueryFaultError as found:
        return Fault(found.at)
    return None


class _Triples(ExpressionReader):
    """Triple patterns and property paths."""

    def _triples(self) -> None:
        if self._kind == "[":
            self._bracket()
            if self._kind not in _VERBS:
                return
        elif self._kind == "(":
            self._collection()
        else:
            self._take("variable", "blank", *IRIS)
        self._predicates()

    def _predicates(self) -> None:
        while True:
            if not self._skip("variable"):
                self._path()
            self._object()
            while self._skip(","):
                self._object()
            if self._kind != ";":
                return
            while self._skip(";"):
                pass
            if self._kind in {".", "]", "}"}:
                return

    def _object(self) -> None:
        if self._kind == "[":
            self._bracket()
        elif self._kind == "(":
            self._collection()
        elif not self._skip("variable", "blank", *IRIS):
            self._skip("-", "+")
            self._literal()

    def _bracket(self) -> None:
        self._take("[")
        if self._kind != "]":
            self._inside(self._predicates)
        self._take("]")

    def _collection(self) -> None:
        self._take("(")
        while self._kind != ")":
            self._inside(self._object)
        self._take(")")

    def _path(self) -> None:
        self._step_of_path()
        while self._skip("/", "|"):
            self._step_of_path()

    def _step_of_path(self) -> None:
        self._skip("^")
        if self._skip("!") and self._kind == "(":
            self._inside(self._negated)
        elif self._skip("("):
            self._inside(self._path)
            self._take(")")
        elif self._kind == "word" and self._token.text == "a":
            self._step()
        else:
            self._take(*IRIS)
        self._skip("?", "*", "+")

    def _negated(self) -> None:
        self._take("(")
        self._path()
        self._take(")")


class _Reader(_Triples):
    """The query as a whole."""

    def query(self) -> None:
        while self._kind in {"PREFIX", "BASE"}:
            if self._step().kind == "PREFIX":
                self._take("name")
            self._take("iri")
        if self._kind == "SELECT":
            self._select()
        elif self._skip("CONSTRUCT"):
            if self._kind == "{":
                self._group()
            self._where()
        elif self._skip("DESCRIBE"):
            while self._skip("*", "variable", *IRIS):
                pass
            if self._kind in {"WHERE", "{", "FROM"}:
                self._where()
        else:
            self._take("ASK")
            self._where()
        self._take("end")

    def _select(self) -> None:
        self._take("SELECT")
        self._skip("DISTINCT", "REDUCED")
        if not self._skip("*"):
            self._projected()
            while self._kind in {"variable", "("}:
                self._projected()
        self._where()

    def _projected(self) -> None:
        if self._kind == "(":
            self._named_expression()
        else:
            self._take("variable")

    def _where(self) -> None:
        while self._skip("FROM"):
            self._skip("NAMED")
            self._take(*IRIS)
        self._skip("WHERE")
        self._group()
        self._modifiers()

    def _modifiers(self) -> None:
        if self._skip("GROUP"):
            self._take("BY")
            self._conditions("GROUP")
        if self._skip("HAVING"):
            self._constraint()
            while self._kind in _CONSTRAINTS:
                self._constraint()
        if self._skip("ORDER"):
            self._take("BY")
            self._conditions("ORDER")
        for _ in range(2):
            if self._skip("LIMIT", "OFFSET"):
                self._take("number")
        if self._skip("VALUES"):
            self._data()

    def _conditions(self, clause: str) -> None:
        first = True
        while first or self._kind in _CONDITIONS:
            first = False
            if clause == "ORDER" and self._skip("ASC", "DESC"):
                self._bracketed()
            elif clause == "GROUP" and self._kind == "(":
                self._take("(")
                self._expression()
                if self._skip("AS"):
                    self._take("variable")
                self._take(")")
            elif not self._skip("variable"):
                self._constraint()

    def _group(self) -> None:
        self._take("{")
        self._inside(self._select if self._kind == "SELECT" else self._body)
        self._take("}")

    def _body(self) -> None:
        separated = True
        while self._kind != "}":
            if self._kind in _PARTS:
                self._part()
                self._skip(".")
                separated = True
            elif separated:
                self._triples()
                separated = self._skip(".")
            else:
                raise self._fail()

    def _part(self) -> None:
        if self._skip("FILTER"):
            self._constraint()
        elif self._skip("OPTIONAL", "MINUS"):
            self._group()
        elif self._skip("GRAPH", "SERVICE"):
            self._skip("SILENT")
            self._take("variable", *IRIS)
            self._group()
        elif self._skip("BIND"):
            self._named_expression()
        elif self._skip("VALUES"):
            self._data()
        else:
            self._group()
            while self._skip("UNION"):
                self._group()

    def _data(self) -> None:
        several = self._skip("(")
        self._take("variable")
        while several and self._skip("variable"):
            pass
        if several:
            self._take(")")
        self._take("{")
        while self._kind != "}":
            if several:
                self._take("(")
            self._value()
            while several and not self._skip(")"):
                self._value()
        self._take("}")

    def _value(self) -> None:
        if not self._skip("UNDEF", *IRIS):
            self._skip("-", "+")
            self._literal()
