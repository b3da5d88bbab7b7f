"""Sections of the page on questions: score, seconds and cost side by side, and why answers are wrong."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.records import Answer, Case, Evaluation, Prompt, Question, ScoreSet, TaskInfo, Turn, Usage
from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.mistakes import MOST_EXAMPLES, kind_names, mistakes_view
from pytest_llmkg.reporting.packing import dialogue_index
from pytest_llmkg.reporting.tabular import render_json
from pytest_llmkg.reporting.views import Report, build_report
from pytest_llmkg.store import Run
from tests.builders import FLAT, make_header, make_transcript, make_turn
from tests.reporting.hostile import TEXTS

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Transcript

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
KGQA = TaskInfo("Text2SparqlKgqa", "1", "SPARQL", "Questions.", "last_set_F@2", 3, ("set_F",))
REFERENCE = "SELECT ?right { ?right ?is ?right }"


def asked(
    score: float, *, text: str = "SELECT ?wrong {}", answer: dict[str, Any] | None = None, **more: Any
) -> Transcript:
    """An answer to a question; below 1 it is one that finds too much, with 0 there is no query."""
    scores = {"set_P": score, "set_recall": 1.0 if score else 0.0, "set_F": score, "set_F@2": score}
    info: dict[str, Json] = {"failure": None if score else "missing", "sparql": text if score else None}
    prompt = Prompt.user("prompt", Question(text, "kg", "en"))
    evaluation = Evaluation("scored" if score else "unparsable", (ScoreSet("rules:v1", scores),), info)
    return make_transcript(Turn(prompt, Answer("text", **(answer or {})), evaluation), info=KGQA, **more)


def run_of(*transcripts: Transcript, sealed: bool = False, query: str = REFERENCE, hide: bool = False) -> Run:
    names = dict.fromkeys(one.model for one in transcripts)
    header = replace(make_header(*names, tasks=(FLAT, KGQA)), settings={"hide_cases": hide})
    cases = {f"{t.label}/{t.case}": Case(t.case, t.task, t.label, {"query": query}, sealed) for t in transcripts}
    return Run(header, cases, transcripts)


def example() -> Report:
    return build_report(
        [
            run_of(
                asked(1.0, model="a", case="c1", answer={"seconds": 1.0, "usage": Usage(10, 5, 0.5)}),
                asked(0.5, model="a", case="c2", answer={"seconds": 3.0, "usage": Usage(30, 15, 0.25)}),
                asked(0.0, model="b", case="c1", answer={"seconds": 0.25, "stages": {"model": 0.2}}),
                asked(0.5, model="b", case="c2", answer={"notes": {"untimed": True}}),
                make_transcript(make_turn({"f1": 1.0}), model="c"),
            )
        ]
    )


def section(page: str, ident: str) -> str:
    """A section as text, without its tags."""
    (found,) = re.findall(rf'<section id="{ident}".*?</section>', page, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", " ", found, flags=re.DOTALL)).split())


def test_effort_stands_side_by_side() -> None:
    text = section(render_page(example(), NOW), "effort")
    # 1.5 questions solved in 4 s for 0.75 dollars and 60 tokens; of b nobody knows time and cost.
    assert "a 0.750 2.00 s $0.375 3.00 s 2.67 s $0.500 30 1.00 2 0" in text
    assert "b 0.250 unknown unknown unknown unknown unknown unknown 1.00 2 0" in text
    assert "System F1 Median time" in text
    assert "c 1.000" not in text  # nobody asked it a question
    assert "By stage" in text


def test_wrong_answers_are_counted_with_links_and_examples() -> None:
    report = example()
    page = render_page(report, NOW)
    text = section(page, "mistakes")
    assert "wrong queries 1 of 2 2 of 2" in text
    assert "no query \N{BLACK DIAMOND} the reply holds no query \N{EN DASH} 1 50 %" in text
    assert "too much all right values and others 1 100 % 1 50 %" in text
    assert kind_names(report) == ("no query", "too much")
    place = [view.row.model for view in report.models].index("b")
    assert f'href="#m{place}-e1">1<small>50 %' in page
    assert page.count(f'id="m{place}-e1"') == 1  # where that leads to without scripts
    assert 'href="#d=Text2SparqlKgqa/c2/a/1"' in page
    assert REFERENCE in text
    index = dialogue_index(report)
    assert index["kinds"] == ["no query", "too much"]
    assert {(index["models"][g["m"]], tuple(g.get("r", ()))) for g in index["groups"]} == {
        ("a", (0, 2)),
        ("b", (1, 2)),
        ("c", ()),
    }


def test_other_reports_tell_the_same() -> None:
    report = example()
    data = json.loads(render_json(report, NOW))
    assert [(row["model"], row["label"], row["questions"], row["solved"]) for row in data["questions"]] == [
        ("a", None, 2, 1.5),
        ("b", None, 2, 0.5),
        ("a", "Text2SparqlKgqa", 2, 1.5),
        ("b", "Text2SparqlKgqa", 2, 0.5),
    ]
    assert data["errors"]["models"] == [
        {"model": "a", "answers": 2, "wrong": 1},
        {"model": "b", "answers": 2, "wrong": 2},
    ]
    first = data["errors"]["categories"][0]
    assert (first["model"], first["category"], first["count"], first["is_published"]) == ("a", "too much", 1, False)
    assert first["examples"][0]["reference"] == REFERENCE
    text = render_markdown(report, NOW)
    assert "## F1, seconds and cost of a question" in text
    assert "| too much |  | 1 | 1 |" in text


def test_a_run_without_questions_has_no_such_sections() -> None:
    report = build_report([Run(make_header("m"), {}, (make_transcript(make_turn({"f1": 1})),))])
    page = render_page(report, NOW)
    assert not {'id="effort"', 'id="mistakes"', 'id="f-kind"'} & set(re.findall(r'id="[^"]*"', page))
    data = json.loads(render_json(report, NOW))
    assert (data["questions"], data["errors"]) == ([], {"models": [], "categories": []})
    assert "kinds" not in dialogue_index(report)
    assert mistakes_view(report) is None


def test_all_right_answers_are_said_to_be_so() -> None:
    assert "No answer is wrong." in section(render_page(build_report([run_of(asked(1.0))]), NOW), "mistakes")


def test_examples_do_not_grow_with_models_and_dialogues() -> None:
    def page(models: int, cases: int) -> str:
        held = (
            asked(0.5, model=f"m{m:02d}", case=f"c{c:03d}", text="?x " * 900)
            for m in range(models)
            for c in range(cases)
        )
        report = build_report([run_of(*held, query="?y " * 900)])
        view = mistakes_view(report)
        assert view is not None
        assert [one.model for one in view.kinds[0].examples[:3]] == ["m00", "m01", "m02"]
        assert len({one.case for one in view.kinds[0].examples[:3]}) == 3
        return render_page(report, NOW)

    small, large = (
        re.findall(r'<section id="mistakes".*?</section>', page(*size), re.DOTALL)[0] for size in ((3, 8), (12, 40))
    )
    assert small.count('class="example"') == large.count('class="example"') == MOST_EXAMPLES
    assert len(large) < 1.4 * len(small)


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_stay_texts_in_examples(text: str) -> None:
    def page(text: str) -> str:
        case = replace(asked(0.5, text=text), case=f"c{text}", label=f"l{text}", model=f"m{text}")
        return render_page(build_report([run_of(case, query=text)]), NOW)

    hostile, harmless = page(text), page("harmless")
    tags = [
        re.findall(r"<(\w+)", re.sub(r"<script.*?</script>|<wbr>|<title>.*?</title>", "", one, flags=re.DOTALL))
        for one in (hostile, harmless)
    ]
    assert sorted(tags[0]) == sorted(tags[1])
    examples = re.findall(r'<div class="example">.*?<pre tabindex="0">\n(.*?)</pre>', hostile, re.DOTALL)
    assert [html.unescape(one) for one in examples] == [visible(text)]


def test_a_sealed_answer_is_counted_but_not_shown() -> None:
    run = run_of(asked(0.5, text="secret words"), sealed=True, query="secret query", hide=True)
    report = build_report([run])
    page = render_page(report, NOW)
    assert "too much" in section(page, "mistakes")
    assert "not shown, since the case is sealed" in section(page, "mistakes")
    assert "secret" not in page + render_json(report, NOW) + render_markdown(report, NOW)
    assert report.figures.questions[0].questions == 1


def test_the_sections_of_report_json_are_described() -> None:
    text = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `([a-z_.]+)`", text, re.MULTILINE))
    data = json.loads(render_json(example(), NOW))
    assert described >= {f"questions.{key}" for key in data["questions"][0]}
    assert described >= {f"errors.categories.{key}" for key in data["errors"]["categories"][0]}
    (words,) = re.findall(r"^\| `errors.categories.examples` \|(.*)$", text, re.MULTILINE)
    assert all(f"`{key}`" in words for key in data["errors"]["categories"][0]["examples"][0])
