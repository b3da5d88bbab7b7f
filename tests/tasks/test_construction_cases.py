"""The shipped construction cases: each can be won, is lost by silence, and asks for what its sheet or text says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.contracts import GraphText
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.metrics.normal_form import nt_triples
from pytest_llmkg.metrics.turtle_block import find_block
from pytest_llmkg.records import Answer, Case
from pytest_llmkg.tasks import discover_tasks
from tests.case_texts import case_paths

if TYPE_CHECKING:
    from pytest_llmkg.contracts import KgEngine

TASKS = discover_tasks()
ROOT = fixtures_root()
FILES = case_paths("fact_extract", "turtle_errors", "turtle_sample_generation")
CASES = load_case_files(FILES, ROOT / "graphs", TASKS, seed=20_26)
SHEETS = [case for case in CASES if case.task == "FactExtractStatic"]
FAULTY = [case for case in CASES if case.task == "TurtleErrorsStatic"]
SIZED = [case for case in CASES if case.task == "TurtleSampleGeneration"]


def name_of(case: Case) -> str:
    return f"{case.label}-{case.id}"


def perfect(case: Case) -> str:
    if "reference" in case.data:
        return case.text("reference")
    n = case.integer("n")
    rows = [f":p{i} a foaf:Person ; foaf:knows :p{(i + 1) % n} , :p{(i + 2) % n} ." for i in range(n)]
    return "\n".join(["@prefix : <urn:x:> .", "@prefix foaf: <http://xmlns.com/foaf/0.1/> .", *rows])


def graph(case: Case, field: str) -> GraphText:
    return GraphText(case.text(field), "turtle")


def parses(text: str) -> bool:
    try:
        list(pyoxigraph.parse(text, pyoxigraph.RdfFormat.TURTLE))
    except SyntaxError:
        return False
    return True


def test_there_are_cases_of_all_three() -> None:
    assert (len(SHEETS), len(FAULTY), len(SIZED)) == (4, 6, 4)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_perfect_answer_gets_1_and_silence_0(case: Case, kg: KgEngine) -> None:
    task = TASKS.get(case.task)
    headline = task.info.headline
    best, worst = (task.evaluate(case, Answer(text), kg) for text in (perfect(case), ""))
    assert best.outcome == "scored"
    assert best.scores()[headline] == pytest.approx(1)
    assert best.scores()[headline.removesuffix("@2") + "@2"] == pytest.approx(1)
    assert worst.outcome == "no_answer"
    assert worst.scores()[headline] == 0
    assert set(worst.score_sets[1].values.values()) - {-1} == {0}
    assert task.evaluate(case, Answer("I am sorry, but I cannot help."), kg).scores()[headline] == 0


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_prompt_leaves_no_place_open_and_shows_no_reference(case: Case, kg: KgEngine) -> None:
    (message,) = TASKS.get(case.task).prompt(case, kg).messages
    assert "{" not in message.text
    assert "reference" not in case.data or case.text("reference").strip() not in message.text
    assert str(case.data.get("note", "no note")) not in message.text


@pytest.mark.parametrize("case", SHEETS, ids=name_of)
def test_every_value_of_a_reference_stands_in_its_sheet(case: Case, kg: KgEngine) -> None:
    triples = [*nt_triples(kg.parse_tolerantly(graph(case, "reference")).triples)]
    shown = f"{case.text('name')}\n{case.text('maker')}\n{case.text('sheet')}"
    spaces = (case.text("valueNamespace"), case.text("thingNamespace"))
    lists = {f"<{case.text(f'{name}ListProperty')}>": name for name in ("main", "second")}
    assert 30 <= len(triples) <= 34
    assert sum(lists.get(t.predicate) == "main" for t in triples) in (13, 14)
    assert sum(lists.get(t.predicate) == "second" for t in triples) in (4, 5)
    for triple in triples:
        if triple.predicate in lists:
            assert triple.object.startswith(f"<{spaces[0]}")
            assert triple.object[1:-1].removeprefix(spaces[0]).replace("_", " ") in shown
        if triple.predicate == f"<{case.text('valueProperty')}>":
            number = float(triple.object.split('"')[1])
            assert re.search(rf"(?<![\d.]){number:g}(?![\d.]*\d)", shown)


@pytest.mark.parametrize("case", FAULTY, ids=name_of)
def test_faulty_documents_are_faulty_for_two_parsers_and_repaired_by_few_signs(case: Case, kg: KgEngine) -> None:
    broken, reference = case.text("broken"), case.text("reference")
    assert not parses(broken)
    assert parses(reference)
    assert len(kg.parse_tolerantly(graph(case, "broken")).dropped_lines) >= 1
    assert 0 < abs(len(reference) - len(broken)) <= 12
    assert 22 <= len(reference.strip().split("\n")) <= 26
    for text in (broken, reference):
        assert find_block(text, case.text("blockStart"), case.text("blockEnd")).text == text.strip()
