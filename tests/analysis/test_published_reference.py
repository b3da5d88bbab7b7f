"""The printed tables of the article on LLM-KG-Bench 3, from its recorded runs.

The records are other people's work and are not part of this project; where they are absent, these tests are skipped.
Printed figures: Meyer et al., "Evaluating Large Language Models for RDF Knowledge Graph Related Tasks - The
LLM-KG-Bench-Framework 3", Tables 6 and 7; AKSW/LLM-KG-Bench-v3-0-results (CC BY 4.0), ``modelPreferences.csv`` and,
for the column AllTasks, ``README.md``.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.analysis.published import analyse_published
from pytest_llmkg.cli import main
from pytest_llmkg.interchange.recorded_scores import recorded_scores
from pytest_llmkg.result_files import read_records
from pytest_llmkg.tasks import discover_tasks

if TYPE_CHECKING:
    from pytest_llmkg.analysis.published_records import CombinedRow, PublishedAnalysis
    from pytest_llmkg.records import TaskInfo, Transcript

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"
ARCHIVES = sorted((REFERENCE / "llm-kg-bench-v3").glob("*.zip"))
pytestmark = pytest.mark.skipif(
    not ARCHIVES, reason=f"no recorded runs of LLM-KG-Bench 3 in {REFERENCE.name}/llm-kg-bench-v3 beside the checkout"
)

HAIKU = "Claude--claude-3-5-haiku-20241022"
GEMINI = "Google--gemini-2.0-flash-exp"
GPT = "GPT--gpt-3.5-turbo-0125"

# Table 6: mean, standard deviation, star.
TABLE_6 = {HAIKU: ("0.94 (0.20)", True), GEMINI: ("0.85 (0.31)", False), GPT: ("0.80 (0.34)", False)}
# p-values against Haiku with the values counted twice, as others recomputed them from the same records.
AGAINST_HAIKU = {GEMINI: 4.2e-12, GPT: 2.4e-11}
# Table 7: AllTasks, RdfConnectionExplainStatic, RdfFriendCount-1 and -2, RdfSyntaxFixList, Sparql2Answer, Text2Answer.
TABLE_7 = {
    HAIKU: ("**TTL**", "**JSON**", "**TTL**", "**TTL**", "-", "-", "-"),
    GEMINI: ("-", "-", "-", "-", "-", "-", "-"),
    GPT: ("-", "-", "JSON", "**JSON**", "-", "-", "**TTL**"),
}


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets LLMKG_PASSWORD; never handed to a test, since pytest shows arguments when a test fails."""
    if os.environ.get("LLMKG_PASSWORD"):
        return
    readme = REFERENCE / "README.md"
    found = re.search(r"password[^`]*`([^`]+)`", readme.read_text(encoding="utf-8")) if readme.is_file() else None
    if found is None:
        pytest.skip("the password of the recorded runs is neither in LLMKG_PASSWORD nor in the README beside them")
    monkeypatch.setenv("LLMKG_PASSWORD", found[1])


@cache
def transcripts() -> tuple[Transcript, ...]:
    found: list[Transcript] = []
    for archive in ARCHIVES:
        recorded = recorded_scores(read_records(archive, os.environ["LLMKG_PASSWORD"]))
        assert not recorded.skipped
        found += recorded.transcripts
    return tuple(found)


@cache
def infos() -> tuple[TaskInfo, ...]:
    tasks = discover_tasks()
    return tuple(tasks.get(name).info for name in tasks.names())


@cache
def analysis() -> PublishedAnalysis:
    return analyse_published(transcripts(), infos())


def combined(definition: str, found: PublishedAnalysis | None = None) -> dict[str, CombinedRow]:
    tables = {table.definition: table for table in (found or analysis()).combined}
    return {row.model: row for row in tables[definition].rows}


def test_table_6_as_printed() -> None:
    rows = combined("as-printed")
    assert {model: (row.text, row.star) for model, row in rows.items()} == TABLE_6
    assert rows[HAIKU].leader
    for model, p in AGAINST_HAIKU.items():
        assert rows[model].p == pytest.approx(p, rel=0.02)
    for row in rows.values():
        star = "*" if TABLE_6[row.model][1] else ""
        assert row.published == TABLE_6[row.model][0] + star
        assert (row.values, row.tested, row.dialogues, row.notes) == (380, 760, 120, ())


@pytest.mark.parametrize("model", TABLE_6)
def test_table_6_from_the_archive_of_one_model(model: str) -> None:
    only = [transcript for transcript in transcripts() if transcript.model == model]
    (row,) = combined("as-printed", analyse_published(only, infos())).values()
    assert row.text == TABLE_6[model][0]


def test_table_6_as_written_is_another_table() -> None:
    rows = combined("as-written")
    assert {row.tested for row in rows.values()} == {560}  # the size that the text gives
    assert all(row.text != TABLE_6[model][0] for model, row in rows.items())
    assert rows[HAIKU].text == "0.86 (0.30)"


def test_table_7() -> None:
    table = analysis().preferences
    assert table is not None
    assert {row.model: tuple(cell.mark for cell in row.cells) for row in table.rows} == TABLE_7


def test_all_capabilities_are_complete_and_every_label_is_described() -> None:
    found = analysis()
    assert all(not score.missing for score in found.capabilities)
    assert len(found.capabilities) == 3 * (5 + 5 + 4)
    assert found.notes == ()


def test_the_order_of_the_dialogues_does_not_matter() -> None:
    assert analyse_published(reversed(transcripts()), infos()) == analysis()


def test_command_line_prints_both_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", *map(str, ARCHIVES)]) == 0
    output = capsys.readouterr().out
    assert os.environ["LLMKG_PASSWORD"] not in output
    for model, row in TABLE_7.items():
        assert any(line.split() == [model, *row] for line in output.splitlines())
        text, star = TABLE_6[model]
        shown = f"{text}*" if star else text
        assert any(
            line.startswith(model) and re.search(rf"{re.escape(shown)}\s+{re.escape(shown)}", line)
            for line in output.splitlines()
        )
