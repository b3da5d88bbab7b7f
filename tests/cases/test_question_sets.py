"""Question files of five formats, all invented here: what is right becomes questions, what is wrong is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.cases.graph_files import graph_file
from pytest_llmkg.cases.question_sets import is_question_file, load_question_set, question_cases
from pytest_llmkg.cases.question_sets.model import slug
from pytest_llmkg.errors import CaseFileError
from pytest_llmkg.tasks import discover_tasks

CK25 = Path(__file__).resolve().parents[3] / "shared/reference/ck25"
ASK_BAY = "ASK { ?kelp a <https://kg.example/Kelp> }"
CHALLENGE = """\
# a comment before all
dataset:
  id: https://kg.example/2025/shore/
  prefix: shore
  defaultNamespace: https://kg.example/shore/
questions:

  - id: 1
    question:
      en: Where does dulse grow?
      de: Wo wächst Lappentang?
    features: [SELECT, RESULT_ORDER_MATTERS]
    classes: [":Alga"]
    query:
      sparql: |
        PREFIX s: <https://kg.example/shore/>
        SELECT ?bay { s:dulse :growsIn ?bay }
  - id: 2
    question: {en: "Is kelp an alga?", no: "Er tare en alge?"}
    query: {sparql: "ASK { :kelp a :Alga }"}
"""
QALD: dict[str, Any] = {
    "dataset": {"id": "tide-pool-3"},
    "questions": [
        {
            "id": "7",
            "answertype": "resource",
            "question": [
                {"language": "en", "string": "Which crabs moult?", "keywords": "crab"},
                {"language": "pt_BR", "string": "Que caranguejos mudam de carapaça?"},
                {"language": "ru", "string": ""},
            ],
            "query": {"sparql": "SELECT ?crab { ?crab <https://kg.example/does> <https://kg.example/moulting> }"},
            "answers": [],
        },
        {"id": "8", "question": [{"language": "en", "string": "Any?"}], "query": {"sparql": ASK_BAY}},
    ],
}
LCQUAD: list[dict[str, Any]] = [
    {
        "uid": 3,
        "question": "n/a",
        "paraphrased_question": "Is there kelp?",
        "sparql_wikidata": ASK_BAY,
        "template": "t",
    },
    {"uid": 4, "NNQT_question": "What is {kelp}?", "question": None, "sparql_wikidata": ASK_BAY},
]
GRASP: list[dict[str, Any]] = [
    {"id": "dev_1", "question": "Is there kelp?", "sparql": ASK_BAY, "paraphrases": [], "info": {}},
    {"id": "dev_2", "question": "Is there still kelp?", "sparql": ASK_BAY},
]
SHACL = """\
@prefix ex: <https://kg.example/queries/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .

ex:001 a sh:SPARQLExecutable, sh:SPARQLSelectExecutable ;
  rdfs:comment "Which <a href='https://kg.example/alga'>algae</a> are <i>edible</i> &amp; red?"@en, "Welche?"@de ;
  schema:keywords "edible" ;
  sh:prefixes _:all ;
  sh:select "SELECT ?alga { ?alga tide:edible true }" .
ex:002 a sh:SPARQLExecutable, sh:SPARQLAskExecutable ; rdfs:comment "Is there any?" ; sh:ask "ASK { ?s ?p ?o }" .
"""
PREFIXES = """\
@prefix sh: <http://www.w3.org/ns/shacl#> .
_:all sh:declare [ sh:prefix "tide" ; sh:namespace "https://kg.example/tide/" ] .
"""


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path


def test_challenge_file(tmp_path: Path) -> None:
    found = load_question_set(write(tmp_path, "q.yml", CHALLENGE))
    assert (found.name, found.dataset) == ("shore", "https://kg.example/2025/shore/")
    assert found.languages == ("en", "de", "no")
    assert found.prefixes == {"": "https://kg.example/shore/"}
    first, second = found.questions
    assert (first.id, first.line, second.line) == ("1", 8, 18)
    assert first.texts == {"en": "Where does dulse grow?", "de": "Wo wächst Lappentang?"}
    assert first.query.endswith("SELECT ?bay { s:dulse :growsIn ?bay }")
    assert first.features == ("SELECT", "RESULT_ORDER_MATTERS")
    assert second.texts["no"] == "Er tare en alge?"  # YAML reads the bare key as False
    assert found.qname(first, "de") == "shore:1-de"


def test_qald_file(tmp_path: Path) -> None:
    found = load_question_set(write(tmp_path, "q.json", QALD))
    assert (found.name, found.languages) == ("tide-pool-3", ("en", "pt-br"))
    assert [(question.id, question.line) for question in found.questions] == [("7", 6), ("8", 29)]


def test_lcquad_file(tmp_path: Path) -> None:
    found = load_question_set(write(tmp_path, "lcquad-test.json", LCQUAD))
    assert found.name == "lcquad-test"
    assert [question.texts["en"] for question in found.questions] == ["Is there kelp?", "What is {kelp}?"]
    assert [(question.id, question.line) for question in found.questions] == [("3", 2), ("4", 9)]


def test_grasp_lines(tmp_path: Path) -> None:
    found = load_question_set(write(tmp_path, "dev.jsonl", "\n".join(map(json.dumps, GRASP)) + "\n\n"))
    assert [(question.id, question.line, question.query) for question in found.questions] == [
        ("dev_1", 1, ASK_BAY),
        ("dev_2", 2, ASK_BAY),
    ]


def test_shacl_folder_and_file(tmp_path: Path) -> None:
    write(tmp_path, "prefixes.ttl", PREFIXES)
    path = write(tmp_path, "001.ttl", SHACL)
    found = load_question_set(tmp_path)
    assert found.prefixes == {"tide": "https://kg.example/tide/"}
    first, second = found.questions
    assert first.texts == {"de": "Welche?", "en": "Which algae are edible & red?"}
    assert (first.id, first.line, first.features) == ("001", 6, ("edible",))
    assert second.texts == {"en": "Is there any?"}
    with pytest.raises(CaseFileError, match=r"001.ttl:6: question '001': the reference query is broken"):
        load_question_set(path)  # nobody declares tide: now
    assert len(load_question_set(path, check_queries=False).questions) == 2


def broken(**changes: object) -> dict[str, Any]:
    """The challenge file with its second question changed; None takes a field away."""
    data: dict[str, Any] = yaml.safe_load(CHALLENGE)
    question = data["questions"][1]
    for name, value in changes.items():
        question[name] = value
        if value is None:
            del question[name]
    return data


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"id": 1}, "question '1': the id exists already"),
        ({"id": None}, "only some questions have an id; give all of them one, or none"),
        ({"id": [2]}, r"an id is a whole number or a text, found \[2\]"),
        ({"id": True}, "an id is a whole number or a text, found True"),
        ({"id": 10**300}, "an id is a whole number or a text, found 0x"),
        ({"id": "x" * 300}, "an id is a whole number or a text, found 'xxx"),
        ({"features": "RESULT_ORDER_MATTERS"}, "question '2': features are a list of texts, found 'RESULT"),
        ({"features": ["COUNT", 3]}, "question '2': features are a list of texts, found "),
        ({"question": {"xx": "?"}}, "question '2': unknown language 'xx'"),
        ({"question": {"english": "?"}}, "question '2': unknown language 'english'"),
        ({"question": {3: "?"}}, "question '2': unknown language 3"),
        ({"question": {"en": ""}}, "question '2': the question in 'en' is no text, found ''"),
        ({"question": {"en": ["?"]}}, "question '2': the question in 'en' is no text"),
        ({"question": "Where?"}, "question '2': the question is missing; write it as language: text"),
        ({"question": None}, "question '2': the question is missing"),
        ({"query": None}, "question '2': a reference query is needed, found None"),
        ({"query": {"sparql": 3}}, "question '2': a reference query is needed, found 3"),
        ({"query": {"sparql": "SELECT ?x WHERE { ?x"}}, "question '2': the reference query is broken: error at 1:"),
        ({"query": {"sparql": "SELECT ?x { ?x nope:a 1 }"}}, "question '2': the reference query is broken"),
        ({"query": {"sparql": "DELETE WHERE { ?s ?p ?o }"}}, "question '2': the reference query is broken"),
        (
            {"query": {"sparql": "ASK { SERVICE <https://kg.example/> { ?s ?p } }"}},
            "question '2': the reference query is",
        ),
    ],
)
def test_wrong_questions_are_named(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    path = write(tmp_path, "q.yml", yaml.safe_dump(broken(**changes), allow_unicode=True, sort_keys=False))
    with pytest.raises(CaseFileError, match=rf"{path}:\d+: {complaint}"):
        load_question_set(path)


def test_ids_may_be_left_out_altogether(tmp_path: Path) -> None:
    data = yaml.safe_load(CHALLENGE)
    for question in data["questions"]:
        del question["id"]
    found = load_question_set(write(tmp_path, "q.yml", yaml.safe_dump(data)))
    assert [question.id for question in found.questions] == ["1", "2"]


def test_ids_that_become_the_same_case_are_refused(tmp_path: Path) -> None:
    lines = [{**GRASP[0], "id": name} for name in ("dev_1", "dev 1")]
    path = write(tmp_path, "dev.jsonl", "\n".join(map(json.dumps, lines)))
    with pytest.raises(
        CaseFileError, match=r"dev.jsonl:2: question 'dev 1': the id differs from 'dev_1' by punctuation"
    ):
        load_question_set(path)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("q.yml", "a: [", "not a YAML file"),
        ("q.yml", "- 1", "has 'dataset' and 'questions', found list"),
        ("q.yml", "", "has 'dataset' and 'questions', found NoneType"),
        ("q.yml", "questions: 3", "has a list 'questions', found int"),
        ("q.yml", "questions: []", "holds no question"),
        ("q.yml", "questions: [1]", "q.yml:1: a question has id, question and query, found 1"),
        ("q.yml", "!!python/object/apply:os.getcwd []", "not a YAML file"),
        ("q.yml", "[" * 5000, "not a YAML file"),
        *(
            ("q.yml", f"questions: []\nx: !!{value}", "not a YAML file: .*value")
            for value in ("timestamp soon", "int ''", "float ''", "bool maybe", "int _")
        ),
        ("q.yml", "questions: &all [*all]", "not a YAML file: nested too deeply, or in itself"),
        ("q.yml", "questions: [&one {id: 1, question: *one}]", "not a YAML file: nested too deeply, or in itself"),
        ("q.yml", "base: &base {questions: [1]}\n<<: *base", "q.yml: a question has id, question and query, found 1"),
        ("q.yml", "dataset: [1]\nquestions: []", "'dataset' has id, prefix and defaultNamespace, found"),
        ("q.yml", "dataset: {prefix: 3}\nquestions: []", "dataset: prefix is a text, found 3"),
        ("q.yml", f"questions: [{{id: 0x{'f' * 5000}}}]", "q.yml:1: an id is a whole number or a text, found 0xf"),
        ("q.json", f'{{"questions": [{{"id": {"1" * 5000}}}]}}', "q.json:1: not JSON: a number has too many digits"),
        (
            "q.json",
            '{"questions": [{"id": 1, "question": [{"language": ["en"], "string": "?"}], "query": {"sparql": "A"}}]}',
            r"question '1': unknown language \"\['en'\]\"",
        ),
        (
            "q.jsonl",
            '{"id": 1, "question": "\\ud800?", "sparql": "ASK {}"}',
            "q.jsonl:1: question '1': the question in 'en' holds half a character",
        ),
        ("q.json", "{", "q.json:1: not JSON"),
        ("q.json", "3", "neither a QALD file"),
        ("q.json", '{"questions": [3]}', "q.json:1: a question is an object, found 3"),
        ("q.json", "[" * 5000, "not JSON"),
        ("q.jsonl", '{"id": 1\n', "q.jsonl:1: not JSON"),
        ("q.jsonl", "\n[1]\n", "q.jsonl:2: a line holds an object"),
        ("q.ttl", "not Turtle", "the graph is no Turtle"),
        ("q.ttl", "<a:a> <a:b> <a:c> .", "holds no question"),
        ("q.csv", "a,b", "question files end in"),
    ],
)
def test_other_files_are_told_apart(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    with pytest.raises(CaseFileError, match=complaint):
        load_question_set(write(tmp_path, name, content))


BOMB = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)), "questions: "]
)
MERGED = "\n".join(
    [
        "a0: &a0 {x: 1, y: 2}",
        *(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 30)),
        "questions: ",
    ]
)


@pytest.mark.parametrize(
    "content", [f"{BOMB}[*a29]", f"{BOMB}[{{id: 1, question: {{en: x}}, query: *a29}}]", f"{MERGED}[*a29]"]
)
def test_few_lines_that_stand_for_billions_of_values_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(CaseFileError, match="its aliases stand for more than 1000000 values; write them out"):
        load_question_set(write(tmp_path, "q.yml", content))


def test_aliases_as_people_write_them_are_read(tmp_path: Path) -> None:
    query = '&ask {sparql: "ASK { ?s ?p ?o }"}'
    content = (
        f"questions:\n- {{id: 1, question: {{en: x}}, query: {query}}}\n- {{id: 2, question: {{en: y}}, query: *ask}}"
    )
    found = load_question_set(write(tmp_path, "q.yml", content))
    assert [(question.id, question.line, question.query) for question in found.questions] == [
        ("1", 2, "ASK { ?s ?p ?o }"),
        ("2", 3, "ASK { ?s ?p ?o }"),
    ]


ONE_MORE = "[] a sh:SPARQLExecutable ; rdfs:comment 'y' ; sh:ask 'ASK {}' ."
SHACL_PARTS = [
    ("ex:a a sh:SPARQLExecutable ; sh:ask 'ASK {}' .", "q.ttl:4: question 'a': the question is missing"),
    ("ex:a a sh:SPARQLExecutable ; rdfs:comment ex:b ; sh:ask 'ASK {}' .", "question 'a': the question is missing"),
    ("ex:a a sh:SPARQLExecutable ; rdfs:comment '<p></p>' ; sh:ask 'ASK {}' .", "the question in 'en' is no text"),
    ("ex:a a sh:SPARQLExecutable ; rdfs:comment 'x' .", "question 'a': a reference query is needed, found None"),
    ("ex:a a sh:SPARQLExecutable ; rdfs:comment 'x' ; sh:select ex:b .", "a reference query is needed, found None"),
    ("ex:a a sh:SPARQLExecutable ; rdfs:comment 'x' ; sh:select 'SELEKT' .", "'a': the reference query is broken"),
    (
        f"{ONE_MORE} ex:a a sh:SPARQLExecutable ; rdfs:comment 'x' ; sh:ask 'ASK {{}}' .",
        "only some questions have an id",
    ),
]


@pytest.mark.parametrize(("triples", "complaint"), SHACL_PARTS)
def test_examples_with_missing_pieces_are_named(tmp_path: Path, triples: str, complaint: str) -> None:
    prefixes = "".join(SHACL.partition("\n\n")[0].replace("@prefix schema: <https://schema.org/> .\n", ""))
    with pytest.raises(CaseFileError, match=complaint):
        load_question_set(write(tmp_path, "q.ttl", f"{prefixes}\n{triples}"))


def test_examples_without_iris_are_numbered_since_blank_nodes_change_their_names(tmp_path: Path) -> None:
    prefixes = SHACL.partition("\n\n")[0]
    path = write(tmp_path, "q.ttl", f"{prefixes}\n{ONE_MORE}\n{ONE_MORE}")
    assert [[one.id for one in load_question_set(path).questions] for _ in range(2)] == [["1", "2"]] * 2


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="cannot be read"):
        load_question_set(tmp_path / "absent.yml")
    (tmp_path / "q.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(CaseFileError, match="not a text in UTF-8"):
        load_question_set(tmp_path / "q.yml")


def test_cases_hold_the_graph_by_name_and_hash(tmp_path: Path) -> None:
    graph = graph_file("shore", write(tmp_path, "shore.ttl", "<a:a> <a:b> <a:c> ."))
    questions = load_question_set(write(tmp_path, "q.yml", CHALLENGE))
    cases = question_cases(questions, {"shore": graph})
    assert [(case.label, case.id) for case in cases] == [
        ("Text2SparqlKgqa-shore-en", "1"),
        ("Text2SparqlKgqa-shore-en", "2"),
        ("Text2SparqlKgqa-shore-de", "1"),
        ("Text2SparqlKgqa-shore-no", "2"),
    ]
    data = cases[2].data
    assert data["question"] == "Wo wächst Lappentang?"
    assert data["graph"] == graph.reference
    assert "<a:b>" not in json.dumps(data)
    assert (data["qname"], data["source"]) == ("shore:1-de", "q.yml:8")
    assert data["prefixes"] == {"s": "https://kg.example/shore/", "": "https://kg.example/shore/"}
    with pytest.raises(CaseFileError, match=r"give --kg shore=FILE or =URL of an endpoint; known are: bay"):
        question_cases(questions, {"bay": graph})


def test_question_files_load_beside_case_files(tmp_path: Path) -> None:
    graph = graph_file("shore", write(tmp_path, "shore.ttl", "<a:a> <a:b> <a:c> ."))
    path = write(tmp_path, "q.yml", CHALLENGE)
    cases = load_case_files(
        [path], tmp_path, discover_tasks(), 1, lambda label, _: label.endswith("-de"), {"shore": graph}
    )
    assert [case.label for case in cases] == ["Text2SparqlKgqa-shore-de"]
    assert is_question_file(path)
    assert is_question_file(tmp_path)  # for its Turtle file
    assert not is_question_file(tmp_path / "cases.toml")


NAMES = st.text("abcXYZ019-_ .", min_size=1, max_size=6).filter(slug)
TEXTS = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and text.isprintable())
QUESTIONS = st.lists(
    st.tuples(NAMES, st.dictionaries(st.sampled_from(["en", "de", "es", "zh", "no"]), TEXTS, min_size=1)),
    min_size=1,
    max_size=6,
    unique_by=lambda item: slug(item[0]),
)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
in_one_folder_briefly = settings(in_one_folder, max_examples=60)


@in_one_folder
@given(QUESTIONS)
def test_what_is_written_is_read(tmp_path: Path, questions: list[tuple[str, dict[str, str]]]) -> None:
    wanted = [(name, {code: text.strip() for code, text in texts.items()}) for name, texts in questions]
    entries = [{"id": name, "question": texts, "query": {"sparql": ASK_BAY}} for name, texts in questions]
    challenge = yaml.safe_dump({"questions": entries}, allow_unicode=True)
    qald = [
        {**entry, "question": [{"language": code, "string": text} for code, text in texts.items()]}
        for entry, (_, texts) in zip(entries, questions, strict=True)
    ]
    for name, content in (("q.yml", challenge), ("q.json", {"questions": qald})):
        found = load_question_set(write(tmp_path, name, content))
        assert [(question.id, dict(question.texts)) for question in found.questions] == wanted
        lines = (tmp_path / name).read_text(encoding="utf-8").split("\n")
        assert all(question.line is not None and 0 < question.line <= len(lines) for question in found.questions)


@in_one_folder
@given(st.text(max_size=60), st.sampled_from(["q.yml", "q.json", "q.jsonl", "q.ttl"]))
def test_no_text_makes_a_loader_fail_otherwise(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", errors="replace", newline="")
    with pytest.raises(CaseFileError, match=name):
        load_question_set(tmp_path / name)


SCALARS = st.sampled_from(
    [
        "x",
        "3",
        "",
        "~",
        "true",
        "2025-13-01",
        "0x",
        "!!int ''",
        "!!timestamp x",
        "!!binary '*'",
        "'\\'",
        "*a",
        "&a [1]",
        "{",
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda row: f"[{', '.join(row)}]")
        | st.dictionaries(st.sampled_from(["en", "sparql", "id", "<<", "3"]), inner, max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        )
    ),
    max_leaves=6,
)
FIELDS = st.dictionaries(st.sampled_from(["id", "question", "query", "features", "<<"]), VALUES, max_size=4)


@in_one_folder_briefly
@given(FIELDS, VALUES)
def test_no_value_at_any_level_makes_a_loader_fail_otherwise(
    tmp_path: Path, fields: dict[str, str], about: str
) -> None:
    entry = {"id": "1", "question": "{en: x}", "query": "'ASK {}'", **fields}
    lines = "\n".join(f"  {key}: {value}" for key, value in entry.items())
    path = write(tmp_path, "q.yml", f"dataset: {about}\nquestions:\n-\n{lines}\n")
    try:
        found = load_question_set(path)
    except CaseFileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017  (either way is right)
    else:
        assert [type(question.id) for question in found.questions] == [str]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "en", "x", "\ud800", "ASK {}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["language", "string", "sparql", "en"]), inner, max_size=3)
    ),
    max_leaves=6,
)
JSON_KEYS = ["id", "uid", "question", "query", "sparql", "sparql_wikidata", "paraphrased_question"]


@in_one_folder_briefly
@given(
    st.dictionaries(st.sampled_from(JSON_KEYS), JSON_VALUES, max_size=5), st.sampled_from(["qald", "lcquad", "grasp"])
)
def test_no_json_at_any_level_makes_a_loader_fail_otherwise(tmp_path: Path, item: dict[str, Any], kind: str) -> None:
    name, content = {
        "qald": ("q.json", {"questions": [item]}),
        "lcquad": ("q.json", [item]),
        "grasp": ("q.jsonl", item),
    }[kind]
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        found = load_question_set(path)
    except CaseFileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017  (either way is right)
    else:
        assert [type(question.id) for question in found.questions] == [str]


@pytest.mark.skipif(not CK25.is_dir(), reason="the published set CK25 is not here")
def test_the_published_set() -> None:
    found = load_question_set(CK25 / "questions.yml")
    assert (found.name, len(found.questions), found.languages) == ("ck25", 50, ("en",))
    assert sum("RESULT_ORDER_MATTERS" in question.features for question in found.questions) == 2
