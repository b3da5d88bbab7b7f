from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from tests import strategies
from tests.builders import DIALOGUE, FLAT, make_header, make_transcript, make_turn
from tests.reporting.hostile import TEXTS, run_with

if TYPE_CHECKING:
    from pathlib import Path

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
        if "style" not in self._open:
            self.text += data


def page_of(run: Run) -> str:
    return render_page(build_report([run]), NOW)


def elements(page: Page) -> Counter[str]:
    """Elements by name, without the break hints, whose number depends on the length of names."""
    return Counter(tag for tag in page.tags if tag != "wbr")


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium on this machine")
    return found


def dump_dom(chromium: str, page: Path, profile: Path) -> str:
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
        "--disable-background-networking",
        "--disable-component-update",
        "--dump-dom",
        f"--user-data-dir={profile}",
    )
    done = subprocess.run([chromium, *flags, page.as_uri()], capture_output=True, check=True, timeout=120)
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_adds_an_element_or_attribute(text: str) -> None:
    hostile, harmless = Page(page_of(run_with(text))), Page(page_of(run_with(HARMLESS)))
    assert elements(hostile) == elements(harmless)
    assert hostile.attributes == harmless.attributes
    assert hostile.answers == [f"\n{visible(text)}"] * len(hostile.answers)
    assert "script" not in hostile.tags


def test_chromium_runs_nothing_and_shows_the_text(chromium: str, tmp_path: Path) -> None:
    text = " ".join(TEXTS)
    path = tmp_path / "page.html"
    path.write_text(page_of(run_with(text)), encoding="utf-8")
    shown = Page(dump_dom(chromium, path, tmp_path / "profile"))
    expected = Page(page_of(run_with(HARMLESS)))
    assert shown.title == "Leaderboard: language models on knowledge graphs"
    table_body = Counter({"tbody": elements(shown)["tbody"] - elements(expected)["tbody"]})  # a browser adds them
    assert elements(shown) == elements(expected) + table_body
    assert shown.attributes == expected.attributes
    assert len(shown.answers) == len(expected.answers) > 0
    assert {answer.removeprefix("\n") for answer in shown.answers} == {visible(text)}


def test_page_is_one_file_with_a_strict_policy() -> None:
    text = page_of(run_with(HARMLESS))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].split("; ")[:2] == ["default-src 'none'", "style-src 'unsafe-inline'"]
    assert not re.search(r"\b(?:src|srcset|action|data)=|https?://|url\(|@import|<script|<link", text)
    assert set(re.findall(r'href="(.)', text)) == {"#"}


def test_every_link_has_its_target_once() -> None:
    text = page_of(run_with(HARMLESS))
    ids = re.findall(r' id="([^"]+)"', text)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert len(ids) == len(set(ids))


def test_long_answer_is_cut_with_a_note() -> None:
    transcript = make_transcript(make_turn({"f1": 1}, text="x" * 1_000_000))
    text = page_of(Run(make_header("m"), {}, (transcript,)))
    assert len(text) < 100_000
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
        "no language model; not ranked: 1 of 2 task labels",
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
    text = page_of(many(41, 4, 20))  # 3280 dialogues in 164 groups: 6 of each are 984, 7 would be 1148
    assert text.count('class="dialogue"') == 984
    assert "984 of 3,280 dialogues" in text
    assert "6 of 20 dialogues" in text


def test_empty_run_has_a_page() -> None:
    text = page_of(Run(make_header("m"), {}, ()))
    assert "not ranked: 0 of 0 task labels" in text


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
    assert "none" not in text
    assert "empty" not in text
