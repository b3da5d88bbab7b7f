"""Tasks of LLM-KG-Bench 3 as cases of this project's tasks: what each record holds and where.

Whatever a score needs is taken from the record itself: the graph from its data or its prompt, the base prefix from the
graph's declaration. A graph that the record does not hold comes from the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.interchange.prefixes import (
    BROKEN_RDFS,
    BROKEN_XSD,
    DEFAULT_PREFIXES,
    WIKIDATA_PREFIXES,
    context_prefixes,
    declared_prefixes,
)
from pytest_llmkg.plain import Json

__all__ = ["CONVERTERS", "TIME_OUT", "Converter", "MissingGraphError", "Source"]

TIME_OUT = "A time out occurred"
"""The recorded ``EvaluationException`` of a query that took longer than 120 seconds."""

_ENDS = re.compile(r"starting with (\S+) and ending with (\S+)")
# A JSON value of capitals, e.g. a country's code.
_VALUE = re.compile(r'(?<=: )"[A-Z]{2,3}"')
_LARGEST_RING = 1_000_000
_RESULT_FIELDS = ("EvaluationException", "answerResultLength", "answerSetSize", "answerSet")

Fields = dict[str, Json]


class MissingGraphError(ValueError):
    """A graph that no record holds was not given; the text names the option."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a case is made of.

    Attributes:
        data: the record's ``taskData``.
        turns: its ``info``, one for each answer.
        prompt: the first prompt.
        graphs: graphs that no record holds, by the name at the end of the task id.
        keep_timeouts: take a recorded time-out as the result of its query instead of running it.
    """

    data: Mapping[str, Json]
    turns: Sequence[Mapping[str, Json]] = ()
    prompt: str = ""
    graphs: Mapping[str, GraphText] = field(default_factory=dict)
    keep_timeouts: bool = True

    def text(self, name: str) -> str:
        """The text ``name`` of the record's data."""
        value = self.data[name]
        if not isinstance(value, str):
            raise TypeError(f"{name} is no text")
        return value

    def texts(self, name: str) -> list[Json]:
        """The list of texts ``name`` of the record's data."""
        value = self.data[name]
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise TypeError(f"{name} is no list of texts")
        return value

    def number(self, name: str) -> int:
        """The whole number ``name`` of the record's data."""
        value = self.data[name]
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} is no whole number")
        return value


Converter = Callable[[Source], Fields]


def _connection(source: Source) -> Fields:
    ends = _ENDS.search(source.prompt)
    if ends is None:
        raise ValueError("the prompt names no start and end")
    # The prompt is one paragraph, an empty line, and the graph as serialised.
    graph = source.prompt.partition("\n\n")[2]
    return {"format": source.text("graphFormat"), "graph": graph, "start": ends[1], "end": ends[2]}


def _friend_count(source: Source) -> Fields:
    numbers = {key: source.number(key) for key in ("n", "knowsCount", "specialIndex", "specialAddKnowsCount")}
    n, special = numbers["n"], numbers["specialIndex"]
    if not 0 < n <= _LARGEST_RING or not 0 <= numbers["knowsCount"] <= _LARGEST_RING // n:
        raise ValueError(f"a graph of {n} persons is out of bounds")
    edges = {(i, (i + step) % n) for i in range(n) for step in range(1, numbers["knowsCount"] + 1)}
    edges |= {(i, special) for i in range(min(numbers["specialAddKnowsCount"], n))}
    return {
        **numbers,
        "format": source.text("graphFormat"),
        "graph": source.prompt.partition("\n\n")[2],
        "triples": n + len(edges),
        "specialNodeIri": source.text("specialNodeIri"),
        "specialFriends": source.texts("specialFriends"),
    }


def _syntax_fix(source: Source) -> Fields:
    fields: Fields = {
        "format": source.text("graphFormat"),
        "broken": source.text("task"),
        "reference": source.text("optimal"),
    }
    mended = _faithful(source.text("task"), source.text("optimal"))
    return fields if mended == fields["reference"] else {**fields, "correctedReference": mended}


def _faithful(broken: str, reference: str) -> str:
    """``reference`` with the short quoted values of ``broken``, where both have the same ones in another order.

    One published reference exchanges two values of the broken document besides repairing its syntax.
    """
    shown, meant = _VALUE.findall(broken), _VALUE.findall(reference)
    if shown == meant or sorted(shown) != sorted(meant):
        return reference
    values = iter(shown)
    return _VALUE.sub(lambda _: next(values), reference)


def _answer_lines(source: Source) -> Fields:
    graph = source.text("graphTurtle")
    return {
        "format": source.text("graphFormat"),
        "graph": graph,
        "prefixes": {
            **declared_prefixes(graph),
            **context_prefixes(source.prompt.partition("\n\nGraph:\n")[2]),
            "": _base_of(graph),
        },
        "question": source.text("question"),
        "query": source.text("refSparql"),
        "result": source.texts("refResultSet"),
    }


def _query(source: Source, graph: GraphText, prefixes: Mapping[str, str], shown: str) -> Fields:
    """The fields of a task whose answer is a query; ``shown`` is what the prompt shows of the graph."""
    repaired = {**DEFAULT_PREFIXES, **_own(prefixes), **declared_prefixes(shown)}
    fields: Fields = {
        "format": "turtle",
        "graph": graph.text,
        "graphFormat": graph.format,
        "prefixes": {**DEFAULT_PREFIXES, **prefixes},
        "correctedPrefixes": {**repaired},
        "question": source.text("question"),
        "query": source.text("refSparql"),
        "result": source.texts("refResultSet"),
    }
    if source.keep_timeouts:
        kept: Fields = {q: result for q, result in _results(source) if result.get("EvaluationException") == TIME_OUT}
        return {**fields, "recordedResults": kept} if kept else fields
    return fields


def _own(prefixes: Mapping[str, str]) -> dict[str, str]:
    """``prefixes`` without the ones that published runs had wrong."""
    wrong = {*BROKEN_RDFS.values(), *BROKEN_XSD.values()}
    return {name: namespace for name, namespace in prefixes.items() if namespace not in wrong}


def _results(source: Source) -> list[tuple[str, dict[str, Json]]]:
    """The recorded result of each turn by its query."""
    return [
        (query, {name: turn[name] for name in _RESULT_FIELDS if name in turn})
        for turn in source.turns
        if isinstance(query := turn.get("sparql"), str) and "answerSet" in turn
    ]


def _organisation(source: Source) -> Fields:
    text = source.text("graphTurtle")
    prefixes = {"": _base_of(text), **BROKEN_RDFS}
    return _query(source, GraphText(text, "turtle"), prefixes, text)


def _coypu(source: Source) -> Fields:
    # The graph is the last fenced block of the prompt, which ends with its closing fence.
    text = source.prompt.rstrip().removesuffix("```").rpartition("```")[2].partition("\n")[2]
    prefixes = {name: namespace for name, namespace in declared_prefixes(text).items() if name in {"ns1", "ns2"}}
    if not prefixes:
        raise ValueError("the prompt shows no graph that declares ns1 and ns2")
    return _query(source, GraphText(text, "turtle"), {**prefixes, **BROKEN_RDFS, **BROKEN_XSD}, text)


def _beastiary(source: Source) -> Fields:
    graph = source.graphs.get("Beastiary")
    if graph is None:
        raise MissingGraphError("its graph is not in the record; give it with --kg Beastiary=FILE")
    # Declared where the prompt shows a part of the graph; else the one namespace of the reference query.
    declared = declared_prefixes(_shown(source)).get("ns1")
    namespace = declared or next(iter(re.findall(r"<([^<>]*#)", source.text("refSparql"))), None)
    if namespace is None:
        raise ValueError("neither the prompt nor the reference query tells the namespace of ns1")
    return _query(source, graph, {"ns1": namespace}, _shown(source))


def _shown(source: Source) -> str:
    return f"{source.prompt}\n{source.data.get('subGraph') or ''}"


def _query_fix(source: Source) -> Fields:
    # The published run asked live Wikidata, so the result that each turn got is taken from its record.
    return {
        "format": "turtle",
        "graph": "",
        "prefixes": {**WIKIDATA_PREFIXES},
        "question": source.text("question"),
        "broken": source.text("testSparql"),
        "query": source.text("refSparql"),
        "result": source.texts("refResultSet"),
        "recordedResults": dict(_results(source)),
    }


def _base_of(graph: str) -> str:
    declared = declared_prefixes(graph)
    if "" not in declared:
        raise ValueError("the graph declares no empty prefix")
    return declared[""]


CONVERTERS: Mapping[str, tuple[str, Sequence[str], Converter]] = {
    "RdfConnectionExplainStatic": ("RdfConnectionExplainStatic", ("3.2",), _connection),
    "RdfFriendCount": ("RdfFriendCount", ("4.4",), _friend_count),
    "RdfSyntaxFixList": ("RdfSyntaxFixList", ("0.3-testing",), _syntax_fix),
    "Sparql2AnswerListOrganizational": ("Sparql2AnswerList", ("2.0.2",), _answer_lines),
    "SparqlSyntaxFixingListLcQuad": ("SparqlSyntaxFixingList", ("5.1.2",), _query_fix),
    "Text2AnswerListOrganizational": ("Text2AnswerList", ("2.0.2",), _answer_lines),
    "Text2SparqlExecEvalListBeastiary": ("Text2SparqlList", ("2.4.2",), _beastiary),
    "Text2SparqlExecEvalListCoypuMini": ("Text2SparqlList", ("3.0",), _coypu),
    "Text2SparqlExecEvalListOrgaNumerical": ("Text2SparqlList", ("4.0",), _organisation),
    "Text2SparqlExecEvalListOrganizational": ("Text2SparqlList", ("3.1.2",), _organisation),
}
"""By published task id: this project's task, the versions whose records are understood, and how to read them."""
