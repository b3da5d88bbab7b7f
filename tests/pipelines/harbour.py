"""A small graph of a harbour, with what tests need to ask about it; all of it made up and counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import AskRequest, Example, GraphText, Workbench
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Message, Question, Usage

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

H = "http://harbour.example/"
PREFIXES = {"h": H}
TURTLE = """\
@prefix h: <http://harbour.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
h:Ship rdfs:label "ship"@en , "Schiff"@de , "barco"@es .
h:berth rdfs:label "lies at"@en .
h:s1 a h:Ship ; h:name "Aurora" ; h:length 120 ; h:berth h:q1 ; h:captain h:p1 ; h:owner h:f1 .
h:s2 a h:Ship ; h:name "Borealis" ; h:length 80 ; h:berth h:q1 ; h:captain h:p2 ; h:owner h:p2 .
h:s3 a h:Ship ; h:name "Cirrus" ; h:length 200 ; h:berth h:q2 .
h:q1 a h:Quay ; h:number 1 ; h:depth 12.5 .
h:q2 a h:Quay ; h:number 2 ; h:depth 9.0 .
h:p1 a h:Person ; h:name "Ida" ; h:born 1970 .
h:p2 a h:Person ; h:name "Olaf" ; h:born 1985 .
h:f1 a h:Firm ; h:name "North Line" ; h:taxNumber "N-17" .
h:note h:text "closed on Sundays" .
"""
GRAPH = GraphText(TURTLE, "turtle")
EXAMPLES = (
    Example("e1", "How long is the Aurora?", 'SELECT ?l { ?s h:name "Aurora" ; h:length ?l }', "en"),
    Example("e2", "Who is captain of the Borealis?", 'SELECT ?p { ?s h:name "Borealis" ; h:captain ?p }', "en"),
    Example("e3", "How deep is the water at quay 1?", "SELECT ?d { ?q h:number 1 ; h:depth ?d }", "en"),
    Example("e4", "Wie lang ist die Aurora?", 'SELECT ?l { ?s h:name "Aurora" ; h:length ?l }', "de"),
)
QUESTION = Question("Which ships lie at quay 1?", "harbour", "en", None, PREFIXES)
GOOD = "SELECT DISTINCT ?s { ?s a h:Ship ; h:berth ?q . ?q h:number 1 }"


def block(query: str) -> str:
    """``query`` as a model sends it."""
    return f"Here it is.\n```sparql\n{query}\n```"


@dataclass
class Scripted:
    """A model that answers each turn of a dialogue with the next of ``texts``; an exception is raised."""

    texts: Sequence[str | ConnectorError]
    asked: list[AskRequest] = field(default_factory=list)
    closed: int = 0

    async def ask(self, request: AskRequest) -> Answer:
        text = self.texts[len(self.asked)]
        self.asked.append(request)
        if isinstance(text, ConnectorError):
            raise text
        return Answer(text, "stop", Usage(100, 10, 0.5), 0.25, "scripted")

    async def close(self) -> None:
        self.closed += 1


def bench(model: Scripted, engine: KgEngine, examples: tuple[Example, ...] = EXAMPLES) -> Workbench:
    """The workbench on the harbour."""
    return Workbench(model, engine, lambda _request: GRAPH, lambda _request: examples)


def request(question: Question | None = QUESTION, *later: Message) -> AskRequest:
    """A request as the dialogue loop makes it."""
    return AskRequest((Message("user", "some task's own prompt"), *later), "Harbour/c1", 1, 60.0, question)
