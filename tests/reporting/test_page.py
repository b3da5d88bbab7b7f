from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from pytest_llmkg.records import Answer, Case, FailedCall, Usage
from pytest_llmkg.reporting.dialogues import case_view, dialogue_view
from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.overview import run_facts
from pytest_llmkg.reporting.tabular import render_json
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from pytest_llmkg.suite_signature import signature_digest
from tests import strategies
from tests.builders import DIALOGUE, FLAT, make_header, make_transcript, make_turn
from tests.reporting.hostile import TEXTS, run_with

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json
    from pytest_llmkg.records import Transcript

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HARMLESS = "harmless"
VOID = {"meta", "wbr", "br", "rect"}


class Page(HTMLParser):
    """Elements, attributes and the texts of answers of a page, as a browser would read them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.answers: list[str] = []
        self.title = ""
        self.text = ""
        self.markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL)
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update((tag, name) for name, _ in attrs)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "pre":
            self.answers.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "pre":
            self.answers[-1] += data
        if self._open and self._open[-1] == "title":
            self.title += data
        if "style" not in self._open and "script" not in self._open:
            self.text += data


def page_of(run: Run) -> str:
    return render_page(build_report([run]), NOW)


def elements(page: Page) -> Counter[str]:
    """Elements by name, without the break hints, whose number depends on the length of names."""
    return Counter(tag for tag in page.tags if tag != "wbr")


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_adds_an_element_or_attribute(text: str) -> None:
    hostile, harmless = Page(page_of(run_with(text))), Page(page_of(run_with(HARMLESS)))
    assert elements(hostile) == elements(harmless)
    assert hostile.attributes == harmless.attributes
    assert hostile.answers == [f"\n{visible(text)}"] * len(hostile.answers)
    assert hostile.tags.count("script") == 3  # the index, the dialogues, and the page's own


def test_page_is_one_file_with_a_strict_policy() -> None:
    text = page_of(run_with(HARMLESS))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert html.unescape(policy[1]).split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert len(script) == 1
    markup = text.replace(script[0], "").replace("http://www.w3.org/", "")  # names of XML namespaces
    assert not re.search(r"\b(?:src|srcset|action)=|https?://|@import|<link", markup)
    assert set(re.findall(r"url\((.)", markup)) <= {"#"}  # inside of plots
    assert set(re.findall(r'href="(.)', markup)) == {"#"}


def test_every_link_has_its_target_once() -> None:
    text = page_of(run_with(HARMLESS))
    ids = re.findall(r' id="([^"]+)"', text)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert len(ids) == len(set(ids))


def test_long_answer_is_cut_with_a_note() -> None:
    transcript = make_transcript(make_turn({"f1": 1}, text="x" * 1_000_000))
    text = page_of(Run(make_header("m"), {}, (transcript,)))
    assert len(text) < 250_000
    assert "the whole answer has 1,000,000 characters and is in" in Page(text).text.replace("\n", " ")
    assert "x" * 20_000 in text
    assert "x" * 20_001 not in text


def test_page_names_what_a_reader_must_know() -> None:
    transcripts = (
        make_transcript(make_turn({"f1": 0.25}), model="symbolic"),
        make_transcript(make_turn({"f1": 0.75}, "unparsable"), model="m"),
        make_transcript(model="m", case="c2", error="endpoint down"),
        make_transcript(
            make_turn({"combined": 0.5, "answerParse": 1}, feedback="syntax"),
            make_turn({"combined": 1, "answerParse": 1}),
            model="m",
            info=DIALOGUE,
        ),
    )
    text = Page(page_of(Run(make_header("symbolic", "m"), {}, transcripts, truncated=True))).text
    for expected in (
        "2 models on 2 task labels, 4 dialogues. Page made 2026-11-30 12:00 UTC.",
        "reference: no language model; its mean is over 1 task label, those of the ranked over 2",
        "ends in the middle of a line",
        "endpoint down",
        "then feedback: syntax",
        "max_combined",
        "rules:v1",
        FLAT.summary,
        "0.875",  # (0.75 + 1.0) / 2
    ):
        assert expected in text


def many(models: int, labels: int, cases: int) -> Run:
    names = [f"vendor/a-model-with-a-rather-long-name-{number}" for number in range(models)]
    transcripts: list[Transcript] = [
        make_transcript(make_turn({"f1": 0.5}), model=name, label=f"Flat-{label}", case=f"c{case}")
        for name in names
        for label in range(labels)
        for case in range(cases)
    ]
    return Run(make_header(*names), {}, tuple(transcripts))


def test_many_dialogues_are_shared_out_and_the_rest_is_named() -> None:
    text = page_of(many(41, 4, 20))  # 3280 dialogues in 164 groups: 2 of each are 328, 3 would be 492
    assert text.count('class="dialogue"') == 328
    assert "Without scripts: 328 of 3,280 dialogues" in text
    assert "2 of 20 dialogues" in text


NOTHING = "There is no ranking: no value"


@pytest.mark.parametrize(
    ("run", "statement"),
    [
        (Run(make_header("m"), {}, ()), NOTHING),
        (Run(make_header(), {}, ()), NOTHING),
        (Run(make_header("m"), {}, (make_transcript(error="down"),)), NOTHING),
        (Run(make_header("m"), {}, (make_transcript(make_turn({"f1": 1})),)), "a single value: its spread is unknown"),
        (
            Run(make_header("m"), {}, tuple(make_transcript(make_turn({"f1": 1}), case=f"c{n}") for n in range(5))),
            "all 5 values that could differ are equal, so they show no spread",
        ),
        (
            Run(make_header("m", "n"), {}, (make_transcript(make_turn({"f1": 1})),)),
            "not ranked: 0 of 1 task labels",
        ),
        (
            Run(
                make_header("m", "n"),
                {},
                (
                    make_transcript(make_turn({"f1": 1})),
                    make_transcript(make_turn({"f1": 1}), model="n"),
                    make_transcript(make_turn({"combined": 1}), info=DIALOGUE),
                ),
            ),
            "not ranked: 1 of 2 task labels",
        ),
        (Run(make_header("m", tasks=()), {}, (make_transcript(make_turn({"f1": 1})),)), "1 without headline score"),
    ],
)
def test_what_cannot_be_counted_is_said_without_a_number(run: Run, statement: str) -> None:
    report = build_report([run])
    page = Page(render_page(report, NOW))
    assert statement in page.text
    assert not re.search(r"\bnan\b|\binf\b", page.markup, re.IGNORECASE)
    json.loads(render_json(report, NOW))
    assert all(len(line) <= 80 for line in leaderboard_lines(report, 80))


@settings(max_examples=25)
@given(strategies.texts)
def test_any_text_is_shown_as_it_is(text: str) -> None:
    page = Page(page_of(Run(make_header("m"), {}, (make_transcript(make_turn({"f1": 1}, text=text)),))))
    assert page.answers[-1] == f"\n{visible(text)}"


def test_settings_that_say_nothing_are_left_out() -> None:
    kept: dict[str, Json] = {"tasks": ["Rdf*", "Sparql*"], "limits": {"a": 1}, "none": None, "empty": []}
    header = replace(make_header("m"), settings=kept)
    text = Page(page_of(Run(header, {}, ()))).text
    assert "Rdf*, Sparql*" in text
    assert "{'a': 1}" in text
    facts = {name for name, _ in run_facts(header)}
    assert {"tasks", "limits"} <= facts
    assert not {"none", "empty"} & facts


def test_settings_that_others_read_are_told_in_words() -> None:
    suite: dict[str, Json] = {"seed": 42, "cases": {"Flat": "sha256:0"}}
    told: dict[str, Json] = {
        "suite": suite,
        "planned": {"m": {"Flat": 3, "Talk": 4}},
        "merged": ["one", "two"],
        "shard": "1/2",
        "sealed_lines": {"key": "x"},
        "hide_cases": True,
        "wrapped": {"my-rag": {"model": "openai/x", "temperature": 0.0}},
    }
    facts = dict(run_facts(replace(make_header("m"), settings=told)))
    assert facts["suite signature"] == signature_digest(suite)
    assert facts["dialogues planned"] == "7"
    assert facts["joined from"] == "one, two"
    assert facts["shard"] == "1/2"
    assert facts["texts of sealed cases"] == "left out"
    assert facts["inside my-rag"] == "model openai/x, temperature 0.0"
    assert not {"suite", "planned", "merged", "sealed_lines", "hide_cases", "wrapped"} & facts.keys()


def test_dialogues_that_were_not_run_are_counted() -> None:
    planned: dict[str, Json] = {"m": {"Flat": 3, "Talk": 4}, "lost": {"Flat": 2}}
    header = replace(make_header("m", "lost"), settings={"planned": planned})
    report = build_report([Run(header, {}, (make_transcript(make_turn({"f1": 1})),))])
    assert report.not_run == {("lost", "Flat"): 2, ("m", "Flat"): 2, ("m", "Talk"): 4}
    assert {view.row.model: view.not_run for view in report.models} == {"m": 6, "lost": 2}
    assert "8 planned dialogues not run (m 6, lost 2)" in Page(render_page(report, NOW)).text


def test_plans_of_shards_add_up_and_those_of_repeated_runs_do_not() -> None:
    def run(shard: str | None, case: str) -> Run:
        header = replace(make_header("m"), settings={"planned": {"m": {"Flat": 2}}, "shard": shard})
        return Run(header, {}, (make_transcript(make_turn({"f1": 1}), case=case),))

    assert build_report([run("1/2", "a"), run("2/2", "b")]).not_run == {("m", "Flat"): 2}
    assert build_report([run(None, "a"), run(None, "b")]).not_run == {}


def test_troubles_of_calls_are_shown() -> None:
    failed = FailedCall("http://x.invalid: too many", 429, seconds=0.5)
    answer = Answer("text", "length", Usage(10, 5, 0.01, 4, 3), 1.0, "served", "thinking", ("seed",), (failed,))
    turn = replace(make_turn({"f1": 1}), answer=answer)
    lost = replace(make_transcript(case="c2", error="gave up"), failed_calls=(FailedCall("no route"),))
    report = build_report([Run(make_header("m"), {}, (make_transcript(turn), lost))])
    text = Page(render_page(report, NOW)).text
    for expected in (
        "2 (1 HTTP 429, 1 no status)",
        "settings that endpoints refused",
        "thinking",
        "length 1",
        "served",
    ):
        assert expected in text
    (calls,) = [row["calls"] for row in json.loads(render_json(report, NOW))["ranking"]]
    assert (calls["failed_calls"], calls["retried"], calls["dropped"]) == (2, 1, [["seed", 1]])
    assert (calls["cached_tokens"], calls["reasoning_tokens"]) == (4, 3)


def test_long_tables_of_very_many_models_are_cut_and_say_so() -> None:
    names = [f"m{number:03}" for number in range(101)]
    talks = tuple(make_transcript(make_turn({"f1": number / 101}), model=name) for number, name in enumerate(names))
    page = Page(render_page(build_report([Run(make_header(*names), {}, talks)]), NOW)).text
    assert "There is no leader group: the 5,050 pairs of 101 models are too many" in page
    assert "by f1: the first 100 of 101; each model above has its own" in " ".join(page.split())


def test_the_reference_of_a_count_of_friends_is_the_node_that_is_asked_for() -> None:
    data: dict[str, Json] = {"specialNodeIri": "https://kg.example/person-4", "specialFriends": ["person-1"]}
    case = Case("c1", "Flat", "Flat", data)
    view = dialogue_view(make_transcript(make_turn({"f1": 1})), FLAT, case)
    assert view.reference is not None
    assert (view.reference_name, view.reference.text) == ("specialNodeIri", "https://kg.example/person-4")
    assert [name for name, _ in case_view(case).references] == ["specialNodeIri"]


def test_looking_around_is_named_and_no_gain() -> None:
    looked = (
        make_turn({"combined": 0}, "unparsable", feedback="observation"),
        make_turn({"combined": 1, "answerParse": 1}),
    )
    talk = make_transcript(*looked, info=replace(DIALOGUE, name="Explore"))
    other = make_transcript(make_turn({"combined": 0}, feedback="syntax"), make_turn({"combined": 1}), info=DIALOGUE)
    header = make_header("m", tasks=(DIALOGUE, replace(DIALOGUE, name="Explore")))
    report = build_report([Run(header, {}, (talk, other))])
    text = " ".join(Page(render_page(report, NOW)).text.split())
    assert {row.label for row in report.figures.gains} == {"Talk"}
    assert "Not here: Explore, where models look around before they answer" in text
    assert "Turn 1 looked around" in text
    assert "told what it saw, or that it may look no more: observation" in text


def test_repeated_answers_are_listed_by_rank_and_good_is_said_plainly() -> None:
    talks = tuple(
        make_transcript(make_turn({"f1": value}), model=model, case=f"c{case}", iteration=iteration)
        for model, value in (("a-last", 0.25), ("m-first", 1.0), ("z-second", 0.5))
        for case in range(3)
        for iteration in (1, 2)
    )
    run = Run(replace(make_header("a-last", "m-first", "z-second"), iterations=2), {}, talks)
    text = " ".join(Page(page_of(run)).text.split())
    table = text.partition("With k = 2, means over task labels")[2]
    assert re.findall("m-first|z-second|a-last", table)[:3] == ["m-first", "z-second", "a-last"]
    assert "An answer is good if its score is 1." in text
