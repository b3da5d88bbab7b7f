"""Schemas as VoID and examples as SHACL: files as SPARQL-LLM's users have them, and there and back again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cases.question_sets import load_question_set
from pytest_llmkg.contracts import Example, GraphText
from pytest_llmkg.errors import UserError
from pytest_llmkg.kg.profile import PropertyUse
from pytest_llmkg.pipelines.examples import examples_as_shacl, load_examples, normal_query, normal_question
from pytest_llmkg.pipelines.indexing import index_schema
from pytest_llmkg.pipelines.settings import PipelineSettings
from pytest_llmkg.pipelines.shapes import kept_classes, schema_block
from pytest_llmkg.pipelines.void import profile_from_void, void_text
from tests.pipelines.harbour import EXAMPLES, GRAPH, PREFIXES, H

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.kg import Sandbox

XSD = "http://www.w3.org/2001/XMLSchema#"
# In the layout of void-generator: partitions in partitions, datatypes by the extension, and a linkset.
VOID = """\
@prefix void: <http://rdfs.org/ns/void#> .
@prefix void_ext: <http://ldf.fi/void-ext#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix h: <http://harbour.example/> .
<#data> a void:Dataset ; void:classPartition <#ship>, <#quay> .
<#ship> void:class h:Ship ; void:entities "3"^^xsd:long ;
  void:propertyPartition <#name>, [ void:property h:flag ],
    [ void:property h:berth ; void:triples 3 ; void:classPartition [ void:class h:Quay ; void:triples 3 ] ] .
<#name> void:property h:name ; void:triples 4 ; void_ext:datatypePartition [ void_ext:datatype xsd:string ] .
<#quay> void:class h:Quay ; void:entities 2 ; void:propertyPartition [ void:property h:number ] .
<#link> a void:Linkset ; void:linkPredicate h:near ; void:triples 7 ;
  void:subjectsTarget <#quay> ; void:objectsTarget <#ship> .
"""


def test_a_void_description_becomes_a_schema() -> None:
    found = profile_from_void(VOID)
    assert not found.is_complete
    ship, quay = found.classes
    assert (ship.iri, ship.count, quay.iri, quay.count) == (f"{H}Ship", 3, f"{H}Quay", 2)
    assert ship.properties == (
        PropertyUse(f"{H}name", 4, ((f"{XSD}string", 0),)),
        PropertyUse(f"{H}berth", 3, ((f"{H}Quay", 3),)),
        PropertyUse(f"{H}flag", 0, ()),
    )
    assert PropertyUse(f"{H}near", 0, ((f"{H}Ship", 7),)) in quay.properties


ODD_VOID = [
    ("", ()),
    ("<#data> void:classPartition 3 .", ()),
    ("[] void:class 'C' ; void:propertyPartition 'p' .", ()),
    ("_:a void:class h:C ; void:propertyPartition _:a ; void:property h:p ; void:classPartition _:a .", (f"{H}p",)),
    ("[] void:class h:C ; void:propertyPartition [ void:property 'p', _:b, h:p ] .", (f"{H}p",)),
    (f"[] void:class h:C ; void:entities '{'9' * 5000}' ; void:propertyPartition [ void:property h:p ] .", (f"{H}p",)),
    ("[] void:class h:C ; void:entities -3, '٣', 'x' ; void:propertyPartition h:nowhere .", ()),
    ("[] void:linkPredicate 'l' ; void:subjectsTarget <#a> ; void:objectsTarget <#a> . <#a> void:class h:C .", ()),
]


@pytest.mark.parametrize(("triples", "properties"), ODD_VOID)
def test_odd_descriptions_tell_what_they_can(triples: str, properties: tuple[str, ...]) -> None:
    found = profile_from_void(VOID.partition("<#data>")[0] + triples)
    assert tuple(use.iri for one in found.classes for use in one.properties) == properties
    assert all(one.count == 0 for one in found.classes)


def test_shapes_of_a_void_description() -> None:
    profile = profile_from_void(VOID)
    shown = schema_block(
        kept_classes(profile, PipelineSettings())[:1], {}, {**PREFIXES, "xsd": XSD}, PipelineSettings()
    )
    assert shown == (
        "```shex\nh:Ship {\n  a [ h:Ship ] ;\n  h:name xsd:string ;\n  h:berth [ h:Quay ] ;\n  h:flag\n}\n```"
    )


def test_a_counted_schema_survives_export_and_import(engine: Sandbox) -> None:
    counted = engine.profile(GRAPH)
    back = profile_from_void(void_text(counted, "http://harbour.example/void"))
    named = [
        (use.iri, use.count, [(p.iri, p.count, tuple(r for r in p.ranges if r[0])) for p in use.properties])
        for use in counted.classes
    ]
    assert [(use.iri, use.count, [(p.iri, p.count, p.ranges) for p in use.properties]) for use in back.classes] == named


def test_the_pipeline_takes_its_schema_from_a_void_file(engine: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "void.ttl"
    file.write_text(VOID, encoding="utf-8")
    index = index_schema(engine, GRAPH, PipelineSettings(void=str(file)))
    assert [use.iri for use in index.classes] == [f"{H}Ship", f"{H}Quay"]
    with pytest.raises(UserError, match="cannot be read"):
        index_schema(engine, GRAPH, PipelineSettings(void=str(tmp_path / "none.ttl")))


def test_a_graph_may_describe_itself(engine: Sandbox) -> None:
    own = index_schema(engine, GraphText(VOID.replace("<#", "<http://harbour.example/#"), "turtle"), VOID_SETTINGS)
    assert own.profile == profile_from_void(VOID)
    with pytest.raises(UserError, match="no VoID description"):
        index_schema(engine, GRAPH, VOID_SETTINGS)


VOID_SETTINGS = PipelineSettings(void="graph")


def test_examples_survive_export_and_import_as_shacl(tmp_path: Path) -> None:
    file = tmp_path / "harbour.ttl"
    examples = (*EXAMPLES, Example("d1", "Tell me of the Aurora", "DESCRIBE <http://harbour.example/s1>", "en"))
    file.write_text(examples_as_shacl(examples, "http://harbour.example/ex/", "http://harbour.example/sparql"))
    text = file.read_text(encoding="utf-8")
    assert "sh:SPARQLSelectExecutable" in text
    assert "schema:target" in text
    questions = load_question_set(file, check_queries=False).questions
    assert {(q.query, *q.texts.items()) for q in questions} == {(e.query, (e.language, e.question)) for e in examples}
    loaded = load_examples([file])
    assert {(e.question, e.query, e.language) for e in loaded} == {(e.question, e.query, e.language) for e in examples}
    assert len({e.id for e in loaded}) == len(examples)


def test_an_example_that_is_no_query_cannot_be_exported() -> None:
    with pytest.raises(UserError, match="bad"):
        examples_as_shacl([Example("bad", "?", "INSERT DATA {}")], "http://e/")


@pytest.mark.parametrize(
    "other",
    [
        "select ?name { ?boat a h:Ship ; h:name ?name }",
        "PREFIX x: <http://harbour.example/>\nSELECT ?a\n{ ?b a x:Ship ; # a ship\n x:name ?a }",
        "SELECT $n { $s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://harbour.example/Ship> ; h:name $n }",
    ],
)
def test_queries_that_differ_in_writing_only_are_the_same(other: str) -> None:
    assert normal_query(other, PREFIXES) == normal_query("SELECT ?n { ?s a h:Ship ; h:name ?n }", PREFIXES)


@pytest.mark.parametrize("other", ["SELECT ?s { ?s a h:Ship ; h:name ?n }", 'SELECT ?n { ?s a h:Ship ; h:name "n" }'])
def test_queries_that_ask_something_else_differ(other: str) -> None:
    assert normal_query(other, PREFIXES) != normal_query("SELECT ?n { ?s a h:Ship ; h:name ?n }", PREFIXES)


def test_questions_are_compared_without_case_and_punctuation() -> None:
    assert normal_question("How long is the  AURORA?") == normal_question("how long is the Aurora")
