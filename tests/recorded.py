"""Small records in the layout of LLM-KG-Bench 3, all invented here, one or more for each published task id."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

SHORE = """PREFIX : <https://kg.example/shore/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
:kelp :growsIn :bay ; rdfs:label "kelp" .
:wrack :growsIn :bay ; rdfs:label "wrack" .
:bay :partOf :sea .
"""
HARBOUR = """@prefix ns1: <https://kg.example/port#> .
@prefix ns2: <https://kg.example/global#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ns2:p1 a ns2:Port ; rdfs:label "Low Quay" ; ns1:depth 12 .
ns2:p2 a ns2:Port ; rdfs:label "High Quay" ; ns1:depth 7 .
"""
BEASTS = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:b="https://kg.example/beasts#"
         xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <b:Beast rdf:about="https://kg.example/beasts#mudcat"><b:eats rdf:resource="https://kg.example/beasts#reed"/>
    <rdfs:label rdf:datatype="http://www.w3.org/2001/XMLSchema#string">mudcat</rdfs:label></b:Beast>
  <b:Beast rdf:about="https://kg.example/beasts#fenfox"><b:eats rdf:resource="https://kg.example/beasts#mudcat"/></b:Beast>
</rdf:RDF>
"""
BAY = "SELECT ?p { ?p :growsIn :bay }"
SEVEN = "SELECT ?o { wd:Q1 wdt:P1 ?o }"
HINTS = {
    "syntax": "The last query has syntax errors: at line 1",
    "empty": "That returns an empty result.",
    "content": "This is not the expected document.",
    "format": "The formatting differs.",
}


def make_record(task: str, version: str, data: Record, *talk: str, label: str = "", info: Any = None) -> Record:
    """A record whose prompts and responses alternate in ``talk``."""
    roles = ("prompt", "response")
    return {
        "startTime": "2026-01-01T00:00:00",
        "modelId": "maker--m1--m1",
        "taskInfo": {"taskId": task, "taskLabel": label or f"{task}-x", "version": version},
        "scores": {},
        "info": info or {},
        "taskData": data,
        "interactions": [[roles[n % 2], f"2026-01-01T00:00:0{n}", text] for n, text in enumerate(talk)],
        "duration": "0:00:01.500000",
    }


def block(query: str) -> str:
    return f"```sparql\n{query}\n```"


def query_data(uid: str, query: str, *result: str, **more: Any) -> Record:
    return {"uid": uid, "question": "?", "refSparql": query, "refResultSet": list(result), "multishotLimit": 3, **more}


CONNECTION = make_record(
    "RdfConnectionExplainStatic",
    "3.2",
    {"graphFormat": "ntriples", "version": "3.2"},
    "Find the way, starting with https://kg.example/a and ending with https://kg.example/c . Only lines.\n\n"
    "<https://kg.example/a> <https://kg.example/p> <https://kg.example/b> .\n"
    "<https://kg.example/c> <https://kg.example/p> <https://kg.example/b> .\n",
    "```\nhttps://kg.example/a\nhttps://kg.example/b\nhttps://kg.example/c\n```",
)
LINES = make_record(
    "Text2AnswerListOrganizational",
    "2.0.2",
    {
        **query_data("bay", "SELECT ?p { ?p :growsIn :bay }", ":kelp", ":wrack"),
        "graphTurtle": SHORE,
        "graphFormat": "json-ld",
    },
    'Answer it.\n\nQuestion: ?\n\nGraph:\n{"@context": {"0": "https://kg.example/shore/"}, "@id": "0:kelp"}\n',
    "0:kelp\n:wrack",
)
LABELS = make_record(
    "Text2SparqlExecEvalListOrganizational",
    "3.1.2",
    query_data("bay", BAY, ":kelp", ":wrack", graphTurtle=SHORE),
    "Write a query.",
    block('SELECT ?p { ?p :growsIn :bay ; rdfs:label ?l FILTER(CONTAINS(?l, "k")) }'),  # rdfs: means nothing there
    HINTS["empty"],
    block("SELECT ?p { ?p :growsIn :bay } ."),
    HINTS["syntax"],
    block(BAY),
)
PORTS = make_record(
    "Text2SparqlExecEvalListCoypuMini",
    "3.0",
    query_data("Port1", "SELECT ?p { ?p a ns2:Port }", "ns2:p1", "ns2:p2"),
    f"Write a query.\n\nExample:\n```sparql\nSELECT ...\n```\n\nQuestion:?\n\ngraph:\n```turtle\n{HARBOUR}```\n",
    block("SELECT ?p { ?p a ns2:Port } ORDER BY DESC(xsd:double(?p)) LIMIT 1"),
)
BEAST = make_record(
    "Text2SparqlExecEvalListBeastiary",
    "2.4.2",
    query_data("beast1", "SELECT ?b { ?b ns1:eats ns1:reed }", "ns1:mudcat"),
    "Write a query.\n\nschema:\n```turtle\n@prefix ns1: <https://kg.example/beasts#> .\nns1:Beast a <urn:Class> .\n```",
    block('SELECT ?b { ?b rdfs:label "mudcat" }'),  # a plain string, the graph's has its datatype
    HINTS["empty"],
    block("SELECT ?b { ?b ns1:eats ns1:reed }"),
    label="Text2SparqlExecEvalListBeastiary-turtle-schema",
)
SLOW = "SELECT ?p { ?p :growsIn :bay . ?q :growsIn :bay }"
TIMED_OUT = make_record(
    "Text2SparqlExecEvalListOrganizational",
    "3.1.2",
    {**query_data("slow", SLOW, ":kelp", ":wrack"), "graphTurtle": SHORE},
    "Write a query.",
    block(SLOW),
    HINTS["empty"],
    block(SLOW.replace("?q", "?r")),
    info={
        "0": {
            "sparql": SLOW,
            "EvaluationException": "A time out occurred",
            "answerResultLength": 0,
            "answerSetSize": 0,
            "answerSet": [],
        }
    },
)
REPAIR = make_record(
    "SparqlSyntaxFixingListLcQuad",
    "5.1.2",
    {**query_data("count", SEVEN, "7"), "testSparql": "SELECT ?o wd:Q1", "errorMessage": "?"},
    "Repair it.",
    block(SEVEN),
    info={
        "0": {
            "sparql": SEVEN,
            "answerResultLength": 1,
            "answerSetSize": 1,
            "answerSet": ["7"],
        }
    },
)
FIX = make_record(
    "RdfSyntaxFixList",
    "0.3-testing",
    {"graphFormat": "nt", "taskUid": "dot", "task": "<urn:a> <urn:b> <urn:c>", "optimal": "<urn:a> <urn:b> <urn:c> ."},
    "Repair it.",
    "```\n<urn:a> <urn:b>\n```",
    HINTS["syntax"],
    "```\n<urn:a> <urn:b> <urn:d> .\n```",
    HINTS["content"],
    "```\n<urn:a> <urn:b> <urn:c> .\n```",
)
FRIENDS = make_record(
    "RdfFriendCount",
    "4.4",
    {
        "graphFormat": "nt",
        "n": 5,
        "knowsCount": 1,
        "specialIndex": 3,
        "specialAddKnowsCount": 2,
        "specialNodeIri": "https://kg.example/person-00000004",
        "specialFriends": ["person-00000001", "person-00000002"],
    },
    "Who is known best?\n\n<urn:a> <urn:b> <urn:c> .\n",
    "person-00000001 knows person-00000004.\n\nperson-00000004",
)
ALL = [CONNECTION, LINES, LABELS, PORTS, BEAST, TIMED_OUT, REPAIR, FIX, FRIENDS]
