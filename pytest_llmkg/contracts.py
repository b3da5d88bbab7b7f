"""What others may add: tasks and connectors, and the graph engine that tasks may use.

A task is data plus plain functions; a connector is an id plus one method. Nothing here is meant to be inherited from
except the two protocols, which describe a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.plain import Json
from pytest_llmkg.records import (
    Answer,
    Case,
    Evaluation,
    FailedCall,
    Feedback,
    Message,
    ModelSpec,
    Prompt,
    Question,
    TaskInfo,
    Turn,
)

__all__ = [
    "AskRequest",
    "Connector",
    "ConnectorFactory",
    "Example",
    "FieldType",
    "GraphText",
    "KgEngine",
    "QueryResult",
    "QueryVerdict",
    "RdfVerdict",
    "Task",
    "Term",
    "TolerantRdf",
    "UnansweredError",
    "Workbench",
]


@dataclass(frozen=True, slots=True)
class Term:
    """An RDF term: ``kind`` iri, bnode or literal; ``value`` is the IRI, the label or the lexical form."""

    kind: Literal["iri", "bnode", "literal"]
    value: str
    datatype: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class GraphText:
    """An RDF graph as text in a serialization format (``turtle``, ``json-ld``, ``nt``, ``xml``)."""

    text: str
    format: str


@dataclass(frozen=True, slots=True)
class RdfVerdict:
    """Whether a text is RDF: ``error`` is the parser's message or None; ``triples`` its N-Triples lines, if it is."""

    error: str | None
    triples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TolerantRdf:
    """What is left of a Turtle text after dropping the lines that do not parse.

    Attributes:
        triples: N-Triples lines, sorted, with blank nodes named ``_:b0``, ``_:b1`` ...
        dropped_lines: numbers of the dropped lines, from 1.
        error: why nothing could be read (a limit was hit), else None; a text without any triple is no error.
    """

    triples: tuple[str, ...]
    dropped_lines: tuple[int, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class QueryVerdict:
    """Whether a text is a SPARQL query by grammar.

    Attributes:
        error: the parser's message, None if it parses.
        form: ``SELECT``, ``ASK``, ``CONSTRUCT`` or ``DESCRIBE``; None if it does not parse.
        names: the IRIs of the query's body in order of first use, prefixed names as written (``foaf:name``), others
            in angle brackets, ``a`` as ``rdf:type``.
    """

    error: str | None
    form: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What executing a query gave.

    Attributes:
        error: the engine's message, or that a limit was hit; None if the query ran to its end.
        variables: the projected variables without question mark, in order.
        rows: one tuple a solution, a term or None (unbound) for each variable, in the engine's order.
        boolean: the answer of an ASK query, else None.
        timed_out: True when ``error`` is the time limit.
    """

    error: str | None
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Term | None, ...], ...] = ()
    boolean: bool | None = None
    timed_out: bool = False


class KgEngine(Protocol):
    """Parses and queries text that nobody vouches for, inside limits. Implemented by `pytest_llmkg.kg.Sandbox`."""

    def check_rdf(self, graph: GraphText) -> RdfVerdict:
        """Parses ``graph``; a text that is no RDF is a verdict, not an exception."""
        ...

    def parse_tolerantly(self, graph: GraphText) -> TolerantRdf:
        """Parses ``graph``, which must be Turtle, leaving out lines until the rest parses."""
        ...

    def check_query(self, query: str) -> QueryVerdict:
        """Parses ``query`` by the SPARQL 1.1 grammar; prefixes need not be declared."""
        ...

    def run_query(self, graph: GraphText, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Runs ``query`` on ``graph`` with ``prefixes`` declared before it."""
        ...


FieldType = Literal["text", "texts", "integer", "mapping"]


def ask_once(_case: Case, _turn: Turn) -> Feedback | None:
    """The feedback of tasks without a dialogue: none."""
    return None


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question with its scoring.

    Attributes:
        info: name, version, headline score, turn limit.
        fields: the fields that every case must have, with their types; optional ones end with ``?``.
        prompt: the first prompt of a case.
        evaluate: the verdict on an answer; must not raise for anything that an answer can hold.
        feedback: the hint after a turn, None when the dialogue is finished; not asked after the last allowed turn.
        generate: makes a case's fields from an entry of parameters and the run's seed; None for curated cases.
        asks_question: whether its prompts name a question on a graph, which systems that know no prompt need.
    """

    info: TaskInfo
    fields: Mapping[str, FieldType]
    prompt: Callable[[Case, KgEngine], Prompt]
    evaluate: Callable[[Case, Answer, KgEngine], Evaluation]
    feedback: Callable[[Case, Turn], Feedback | None] = ask_once
    generate: Callable[[Mapping[str, Json], int], Mapping[str, Json]] | None = None
    asks_question: bool = False


@dataclass(frozen=True, slots=True)
class AskRequest:
    """One call to a model.

    Attributes:
        messages: the whole dialogue so far, ending with a user message.
        case_key: ``label/id`` of the case, for connectors that look recorded answers up; says nothing of the reference.
        iteration: which time the case is asked, from 1.
        timeout: seconds that the answer may take, without loading a library or a model and without waiting in a
            queue; the connector raises `ConnectorError` when they are over.
        question: what the dialogue asks of a knowledge graph, None for tasks that ask otherwise; the same in all turns.
        failed_calls: grows by each call that brought no answer, so that they are known though the wait is broken off.
    """

    messages: tuple[Message, ...]
    case_key: str = ""
    iteration: int = 1
    timeout: float = 120.0
    question: Question | None = None
    failed_calls: list[FailedCall] = field(default_factory=list, compare=False, repr=False)


class UnansweredError(ConnectorError):
    """A model gave no answer to any of several calls, which it holds as ``failed_calls``."""

    def __init__(self, text: str, failed_calls: Sequence[FailedCall]) -> None:
        super().__init__(text)
        self.failed_calls = tuple(failed_calls)


class Connector(Protocol):
    """Anything that answers messages. One instance serves a whole session, on one event loop."""

    async def ask(self, request: AskRequest) -> Answer:
        """The answer to the last message.

        Raises:
            ConnectorError: no answer could be had; the text is one sentence that names the endpoint and the cause.
        """
        ...

    async def close(self) -> None:
        """Frees what the connector holds; called once, when the session ends."""
        ...


@dataclass(frozen=True, slots=True)
class Example:
    """A question on a graph with a query that answers it, to learn from; ``id`` is unique in its pool."""

    id: str
    question: str
    query: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Workbench:
    """What a connector around another one works with. Nothing in it tells what the reference of a case is.

    Attributes:
        inner: the wrapped model, with its own limits, repeated calls, cache and prices.
        engine: runs queries on the graphs of ``graph``.
        graph: the graph that a request asks about, None when it asks about none.
        examples: the examples that may be looked at for a request: never those of its own part of the questions, and
            the very same tuple for all requests of a part.
    """

    inner: Connector
    engine: KgEngine
    graph: Callable[[AskRequest], GraphText | None]
    examples: Callable[[AskRequest], tuple[Example, ...]]


@dataclass(frozen=True, slots=True)
class ConnectorFactory:
    """Makes the connector of a model whose ``--models`` entry begins with ``scheme``.

    Attributes:
        scheme: e.g. ``replay`` for ``replay:FILE``, or a whole entry without argument, e.g. ``symbolic``.
        summary: one sentence, shown by ``llmkg models``.
        make: builds the connector; cheap, imports nothing heavy, opens nothing.
        check: complains with a `UserError` about a spec that can never work (a missing file), before anything runs.
        address: what a spec's answers come from, to tell them apart in the answer cache; without user or password.
        at_once: calls that one process can make at once, whatever is asked for (a model inside it answers one by one);
            None for as many as wanted.
        is_free: True when asking costs nothing now, whatever the answers' usage says (a replay tells the old price).
        wrap: for schemes whose argument is another model (``rag:gpt-4o``): builds the connector around that one's, in
            place of ``make``. Its calls are counted and limited as the wrapped model's.
        only_questions: whether a spec answers nothing but questions on graphs (`AskRequest.question`).
        inner: the entry of ``--models`` to wrap when the scheme's own argument names none (``copy-nearest:FILE``).
    """

    scheme: str
    summary: str
    make: Callable[[ModelSpec], Connector]
    check: Callable[[ModelSpec], None] = field(default=lambda _spec: None)
    address: Callable[[ModelSpec], str | None] = field(default=lambda spec: spec.api_base)
    at_once: int | None = None
    is_free: bool = False
    wrap: Callable[[ModelSpec, Workbench], Connector] | None = None
    inner: str | None = None
    only_questions: Callable[[ModelSpec], bool] = lambda _spec: False
