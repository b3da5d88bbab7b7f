"""The capabilities of a page: definitions that share names stand side by side, and the picture says which it draws."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pytest_llmkg.analysis.published_records import CapabilityScore
from pytest_llmkg.reporting.capabilities import Column, capabilities_view, drawn_definitions
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.plots import compass_plot
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from tests.builders import FLAT, make_header, make_transcript, make_turn

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def score(definition: str, name: str, mean: float | None, model: str = "m", missing: str = "") -> CapabilityScore:
    return CapabilityScore(definition, name, model, mean, 1, 1, 1, ("L",), (missing,) if missing else ())


SCORES = [
    score("as-printed", "Syn-1", 0.25),
    score("as-printed", "Sem-R", None),
    score("as-written", "Sem-R", 0.75),
    score("as-written", "Syn-1", 0.5),
    score("rdf", "Rdf-Ana", 1.0),
]


def test_definitions_of_one_capability_are_neighbours_and_the_drawn_one_is_first() -> None:
    view = capabilities_view(SCORES)
    assert view.columns == (
        Column("Sem-R", "as-written", drawn=True),
        Column("Sem-R", "as-printed", drawn=False),
        Column("Syn-1", "as-written", drawn=True),
        Column("Syn-1", "as-printed", drawn=False),
        Column("Rdf-Ana", "rdf", drawn=True),
    )
    assert view.drawn == ("as-written", "rdf") == tuple(drawn_definitions(SCORES))
    means = [found.mean for column in view.columns if (found := view.score("m", column))]
    assert means == [0.75, None, 0.5, 0.25, 1.0]
    assert dict(view.names)["Syn-1"] == "syntax at the first answer"
    assert [name for name, _ in view.definitions] == ["as-written", "rdf", "as-printed"]
    assert drawn_definitions(SCORES[:2]) == ["as-printed"]


def page(*labels: str) -> str:
    info = replace(FLAT, headline="combinedF1")
    talks = tuple(make_transcript(make_turn({"combinedF1": 0.5}), info=info, label=label) for label in labels)
    return render_page(build_report([Run(make_header("m", tasks=(info,)), {}, talks)]), NOW)


def section(text: str, name: str) -> str:
    return text.partition(f'<section id="{name}"')[2].partition("</section>")[0]


def test_the_page_names_the_definitions_and_says_what_is_drawn() -> None:
    text = section(page("Sparql2AnswerListOrga-turtle"), "capabilities")
    heads = re.findall(r'data-sort="n"><b class="whole">([\w-]+)</b><br><span class="small">(?:<b>)?([\w-]+)', text)
    assert heads[:2] == [("Syn-1", "as-written"), ("Syn-1", "as-printed")]
    assert ("Sem-R", "as-printed") in heads
    assert ("Rdf-Ana", "rdf") in heads
    assert "<b>Sem-R</b></dt><dd>reading what a query means" in text
    assert "Definition: as-written and rdf." in text
    assert text.count("<table") == 1
    assert "~0.500" in text  # by the text, which wants two formats
    assert ">0.500<" in text  # by the table


def test_without_any_value_there_is_neither_table_nor_picture_nor_caption() -> None:
    text = section(page("Flat"), "capabilities")
    assert "No model has values" in text
    assert not re.search("<table|<figure|<svg|No plot", text)


def test_what_is_not_drawn_has_no_caption_and_what_is_drawn_has_a_title() -> None:
    text = page("Flat")
    for figure in re.findall(r"<figure>(.*?)</figure>", text, re.DOTALL):
        assert ("<svg" in figure) == ('<p class="plot-name">' in figure)
        assert "<svg" in figure or "figcaption" not in figure
    assert '<p class="plot-name">Endings by model</p>' in text
    assert "No plot of" in text


@pytest.mark.parametrize(
    ("models", "lacking", "note"),
    [
        ("ab", {"a": "ABC", "b": "ABC"}, "All capabilities of these models lack some of the tasks."),
        ("a", {"a": "ABC"}, "All capabilities lack some of the tasks."),
        ("ab", {"a": "A", "b": "A"}, "A of these models lacks some of the tasks."),
        ("ab", {"a": "AB"}, "A, B of a lack some of the tasks."),
        ("ab", {}, None),
    ],
)
def test_what_all_models_lack_is_said_once(models: str, lacking: dict[str, str], note: str | None) -> None:
    scores = [
        score("d", name, 0.5, model, "no dialogue of T" if name in lacking.get(model, "") else "")
        for name in "ABC"
        for model in models
    ]
    assert compass_plot(scores, list(models)).notes == (() if note is None else (note,))


def test_notes_of_the_published_analysis_make_no_row_of_its_table_high() -> None:
    text = section(page("Sparql2AnswerListOrga-turtle"), "published")
    assert "Notes on 1 model" in text
    assert '<th scope="col">Notes' not in text
