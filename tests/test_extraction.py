"""From answer text to blocks and queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.extraction import fenced_blocks, find_query, shortened

QUERY = "SELECT ?s WHERE { ?s ?p ?o }"


def contents(text: str) -> list[tuple[str, str]]:
    return [(block.tag, block.content) for block in fenced_blocks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```turtle\n:a :b :c .\n```", [("turtle", ":a :b :c .")]),
        ("```\nx\n```", [("", "x")]),
        ("```  turtle  \nx\n```", [("turtle", "x")]),
        # The closing fence may follow the content on its line.
        ("```json\n{}```", [("json", "{}")]),
        ("before\n```\n\n\n  x\n\n```\nafter", [("", "x")]),
        ("```\n```", [("", "")]),
        ("```a\n1\n```\ntext\n```b\n2\n```", [("a", "1"), ("b", "2")]),
        ("```a\r\n1\r\n2\r\n```\r\n", [("a", "1\n2")]),
        # An unclosed block is none; its fence does not swallow an earlier one.
        ("```a\n1", []),
        ("```a\n1\n```\n```b\n2", [("a", "1")]),
        # A fence needs its own line end, so code in a line of prose is no block.
        ("use ```x``` here", []),
        ("``\nx\n``", []),
        # Four backticks: the fence is the last three of the opening ones.
        ("````\nx\n````", [("", "x")]),
        ("", []),
    ],
)
def test_blocks(text: str, expected: list[tuple[str, str]]) -> None:
    assert contents(text) == expected


def test_the_text_of_a_block_holds_both_fences() -> None:
    (block,) = fenced_blocks("Here:\n```turtle\n:a :b :c .\n```\nDone.")
    assert block.text == "```turtle\n:a :b :c .\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"```sparql\n{QUERY}\n```", QUERY),
        (f"```\n{QUERY}\n```", QUERY),
        ("```sql\nselect ?s where { ?s ?p ?o }\n```", "select ?s where { ?s ?p ?o }"),
        # A block without the word is passed over: the graph that was quoted first, or a mere comment.
        (f"```turtle\n:a :b :c .\n```\n```sparql\n{QUERY}\n```", QUERY),
        ("```sparql\n# nothing to ask\n```", None),
        # The first of several.
        (f"```sparql\n{QUERY}\n```\nor\n```sparql\nSELECT * WHERE {{}}\n```", QUERY),
        # The word, not a part of one.
        ("```\n:selected :b :c .\n```", None),
        ("```sparql\nASK { ?s ?p ?o }\n```", None),
        (QUERY, None),
        (f"```sparql\n{QUERY}", None),
        ("", None),
    ],
)
def test_the_query_is_the_first_block_with_select(text: str, expected: str | None) -> None:
    assert find_query(text) == expected


def test_a_block_with_two_queries_is_taken_whole() -> None:
    both = f"{QUERY}\n\n{QUERY}"
    assert find_query(f"```sparql\n{both}\n```") == both


@given(st.text("`abc\r\n \u2028SELECT", max_size=300))
def test_any_text_has_blocks_that_lie_in_it(text: str) -> None:
    unified = text.replace("\r\n", "\n")
    place = 0
    for block in fenced_blocks(text):
        place = unified.index(block.text, place) + len(block.text)
        assert block.content == block.content.strip()
        assert "```" not in block.content
    query = find_query(text)
    assert query is None or query in [block.content for block in fenced_blocks(text)]


@given(st.text())
def test_a_wrapped_text_is_found_unless_it_holds_a_fence(text: str) -> None:
    wrapped = f"```x\n{text}\n```"
    if "`" not in text:
        assert contents(wrapped) == [("x", text.replace("\r\n", "\n").strip())]
    else:
        assert fenced_blocks(wrapped)


@given(st.text(max_size=50), st.integers(2, 40))
def test_shortened_keeps_both_ends(text: str, most: int) -> None:
    short = shortened(text, most)
    assert short == text if len(text) <= most else len(short) <= most + len(" [...] ")
    assert short.startswith(text[: most // 2])
    assert short.endswith(text[-(most // 2) :])
