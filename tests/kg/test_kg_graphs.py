from __future__ import annotations

import string
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import rdflib
import rdflib.compare
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.contracts import GraphText, Term
from pytest_llmkg.errors import UnknownNameError, UserError
from pytest_llmkg.kg import BASE_IRI, FORMATS, Sandbox, SerializationFormat, isomorphic, parse_triples, serialise

if TYPE_CHECKING:
    from random import Random

    from pytest_llmkg.kg.graphs import TripleOfTerms

NS = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"

names = st.text(string.ascii_letters, min_size=1, max_size=5)
iris = names.map(lambda n: Term("iri", NS + n))
bnodes = st.integers(0, 4).map(lambda n: Term("bnode", f"n{n}"))
# XML 1.0 cannot hold control characters; rdflib's RDF/XML parser turns a carriage return into a line feed.
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.just("\n"), max_size=12
)
literals = (
    st.builds(lambda t: Term("literal", t), texts)
    | st.builds(lambda t: Term("literal", t, language="en"), texts)
    | st.builds(lambda n: Term("literal", str(n), f"{XSD}integer"), st.integers(-99, 99))
    | st.builds(lambda t: Term("literal", t, f"{NS}shape"), texts)
)
triples = st.lists(st.tuples(iris | bnodes, iris, iris | bnodes | literals), max_size=8).map(tuple)


def by_rdflib(text: str, name: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=text, format=name)


@pytest.mark.parametrize("known", FORMATS, ids=lambda f: f.slug)
@settings(max_examples=60, deadline=None)
@given(data=triples)
def test_round_trip_with_both_engines(known: SerializationFormat, data: tuple[TripleOfTerms, ...]) -> None:
    name = known.name
    text = serialise(data, name, {"ex": NS})
    assert isomorphic(parse_triples(GraphText(text, name)), data)
    lines = "".join(f"{_nt(s)} {_nt(p)} {_nt(o)} .\n" for s, p, o in data)
    assert rdflib.compare.isomorphic(by_rdflib(text, name), by_rdflib(lines, "nt"))


def _nt(term: Term) -> str:
    """N-Triples written by rdflib's terms, apart from the code under test."""
    if term.kind == "iri":
        return rdflib.URIRef(term.value).n3()
    if term.kind == "bnode":
        return rdflib.BNode(term.value).n3()
    text = "".join(f"\\U{ord(c):08X}" for c in term.value)
    tail = f"@{term.language}" if term.language else f"^^<{term.datatype}>" if term.datatype else ""
    return f'"{text}"{tail}'


@settings(max_examples=40, deadline=None)
@given(data=triples, order=st.randoms(use_true_random=False))
def test_isomorphic_ignores_order_labels_and_duplicates(data: tuple[TripleOfTerms, ...], order: Random) -> None:
    other = [(_relabelled(s), _relabelled(p), _relabelled(o)) for s, p, o in (*data, *data[:2])]
    order.shuffle(other)
    assert isomorphic(data, other)


def _relabelled(term: Term) -> Term:
    return Term("bnode", f"other{term.value}") if term.kind == "bnode" else term


def test_isomorphic_tells_graphs_apart_that_differ_only_in_their_blank_nodes() -> None:
    same = "_:a <a:knows> _:b . _:b <a:knows> _:a . _:c <a:knows> _:d . _:d <a:knows> _:c ."
    ring = "_:a <a:knows> _:b . _:b <a:knows> _:c . _:c <a:knows> _:d . _:d <a:knows> _:a ."
    first, second = (parse_triples(GraphText(t, "turtle")) for t in (same, ring))
    assert not isomorphic(first, second)


def test_serialise_keeps_the_order_and_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from pytest_llmkg.kg import parse_triples, serialise\n"
        "from pytest_llmkg.contracts import GraphText\n"
        "text = ''.join(f'<a:s{i % 5}> <a:p{i % 3}> \"{i}\", _:b{i} .\\n' for i in range(40, 0, -1))\n"
        "names = {f'p{i}': f'a:{i}' for i in range(20)}\n"
        "for name in ('turtle', 'json-ld', 'xml', 'nt'):\n"
        "    print(serialise(parse_triples(GraphText(text, 'turtle')), name, names))\n"
    )
    out = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert out[0] == out[1] == out[2]
    lines = [line for line in out[0].splitlines() if line.startswith("<a:s") and line.endswith(" .")]
    assert len(lines) >= 80


def test_turtle_uses_the_prefixes_given() -> None:
    triple = (Term("iri", f"{NS}a"), Term("iri", f"{NS}b"), Term("literal", "1", f"{XSD}integer"))
    assert serialise([triple], "ttl", {"ex": NS}) == f"@prefix ex: <{NS}> .\nex:a ex:b 1 .\n"


def test_relative_iris_are_resolved_against_the_fixed_base() -> None:
    (triple,) = parse_triples(GraphText("<a> <../b> <c/d> .", "turtle"))
    assert [t.value for t in triple] == [f"{BASE_IRI}a", f"{BASE_IRI}b", f"{BASE_IRI}c/d"]


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(UserError, match=r"no Turtle: .*line 1"):
        parse_triples(GraphText("<a:a> <a:b>", "ttl"))
    with pytest.raises(UserError, match="no JSON-LD"):
        parse_triples(GraphText('{"@id": "a:g", "@graph": [{"@id": "a:a", "a:b": 1}]}', "json-ld"))
    with pytest.raises(UserError, match="cannot be written as N-Triples"):
        serialise([(Term("literal", "x"), Term("iri", "a:b"), Term("iri", "a:c"))], "nt")
    with pytest.raises(UserError, match="cannot be written as Turtle"):
        serialise([(Term("iri", "no iri"), Term("iri", "a:b"), Term("iri", "a:c"))], "turtle")
    with pytest.raises(UserError, match="no RDF graph"):
        isomorphic([(Term("literal", "x"), Term("iri", "a:b"), Term("iri", "a:c"))], [])
    with pytest.raises(UnknownNameError):
        parse_triples(GraphText("", "yaml"))


@settings(max_examples=40, deadline=None)
@given(data=triples)
def test_the_verdicts_lines_are_those_of_rdflib(sandbox: Sandbox, data: tuple[TripleOfTerms, ...]) -> None:
    text = serialise(data, "turtle")
    verdict = sandbox.check_rdf(GraphText(text, "turtle"))
    assert verdict.error is None
    assert list(verdict.triples) == sorted(verdict.triples)
    written = by_rdflib(text, "turtle").serialize(format="nt").split("\n")[:-1]
    assert len(verdict.triples) == len(written)
    both = ("\n".join(verdict.triples), "\n".join(written))
    first, second = (by_rdflib(lines, "nt") for lines in both)
    assert rdflib.compare.isomorphic(first, second)
