"""The page in Chromium: no complaint, no request to the network, all parts usable, hostile text stays text."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.records import Case
from pytest_llmkg.reporting.files import copy_page, write_page
from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.html import render_page
from pytest_llmkg.reporting.links import dialogue_fragment
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from tests.builders import DIALOGUE, FLAT, make_header, make_transcript, make_turn
from tests.hostile.answers import ANSWERS
from tests.reporting.chromium import Browser, Tab, find_chromium
from tests.reporting.hostile import TEXTS, run_with
from tests.reporting.test_mistakes import asked, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.records import Transcript

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
MODELS = ("vendor/alpha", "beta", "gamma 3")
TITLE = "Leaderboard: language models on knowledge graphs"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine")
    with Browser(program) as found:
        yield found


def example(cases: int = 12, text: str = "answer") -> Run:
    """Three models on two tasks with different scores; the last model has errors, unparsable and empty answers."""
    transcripts: list[Transcript] = []
    for place, model in enumerate(MODELS):
        for number in range(cases):
            value = round(max(0.0, 1 - place / 4 - number / 50), 3)
            flat = make_turn({"f1": value, "f1@2": value / 2}, text=f"{text} {number}")
            if place == 2 and number == 1:
                flat = make_turn({"f1": 0}, "unparsable", text="nothing to read")
            if place == 2 and number == 2:
                flat = make_turn({"f1": 0}, "no_answer", text="")
            error = "the endpoint is down" if place == 2 and number == 0 else None
            transcripts.append(make_transcript(flat, model=model, case=f"case-{number}", error=error))
            talk = (
                make_turn({"combined": value / 2, "answerParse": 1}, feedback="syntax"),
                make_turn({"combined": value, "answerParse": 1}, text="line one\nline two\nline four"),
            )
            transcripts.append(make_transcript(*talk, info=DIALOGUE, model=model, case=f"case-{number}"))
    cases_ = {
        f"{info.name}/case-{number}": Case(
            f"case-{number}", info.name, info.name, {"question": "why", "reference": "line one\nline three\nline four"}
        )
        for info in (FLAT, DIALOGUE)
        for number in range(cases)
    }
    header = replace(make_header(*MODELS), settings={"planned": {"beta": {"Flat": cases + 3}}})
    return Run(header, cases_, tuple(transcripts))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("small") / "leaderboard.html"
    write_page([example()], page, NOW)
    return page


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with its dialogues in files beside it."""
    page = tmp_path_factory.mktemp("large") / "the page.html"
    write_page([example(60, "long " * 4000)], page, NOW)
    assert len(list((page.parent / "the page_files").glob("g*.js"))) > 6
    return page


@pytest.fixture
def tab(browser: Browser, small: Path) -> Tab:
    found = browser.tab()
    found.open(small)
    assert found.run("document.documentElement.dataset.ready") == "yes"
    return found


def column(tab: Tab, table: str, number: int) -> list[str]:
    """The texts of a column of a table, from top to bottom."""
    found = tab.run(
        f"[...document.querySelectorAll('{table} tbody tr')].map((row) => row.cells[{number}].innerText.trim())"
    )
    assert isinstance(found, list)
    return found


def choose(tab: Tab, field: str, value: str) -> None:
    """Fills a field of the filters as a user would."""
    tab.run(
        f"(() => {{ const field = document.getElementById('filters').elements['{field}']; field.value = {value!r};"
        " field.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def test_a_small_page_loads_without_complaint_and_asks_for_nothing(tab: Tab) -> None:
    assert tab.complaints == []
    assert tab.requests == []


@pytest.mark.parametrize(("width", "dark"), list(itertools.product((1280, 390), (False, True))))
def test_accessibility(browser: Browser, small: Path, width: int, dark: bool) -> None:
    tab = browser.tab(width=width, dark=dark)
    tab.open(small)
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.run(AUDIT) == []
    tab.run("document.querySelector('#rows a').click()")
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.run(AUDIT) == []
    assert tab.complaints == []


def test_the_check_itself_finds_what_is_wrong(tab: Tab) -> None:
    tab.run(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<section><h5>x</h5><button></button><input>"
        '<table><tr><td>1</td></tr></table><p style="color:#999;background:#aaa" id="matrix">pale</p>'
        '<a href="#nowhere">x</a><svg width="9" height="9"></svg></section>\')'
    )
    rules = {complaint.partition(":")[0] for complaint in tab.run(AUDIT)}
    assert rules >= {
        "heading order",
        "name of a control",
        "table caption",
        "table header",
        "contrast",
        "unique id",
        "link without target",
        "text alternative",
    }


def test_columns_can_be_sorted_by_keyboard(tab: Tab) -> None:
    assert [name.split("\n")[0].split(" leader")[0] for name in column(tab, ".ranking", 1)] == list(MODELS)
    tab.run("document.querySelector('.ranking th[data-sort=n] .sort').focus()")
    for kind in ("keyDown", "keyUp"):
        tab.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    assert tab.run("document.querySelector('.ranking [aria-sort]').getAttribute('aria-sort')") == "descending"
    assert column(tab, ".ranking", 0) == ["3", "2", "1"]
    tab.run("document.querySelector('.ranking [aria-sort] .sort').click()")
    assert column(tab, ".ranking", 0) == ["1", "2", "3"]
    tab.run("document.querySelectorAll('.ranking .sort')[1].click()")
    assert [name.split("\n")[0].split(" leader")[0] for name in column(tab, ".ranking", 1)] == sorted(MODELS)
    assert tab.run("document.querySelectorAll('.ranking [aria-sort]').length") == 1


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({}, 72),
        ({"model": "2"}, 24),
        ({"task": "Flat"}, 36),
        ({"label": "1"}, 36),
        ({"outcome": "e"}, 1),
        ({"outcome": "u"}, 1),
        ({"outcome": "n"}, 1),
        ({"low": "0.99"}, 2),  # the first case of the best model, in both tasks
        ({"high": "0"}, 2),  # the unparsable and the empty answer; the error has no score
        ({"text": "ALPHA flat"}, 12),
        ({"text": "case-11"}, 6),
        ({"text": "nobody"}, 0),
        ({"model": "0", "label": "0", "text": "case-1"}, 3),  # case-1, case-10, case-11
    ],
)
def test_filters(tab: Tab, fields: dict[str, str], count: int) -> None:
    for field, value in fields.items():
        choose(tab, field, value)
    status = tab.run("document.getElementById('status').textContent")
    assert status.startswith(f"{count} of 72 dialogues" if count else "None of 72 dialogues")
    assert len(column(tab, "#dialogue-table", 0)) == min(count, 50)
    tab.run("document.querySelector('#filters button[type=reset]').click()")
    tab.until("document.getElementById('status').textContent.startsWith('72 of 72')")


def test_cases_of_the_chosen_label_can_be_chosen(tab: Tab) -> None:
    choose(tab, "label", "1")
    names = tab.run("[...document.querySelectorAll('#f-case option')].map((one) => one.textContent)")
    assert names == ["all", *sorted(f"case-{number}" for number in range(12))]
    choose(
        tab, "case", tab.run("[...document.querySelectorAll('#f-case option')].find((o) => o.text === 'case-7').value")
    )
    assert set(column(tab, "#dialogue-table", 0)) == {"case-7"}


def test_pages_and_order_of_the_list(tab: Tab) -> None:
    tab.run("document.getElementById('page-after').click()")
    assert len(column(tab, "#dialogue-table", 0)) == 22
    assert tab.run("document.getElementById('page-after').disabled") is True
    tab.run("document.querySelector('#dialogue-table [data-key=score] .sort').click()")
    scores = [float(text) for text in column(tab, "#dialogue-table", 5)]
    assert scores == sorted(scores)
    tab.run("document.querySelector('#dialogue-table [data-key=score] .sort').click()")
    assert column(tab, "#dialogue-table", 5)[0] == "1.000"


def test_a_dialogue_is_shown_with_its_difference_to_the_reference(browser: Browser, small: Path) -> None:
    tab = browser.tab()
    tab.open(small, dialogue_fragment("Talk", "case-3", "vendor/alpha", 1))
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    text = tab.run("document.getElementById('dialogue').innerText")
    for expected in ("Talk / case-3", "vendor/alpha", "Turn 2", "max_combined", "hint: syntax", "rules:v1", "question"):
        assert expected in text
    lines = tab.run("[...document.querySelectorAll('.diff')].at(-1).innerText.split('\\n').filter((line) => line)")
    assert lines == ["  line one", "\N{MINUS SIGN} line three", "+ line two", "  line four"]
    assert tab.run("document.activeElement.id") == "dialogue-heading"
    tab.run("[...document.querySelectorAll('.steps a')][1].click()")
    tab.until("document.getElementById('dialogue-heading').textContent === 'Talk / case-4'")
    assert tab.complaints == []


def test_the_difference_to_the_reference_is_folded_where_the_answer_has_the_full_score(tab: Tab) -> None:
    parts = "[...document.querySelectorAll('#dialogue .part')].filter((one) => one.querySelector('.diff'))"
    tab.run(f"location.hash = {dialogue_fragment('Talk', 'case-0', 'vendor/alpha', 1)!r}")
    tab.until("document.getElementById('dialogue-heading')?.textContent === 'Talk / case-0'")
    assert tab.run(f"{parts}.map((one) => [one.firstChild.textContent, one.open])") == [
        ["Compared with the reference", True],
        ["Scored 1: written otherwise than the reference", False],
    ]


@pytest.mark.parametrize(
    "fragment",
    ["d=Talk/case-3/vendor/alpha/1", "d=Talk/case-3/vendor%2Falpha/1"],
)
def test_addresses_of_dialogues_need_no_encoding(browser: Browser, small: Path, fragment: str) -> None:
    tab = browser.tab()
    tab.open(small, fragment)
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert tab.run("document.getElementById('dialogue-heading').textContent") == "Talk / case-3"


def test_an_address_that_names_no_dialogue_is_told(browser: Browser, small: Path) -> None:
    tab = browser.tab()
    tab.open(small, "d=Talk/no-such/vendor%2Falpha/1")
    assert "not among those of this page" in tab.run("document.getElementById('dialogue').innerText")


def test_a_cell_leads_to_its_dialogues(tab: Tab) -> None:
    tab.run("document.querySelector('.matrix td a[href=\"#m1-l0\"]').click()")
    tab.until("document.getElementById('status').textContent.startsWith('12 of')")
    assert set(column(tab, "#dialogue-table", 3)) == {"beta"}
    assert set(column(tab, "#dialogue-table", 2)) == {"Flat"}


def test_dark_page_by_system_and_by_button(browser: Browser, small: Path) -> None:
    tab = browser.tab(dark=True)
    tab.open(small)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = tab.run(ground)
    assert tab.run("document.getElementById('theme').getAttribute('aria-pressed')") == "true"
    tab.run("document.getElementById('theme').click()")
    light = tab.run(ground)
    assert light != dark
    tab.media(dark=False)
    assert tab.run(ground) == light
    tab.run("document.getElementById('theme').click()")
    assert tab.run(ground) == dark
    tab.run("localStorage.clear()")


def test_large_pages_load_dialogues_when_they_are_asked_for(browser: Browser, large: Path) -> None:
    tab = browser.tab()
    tab.open(large)
    assert tab.requests == []
    tab.run(f"location.hash = {dialogue_fragment('Flat', 'case-42', 'beta', 1)!r}")
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert "long long" in tab.run("document.querySelector('#dialogue pre.answer').textContent")
    assert tab.run("document.getElementById('dialogue-heading').textContent") == "Flat / case-42"
    assert [address.startswith(large.parent.as_uri()) for address in tab.requests] == [True]
    assert tab.complaints == []


def test_a_script_in_the_markup_of_a_large_page_is_not_run(browser: Browser, large: Path) -> None:
    """Even if markup could be smuggled in: the policy lets only the page's own script load files."""
    (large.parent / "evil.js").write_text("document.title = 'pwned';")
    page = large.with_name("smuggled.html")
    text = large.read_text(encoding="utf-8")
    smuggled = "<script src='evil.js'></script><script>document.title = 'pwned';</script><img src=x onerror=alert(1)>"
    page.write_text(text.replace("<main>", f"<main>{smuggled}", 1), encoding="utf-8")
    tab = browser.tab()
    tab.open(page)
    assert tab.run("document.title") == TITLE
    assert sum("Content Security Policy" in complaint for complaint in tab.complaints) >= 3


def test_every_dialogue_of_a_large_page_is_found_where_the_index_says(browser: Browser, large: Path) -> None:
    tab = browser.tab()
    tab.open(large)
    for label, case, model in (
        ("Flat", "case-0", MODELS[0]),
        ("Talk", "case-59", MODELS[2]),
        ("Flat", "case-9", MODELS[1]),
    ):
        tab.run(f"location.hash = {dialogue_fragment(label, case, model, 1)!r}")
        tab.until(f"document.getElementById('dialogue-heading')?.textContent === '{label} / {case}'")
        assert model in tab.run("document.querySelector('#dialogue .chips').innerText")


def test_missing_or_foreign_files_are_told(browser: Browser, large: Path, tmp_path: Path) -> None:
    alone = tmp_path / large.name
    alone.write_bytes(large.read_bytes())
    tab = browser.tab()
    tab.open(alone, dialogue_fragment("Flat", "case-1", "beta", 1))
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert "must stand beside this page" in tab.run("document.getElementById('dialogue').innerText")
    folder = tmp_path / "the page_files"
    write_page([example(60, "other " * 4000)], tmp_path / "the page.html", NOW.replace(hour=13))
    assert folder.is_dir()
    alone.write_bytes(large.read_bytes())
    tab = browser.tab()
    tab.open(alone, dialogue_fragment("Flat", "case-1", "beta", 1))
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert "belong to another page" in tab.run("document.getElementById('dialogue').innerText")


def test_a_copy_of_a_page_finds_the_files_of_the_first(browser: Browser, large: Path) -> None:
    copy = large.parent.parent / "newest" / "leaderboard.html"
    copy_page(large, copy)
    tab = browser.tab()
    tab.open(copy, dialogue_fragment("Flat", "case-1", "beta", 1))
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert "long long" in tab.run("document.querySelector('#dialogue pre.answer').textContent")
    assert tab.complaints == []


def test_a_page_of_few_dialogues_removes_the_files_of_a_larger_one(tmp_path: Path) -> None:
    page = tmp_path / "leaderboard.html"
    write_page([example(60, "long " * 4000)], page, NOW)
    assert (tmp_path / "leaderboard_files").is_dir()
    write_page([example()], page, NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["leaderboard.html"]


def test_without_scripts_everything_of_a_small_run_is_readable(browser: Browser, small: Path) -> None:
    tab = browser.tab(scripts=False)
    tab.open(small)
    page = tab.send("Runtime.evaluate", expression="document.body.innerText", returnByValue=True)
    text = page["result"]["value"]
    for expected in ("Ranking", "gamma 3", "Published analysis", "Dialogues"):
        assert expected in text
    shown = tab.send("Runtime.evaluate", expression="document.querySelectorAll('details.dialogue').length")
    assert shown["result"]["value"] == 72
    hidden = "['browser', 'theme'].map((id) => document.getElementById(id).hidden)"
    both = tab.send("Runtime.evaluate", expression=hidden, returnByValue=True)["result"]["value"]
    assert both == [True, True]


def test_print_shows_tables_and_no_controls(tab: Tab) -> None:
    tab.media(dark=False, medium="print")
    assert tab.run("getComputedStyle(document.getElementById('browser')).display") == "none"
    assert tab.run("getComputedStyle(document.querySelector('.ranking')).display") == "table"


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path, width: int) -> None:
    text = " ".join(TEXTS)
    page = tmp_path / "page.html"
    page.write_text(render_page(build_report([run_with(text)]), NOW), encoding="utf-8", errors="replace")
    tab = browser.tab(width=width)
    tab.open(page)
    assert tab.run("document.title") == TITLE
    tab.run("document.querySelector('#rows a').click()")
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert tab.run("document.title") == TITLE
    assert tab.run("document.querySelector('#dialogue pre.answer').textContent") == visible(text)
    assert tab.run("document.querySelectorAll('#dialogue img, #dialogue script, #dialogue svg').length") == 0
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.requests == []
    assert tab.complaints == []


_OPEN_ALL = """(async () => {
  const found = [];
  for (const hash of HASHES) {
    const before = document.getElementById('dialogue-heading')?.textContent;
    location.hash = hash;
    for (let n = 0; n < 2000 && document.getElementById('dialogue-heading')?.textContent === before; n++)
      await new Promise((go) => setTimeout(go, 1));
    found.push([document.getElementById('dialogue-heading').textContent,
      document.querySelector('#dialogue pre.answer').textContent]);
  }
  return found;
})()"""
"""Opens dialogues one after the other; heading and answer of each."""


def test_answers_of_the_corpus_stay_texts(browser: Browser, tmp_path: Path) -> None:
    whole = [answer.build("http://127.0.0.1:9/") for answer in ANSWERS]
    # Start and end of the long ones: laying out half a million characters would take most of the time.
    texts = [text if len(text) <= 4000 else text[:2000] + text[-2000:] for text in whole]
    transcripts = tuple(
        make_transcript(make_turn({"f1": 0.5}, text=text), case=f"c{number:03d}") for number, text in enumerate(texts)
    )
    page = tmp_path / "leaderboard.html"
    write_page([Run(make_header("m"), {}, transcripts)], page, NOW)
    tab = browser.tab()
    tab.open(page)
    # Without them, since each dialogue that is scrolled to lays out the whole page again.
    tab.run(
        "document.querySelectorAll('main > section:not(#dialogues), #dialogue-table').forEach((one) => one.remove())"
    )
    hashes = [dialogue_fragment("Flat", f"c{number:03d}", "m", 1) for number in range(len(texts))]
    for start in range(0, len(texts), 25):  # many at a time, since each call of the browser takes long
        shown = tab.run(_OPEN_ALL.replace("HASHES", json.dumps(hashes[start : start + 25])))
        assert [heading for heading, _ in shown] == [
            f"Flat / c{number:03d}" for number in range(start, min(start + 25, len(texts)))
        ]
        assert [text for _, text in shown] == [visible(text) for text in texts[start : start + 25]]
    assert tab.run("document.title") == TITLE
    assert [address for address in tab.requests if not address.startswith(tmp_path.as_uri())] == []
    assert tab.complaints == []


def test_an_empty_run_is_a_page_without_complaint(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "leaderboard.html"
    write_page([Run(make_header("m"), {}, ())], page, NOW)
    tab = browser.tab()
    tab.open(page)
    assert tab.complaints == []
    assert tab.run("document.getElementById('status').textContent") == "None of 0 dialogues fits these filters."
    assert tab.run(AUDIT) == []


def test_a_kind_of_error_leads_to_its_dialogues(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "leaderboard.html"
    held = [
        asked(score, model=model, case=f"c{n}") for model in ("a", "b") for n, score in enumerate((0.0, 0.5, 0.5, 1.0))
    ]
    write_page([run_of(*held)], page, NOW)
    for width, dark in itertools.product((1280, 390), (False, True)):
        tab = browser.tab(width=width, dark=dark)
        tab.open(page)
        tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.run(AUDIT) == []
        assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("document.querySelectorAll('#effort .sortable, #mistakes .kinds').length") == 3
    tab.run("document.querySelectorAll('#mistakes .kinds td a')[2].click()")  # too much, of the first model
    tab.until("document.getElementById('status').textContent.startsWith('2 of 8')")
    assert column(tab, "#dialogue-table", 0) == ["c1", "c2"]
    choose(tab, "kind", "0")
    assert column(tab, "#dialogue-table", 0) == ["c0"]
    tab.run("document.querySelector('#rows a').click()")
    tab.until("document.getElementById('dialogue').dataset.shown !== undefined")
    assert "Kind of error: no query" in tab.run("document.getElementById('dialogue').innerText")
    tab.run("document.querySelector('#mistakes .example a').click()")
    tab.until("document.getElementById('dialogue-heading').textContent.endsWith('/ c0')")
    assert tab.complaints == []
    assert tab.requests == []
