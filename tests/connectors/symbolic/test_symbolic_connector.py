"""The connector as a whole: what it may depend on, and that nothing upsets it."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.connectors.symbolic import CONNECTOR
from pytest_llmkg.connectors.symbolic.connector import CANNOT, answer_messages
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, EngineError, UserError
from pytest_llmkg.records import Answer, Case, Message, ModelSpec
from pytest_llmkg.tasks import discover_tasks
from tests.case_texts import case_paths
from tests.connectors.symbolic.prompts import HUTS, ask_query, ask_repair, fence, user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_llmkg.contracts import KgEngine
    from pytest_llmkg.plain import Json

FIXTURES = Path(__file__).parents[3] / "fixtures"
SPEC = ModelSpec("symbolic", "", "symbolic")
PROMPTS = (
    ask_query("Which huts have no phone?"),
    ask_query("How many huts are in the Lutta Valley?"),
    ask_repair(HUTS.replace('"Marmot Hut" ;', '"Marmot Hut"').replace("x:sorra .", "x:sorra"), "turtle"),
    f"Which node is the object of the most x:workplace triples?\n{fence('turtle', HUTS)}",
    f"Give the shortest path from x:eli to x:sorra.\n{fence('turtle', HUTS)}",
    f"Run.\n{fence('sparql', 'SELECT ?x ?t WHERE { ?x x:job/x:task ?t }')}\n{fence('turtle', HUTS)}",
    f"Fix this query.\n{fence('sparql', 'SELECT ?x, ?y WHERE { ?x x:a ?y x:b 3 LIMIT 2')}",
    "Write SPARQL. The prefixes x: are known.\nQuestion: Which huts lie in the Lutta Valley?\n"
    + fence("", "iri,label\nx:Hut,hut\nx:lutta,Lutta Valley\nx:in,lies in"),
    "Create Turtle with 6 people (foaf:Person), linked by foaf:knows to at least 2 others.",
)
# The fields that hold the right answer, by task.
REFERENCES = {
    "FactExtractStatic": ("reference",),
    "RdfFriendCount": ("specialNodeIri", "specialFriends", "triples"),
    "RdfSyntaxFixList": ("reference", "note"),
    "SparqlSyntaxFixingList": ("result", "query", "note"),
    "Sparql2AnswerList": ("result", "question"),
    "Text2SparqlList": ("result", "query"),
}


@pytest.fixture
def ask(run: Callable[..., Any]) -> Iterator[Callable[..., Answer]]:
    """Asks one connector, which is closed at the end."""
    connector = CONNECTOR.make(SPEC)

    def asked(text: str, **fields: Any) -> Answer:
        answer: Answer = run(connector.ask(AskRequest(user(text), **fields)))
        return answer

    yield asked
    run(connector.close())


def junk(value: Json) -> Json:
    if isinstance(value, list):
        return ["junk"]
    return "junk" if isinstance(value, str) else 7


def one_case_a_label() -> list[Case]:
    names = ["rdf_friend_count", "rdf_syntax_fix_jsonld", "rdf_syntax_fix_nt", "rdf_syntax_fix_turtle"]
    names += ["fact_extract", "sparql2answer", "sparql_syntax_fix", "text2sparql", "text2sparql_garden_mini"]
    names += ["text2sparql_numeric"]
    cases = load_case_files(case_paths(*names), FIXTURES / "graphs", discover_tasks(), 1)
    by_label: dict[str, list[Case]] = {}
    for case in cases:
        by_label.setdefault(case.label, []).append(case)
    return [case for group in by_label.values() for case in group[:2] if case.task in REFERENCES]


@pytest.mark.parametrize("case", one_case_a_label(), ids=lambda case: f"{case.label}-{case.id}")
def test_answers_do_not_depend_on_the_reference(engine: KgEngine, case: Case) -> None:
    task = discover_tasks().get(case.task)
    hidden = {k: junk(v) for k, v in case.data.items() if k in REFERENCES[case.task]}
    if "query" in hidden and "result" in hidden and case.task != "Sparql2AnswerList":
        # A prompt is made only when the reference query gives the reference result.
        hidden |= {"query": "SELECT ?junk WHERE { ?junk <urn:x-junk:p> 7 }", "result": []}
    blind = dataclasses.replace(case, id="other", label="Other", data={**case.data, **hidden})
    assert hidden
    answer = answer_messages(task.prompt(case, engine).messages, engine)
    assert answer_messages(task.prompt(blind, engine).messages, engine) == answer
    assert answer != CANNOT


def test_answers_do_not_depend_on_case_key_iteration_or_timeout(ask: Callable[..., Answer]) -> None:
    for prompt in PROMPTS:
        texts = {
            ask(prompt).text,
            ask(prompt, case_key="Label/some-case", iteration=3).text,
            ask(prompt, case_key="Other/case", iteration=99, timeout=1.0).text,
        }
        assert len(texts) == 1
        assert texts != {CANNOT}


SCRIPT = """
import hashlib, sys
from pytest_llmkg.connectors.symbolic.connector import answer_messages
from pytest_llmkg.kg import Sandbox
from tests.connectors.symbolic.test_symbolic_connector import PROMPTS
from tests.connectors.symbolic.prompts import user
with Sandbox() as engine:
    for prompt in PROMPTS:
        first = answer_messages(user(prompt), engine)
        second = answer_messages(user(prompt, first, "Please try again."), engine)
        print(hashlib.sha256((first + second).encode()).hexdigest())
"""


def test_every_process_gives_the_same_answers(engine: KgEngine) -> None:
    outputs = set()
    for seed in ("1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=FIXTURES.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    here = []
    for prompt in PROMPTS:
        first = answer_messages(user(prompt), engine)
        second = answer_messages(user(prompt, first, "Please try again."), engine)
        here.append(hashlib.sha256((first + second).encode()).hexdigest())
    assert outputs == {"\n".join(here) + "\n"}


DEEP = 3_000
HOSTILE = {
    "empty": "",
    "spaces": " \n" * 1000,
    "nul": "\x00" * 5000,
    "binary": random.Random(1).randbytes(50_000).decode("latin-1"),  # noqa: S311  (no secret)
    "surrogates": "Question: \ud800 SPARQL\n" + fence("turtle", HUTS + "# \udfff"),
    "backticks": "`" * 200_000,
    "unclosed": "```turtle\n" + HUTS,
    "only fences": "```\n" * 10_000,
    "ten blocks": "Question: which huts? SPARQL\n" + "\n".join([fence("turtle", HUTS)] * 10),
    "megabyte of prose": "Fix the most shortest path SPARQL. " * 30_000,
    "megabyte to repair": ask_repair("x:a x:b x:c\n" * 80_000, "turtle"),
    "long broken turtle": ask_repair(HUTS * 40 + '\nx:a "', "turtle"),
    "long line": ask_repair('"' + "a b:c ; " * 10_000, "turtle"),
    "quotes": ask_repair('"' * 3001, "turtle"),
    "deep turtle": ask_repair("<urn:a> <urn:b> " + "[ <urn:b> " * DEEP, "turtle"),
    "deep list": ask_repair("<urn:a> <urn:b> " + "(" * DEEP + ")" * DEEP, "turtle"),
    "deep json": ask_repair("[" * DEEP, "json"),
    "deep sound json": ask_repair("[" * DEEP + "]" * DEEP, "json"),
    "deep context": "SPARQL\nQuestion: what?\n" + fence("json", '{"a":' * DEEP),
    "remote context": "SPARQL\nQuestion: what?\n" + fence("json", '{"@context": "https://ld.example/c"}'),
    "broken graph": ask_query("Which huts have no phone?", "@prefix x: <"),
    "many lines": ask_repair("<urn:a> <urn:b> <urn:c>\n" * 500, "ntriples"),
    "odd query": f"{fence('sparql', 'SELECT ' + '(' * DEEP)}\n{fence('turtle', HUTS)}",
    "service": f"{fence('sparql', 'SELECT * { SERVICE <http://db.example/> { ?s ?p ?o } }')}\n{fence('turtle', HUTS)}",
    "long question": ask_query("Which " + "hut of the valley of " * 20_000 + "Lutta?"),
    "many digits": ask_query("Which huts have more than " + "9" * 5000 + " beds before 99 May 0000?"),
    "assignments to repair": f"Fix.\n{fence('sparql', 'SELECT * { ' + 'BIND(?a = 1 ' * 5000)}",
    "unions to repair": f"Fix.\n{fence('sparql', 'ASK { ' + '?a :b ?c . ' * 2000 + 'UNION ?a :d ?e . ' * 500)}",
    "clauses to repair": f"Fix.\n{fence('sparql', 'SELECT * WHERE ORDER LIMIT ' * 2000)}",
    "long sheet": "Name: x\n====\n- a, each by the property <urn:b>\n" + "type " * 4000,
    "wide sheet": "Sheet\n====\n- a, each by the property <urn:b>\nnamespace http://n.example/" + " " * 15_000,
    "many properties": "Sheet\n====\nby the properties " + "a" * 10_000 + "!",
    "wide schema": ask_query(
        "Which?",
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        + "".join(f"<urn:c{i}> a owl:Class . <urn:p{i}> a owl:ObjectProperty .\n" for i in range(400)),
    ),
    "long list": "SPARQL\nQuestion: which a?\n" + fence("csv", "iri,label\n" + "x:a,a b\n" * 20_000),
    "odd table": ask_query("Which huts?", more=fence("csv", '"' + "a,b\n" * 1000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_prompts_get_an_answer(ask: Callable[..., Answer], name: str) -> None:
    answer = ask(HOSTILE[name])
    assert answer.text
    assert len(answer.text) <= len(HOSTILE[name]) + 2000


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=200),
    st.sampled_from(["turtle", "json", "ntriples", "sparql", "csv", "xml", ""]),
    st.text(max_size=80),
)
def test_any_block_gets_an_answer(engine: KgEngine, content: str, tag: str, prose: str) -> None:
    for words in (
        f"{prose} Fix it.",
        f"SPARQL {prose}\nQuestion: {prose}?",
        f"Question: {prose}",
        f"most {prose}",
        f"shortest path {prose}",
    ):
        assert answer_messages(user(f"{words}\n{fence(tag, content)}"), engine)


def test_dialogues_without_a_user_message_get_an_answer(engine: KgEngine) -> None:
    assert answer_messages((), engine) == CANNOT
    assert answer_messages((Message("system", PROMPTS[0]),), engine) == CANNOT


def test_nothing_is_sent_over_a_network(ask: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **_: object) -> None:
        raise AssertionError(f"a connection was tried: {args}")

    ask("Warm up.")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert all(ask(prompt).text != CANNOT for prompt in PROMPTS)


def test_answers_are_free_and_no_tokens_are_claimed(ask: Callable[..., Answer]) -> None:
    answer = ask(PROMPTS[1])
    assert (answer.usage.cost, answer.usage.input_tokens) == (0.0, None)
    assert answer.served_model == "symbolic"
    assert answer.stop_reason == "stop"


def test_it_can_be_used_again_after_closing() -> None:
    async def session() -> list[str]:
        connector = CONNECTOR.make(SPEC)
        texts = []
        for _ in range(2):
            texts.append((await connector.ask(AskRequest(user(PROMPTS[3])))).text)
            await connector.close()
        return texts

    assert asyncio.run(session()) == ["http://huts.example/ibex"] * 2


def test_a_dead_engine_is_a_connector_error(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EngineError("the worker cannot be started")

    monkeypatch.setattr("pytest_llmkg.kg.Sandbox.run_query", fail)
    with pytest.raises(ConnectorError, match="symbolic: the graph engine failed: the worker cannot be started"):
        run(CONNECTOR.make(SPEC).ask(AskRequest(user(PROMPTS[0]))))


def test_it_takes_no_argument_and_says_that_it_is_no_language_model() -> None:
    CONNECTOR.check(SPEC)
    with pytest.raises(UserError, match="takes no argument, found 'big'"):
        CONNECTOR.check(ModelSpec("symbolic:big", "big", "symbolic"))
    assert "no language model" in CONNECTOR.summary
