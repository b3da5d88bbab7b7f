from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from pytest_llmkg.analysis.comparability import Side, same_models
from pytest_llmkg.records import ModelSpec
from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.comparison import ComparisonView, build_comparison
from pytest_llmkg.reporting.comparison_page import render_comparison
from pytest_llmkg.reporting.comparison_text import (
    comparison_json,
    comparison_markdown,
    p_value,
    shown_cases,
    signed,
    summary_sentence,
)
from tests.hostile.texts import INJECTIONS
from tests.run_pairs import Scores, header_of, one_model, side, transcripts_of

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
OLD_SCORES = {
    **one_model([1.0, 1.0, 0.5, 0.2, 1.0, 0.9], label="A"),
    **one_model([(1.0,) * 8, (0.5,) * 8], label="B"),
    **one_model([1.0, None], label="C"),
}
NEW_SCORES = {
    **one_model([0.0, 1.0, 1.0, 0.1, 1.0, 0.8], label="A"),
    **one_model([(0.0,) * 8, (0.5,) * 8], label="B"),
    **one_model([None, 1.0], label="C"),
}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def view_of(
    old: Scores, new: Scores, pages: tuple[str | None, str | None] = ("a/l.html", "b/l.html")
) -> ComparisonView:
    before, now = side(old, "old run"), side(new, "new run")
    return build_comparison(before, now, same_models(before, now), pages=pages)


def test_view() -> None:
    (pair,) = view_of(OLD_SCORES, NEW_SCORES).pairs
    assert [part.label for part in pair.labels] == ["A", "B", "C"]
    assert pair.changes == {"broke": 2, "mended": 1, "worse": 2, "same": 3, "only before": 1, "only now": 1}
    assert pair.labels[0].changes == {"broke": 1, "mended": 1, "worse": 2, "same": 2}
    assert pair.comparison.difference.mean == pytest.approx(((-1 + 0.5 - 0.1 - 0.1) / 6 - 0.5) / 2)
    assert pair.labels[2].comparison.difference.mean is None
    assert [row.change.change for row in pair.cases[:3]] == ["broke", "broke", "mended"]
    assert len(shown_cases(pair)) == 7
    assert len(shown_cases(pair, 2)) == 2
    assert pair.power.difference is not None
    repeated = next(row for row in pair.cases if (row.change.label, row.change.case) == ("B", "c0"))
    assert repeated.comparison is not None
    assert repeated.comparison.p == 2 / 2**8
    assert len(repeated.now) == 8


def test_links_lead_to_both_dialogues() -> None:
    (pair,) = view_of(OLD_SCORES, NEW_SCORES).pairs
    row = pair.cases[0]
    assert row.before[0].address == "a/l.html#d=A/c0/m/1"
    assert row.now[0].address == "b/l.html#d=A/c0/m/1"
    view = view_of(OLD_SCORES, NEW_SCORES, (None, "b/l.html"))
    assert view.pairs[0].cases[0].before[0].address is None
    links = Tags(render_comparison(view, NOW)).links
    assert "b/l.html#d=A/c0/m/1" in links
    assert all(link.startswith("b/l.html#d=") for link in links)
    assert "[0.000](b/l.html#d=A/c0/m/1)" in comparison_markdown(view)


def test_text_says_what_came_out() -> None:
    view = view_of(OLD_SCORES, NEW_SCORES)
    text = comparison_markdown(view)
    assert "A difference" not in text
    assert "m: mean 0.450, was 0.758; difference -0.308 (95 % interval" in text
    assert "cases that broke: 2, that were mended: 1" in text
    assert "With these" in text
    assert "likely to go unseen" in text
    assert re.search(r"- \*\*missing\*\*: new run lacks 1 of 1 dialogues of model 'm' on 'C'", text)
    assert "### Cases that differ (7 of 7)" in text
    assert "| C | c0 | only before | [1.000](a/l.html#d=C/c0/m/1) | [error](b/l.html#d=C/c0/m/1) |" in text
    page = render_comparison(view, NOW)
    for expected in ("new-run against old-run", "2026-01-02 03:04 UTC", "-0.308", "likely to go unseen", "mended"):
        assert expected in page


def test_json_has_every_case() -> None:
    data = json.loads(comparison_json(view_of(OLD_SCORES, NEW_SCORES)))
    assert (data["schema"], data["before"], data["now"], data["threshold"]) == (1, "old-run", "new-run", 1.0)
    (pair,) = data["pairs"]
    assert len(pair["cases"]) == 10
    assert pair["changes"]["broke"] == 2
    assert pair["detectable"]["sentence"].startswith("With these")
    assert pair["cases"][0]["now_dialogues"][0]["address"] == "b/l.html#d=A/c0/m/1"
    assert {finding["kind"] for finding in data["findings"]} == {"missing"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (one_model([1.0]), one_model([0.5]), "a single value: its spread is unknown"),
        (one_model([1.0, 0.5]), one_model([1.0, 0.5]), "are equal, so they show no spread"),
        (one_model([None]), one_model([1.0]), "nothing can be compared, since no case has values of both"),
        (one_model([None]), one_model([None]), "nothing can be compared, since no case has values of both"),
        (one_model([1.0], label="A"), one_model([1.0], label="B"), "nothing can be compared"),
    ],
)
def test_little_or_nothing_to_compare_is_told(old: Scores, new: Scores, said: str) -> None:
    view = view_of(old, new)
    for text in (comparison_markdown(view), render_comparison(view, NOW), comparison_json(view)):
        assert not re.search(r"\bnan\b|\bNaN\b|\binf\b|\bNone\b", text)
    assert said in comparison_markdown(view)
    assert summary_sentence(view.pairs[0]).endswith(".")


def test_empty_runs() -> None:
    empty = Side("this run", header_of(one_model([1.0])), ())
    view = build_comparison(empty, empty, same_models(empty, empty))
    assert "nothing can be compared" in comparison_markdown(view)
    assert "No interval" in render_comparison(view, NOW)
    nothing = build_comparison(empty, empty, ())
    for text in (comparison_markdown(nothing), render_comparison(nothing, NOW)):
        assert "No model was compared." in text
    assert json.loads(comparison_json(nothing))["pairs"] == []


@pytest.mark.parametrize(
    "text", [*INJECTIONS.values(), "| ` [x](y) @all \n::error::", "::error::boo", "##[error]x"], ids=repr
)
def test_no_text_adds_an_element(text: str) -> None:
    def shown(name: str) -> ComparisonView:
        old, new = ({(name, name, name): (value,), (name, name, "c2"): (1.0,)} for value in (1.0, 0.0))
        specs = (ModelSpec(name, name, "scripted"),)
        header = replace(header_of(one_model([1.0]), models=specs), run=name, settings={})
        before, now = (Side(name, header, transcripts_of(scores)) for scores in (old, new))
        return build_comparison(before, now, same_models(before, now), pages=("a.html", "b.html"))

    hostile, harmless = (Tags(render_comparison(shown(name), NOW)) for name in (text, "name"))
    assert hostile.tags == harmless.tags
    assert hostile.attributes == harmless.attributes
    assert all(re.fullmatch(r"[ab]\.html#d=[!-~]+", link) for link in hostile.links)
    lines = comparison_markdown(shown(text)).split("\n")
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]
    assert len(lines) == len(comparison_markdown(shown("name")).split("\n"))
    assert json.loads(comparison_json(shown(text)))["pairs"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, formats.NONE), (0.00001, "< 0.0001"), (0.5, "0.5000"), (1.0, "1.0000")]
)
def test_p_values(value: float | None, text: str) -> None:
    assert p_value(value) == text


def test_signs() -> None:
    assert [signed(value) for value in (0.1, -0.1, 0.0, None)] == ["+0.100", "-0.100", "+0.000", formats.NONE]


def test_page_is_one_file_with_a_strict_policy() -> None:
    text = render_comparison(view_of(OLD_SCORES, NEW_SCORES), NOW)
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert not re.search(r"\b(?:src|srcset|action)=|https?://|url\(|@import|<script|<link", text)
