from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.errors import UserError
from pytest_llmkg.reporting import formats
from pytest_llmkg.reporting.files import write_atomically, write_reports
from pytest_llmkg.reporting.markdown import render_markdown
from pytest_llmkg.reporting.overview import run_facts
from pytest_llmkg.reporting.tabular import COLUMNS, render_csv, render_json, write_parquet
from pytest_llmkg.reporting.terminal import leaderboard_lines
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import Run
from pytest_llmkg.suite_signature import signature_digest
from tests.builders import DIALOGUE, FLAT, make_header, make_transcript, make_turn
from tests.reporting.hostile import TEXTS, run_with

if TYPE_CHECKING:
    from pytest_llmkg.plain import Json

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RUN = Run(
    make_header("b", "a"),
    {},
    (
        make_transcript(make_turn({"f1": 0.5}), model="a"),
        make_transcript(make_turn({"f1": 0.1}, "unparsable"), model="b"),
        make_transcript(make_turn({"combined": 1}), model="a", info=DIALOGUE),
        make_transcript(make_turn({"combined": 0}), model="b", info=DIALOGUE),
        make_transcript(model="b", case="c2", error="down"),
    ),
)


def test_terminal_table() -> None:
    assert leaderboard_lines(build_report([RUN]), 80) == [
        "      model   mean   95% interval scored unread  errors       cost",
        "  1   a      0.750              -      2      0       0    unknown",
        "  2   b      0.050              -      1      1       1    unknown",
        "no leader group: 2 independent values are too few for any difference to be",
        "      significant, whatever the scores are",
        "",
        "task label    [1]    [2]",
        "Flat        0.500  0.100",
        "Talk        1.000  0.000",
        "columns: the models in the order of the table above",
    ]


def test_terminal_tells_how_sure_ranks_are() -> None:
    good = [make_transcript(make_turn({"f1": 1 - k / 100}), model="good", case=f"c{k}") for k in range(20)]
    bad = [make_transcript(make_turn({"f1": k / 100}), model="bad", case=f"c{k}") for k in range(20)]
    report = build_report([Run(make_header("bad", "good"), {}, (*good, *bad))])
    lines = leaderboard_lines(report, 100)
    assert "* leader group: not significantly worse than the best (paired tests, Holm)" in lines
    assert "| 1 | good | 0.905 |" in (text := render_markdown(report, NOW))
    assert text.count("| yes |") == 1
    assert " ".join(lines[0].split()) == "model mean 95% interval ranks scored unparsable no answer errors cost"
    place, name, mean, limits, ranks = lines[1].split()[:5]
    assert (place, name, mean, ranks) == ("1*", "good", "0.905", "1")
    low, high = map(float, limits.split("-"))
    assert low < 0.905 < high
    assert lines[2].split()[:3] == ["2", "bad", "0.095"]


def test_terminal_of_nothing() -> None:
    assert leaderboard_lines(build_report([Run(make_header(), {}, ())])) == ["no model was measured"]
    assert (
        leaderboard_lines(build_report([Run(make_header("m"), {}, ())]))[-1]
        == "no dialogue was held, so there is nothing to rank"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("text", TEXTS)
def test_terminal_lines_are_short_and_printable_ascii(text: str, width: int) -> None:
    lines = leaderboard_lines(build_report([run_with(text * 5)]), width)
    assert all(len(line) <= width for line in lines)
    assert all(" " <= char <= "~" for line in lines for char in line)


def test_terminal_shows_the_models_that_fit() -> None:
    names = [f"model-{number}" for number in range(41)]
    run = Run(make_header(*names), {}, tuple(make_transcript(make_turn({"f1": 1}), model=n) for n in names))
    lines = leaderboard_lines(build_report([run]), 80)
    assert lines[-1] == "columns: the models in the order of the table above, first 10 of 41"


def test_csv_has_a_row_for_each_score() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(build_report([RUN])))))
    assert tuple(rows[0]) == COLUMNS
    assert rows[0] == {
        "model": "a",
        "task": "Flat",
        "label": "Flat",
        "case": "c1",
        "iteration": "1",
        "outcome": "scored",
        "score": "f1",
        "value": "0.5",
        "signature": "rules:v1",
    }
    aggregate = next(row for row in rows if row["score"] == "meanExt_combined" and row["model"] == "a")
    assert (aggregate["value"], aggregate["signature"]) == ("1.0", "rules:v1")
    failed = [row for row in rows if row["outcome"] == "error"]
    assert [(row["case"], row["score"], row["value"]) for row in failed] == [("c2", "", "")]


@pytest.mark.parametrize("text", TEXTS)
def test_csv_survives_any_name(text: str) -> None:
    report = build_report([run_with(text)])
    rows = list(csv.DictReader(io.StringIO(render_csv(report), newline="")))
    assert {row["model"] for row in rows} == {"symbolic", f"m{text}"}


def test_json_holds_the_rows() -> None:
    data = json.loads(render_json(build_report([RUN]), NOW))
    assert [(row["rank"], row["model"], row["mean"]) for row in data["ranking"]] == [(1, "a", 0.75), (2, "b", 0.05)]
    assert data["ranking"][1]["counts"] == {
        "scored": 1,
        "unparsable": 1,
        "no_answer": 0,
        "error": 1,
        "missing": 0,
    }
    assert [(row["label"], row["model"]) for row in data["labels"]] == [
        ("Flat", "a"),
        ("Flat", "b"),
        ("Talk", "a"),
        ("Talk", "b"),
    ]
    assert data["made"] == "2026-11-30T12:00:00+00:00"


def test_json_tells_how_sure_numbers_are_and_what_is_missing() -> None:
    planned: dict[str, Json] = {"a": {"Flat": 3}, "b": {"Flat": 4}}
    run = Run(replace(RUN.header, settings={"planned": planned, "suite": {"seed": 1}}), {}, RUN.transcripts)
    data = json.loads(render_json(build_report([run]), NOW, {"gate": {"passed": True}}))
    first, second = data["ranking"]
    assert (data["schema"], data["gate"]) == (2, {"passed": True})
    assert first["interval"]["mean"] == pytest.approx(0.75)
    assert first["interval"]["reason"] is not None
    assert (first["leader"], first["not_run"], second["not_run"]) == (False, 2, 2)
    assert first["rank_limits"] == {"drawn": None, "tested": [1, 2]}
    assert data["not_run"] == [
        {"model": "a", "label": "Flat", "dialogues": 2},
        {"model": "b", "label": "Flat", "dialogues": 2},
    ]
    assert data["runs"][0]["suite_signature"] == signature_digest({"seed": 1})
    assert [(row["first"], row["second"]) for row in data["comparisons"]] == [("a", "b")]
    assert [row["label"] for row in data["gains"]] == ["Talk", "Talk"]
    assert data["published"]["models"] == ["a", "b"]


def test_report_json_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `([a-z_.]+)`", text, re.MULTILINE))
    data = json.loads(render_json(build_report([RUN]), NOW))
    assert described >= set(data)
    for name in ("runs", "ranking", "labels", "comparisons", "gains"):
        assert described >= {f"{name}.{key}" for key in data[name][0]}, name


def test_parquet_holds_the_same_rows_as_csv(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    report = build_report([RUN])
    path = tmp_path / "deep" / "scores.parquet"
    count = write_parquet(report, path)
    rows = parquet.read_table(path).to_pylist()
    expected = list(csv.DictReader(io.StringIO(render_csv(report))))
    assert len(rows) == count == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert row["value"] == (float(other["value"]) if other["value"] else None)
        assert {k: str(v) for k, v in row.items() if k != "value"} == {k: v for k, v in other.items() if k != "value"}
    assert [found.name for found in path.parent.iterdir()] == ["scores.parquet"]


def test_parquet_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"pip install 'pytest-llmkg\[parquet\]'"):
        write_parquet(build_report([RUN]), tmp_path / "x.parquet")


def test_markdown_table() -> None:
    text = render_markdown(build_report([RUN]), NOW)
    dash = "\N{EN DASH}"
    assert f"| 1 | a | 0.750 | {dash} | {dash} | {dash} | 2 | 0 | 0 | 0 | 0 | {dash} | 2.0 s |" in text
    assert "| Flat | f1 | 0.500 | 0.100 |" in text


@pytest.mark.parametrize("text", TEXTS)
def test_markdown_rows_keep_their_columns(text: str) -> None:
    lines = render_markdown(build_report([run_with(text)]), NOW).split("\n")
    harmless = render_markdown(build_report([run_with("harmless")]), NOW).split("\n")
    assert len(lines) == len(harmless)
    assert not any("<" in line.replace("\\<", "") for line in lines)
    assert [line.replace("\\|", "").count("|") for line in lines] == [line.count("|") for line in harmless]


def test_later_run_replaces_dialogues_and_says_so() -> None:
    again = Run(
        replace(make_header("a"), run="again", seed=7, tasks=(replace(FLAT, version="2"), DIALOGUE)),
        {},
        (make_transcript(make_turn({"f1": 0.9}), model="a"),),
    )
    report = build_report([RUN, again])
    assert report.models[0].row.mean == pytest.approx(0.95)  # (0.9 + 1.0) / 2
    assert report.notes == (
        "1 dialogues are in several of the runs; the last run's are shown and paid for here.",
        "The runs have different seeds, so their generated cases differ.",
        "Task Flat has the versions 1, 2; its means mix them.",
    )


def test_all_reports_are_written(tmp_path: Path) -> None:
    page = write_reports(RUN, tmp_path / "deep", NOW)
    assert page == tmp_path / "deep" / "leaderboard.html"
    names = sorted(path.name for path in page.parent.iterdir())
    assert names == ["leaderboard.html", "leaderboard.md", "report.json", "scores.csv"]
    before = {path.name: path.read_bytes() for path in page.parent.iterdir()}
    write_reports(Run(RUN.header, {}, tuple(reversed(RUN.transcripts))), page.parent, NOW)
    assert {path.name: path.read_bytes() for path in page.parent.iterdir()} == before


def test_report_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(UserError, match=r"page\.html: cannot write the report"):
        write_atomically(tmp_path / "page.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (formats.number(1), "1"),
        (formats.number(0.25), "0.25"),
        (formats.number(1 / 3), "0.3333"),
        (formats.number(100.0), "100"),
        (formats.number(1e9), "1e+09"),
        (formats.number(-0.00001), "0"),
        (formats.score(-0.0004), "0.000"),
        (formats.score(-0.0006), "-0.001"),
        (formats.interval(-0.0001, -0.0), "0.000 to 0.000"),
        (formats.cost(0.0), "$0.00"),
        (formats.cost(0.00123), "$0.0012"),
        (formats.cost(1234.5, known=False), "≥ $1,234.50"),
        (formats.duration(0.04), "0.0 s"),
        (formats.duration(187), "3:07 min"),
        (formats.duration(7500), "2:05 h"),
        (formats.count(12345), "12,345"),
        (formats.visible("a\x00\u202e\tb\n"), "a⟦U+0000⟧⟦U+202E⟧\tb\n"),
        (formats.visible("a\x1b\r\x7f~ \tb\n"), "a⟦U+001B⟧⟦U+000D⟧⟦U+007F⟧~ \tb\n"),
    ],
)
def test_formats(shown: str, expected: str) -> None:
    assert shown == expected


NAMES = ("::error::boo", "  ::set-output name=a::b", "##[error]x", "##vso[task.setvariable variable=x]y")
_COMMAND = re.compile(r"(?m)^\s*::|##\w*\[")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_model_is_a_command_to_a_build_system(name: str) -> None:
    header = replace(make_header(name, "other"), run=name)
    talks = (make_transcript(make_turn({"f1": 0.5}), model=name), make_transcript(model="other", case="c2", error=name))
    report = build_report([Run(header, {}, talks, truncated=True)])
    for width in (60, 80, 120):
        assert not _COMMAND.search("\n".join(leaderboard_lines(report, width)))
    assert not _COMMAND.search(render_markdown(report, NOW))
    table = render_csv(report)
    assert next(csv.DictReader(io.StringIO(table)))["model"] == name
    assert not re.search(r"(?m)^\s*::", table)


def test_text_is_shielded_and_json_means_the_same() -> None:
    assert formats.shielded("::a::b\n \t::c\rx ::d\r::e") == "\\::a::b\n \t\\::c\rx ::d\r\\::e"
    assert formats.shielded("a ##[b] ##vso[c] # #[d") == "a #\\#[b] #\\#vso[c] # #[d"
    text = json.dumps({"##[a]": "::b##x["})
    assert "##" not in formats.shielded_json(text)
    assert json.loads(formats.shielded_json(text)) == json.loads(text)


def test_shards_that_were_missing_are_told() -> None:
    header = replace(make_header("a"), run="joined", settings={"missing_shards": ["2/4", "3/4"]})
    report = build_report([Run(header, {}, (make_transcript(make_turn({"f1": 1}), model="a"),))])
    (told,) = [note for note in report.notes if "shard" in note]
    assert told.startswith("Run joined was joined without shards 2/4, 3/4: nothing is known of the dialogues there")
    assert dict(run_facts(header))["shards missing"] == "2/4, 3/4: not there when the run was joined"
