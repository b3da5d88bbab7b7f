"""Turtle with faulty lines left out: which lines go, that going on in the middle changes nothing, and the limits."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import Graph
from rdflib.plugins.parsers.notation3 import BadSyntax

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg import BASE_IRI, DEFAULT_LIMITS, Sandbox
from pytest_llmkg.kg.tolerant import parse_tolerantly

A, B, C = (f"<urn:s> <urn:p> <urn:{name}> ." for name in "abc")


def test_a_text_that_parses_keeps_all_lines() -> None:
    rest = parse_tolerantly(f"{A}\n{B}\n")
    assert (rest.triples, rest.dropped_lines, rest.error) == ((A, B), (), None)


@pytest.mark.parametrize(
    ("text", "dropped", "triples"),
    [
        # The error is on line 2 itself.
        (f"{A}\nHere it is:\n{B}", (2,), (A, B)),
        # Code fences and prose around the Turtle go line by line.
        (f"Sure!\n```turtle\n{A}\n{B}\n```\nHope this helps.", (1, 2, 5, 6), (A, B)),
        # The missing dot shows on line 3. Without line 3 the statement stays open to the end, which is an error on
        # line 2; without line 2 all parses: line 2 goes.
        (f"{A}\n<urn:s> <urn:p> <urn:b>\n{C}", (2,), (A, C)),
        # An undeclared prefix is an error of its line.
        (f"{A}\nx:s x:p x:o .\n{B}", (2,), (A, B)),
        ("only prose\nand more of it", (1, 2), ()),
        ("", (), ()),
        ("\n\n", (), ()),
    ],
)
def test_lines_that_go(text: str, dropped: tuple[int, ...], triples: tuple[str, ...]) -> None:
    rest = parse_tolerantly(text)
    assert (rest.dropped_lines, rest.triples) == (dropped, triples)


def test_the_line_before_the_error_goes_when_that_leads_further() -> None:
    # "<urn:x> <urn:y>" lacks its object and dot, which shows on line 3; without line 2 all parses.
    rest = parse_tolerantly(f"{A}\n<urn:x> <urn:y>\n<urn:s> <urn:p> <urn:b> .\n{C}")
    assert rest.dropped_lines == (2,)
    assert rest.triples == (A, B, C)


def test_relative_iris_stand_below_the_base() -> None:
    assert parse_tolerantly("<s> <p> <o> .").triples == (f"<{BASE_IRI}s> <{BASE_IRI}p> <{BASE_IRI}o> .",)


def test_blank_nodes_are_numbered_and_one_label_is_one_node() -> None:
    rest = parse_tolerantly("_:x <urn:p> _:y .\noops\n_:y <urn:p> _:x .")
    assert rest.triples == ("_:b0 <urn:p> _:b1 .", "_:b1 <urn:p> _:b0 .")


LINES = [
    "@prefix : <urn:> .",
    "@prefix : <urn:other#> .",
    "PREFIX x: <urn:x#>",
    "@base <urn:base/> .",
    ":a :b :c .",
    ":a :b :c . :d :e _:f .",
    "x:a x:b [ :c :d ;",
    "  :e 1 ] .",
    "] .",
    ":a :b ;",
    "  :c ( 1 2 ) ,",
    "  <rel> ; :d 'x' .",
    ':a :b """two',
    'lines""" .',
    "# a comment .",
    "",
    "  ",
    "```turtle",
    "Here is your graph, as asked.",
    "a b c .",
    ":x a :Y",
    "_:f :g _:h .",
    "\ttrue .",
]


def by_the_book(text: str) -> tuple[set[int], int]:
    """The rule with the whole text parsed anew each time: the dropped lines and the number of triples."""

    def reached(lines: list[str]) -> tuple[float, int]:
        graph = Graph()
        try:
            graph.parse(data="\n".join(lines), format="turtle", publicID=BASE_IRI)
        except BadSyntax as error:
            return min(error.lines, len(lines) - 1), 0
        except Exception:  # noqa: BLE001  (the rule: whatever else the parser raises means an empty graph)
            return -1, 0
        return (float("inf"), len(graph)) if len(graph) else (-1, 0)

    lines, numbers, gone = text.split("\n"), list(range(1, text.count("\n") + 2)), set()
    far, found = reached(lines)
    while 0 <= far < len(lines):
        error = int(far)
        options = [reached(lines[:i] + lines[i + 1 :]) if i >= 0 and lines[1:] else (-1, 0) for i in range(error + 1)]
        pick = error
        if error > 0 and options[error - 1][0] > options[error][0]:
            pick = error - 1
        if options[pick][0] <= error:
            pick = error - 2 if error > 1 and options[error - 2][0] > error else error
        far, found = options[pick]
        gone.add(numbers.pop(pick))
        del lines[pick]
    return gone, found


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
@example("@prefix : <urn:> .\n:a :b :c .\n\n\n:a :b ;\n] .\n:a :b :c .\n:x a :Y\n:a :b :c .")
def test_going_on_in_the_middle_changes_nothing(text: str) -> None:
    rest = parse_tolerantly(text)
    assert (set(rest.dropped_lines), len(rest.triples)) == by_the_book(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_a_rest(text: str) -> None:
    rest = parse_tolerantly(text)
    assert rest.error is None
    assert len(rest.dropped_lines) <= text.count("\n") + 1
    assert rest == parse_tolerantly(text)


def test_too_many_faults_end_at_the_limit() -> None:
    text = "\n".join(["@prefix : <urn:> ."] + [":a :b ; :c" for _ in range(50)])
    rest = parse_tolerantly(text, most_characters=500)
    assert rest.triples == ()
    assert "500 characters" in (rest.error or "")


def test_the_sandbox_gives_the_same_and_takes_turtle_only(sandbox: Sandbox) -> None:
    text = f"Sure!\n```turtle\n{A}\n{B}\n```"
    rest = sandbox.parse_tolerantly(GraphText(text, "turtle"))
    assert rest == parse_tolerantly(text)
    assert sandbox.parse_tolerantly(GraphText(text, "ttl")) == rest
    with pytest.raises(UserError, match="only Turtle"):
        sandbox.parse_tolerantly(GraphText(text, "nt"))


def test_a_nested_bomb_does_not_end_the_sandbox(sandbox: Sandbox) -> None:
    assert sandbox.parse_tolerantly(GraphText("[ <urn:p> " * 50_000, "turtle")).triples == ()
    assert sandbox.parse_tolerantly(GraphText("( " * 200_000, "turtle")).triples == ()
    assert sandbox.parse_tolerantly(GraphText(A, "turtle")).triples == (A,)


def test_a_text_over_the_limit_is_not_read() -> None:
    with Sandbox(dataclasses.replace(DEFAULT_LIMITS, characters=10)) as box:
        rest = box.parse_tolerantly(GraphText(A, "turtle"))
        assert rest.triples == ()
        assert "limit of 10" in (rest.error or "")
        assert box.worker_pid is None


def test_a_result_over_the_limit_is_not_sent() -> None:
    with Sandbox(dataclasses.replace(DEFAULT_LIMITS, result_characters=20)) as box:
        rest = box.parse_tolerantly(GraphText(A, "turtle"))
        assert rest.triples == ()
        assert "which is the limit" in (rest.error or "")
