from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.symbolic.reading import read_request
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.records import Message
from tests.connectors.symbolic.prompts import HUTS, ask_query, ask_repair, fence, user

TRIPLE = "<http://a.example/s> <http://a.example/p> <http://a.example/o> ."


@pytest.mark.parametrize(
    ("prompt", "job"),
    [
        (ask_query("Which huts are there?"), "query"),
        (f"Run it.\n{fence('sparql', 'SELECT * {}')}\n{fence('json', '{}')}", "evaluate"),
        (ask_repair(HUTS, "turtle"), "repair"),
        (f"Who is the object of the most x:teacher triples?\n{fence('turtle', HUTS)}", "count"),
        (f"List the shortest path from x:a to x:b.\n{fence('turtle', HUTS)}", "walk"),
        (f"Question: which huts are there?\n{fence('turtle', HUTS)}", "answer"),
        ("Question: what is SPARQL?", "unknown"),
        (f"Tell a story about this.\n{fence('turtle', HUTS)}", "unknown"),
        (f"Fix this.\n{fence('python', 'x = (')}", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_job_follows_from_blocks_and_key_words(prompt: str, job: str) -> None:
    assert read_request(user(prompt)).job == job


@pytest.mark.parametrize(
    ("tag", "content", "form"),
    [
        ("TTL", "broken", "turtle"),
        ("json-ld", "{", "json-ld"),
        ("n-triples", "broken", "nt"),
        ("rdf/xml", "<", "xml"),
        ("", '{"@id": "x"}', "json-ld"),
        ("", TRIPLE, "nt"),
        ("", "@prefix x: <y> .\nx:a x:b x:c .", "turtle"),
        ("", '<?xml version="1.0"?><a/>', "xml"),
    ],
)
def test_the_format_follows_from_tag_or_content(tag: str, content: str, form: str) -> None:
    assert read_request(user(f"Fix it: {fence(tag, content)}")).graph == GraphText(content, form)


def test_question_table_hint_and_earlier_answers() -> None:
    table = fence("csv", "id,label\nx:1,one")
    request = read_request(
        (
            Message("system", "Be brief."),
            *user(ask_query("Which huts?", more=table), "no", "Empty.", "still no", "Again."),
        )
    )
    assert request.question == "Which huts?"
    assert request.table == "id,label\nx:1,one"
    assert request.hint == "Again."
    assert request.given == ("no", "still no")
    assert "Question: Which huts?" in request.prose
    assert "Marmot" not in request.prose


def test_a_first_prompt_has_no_hint() -> None:
    assert read_request(user(ask_query("Which huts?"))).hint is None


@given(st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_any_dialogue_can_be_read(messages: list[Message]) -> None:
    assert read_request(messages).given == tuple(m.text for m in messages if m.role == "assistant")
