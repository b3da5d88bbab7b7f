"""Prompts of these tests: other graphs, other words and another wording than the benchmark's own."""

from __future__ import annotations

from pytest_llmkg.records import Message

HUTS = """\
@prefix x: <http://huts.example/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

x:marmot a x:MountainHut ;
    rdfs:label "Marmot Hut" ;
    x:altitude 2310 ;
    x:opened "1931-07-01"^^xsd:date ;
    x:inValley x:lutta .

x:ibex a x:MountainHut ;
    rdfs:label "Ibex Hut" ;
    x:altitude 2795 ;
    x:opened "1988-06-15"^^xsd:date ;
    x:inValley x:lutta ;
    x:phone "555-01" .

x:gentian a x:MountainHut ;
    rdfs:label "Gentian Hut" ;
    x:altitude 1650 ;
    x:opened "2004-05-20"^^xsd:date ;
    x:inValley x:sorra .

x:lutta a x:Valley ;
    rdfs:label "Lutta Valley" .

x:sorra a x:Valley ;
    rdfs:label "Sorra Valley" .

x:pia a foaf:Person ;
    foaf:name "Pia Roth" ;
    x:job [ x:workplace x:marmot ; x:task x:cook ] .

x:tom a foaf:Person ;
    foaf:name "Tom Vale" ;
    x:teacher x:pia ;
    x:job [ x:workplace x:ibex ; x:task x:warden ] .

x:eli a foaf:Person ;
    foaf:name "Eli Stone" ;
    x:teacher x:tom ;
    x:job [ x:workplace x:ibex ; x:task x:cook ] .
"""


def fence(tag: str, text: str) -> str:
    return f"```{tag}\n{text}\n```"


def user(*texts: str) -> tuple[Message, ...]:
    """A dialogue of user texts with assistant texts between them."""
    return tuple(Message("assistant" if i % 2 else "user", text) for i, text in enumerate(texts))


def ask_query(question: str, graph: str = HUTS, more: str = "") -> str:
    return f"Please express this in SPARQL.\n\nQuestion: {question}\n\n{fence('turtle', graph)}\n{more}"


def ask_repair(broken: str, tag: str) -> str:
    return f"The following document has syntax errors. Fix them.\n\n{fence(tag, broken)}\n"
