from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cli import main
from tests.run_pairs import one_model, stored

if TYPE_CHECKING:
    from pathlib import Path

OLD = {**one_model([1.0, 0.5, 1.0], "a"), **one_model([0.0, 0.5, 1.0], "b")}
NEW = {**one_model([0.0, 0.5, 1.0], "a"), **one_model([1.0, 0.5, 1.0], "b")}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The folders of two runs."""
    monkeypatch.chdir(tmp_path)
    return str(stored(tmp_path / "old", OLD)), str(stored(tmp_path / "new run", NEW))


def test_markdown_on_the_terminal(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# new run against old\n")
    assert "a: mean 0.500, was 0.833; difference -0.333" in out
    assert "b: mean 0.833, was 0.500; difference +0.333" in out


def test_links_on_the_terminal_only_when_asked_for(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in runs:
        (tmp_path / run / "leaderboard.html").write_text("page", encoding="utf-8")
    assert main(["compare", *runs]) == 0
    assert "leaderboard.html" not in capsys.readouterr().out
    assert main(["compare", *runs, "--links"]) == 0
    assert "old/leaderboard.html#d=Flat/c0/a/1" in capsys.readouterr().out
    assert main(["compare", *runs, "--out", "c.md"]) == 0
    assert "old/leaderboard.html#d=Flat/c0/a/1" in (tmp_path / "c.md").read_text(encoding="utf-8")


def test_cases_of_several_variants_are_counted_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three cases asked in two variants are six of the table and three of the sentence on what can be seen."""
    monkeypatch.chdir(tmp_path)
    old, new = (
        str(stored(tmp_path / name, {**one_model(scores, "a"), **one_model(scores, "a", "Flat-2")}))
        for name, scores in (("old", [1.0, 0.5, 1.0]), ("new", [0.0, 0.5, 1.0]))
    )
    assert main(["compare", old, new]) == 0
    assert "6 cases in all; a case that several of them ask is one case here" in capsys.readouterr().out
    assert main(["compare", old, new, "--out", "c.html"]) == 0
    assert "6 cases in all" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_json(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [pair["now"] for pair in data["pairs"]] == ["a", "b"]
    assert data["pairs"][0]["changes"] == {"broke": 1, "same": 2}
    assert data["pairs"][1]["changes"] == {"mended": 1, "same": 2}


def test_page_with_links_from_where_it_stands(runs: tuple[str, str], tmp_path: Path) -> None:
    for run in runs:
        (tmp_path / run / "leaderboard.html").write_text("page", encoding="utf-8")
    assert main(["compare", *runs, "--out", "out/comparison.html"]) == 0
    text = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="([^"]+)"', text))
    assert "../old/leaderboard.html#d=Flat/c0/a/1" in links
    assert "../new%20run/leaderboard.html#d=Flat/c0/a/1" in links


def test_no_folder_is_taken_for_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = stored(tmp_path / "javascript:x", OLD)
    (run / "leaderboard.html").write_text("page", encoding="utf-8")
    assert main(["compare", str(run), str(run), "--models", "a=b", "--out", "c.html"]) == 0
    links = re.findall(r'href="([^"]+)"', (tmp_path / "c.html").read_text(encoding="utf-8"))
    assert links
    assert all(link.startswith("javascript%3Ax/leaderboard.html#") for link in links)


def test_models_of_one_run(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs[0], runs[0], "--models", "a=b", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert (pair["before"], pair["now"]) == ("a", "b")
    assert pair["comparison"]["difference"]["mean"] == pytest.approx(-1 / 3)
    assert main(["compare", *runs, "--models", "b, a", "--json"]) == 0
    assert [one["now"] for one in json.loads(capsys.readouterr().out)["pairs"]] == ["b", "a"]


def test_a_missing_model_is_told(tmp_path: Path, runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    alone = stored(tmp_path / "alone", one_model([1.0, 0.5, 1.0], "a"))
    assert main(["compare", runs[0], str(alone)]) == 0
    assert "model 'b' is missing in run 'alone', which run 'old' has" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--models", "x=a"], "unknown model of run 'old' 'x'"),
        (["--models", "a=x"], "unknown model of run 'new run' 'x'"),
        (["--models", " , "], "--models names none"),
        (["--out", "x.pdf"], "unknown ending"),
        (["--threshold", "nan"], "--threshold must be a number"),
    ],
)
def test_usage_errors(runs: tuple[str, str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, *more]) == 2
    assert said in capsys.readouterr().err


def test_no_model_in_common(tmp_path: Path, runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    other = stored(tmp_path / "other", one_model([1.0], "z"))
    assert main(["compare", runs[0], str(other)]) == 2
    assert "no model in common ('a', 'b'; 'z'); say which to compare by --models OLD=NEW" in capsys.readouterr().err
    evil = stored(tmp_path / "evil", one_model([1.0], "x\n::error::y\x1b[31m"))
    assert main(["compare", runs[0], str(evil)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert r"'x\n::error::y\x1b[31m'" in line


def test_threshold(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--threshold", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"][0]["changes"] == {"same": 2, "worse": 1}
