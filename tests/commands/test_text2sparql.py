"""``llmkg text2sparql``: the challenge's files in and out; all of them invented here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.cli import main

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = """\
@prefix s: <https://kg.example/shore/> .
s:kelp s:growsIn s:bay ; s:metres 40 . s:wrack s:growsIn s:bay ; s:metres 2 . s:dulse s:growsIn s:cove ; s:metres 2 .
"""
QUESTIONS = """\
dataset: {id: "https://kg.example/2025/shore/", prefix: shore, defaultNamespace: "https://kg.example/shore/"}
questions:
  - id: 1
    question: {en: "What grows in the bay?", de: "Was waechst in der Bucht?"}
    query: {sparql: "SELECT ?x { ?x :growsIn :bay }"}
  - id: 2
    question: {en: "Which is the smallest?", de: "Was ist am kleinsten?"}
    features: [RESULT_ORDER_MATTERS]
    query: {sparql: "SELECT ?x { ?x :metres ?m } ORDER BY ?m LIMIT 1"}
  - id: 3
    question: {en: "Does kelp grow in the cove?", de: "Waechst Kelp in der Bucht?"}
    query: {sparql: "ASK { :kelp :growsIn :cove }"}
"""
SHORE = "https://kg.example/shore/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shore.ttl").write_text(GRAPH)
    (tmp_path / "q.yml").write_text(QUESTIONS)
    return tmp_path


def write(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data))
    return str(path)


def answers(**queries: str) -> list[dict[str, str]]:
    """Answers by question and language, e.g. ``q1_en``."""
    return [
        {"qname": f"shore:{name[1]}-{name[3:]}", "query": query, "question": "?", "dataset": "d"}
        for name, query in queries.items()
    ]


def test_result_sets_are_scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true = write(folder / "true.json", {"a:1-en": {"x": 1}, "a:2-en": {"y": 1}, "order_required": ["a:2-en"]})
    pred = write(folder / "pred.json", {"a:1-en": {"x": 1, "z": 1}, "a:2-en": {"y": 1}})
    assert main(["text2sparql", "evaluate", "ME", true, pred]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["a:1-en"] == {"set_P": 0.5, "set_recall": 1.0, "set_F": 2 / 3}
    assert found["a:2-en"]["ndcg"] == 1.0
    assert found["average"]["set_F_ndcg"] == pytest.approx((2 / 3 + 1 + 1) / 3)


def test_answers_are_run_and_scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = answers(
        q1_en="SELECT ?x { ?x :growsIn :bay }",
        q1_de="SELECT ?x {",
        q2_en=f"SELECT ?x {{ VALUES ?x {{ <{SHORE}kelp> }} }}",
        q2_de="SELECT ?x { ?x :metres ?m } ORDER BY ?m LIMIT 1",
        q3_en="ASK { :kelp :growsIn :cove }",
    )
    arguments = [str(folder / "q.yml"), write(folder / "answers.json", given), "--kg", f"shore={folder}/shore.ttl"]
    out = folder / "eval.json"
    assert main(["text2sparql", "evaluate", "ME", *arguments, "-l", "['en','de']", "-o", str(out)]) == 0
    told = capsys.readouterr().err
    assert "1 questions have no answer in" in told
    assert "count as empty results" in told
    assert "1 of 6 queries fail and have empty results (first: shore:1-de: " in told
    found = json.loads(out.read_text())
    assert {name: row["set_F"] for name, row in found.items()} == {
        "shore:1-en": 1.0,
        "shore:1-de": 0.0,
        "shore:2-en": 0.0,
        "shore:2-de": 1.0,
        "shore:3-en": 0.0,  # false for false
        "shore:3-de": 0.0,  # not answered, which the challenge's `query` takes for an empty result
        "average": pytest.approx(2 / 6),
        "average-en": pytest.approx(1 / 3),
        "average-de": pytest.approx(1 / 3),
    }
    assert found["shore:2-de"]["ndcg"] == 1.0
    # never overwritten
    assert main(["text2sparql", "evaluate", "ME", *arguments, "-o", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_language_without_any_answer_was_not_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = answers(q1_en="SELECT ?x { ?x :growsIn :bay }", q3_en=" ")
    command = ["text2sparql", "evaluate", "ME", str(folder / "q.yml"), write(folder / "answers.json", given)]
    command += ["--kg", f"shore={folder}/shore.ttl"]

    def scored(*options: str) -> list[str]:
        assert main([*command, *options]) == 0
        return [name for name in json.loads(capsys.readouterr().out) if name.startswith("shore:")]

    english = ["shore:1-en", "shore:2-en", "shore:3-en"]
    every = [name for n in (1, 2, 3) for name in (f"shore:{n}-en", f"shore:{n}-de")]
    assert scored() == scored("-l", "en") == english
    assert scored("-l", "en,de") == scored("--missing-as-empty") == every


def test_questions_without_a_result_set_are_left_out_unless_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = write(folder / "true.json", {"a:1-en": {"x": 1}, "a:2-en": {"y": 1}})
    command = ["text2sparql", "evaluate", "ME", true, write(folder / "pred.json", {"a:1-en": {"x": 1}})]
    assert main(command) == 0
    seen = capsys.readouterr()
    assert "1 questions of" in seen.err
    assert json.loads(seen.out)["average"]["set_F"] == 1.0
    assert main([*command, "--missing-as-empty"]) == 0
    assert json.loads(capsys.readouterr().out)["average"]["set_F"] == 0.5


def test_a_published_file_tells_where_the_order_counts_if_nothing_else_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"a:1-en": {"x": 1}, "a:2-en": {"y": 1}}
    true, pred = write(folder / "true.json", sets), write(folder / "pred.json", sets)
    one = {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0}
    rows = {"a:1-en": one, "a:2-en": one | {"ndcg": 1.0}, "average": one | {"ndcg": 1.0, "set_F_ndcg": 1.0}}
    published = write(folder / "eval.json", rows)
    assert main(["text2sparql", "evaluate", "ME", true, pred, "--published", published]) == 0
    assert capsys.readouterr().out == "ME: 12 of 12 values equal the published ones\n"


def test_agreement_with_a_published_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = {"a:1-en": {"x": 1}, "a:1-es": {"x": 1}}
    true, pred = write(folder / "true.json", sets), write(folder / "pred.json", sets)
    one = {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0}
    by_language = {f"{name}-{code}": 1.0 for name in one for code in ("en", "es")}
    published = {"a:1-en": one, "a:1-es": one, "average": {**one, **by_language}}
    command = ["text2sparql", "evaluate", "ME", true, pred, "--published", str(folder / "eval.json")]
    write(folder / "eval.json", published)
    assert main(command) == 0
    assert capsys.readouterr().out == "ME: 15 of 15 values equal the published ones\n"
    write(folder / "eval.json", {**published, "a:1-es": {**one, "set_F": 0.5}})
    assert main(command) == 1
    assert "14 of 15" in (out := capsys.readouterr().out)
    assert "a:1-es set_F: 1.0, published 0.5" in out
    write(folder / "eval.json", {"a:1-en": one, "a:1-es": one, "average": one, "average-en": one, "average-es": one})
    assert main(command) == 0


@pytest.mark.parametrize(
    ("true", "pred", "complaint"),
    [
        ({"a:1-en": {}}, {"a:2-en": {}}, "'a:2-en' is not in"),
        ({"a:1-en": []}, {"a:1-en": {}}, "'a:1-en': a result set maps values to 0 or 1, found []"),
        ({"a:1-en": {"x": "1"}}, {}, "a result set maps values to 0 or 1"),
        ({"a:1-en": {}}, {"a:1-en": {"boolean": True}}, "a result set maps values to 0 or 1, found {'boolean': True}"),
        (3, {}, "neither a list of answers nor an object of result sets"),
        ({"a:1-en": {}, "order_required": 3}, {}, "'order_required' must be a list"),
        ({"a:1-en": {}}, [{"qname": "a:1-en", "query": None}], "'a:1-en': 'query' must be a text, found None"),
        ({"a:1-en": {}}, [{"query": "ASK {}"}], "answer 1: an answer is an object with 'qname' and 'query'"),
        ({"a:1-en": {}}, [{"qname": "a:1-en", "query": "ASK {}"}], "holds answers; give --questions and --kg"),
        ([], {}, "holds answers; result sets or a question file are needed here"),
        ({"a:1-en": {}}, {}, "pred.json: nothing in it answers a question of"),
    ],
)
def test_wrong_files(folder: Path, capsys: pytest.CaptureFixture[str], true: Any, pred: Any, complaint: str) -> None:
    arguments = [write(folder / "true.json", true), write(folder / "pred.json", pred)]
    assert main(["text2sparql", "evaluate", "ME", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_of_several_answers_to_a_question_the_first_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [*answers(q1_en="SELECT ?x { ?x :growsIn :bay }"), *answers(q1_en="SELECT ?x {")]
    (folder / "answers.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(given).encode())  # as some tools begin a file
    files = [str(folder / "q.yml"), str(folder / "answers.json"), "--kg", f"shore={folder}/shore.ttl"]
    assert main(["text2sparql", "evaluate", "ME", *files]) == 0
    assert json.loads(capsys.readouterr().out)["shore:1-en"]["set_F"] == 1.0


def test_a_language_that_no_question_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = write(folder / "sets.json", {"a:1-en": {"x": 1}})
    assert main(["text2sparql", "evaluate", "ME", sets, sets, "-l", "en,fr"]) == 2
    assert f"--languages fr: no question of {sets} has it in its name" in capsys.readouterr().err


def test_check_lists_what_is_odd(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = write(
        folder / "true.json",
        {
            "shore:1-en": {f"{SHORE}kelp": 1, f"{SHORE}wrack": 1},
            "shore:2-en": {f"{SHORE}wrack": 1},
            "shore:3-en": {"true": 0},
        },
    )
    command = ["text2sparql", "check", str(folder / "q.yml"), "--reference", reference]
    assert main([*command, "--kg", f"shore={folder}/shore.ttl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{folder}/q.yml:6: question '2': LIMIT takes 1 of 2 equal rows: engines may choose otherwise" in lines
    assert any("question '3': is false" in line for line in lines)
    assert lines[-2] == "shore: 3 of 3 reference queries run"
    assert lines[-1].startswith(("shore: 3 of 3 results equal", "shore: 2 of 3 results equal"))
    assert main(["text2sparql", "check", str(folder / "q.yml"), "--kg", f"bay={folder}/shore.ttl"]) == 2
    assert "give the graph of this set: --kg shore=FILE" in capsys.readouterr().err


def test_check_compares_with_whatever_language_was_published(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = write(folder / "true.json", {"shore:1-de": {f"{SHORE}kelp": 1}, "shore:3-de": {"true": 0}})
    command = ["text2sparql", "check", str(folder / "q.yml"), "--reference", reference]
    assert main([*command, "--kg", f"shore={folder}/shore.ttl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("question '1': differs: 0 values are missing here, 1 are only here" in line for line in lines)
    assert lines[-1].startswith("shore: 1 of 2 results equal")


def test_check_without_a_graph_parses_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.yml").write_text(QUESTIONS.replace("ASK { :kelp", "ASK { kelp"))
    assert main(["text2sparql", "check", str(folder / "q.yml")]) == 1
    out = capsys.readouterr().out
    assert f"{folder}/q.yml:10: question '3': does not parse" in out
    assert "[" not in out, "the classes of characters of a grammar help nobody"
    assert "2 of 3 reference queries parse" in out


def test_a_reference_query_that_does_not_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.yml").write_text(
        QUESTIONS.replace("ASK { :kelp", "ASK { SERVICE <https://kg.example/> { ?s ?p ?o } :kelp")
    )
    assert main(["text2sparql", "check", str(folder / "q.yml"), "--kg", f"shore={folder}/shore.ttl"]) == 1
    assert "question '3': does not run: SERVICE is not allowed" in capsys.readouterr().out


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("evaluate", "check"):
        with pytest.raises(SystemExit):
            main(["text2sparql", verb, "--help"])
        assert f"example: llmkg text2sparql {verb}" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["text2sparql"])
