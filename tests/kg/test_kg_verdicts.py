from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import rdflib
from rdflib.plugins.sparql.parser import parseQuery

from pytest_llmkg.contracts import GraphText
from pytest_llmkg.kg import BASE_IRI, Sandbox

if TYPE_CHECKING:
    from pathlib import Path

BROKEN_RDF = {
    "turtle": [
        "<http://e/a> <http://e/b>",
        "@prefix e: <http://e/> .\ne:a e:b e:c\ne:d e:f 1 .",
        '@prefix e: <http://e/> .\n\n\ne:a e:b "open .',
        "e:a e:b e:c .",
        "@prefix e <http://e/> .",
        '<http://e/a> <http://e/b> "x"@ .',
        "<http://e/a> <http://e/b> [ <http://e/c> ] .",
        "<http://e/a> <http://e/b> ( 1 2 .",
        '<http://e/a> <http://e/b> "\\q" .',
        "```turtle\n<a:a> <a:b> 1 .\n```",
        "plain words",
    ],
    "json-ld": [
        "",
        "{",
        '{"@id": "http://e/a",}',
        "{'@id': 'http://e/a'}",
        '{"@id": "http://e/a" "http://e/b": 1}',
        '{"@context": 7, "@id": "http://e/a"}',
        '{"@context": {"@vocab": 1}, "a": 1}',
        '[{"@id": "http://e/a"}',
        "NaN",
        '{"@id": "http://e/a", "http://e/b": "tab\there"}',
    ],
    "xml": [
        "",
        "<a>",
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:li/></rdf:RDF',
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><e:a/></rdf:RDF>',
        "<a></b>",
        "text",
    ],
    "nt": [
        "<http://e/a> <http://e/b> .",
        "<http://e/a> <http://e/b> 1 .",
        '<http://e/a> <http://e/b> "x"',
        "e:a <http://e/b> <http://e/c> .",
        '<http://e/a> <http://e/b> "x"@en^^<http://e/t> .',
        "\n\n<a b> .",
    ],
}

BROKEN_QUERIES = [
    "",
    "SELECT",
    "SELECT ?a WHERE { ?a ?b }",
    "SELECT ?a WHERE { ?a ?b ?c",
    "SELECT ?a { ?a ?b ?c } LIMIT x",
    "SELECT ?a { FILTER }",
    "Here is the query: SELECT * {}",
    "PREFIX e <http://e/> SELECT * { ?a ?b ?c }",
    "SELECT ?a { ?a e:b ?c } GROUP BY",
    "INSERT DATA { <a:a> <a:b> 1 }",
    "SELECT ?a { ?a ?b ?c } SELECT ?b { ?a ?b ?c }",
    "SELECT COUNT(?a) { ?a ?b ?c }",
]


def plain_message(text: str, name: str) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (any exception of rdflib is a verdict)
        rdflib.Graph().parse(data=text, format=name)
    return str(caught.value)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in BROKEN_RDF.items() for t in texts])
def test_messages_of_broken_rdf_are_those_of_plain_rdflib(sandbox: Sandbox, name: str, text: str) -> None:
    verdict = sandbox.check_rdf(GraphText(text, name))
    assert verdict.error == plain_message(text, name)
    assert verdict.triples == ()


@pytest.mark.parametrize("query", BROKEN_QUERIES)
def test_messages_of_broken_queries_are_those_of_rdflib(sandbox: Sandbox, query: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (any exception of rdflib is a verdict)
        parseQuery(query)
    verdict = sandbox.check_query(query)
    assert (verdict.error, verdict.form, verdict.names) == (str(caught.value), None, ())


TURTLE_BOTH = "Turtle literals with both language and type are not allowed."
JSON_BOTH = "JSON-LD literals with both language and type are not allowed."
TYPE = "<http://e/t>"


@pytest.mark.parametrize(
    "literal",
    [
        f'"x"@en^^{TYPE}',
        f"'x'@en-GB^^{TYPE}",
        f'"""a\n"b" ""c"""@en^^{TYPE}',
        f"'''a'''@en^^{TYPE}",
        f'"\\"quoted\\""@de^^{TYPE}',
        f'"# no comment"@de^^{TYPE}',
    ],
)
def test_turtle_with_language_and_type(sandbox: Sandbox, literal: str) -> None:
    text = f"# a comment with \" and <\n<http://e/it's> <http://e/b> {literal} ."
    assert sandbox.check_rdf(GraphText(text, "turtle")).error == TURTLE_BOTH


@pytest.mark.parametrize(
    "text",
    [
        f'<http://e/a> <http://e/b> "say \\"x\\"@en^^{TYPE}" .',
        f'<http://e/a> <http://e/b> """say "x"@en^^{TYPE}""" .',
        f"<http://e/a> <http://e/b> 'say \"x\"@en^^{TYPE}' .",
        f'<http://e/a> <http://e/b> 1 . # "x"@en^^{TYPE}',
        f'<http://e/a"x"@en^^b> <http://e/b> "x"^^{TYPE}, "x"@en .',
    ],
)
def test_turtle_that_only_looks_like_language_and_type(sandbox: Sandbox, text: str) -> None:
    assert sandbox.check_rdf(GraphText(text, "turtle")).error is None


def test_json_ld_with_language_and_type(sandbox: Sandbox) -> None:
    value = '{"@value": "x", "@language": "en", "@type": "http://e/t"}'
    for text in (
        f'{{"@id": "http://e/a", "http://e/b": {value}}}',
        f'[{{"http://e/b": {{"@list": [1, {value}]}}}}]',
    ):
        assert sandbox.check_rdf(GraphText(text, "json-ld")).error == JSON_BOTH
    fine = '{"@id": "http://e/a", "http://e/b": [{"@value": "x", "@language": "en"}, {"@value": "@type"}]}'
    assert sandbox.check_rdf(GraphText(fine, "json-ld")).error is None


def test_the_parser_comes_before_the_extra_check(sandbox: Sandbox) -> None:
    text = '<http://e/a> <http://e/b> "x"@en^^unbound:t .'
    assert sandbox.check_rdf(GraphText(text, "turtle")).error == plain_message(text, "turtle")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("turtle", "<a> <#b> <../c> ."),
        ("json-ld", '{"@id": "a", "#b": 1, "https://base.invalid/#b": {"@id": "../c"}}'),
        (
            "xml",
            (
                '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="https://base.invalid/#">'
                '<r:Description r:about="a"><b r:resource="../c"/></r:Description></r:RDF>'
            ),
        ),
    ],
)
def test_relative_iris_do_not_show_the_working_directory(
    sandbox: Sandbox, name: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    verdict = sandbox.check_rdf(GraphText(text, name))
    assert verdict.error is None
    assert verdict.triples == (f"<{BASE_IRI}a> <{BASE_IRI}#b> <{BASE_IRI}c> .",)
    assert os.sep + tmp_path.name not in str(verdict)


def test_iris_that_n_triples_forbids_are_no_error_as_rdflib_parses_them(sandbox: Sandbox) -> None:
    verdict = sandbox.check_rdf(GraphText("<http://e/a b> <http://e/p> <http://e/c{d> .", "turtle"))
    assert verdict.error is None
    assert verdict.triples == ("<http://e/a b> <http://e/p> <http://e/c{d> .",)


def test_blank_nodes_have_the_same_labels_in_every_process() -> None:
    graph = GraphText("<a:a> <a:b> [ <a:c> 1 ], [ <a:d> [] ], _:x-y .", "turtle")
    found = []
    for _ in range(2):
        with Sandbox() as box:
            found.append(box.check_rdf(graph).triples)
    assert found[0] == found[1]
    assert len(found[0]) == 5


@pytest.mark.parametrize(
    ("query", "form", "names"),
    [
        ("SELECT * { ?s a foaf:Person ; foaf:name ?n }", "SELECT", ("rdf:type", "foaf:Person", "foaf:name")),
        ("PREFIX e: <http://e/> BASE <http://b/> ASK { ?s e:p <x> }", "ASK", ("e:p", "<x>")),
        ("DESCRIBE <http://e/a>", "DESCRIBE", ("<http://e/a>",)),
        ("CONSTRUCT { ?s :p ?o } WHERE { ?s :q ?o . ?s :p ?o }", "CONSTRUCT", (":p", ":q")),
        (
            'SELECT * { ?s ^e:p/(e:q|!e:r)* "x"^^xsd:date FILTER(xsd:int(?s) > 1 && e:f(?s)) VALUES ?s { e:v <a:w> } }',
            "SELECT",
            ("e:p", "e:q", "e:r", "xsd:date", "xsd:int", "e:f", "e:v", "<a:w>"),
        ),
        ("SELECT * { ?s ?p 'e:no <a:no> a' # e:no <a:no>\n FILTER(?s<?p&&?p>?s) }", "SELECT", ()),
        ("SELECT * { ?a ?b (1 2) . _:x ?a 'y'@en-GB }", "SELECT", ()),
        (
            "SELECT * { ?a <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ?b }",
            "SELECT",
            ("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",),
        ),
        ("SELECT * { ?a <\\u0061:b> e:x\\-y, e:%41.b }", "SELECT", ("<a:b>", "e:x\\-y", "e:%41.b")),
        ("SELECT * { ?a ?b ?c FILTER(?c<?a&&e:f(?c)>?b) }", "SELECT", ("e:f",)),
    ],
)
def test_form_and_names_of_a_query(sandbox: Sandbox, query: str, form: str, names: tuple[str, ...]) -> None:
    verdict = sandbox.check_query(query)
    assert (verdict.error, verdict.form, verdict.names) == (None, form, names)


def test_undeclared_prefixes_are_no_syntax_error(sandbox: Sandbox) -> None:
    assert sandbox.check_query("SELECT * { ?a nobody:declared ?b }").error is None
