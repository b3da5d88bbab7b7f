"""Reports of a run file that is read one dialogue at a time, and what stands beside the page."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from pytest_llmkg.cli import main
from pytest_llmkg.errors import UserError
from pytest_llmkg.records import Case
from pytest_llmkg.reporting.dialogue_files import DialogueFiles
from pytest_llmkg.reporting.dialogues import dialogue_view
from pytest_llmkg.reporting.files import copy_page, write_page, write_report_files, write_reports
from pytest_llmkg.reporting.links import dialogue_fragment
from pytest_llmkg.reporting.packing import compact, script_safe
from pytest_llmkg.reporting.sources import slim
from pytest_llmkg.reporting.views import build_report
from pytest_llmkg.store import FILE_NAME, Run, RunWriter, index_run, read_run
from tests import strategies
from tests.builders import DIALOGUE, make_header, make_transcript, make_turn

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_llmkg.records import Transcript

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REPORTS = ("leaderboard.html", "leaderboard.md", "report.json", "scores.csv")


def example() -> Run:
    transcripts: list[Transcript] = []
    for place, model in enumerate(("a", "b")):
        for number in range(8):
            turn = make_turn({"f1": 1 - place / 3 - number / 20}, text=f"{model} {number} " + "x" * 300)
            transcripts.append(make_transcript(turn, model=model, case=f"c{number // 2}", iteration=number % 2 + 1))
        talk = make_turn({"combined": 0.5, "answerParse": 1}, feedback="syntax"), make_turn({"combined": 1})
        transcripts.append(make_transcript(*talk, model=model, info=DIALOGUE))
    cases = {f"Flat/c{n}": Case(f"c{n}", "Flat", "Flat", {"reference": f"right {n}"}) for n in range(4)}
    return Run(make_header("a", "b"), cases, tuple(transcripts))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    run = example()
    directory = tmp_path / "run"
    with RunWriter(directory / FILE_NAME) as writer:
        writer.header(run.header)
        for case in run.cases.values():
            writer.case(case)
        for transcript in reversed(run.transcripts):
            writer.transcript(transcript)
    return directory


def test_an_index_gives_the_same_reports_as_a_run_in_memory(stored: Path, tmp_path: Path) -> None:
    write_reports(index_run(stored), tmp_path / "one", NOW)
    write_reports(read_run(stored), tmp_path / "two", NOW)
    for name in REPORTS:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_report_keeps_no_text_in_memory_but_reads_it_again(stored: Path) -> None:
    report = build_report([index_run(stored)])
    assert "xxx" not in repr(report.transcripts)
    assert all("xxx" in report.full(t).turns[0].answer.text for t in report.transcripts if t.label == "Flat")


def test_the_report_is_given_back_for_the_terminal(stored: Path) -> None:
    page, report = write_report_files([index_run(stored)], stored, NOW)
    assert page == stored / "leaderboard.html"
    assert [view.row.model for view in report.models] == ["a", "b"]


def chunks(folder: Path) -> dict[int, tuple[list[Any], list[Any]]]:
    """What the files in ``folder`` hand over, by number."""
    found = {}
    for path in folder.iterdir():
        match = re.fullmatch(r"llmkgDialogues\((.*)\);\n", path.read_text(encoding="utf-8"), re.DOTALL)
        assert match is not None
        token, number, dialogues, cases = json.loads(f"[{match[1]}]")
        assert (token, path.name) == ("token", f"g{number:05d}.js")
        found[number] = (dialogues, cases)
    return found


def test_dialogues_stand_where_the_index_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.reporting.dialogue_files._FILE_SIZE", 1500)  # about three dialogues
    files = DialogueFiles(tmp_path / "files", "token", limit=1000)
    report = build_report([example()], files.add)
    data = files.finish()
    found = chunks(tmp_path / "files")
    assert data.folder == "files"
    assert len(data.groups["a", "Flat"].files) > 1
    for key, group in data.groups.items():
        expected = [t for t in report.transcripts if (t.model, t.label) == key]
        starts = [start for _, start in group.files] + [len(expected)]
        for (number, start), end in zip(group.files, starts[1:], strict=True):
            dialogues, cases = found[number]
            assert [(d["m"], d["l"], d["c"], d["i"]) for d in dialogues] == [
                (t.model, t.label, t.case, t.iteration) for t in expected[start:end]
            ]
            assert [case[0] for case in cases] == sorted({d["c"] for d in dialogues if d["l"] == "Flat"})


def test_a_huge_group_does_not_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.reporting.dialogue_files._MOST_UNWRITTEN", 2000)
    files = DialogueFiles(tmp_path / "files", "token", limit=1000)
    report = build_report([example()], files.add)
    group = files.finish().groups["a", "Flat"]
    assert group.written == 8
    assert [start for _, start in group.files] == sorted({start for _, start in group.files})
    dialogues = [d for number, _ in group.files for d in chunks(tmp_path / "files")[number][0]]
    assert [(d["c"], d["i"]) for d in dialogues] == [
        (t.case, t.iteration) for t in report.transcripts if (t.model, t.label) == ("a", "Flat")
    ]


def test_only_files_of_pages_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "leaderboard_files"
    folder.mkdir()
    (folder / "g00007.js").write_text("old")
    (folder / "mine.txt").write_text("kept")
    write_page([example()], tmp_path / "leaderboard.html", NOW)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("in the way")
    files = DialogueFiles(tmp_path / "files", "token", limit=0)
    with pytest.raises(UserError, match="cannot write the report"):
        build_report([example()], files.add)


def test_copies_know_the_way_to_the_files(tmp_path: Path) -> None:
    page = tmp_path / "runs" / "a run" / "leaderboard.html"
    write_page([example()], page, NOW)
    copy_page(page, tmp_path / "leaderboard.html")
    text = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert '<meta name="llmkg-files" content="runs/a%20run/">' in text
    assert text.replace("runs/a%20run/", "") == page.read_text(encoding="utf-8")


def test_report_command_writes_a_page(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(stored), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", str(stored), "--format", "html"]) == 0
    made = re.compile(r"Page made [^<]*")
    assert made.sub("", capsys.readouterr().out) == made.sub("", page)


def test_export_command_writes_parquet(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "scores.parquet"
    assert main(["export", str(stored), "--format", "parquet", "--out", str(out)]) == 0
    rows = parquet.read_table(out).num_rows
    assert capsys.readouterr().out == f"wrote {rows} rows to {out}\n"
    assert main(["export", str(stored), "--format", "parquet"]) == 2
    assert "needs --out FILE.parquet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"kind":"header","schema":99}', "schema 99, but this version reads up to 1"),
        ('{"kind":"transcript"}', "expected the header first"),
        ("", "has no header"),
    ],
)
def test_files_that_are_no_runs_are_told_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(f"{line}\n", encoding="utf-8")
    assert main(["report", str(path), "--out", str(tmp_path / "page.html")]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert "Traceback" not in error
    assert not (tmp_path / "page.html").exists()


def test_a_torn_last_line_is_a_note(stored: Path, tmp_path: Path) -> None:
    with (stored / FILE_NAME).open("ab") as file:
        file.write(b'{"kind":"transcript","case":"c1"')
    report = build_report([index_run(stored)])
    assert report.notes == ("The file of run test ends in the middle of a line; that dialogue is not shown.",)


@given(strategies.texts)
def test_json_in_a_script_cannot_end_it(text: str) -> None:
    safe = script_safe(compact([text]))
    assert not set("<>&'") & set(safe)
    assert json.loads(safe) == [text]


@given(strategies.texts, strategies.texts)
def test_addresses_hold_no_separator_of_their_parts(label: str, model: str) -> None:
    fragment = dialogue_fragment(label, "c", model, 3)
    assert fragment.isascii()
    assert fragment.startswith("d=")
    assert fragment.count("/") == 3
    assert not set(fragment) & set(' #<>"')


def test_what_is_compared_with_what() -> None:
    case = Case("c1", "Flat", "Flat", {"query": "SELECT", "result": ["b", "a"]})

    def compared(info: dict[str, Any], case: Case | None) -> tuple[str | None, str | None, str | None]:
        turn = make_turn({"f1": 1})
        evaluation = type(turn.evaluation)("scored", turn.evaluation.score_sets, info)
        view = dialogue_view(make_transcript(type(turn)(turn.prompt, turn.answer, evaluation)), None, case)
        extracted, reference = view.turns[0].extracted, view.reference
        texts = [None if cut is None else cut.text for cut in (extracted, reference)]
        return texts[0], view.reference_name, texts[1]

    assert compared({"sparql": "ASK", "answerSet": ["x"]}, case) == ("ASK", "query", "SELECT")
    assert compared({"answerSet": ["y", "x"]}, case) == ("x\ny", "result", "a\nb")
    assert compared({"sparql": None}, case) == (None, "query", "SELECT")
    assert compared({}, case) == (None, "result", "a\nb")
    assert compared({"sparql": "ASK"}, None) == ("ASK", None, None)


def test_slim_transcripts_keep_every_number() -> None:
    for transcript in example().transcripts:
        thin = slim(transcript)
        assert thin.outcome == transcript.outcome
        assert [t.evaluation.scores() for t in thin.turns] == [t.evaluation.scores() for t in transcript.turns]
        assert [t.answer.usage for t in thin.turns] == [t.answer.usage for t in transcript.turns]
